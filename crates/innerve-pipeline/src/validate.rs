//! Steps 1 to 4: look the tool up, stop if aborted, check the input's shape and meaning.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use innerve_permission::CallFacts;
use innerve_permission::{Decision, Voices, resolve};
use innerve_protocol::ToolUse;
use innerve_tool::{DynTool, Lookup, SchemaIssue};
use serde_json::{Value, json};

use crate::pipeline::Call;
use crate::stage::{Given, Outcome, Requested, Stopped, Validated};
use crate::{Step, StopRequest, Turn};

/// Raw input that is no JSON is shown to the model up to this many characters.
const MAX_RAW_INPUT: usize = 2_000;

impl Call<'_> {
    /// Step 1.
    pub(crate) fn look_up(
        &mut self,
        requested: &Requested,
    ) -> Result<Arc<dyn DynTool>, Box<Stopped>> {
        let name = &requested.tool_use.name;
        match self.turn.pool.find(name) {
            Lookup::Found(tool) => {
                tool.name().clone_into(&mut self.name);
                self.pass(Step::LookUp);
                Ok(tool)
            }
            Lookup::Removed(tool) => {
                // A rule that removed the tool must be what the refusal names.
                let policy = self.turn.policy.current();
                let facts = CallFacts::new(tool.name(), requested.tool_use.input.clone());
                let resolution = resolve(&policy, &facts, &Voices::default());
                let denied =
                    resolution.verdict == innerve_permission::Verdict::Decided(Decision::Deny);
                let mut text = format!("Error: No such tool available: {name}. ");
                if denied {
                    text.push_str(&format!("It was removed: {}.", resolution.reason.message));
                } else {
                    text.push_str("It exists, but it is switched off in this session.");
                }
                let outcome = if denied {
                    Outcome::Refused(Box::new(resolution.reason.clone()))
                } else {
                    Outcome::Failed
                };
                Err(Box::new(Stopped {
                    outcome,
                    resolution: Some(resolution),
                    ..invalid(Step::LookUp, "removed_tool", &text)
                }))
            }
            Lookup::Unknown { nearest } => {
                let mut text = format!("Error: No such tool available: {name}.");
                if let Some(nearest) = nearest {
                    text.push_str(&format!(" Did you mean {nearest}?"));
                }
                Err(Box::new(invalid(Step::LookUp, "unknown_tool", &text)))
            }
        }
    }

    /// Step 2.
    pub(crate) fn check_abort(&mut self) -> Result<(), Box<Stopped>> {
        if self.turn.cancellation.is_cancelled() {
            return Err(Box::new(interrupted(
                Step::CheckAbort,
                "Interrupted by the user before it started; nothing was run.",
            )));
        }
        self.pass(Step::CheckAbort);
        Ok(())
    }

    /// Step 3.
    pub(crate) fn parse(
        &mut self,
        tool: &Arc<dyn DynTool>,
        given: &Given,
        invalid_input: Option<&str>,
    ) -> Result<Value, Box<Stopped>> {
        if let Some(raw) = invalid_input {
            let shown: String = raw.chars().take(MAX_RAW_INPUT).collect();
            // The Messages API's own form for input that is no JSON ("fine-grained tool streaming").
            let text = json!({ "INVALID_JSON": shown }).to_string();
            return Err(Box::new(Stopped { text, ..invalid(Step::Parse, "invalid_json", "") }));
        }
        // Hooks and people may have written it; what a model writes is bounded where it is read.
        if given.input.as_object().is_some_and(ToolUse::is_too_deep) {
            let (name, most) = (tool.name(), ToolUse::MAX_INPUT_DEPTH);
            let text = format!(
                "InputValidationError: {name} was given more than {most} values in values; write a flatter input"
            );
            return Err(Box::new(Stopped { text, ..invalid(Step::Parse, "invalid_input", "") }));
        }
        match tool.parse(given.input.clone()) {
            Ok(input) => {
                self.pass(Step::Parse);
                Ok(input)
            }
            Err(issues) => Err(Box::new(invalid(
                Step::Parse,
                "invalid_input",
                &self.describe(tool.as_ref(), &issues),
            ))),
        }
    }

    fn describe(&self, tool: &dyn DynTool, issues: &[SchemaIssue]) -> String {
        let mut text =
            format!("InputValidationError: {} failed due to the following ", tool.name());
        text.push_str(if issues.len() == 1 { "issue:" } else { "issues:" });
        for issue in issues {
            text.push('\n');
            text.push_str(&issue.to_string());
        }
        if tool.should_defer() && !self.turn.loaded.contains(tool.name()) {
            text.push_str(&format!(
                "\n\nThis tool's schema was not in the prompt, so its parameters were guessed. Call ToolSearch with query \"select:{}\" and then try again.",
                tool.name()
            ));
        }
        text
    }

    /// Step 4.
    pub(crate) async fn validate(
        &mut self,
        tool: &Arc<dyn DynTool>,
        input: Value,
    ) -> Result<Validated, Box<Stopped>> {
        let policy = self.turn.policy.current();
        let context = self.context(&policy);
        let valid =
            unless_aborted(self.turn, Step::Validate, tool.validate(&input, &context)).await?;
        if let Err(error) = valid {
            return Err(Box::new(invalid(Step::Validate, error.code(), error.message())));
        }
        self.pass(Step::Validate);
        Ok(Validated { tool: Arc::clone(tool), input, context, policy })
    }
}

/// Waits for work that comes before the run, unless the turn is aborted meanwhile.
pub(crate) async fn unless_aborted<T>(
    turn: &Turn,
    step: Step,
    work: impl Future<Output = T>,
) -> Result<T, Box<Stopped>> {
    match select(pin!(turn.cancellation.cancelled()), pin!(work)).await {
        Either::Left(_) => Err(withdrawn(step)),
        Either::Right((done, _)) => Ok(done),
    }
}

/// A call that ends because the turn was aborted before it was permitted.
pub(crate) fn withdrawn(step: Step) -> Box<Stopped> {
    let text = "Interrupted by the user before it was permitted; nothing was run.";
    Box::new(interrupted(step, text))
}

/// A call that ends because of what the model wrote.
pub(crate) fn invalid(step: Step, code: &str, text: &str) -> Stopped {
    let text = format!("<tool_use_error>{text}</tool_use_error>");
    Stopped {
        step,
        code: code.to_owned(),
        text,
        outcome: Outcome::Failed,
        resolution: None,
        stop: None,
    }
}

/// A call that ends because the turn was aborted.
pub(crate) fn interrupted(step: Step, text: &str) -> Stopped {
    Stopped {
        step,
        code: innerve_tool::code::INTERRUPTED.to_owned(),
        text: text.to_owned(),
        outcome: Outcome::Interrupted,
        resolution: None,
        stop: None::<StopRequest>,
    }
}
