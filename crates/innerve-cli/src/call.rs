//! `innerve call`: one tool use through the fourteen steps.

use std::io::{self, Write as _};

use innerve_pipeline::{Outcome, Requested};
use innerve_protocol::ToolUse;
use serde_json::{Value, json};

use crate::args::CallArguments;
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::{self, broken_pipe_is_success, warn};
use crate::wire::{Watch, Workplace};

/// Runs the verb.
pub(crate) async fn call(arguments: CallArguments) -> Result<Exit, Failure> {
    let input: Value = serde_json::from_str(&arguments.input).map_err(|error| {
        Failure::usage(format!(
            "the input is no JSON: {error}; write it like '{{\"file_path\":\"README.md\"}}'"
        ))
    })?;
    let workplace = Workplace::find(&arguments.policy)?;
    for warning in &workplace.warnings {
        warn(warning);
    }
    let watch = if arguments.trace { Watch::Trace } else { Watch::Nothing };
    let servers = workplace.servers_of(&arguments.tool, &arguments.mcp).await?;
    let (pipeline, turn) = workplace.single_call(watch, servers)?;
    let tool_use = ToolUse::new(
        format!("call_{}", innerve_agent::random_id()).as_str(),
        arguments.tool,
        input,
    );
    let cancellation = turn.cancellation.clone();
    let mut interrupts = Interrupts::listen()?;
    let run = pipeline.run(Requested::new(tool_use), &turn);
    tokio::pin!(run);
    let settled = loop {
        tokio::select! {
            settled = &mut run => break settled,
            () = interrupts.next() => {
                if cancellation.is_cancelled() {
                    return Ok(Exit::Interrupted);
                }
                cancellation.cancel();
            }
        }
    };
    for notice in &settled.notices {
        warn(notice);
    }
    let printed = if arguments.json {
        let mut block = serde_json::to_value(&settled.result).unwrap_or_default();
        if let Some(fields) = block.as_object_mut() {
            fields.insert("type".to_owned(), json!("tool_result"));
            fields.insert("is_error".to_owned(), json!(settled.result.failed()));
            fields.insert("step".to_owned(), json!(settled.step.name()));
            fields.insert("code".to_owned(), json!(settled.code));
        }
        output::print_json(&block)
    } else {
        let mut text = settled.result.content.plain_text();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        io::stdout().write_all(text.as_bytes())
    };
    broken_pipe_is_success(printed)?;
    workplace.end_servers().await;
    workplace.close();
    Ok(match settled.outcome {
        Outcome::Succeeded => Exit::Success,
        Outcome::Refused(_) | Outcome::Deferred => Exit::Denied,
        Outcome::Interrupted => Exit::Interrupted,
        Outcome::Failed => Exit::Failure,
    })
}
