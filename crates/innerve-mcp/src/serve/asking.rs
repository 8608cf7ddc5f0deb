//! Asking through the client: questions of the engine as elicitation, where the client has it.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use innerve_pipeline::{Answer, ApprovalRequest, Approver, Grant, GrantScope};
use innerve_tool::{BoxFuture, CancellationToken};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Value, json};

/// What a person may decide.
const ONCE: &str = "Allow once";
const SESSION: &str = "Allow for this session";
const NO: &str = "Deny";
/// Characters of an input that are shown.
const MAX_SHOWN: usize = 4_000;

/// Asks the person at the client. Without one that can show questions, nobody is asked and the refusal says how to allow.
#[derive(Default)]
pub struct ClientApprover {
    client: Mutex<Option<Peer<RoleServer>>>,
}

impl ClientApprover {
    pub(super) fn set_client(&self, peer: Peer<RoleServer>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(peer);
    }

    /// The client, if it can show forms.
    fn client(&self) -> Option<Peer<RoleServer>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let can_ask = client.peer_info()?.capabilities.elicitation.is_some();
        can_ask.then_some(client)
    }

    async fn question(&self, request: ApprovalRequest, cancellation: CancellationToken) -> Answer {
        let rules: Vec<String> =
            request.resolution.suggestions.iter().map(|suggestion| suggestion.0.clone()).collect();
        let Some(client) = self.client() else { return Answer::Unavailable(way_out(&rules)) };
        let Some(params) = form(&request, &rules) else {
            return Answer::Unavailable("the question cannot be written as a form".to_owned());
        };
        let answered = tokio::select! {
            answered = client.create_elicitation(params) => answered,
            () = cancellation.cancelled() => return Answer::Interrupted,
        };
        match answered {
            Ok(result) => understand(&result, rules),
            Err(_) => Answer::Unavailable(way_out(&rules)),
        }
    }
}

impl Approver for ClientApprover {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(self.question(request, cancellation))
    }
}

/// Why nobody is asked, and what would allow the call.
fn way_out(rules: &[String]) -> String {
    let mut text = "this MCP client cannot show questions".to_owned();
    if let Some(rule) = rules.first() {
        text.push_str(&format!(
            "; the user can allow it by the rule `{rule}`: in the settings (permissions.allow), or by starting the server with --allow '{rule}'"
        ));
    }
    text
}

fn form(request: &ApprovalRequest, rules: &[String]) -> Option<ElicitRequestParams> {
    let mut choices = vec![ONCE];
    if !rules.is_empty() {
        choices.push(SESSION);
    }
    choices.push(NO);
    let remembered = if rules.is_empty() {
        String::new()
    } else {
        format!("\n“{SESSION}” adds the rule {}.", rules.join(", "))
    };
    let message = format!(
        "innerve: {} wants to run\n\n{}\n\nWhy it is asked: {}.{remembered}",
        request.tool,
        subject(request),
        request.resolution.reason.message
    );
    serde_json::from_value(json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": { "type": "string", "title": "Decision", "enum": choices },
                "comment": { "type": "string", "title": "What to do instead" },
            },
            "required": ["decision"],
        },
    }))
    .ok()
}

/// What is asked about.
fn subject(request: &ApprovalRequest) -> String {
    let text = match (&request.preview, request.input.get("command").and_then(Value::as_str)) {
        (Some(preview), _) => format!(
            "{}: {} bytes, {} before",
            preview.path.display(),
            preview.after.len(),
            preview.before.as_ref().map_or(0, Vec::len)
        ),
        (None, Some(command)) => command.to_owned(),
        (None, None) => serde_json::to_string_pretty(&request.input).unwrap_or_default(),
    };
    let count = text.chars().count();
    if count <= MAX_SHOWN {
        return text;
    }
    let shown: String = text.chars().take(MAX_SHOWN).collect();
    format!("{shown}\n… and {} more characters", count - MAX_SHOWN)
}

/// Only what says yes is a yes.
fn understand(result: &ElicitResult, rules: Vec<String>) -> Answer {
    let field = |name: &str| {
        let value = result.content.as_ref().and_then(|content| content.get(name));
        value.and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    };
    let is_accepted = result.action == ElicitationAction::Accept;
    match field("decision").filter(|_| is_accepted) {
        Some(ONCE) => Answer::once(),
        Some(SESSION) if !rules.is_empty() => {
            let grant = Grant { scope: GrantScope::Session, rules };
            Answer::Allow { remember: Some(grant), edited: None }
        }
        Some(_) | None => Answer::Deny { comment: field("comment").map(str::to_owned) },
    }
}

impl fmt::Debug for ClientApprover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ClientApprover").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(action: ElicitationAction, content: Value, expected: &Answer) {
        let rules = vec!["Bash(git push)".to_owned()];
        let result = ElicitResult::new(action).with_content(content);
        assert_eq!(&understand(&result, rules), expected);
    }

    #[test]
    fn only_what_says_yes_is_a_yes() {
        let no = Answer::Deny { comment: None };
        check(ElicitationAction::Accept, json!({ "decision": ONCE }), &Answer::once());
        check(ElicitationAction::Decline, json!({ "decision": ONCE }), &no);
        check(ElicitationAction::Cancel, json!({ "decision": ONCE }), &no);
        check(ElicitationAction::Accept, json!({}), &no);
        check(ElicitationAction::Accept, json!({ "decision": "yes" }), &no);
        check(ElicitationAction::Accept, json!({ "decision": true }), &no);
        let comment = Some("use make".to_owned());
        check(
            ElicitationAction::Accept,
            json!({ "decision": NO, "comment": " use make " }),
            &Answer::Deny { comment },
        );
    }

    #[test]
    fn a_refusal_names_the_rule_that_would_allow() {
        let text = way_out(&["Bash(git push)".to_owned()]);
        assert!(text.contains("--allow 'Bash(git push)'"), "{text}");
    }
}
