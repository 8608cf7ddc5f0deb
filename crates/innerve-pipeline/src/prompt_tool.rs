//! An approver that asks by calling a tool, so that a program can answer in place of a person.

use std::fmt;

use innerve_protocol::{ToolUse, ToolUseId};
use innerve_tool::{BoxFuture, CancellationToken, Lookup};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Answer, ApprovalRequest, Approver, Grant, GrantScope, Pipeline, Requested, Turn};

/// Asks by calling a tool (Claude Code documentation, "CLI reference", `--permission-prompt-tool`).
///
/// The tool gets `tool_name`, `input` and `tool_use_id`, and answers by text that is one JSON object:
/// `{"behavior":"allow"}`, with `updatedInput` and `updatedPermissions` if need be, or
/// `{"behavior":"deny","message":"…"}`, with `"interrupt":true` to end the turn. Anything else is no answer. Of
/// `updatedPermissions`, allow rules for the session or for the local settings are taken (Claude Agent SDK reference,
/// `PermissionResult`). What only a person can answer is refused whatever it says.
///
/// The call itself takes all fourteen steps, in a pipeline and a turn of its own.
pub struct PromptTool {
    name: String,
    pipeline: Pipeline,
    turn: Box<dyn Fn() -> Turn + Send + Sync>,
}

impl PromptTool {
    /// Asks the tool of this name. `turn` gives the tools as they are now, and a policy that permits this tool;
    /// `pipeline` must not ask `self`.
    pub fn new(
        name: impl Into<String>,
        pipeline: Pipeline,
        turn: impl Fn() -> Turn + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), pipeline, turn: Box::new(turn) }
    }

    /// Whether there is such a tool now.
    pub fn is_available(&self) -> bool {
        matches!((self.turn)().pool.find(&self.name), Lookup::Found(_))
    }

    async fn call(&self, request: ApprovalRequest, cancellation: CancellationToken) -> Answer {
        let name = &self.name;
        let turn = Turn { cancellation: cancellation.clone(), ..(self.turn)() };
        if !matches!(turn.pool.find(name), Lookup::Found(_)) {
            return Answer::Unavailable(format!("there is no permission prompt tool `{name}`"));
        }
        let id = ToolUseId::new(format!("{}_prompt", request.tool_use_id));
        let input = json!({
            "tool_name": request.tool,
            "input": request.input,
            "tool_use_id": request.tool_use_id,
        });
        let asked = Requested::new(ToolUse::new(id.as_str(), name, input));
        let settled = Box::pin(self.pipeline.run(asked, &turn)).await;
        if cancellation.is_cancelled() {
            return Answer::Interrupted;
        }
        let text = settled.result.content.plain_text();
        if settled.result.failed() {
            return Answer::Unavailable(format!(
                "the permission prompt tool `{name}` failed: {text}"
            ));
        }
        match decision(&text) {
            Ok(word) => word.answer(&request),
            Err(problem) => Answer::Unavailable(format!(
                "what the permission prompt tool `{name}` answered is no decision: {problem}"
            )),
        }
    }
}

impl Approver for PromptTool {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(self.call(request, cancellation))
    }
}

/// What the tool answers.
#[derive(Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
enum Word {
    #[serde(rename_all = "camelCase")]
    Allow {
        #[serde(default)]
        updated_input: Option<Value>,
        #[serde(default)]
        updated_permissions: Vec<Update>,
    },
    Deny {
        message: String,
        #[serde(default)]
        interrupt: bool,
    },
}

/// The text must be one object; a list of values would be read as one as well.
fn decision(text: &str) -> Result<Word, String> {
    if !text.trim_start().starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// A change of the rules that comes with an answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    rules: Vec<NamedRule>,
    #[serde(default)]
    behavior: String,
    #[serde(default)]
    destination: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedRule {
    tool_name: String,
    #[serde(default)]
    rule_content: Option<String>,
}

impl Word {
    fn answer(self, request: &ApprovalRequest) -> Answer {
        match self {
            Self::Deny { interrupt: true, .. } => Answer::Deny { comment: None },
            Self::Deny { message, interrupt: false } => Answer::Deny { comment: Some(message) },
            Self::Allow { .. } if request.needs_person => {
                let comment = format!("{} can only be answered by a person", request.tool);
                Answer::Deny { comment: Some(comment) }
            }
            Self::Allow { updated_input, updated_permissions } => Answer::Allow {
                remember: grant(updated_permissions),
                edited: updated_input.filter(|input| *input != request.input),
            },
        }
    }
}

/// The allow rules among the updates. Where some are for the session and some for good, all are for the session.
fn grant(updates: Vec<Update>) -> Option<Grant> {
    let wanted = |update: &Update| {
        let kept = ["session", "localSettings"].contains(&update.destination.as_str());
        update.kind == "addRules" && update.behavior == "allow" && kept
    };
    let (mut rules, mut scope) = (Vec::new(), GrantScope::Always);
    for update in updates.into_iter().filter(wanted) {
        if update.destination == "session" {
            scope = GrantScope::Session;
        }
        rules.extend(update.rules.into_iter().map(|rule| match rule.rule_content {
            Some(content) => format!("{}({content})", rule.tool_name),
            None => rule.tool_name,
        }));
    }
    (!rules.is_empty()).then_some(Grant { scope, rules })
}

impl fmt::Debug for PromptTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PromptTool").field("name", &self.name).finish_non_exhaustive()
    }
}
