//! Whether a model is connected, and whether its server knows us and it.

use std::time::Duration;

use innerve_model::{ErrorClass, ModelError};

use super::finding::Finding;
use crate::args::ModelArguments;
use crate::provider::{self, Connection};

const AREA: &str = "model";
/// How long the server may take to tell its models.
const PATIENCE: Duration = Duration::from_secs(20);
/// Models that are named at most.
const MANY: usize = 12;

/// Asks the server, unless `offline`.
pub(super) async fn look(arguments: &ModelArguments, offline: bool) -> Vec<Finding> {
    let connection = match provider::connect(arguments) {
        Ok(Some(connection)) => connection,
        Ok(None) => return vec![nobody()],
        Err(failure) => return vec![Finding::problem(AREA, failure.message)],
    };
    let (name, listed) = match &connection {
        Connection::Replay(_) => {
            return vec![Finding::note(AREA, "a recording speaks in place of a model")];
        }
        Connection::Anthropic { name, .. } | Connection::OpenAi { name, .. } if offline => {
            return vec![Finding::note(
                AREA,
                format!("{name}; its server was not asked (--offline)"),
            )];
        }
        Connection::Anthropic { model, name } => {
            (name, tokio::time::timeout(PATIENCE, model.list_models()).await)
        }
        Connection::OpenAi { model, name } => {
            (name, tokio::time::timeout(PATIENCE, model.list_models()).await)
        }
    };
    vec![match listed {
        Ok(Ok(models)) => known(name, &models),
        Ok(Err(error)) => unlisted(name, &error),
        Err(_) => Finding::problem(AREA, format!("the server did not answer within {PATIENCE:?}"))
            .mend("check the address and the network, or try again"),
    }]
}

fn nobody() -> Finding {
    Finding::problem(AREA, "no model is connected").mend(
        "export ANTHROPIC_API_KEY=…, or OPENAI_BASE_URL=http://… with --model NAME for any OpenAI-compatible server",
    )
}

fn known(name: &str, models: &[String]) -> Finding {
    // Dated names stand in the list where people use the name without the date.
    if models.iter().any(|model| model == name || model.starts_with(&format!("{name}-"))) {
        return Finding::fine(AREA, format!("the server answers and offers {name}"));
    }
    let mut some = models.iter().take(MANY).map(String::as_str).collect::<Vec<_>>().join(", ");
    if models.len() > MANY {
        some.push_str(&format!(" and {} more", models.len() - MANY));
    }
    Finding::problem(AREA, format!("the server answers, but {name} is not among its models"))
        .mend(format!("choose one by --model or INNERVE_MODEL: {some}"))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the model's kinds of error are open-ended")]
fn unlisted(name: &str, error: &ModelError) -> Finding {
    match error.class() {
        ErrorClass::NotFound | ErrorClass::Malformed => Finding::note(
            AREA,
            format!("the server answers, but has no list of models; {name} will be asked for"),
        ),
        _ => Finding::problem(AREA, error.to_string()),
    }
}
