//! The JSON that a hook may print, with the documented names; what it does not name is left alone.

use innerve_protocol::ToolUse;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::EventName;

/// The fields that count (Claude Code, "Hooks reference", JSON output).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    #[serde(rename = "continue")]
    pub(super) goes_on: Option<bool>,
    pub(super) stop_reason: Option<String>,
    pub(super) system_message: Option<String>,
    pub(super) decision: Option<Word>,
    pub(super) reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    pub(super) specific: Option<Specific>,
}

/// The decision that all events share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Word {
    Approve,
    Block,
}

/// What one event may say beyond that.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Specific {
    hook_event_name: String,
    pub(super) additional_context: Option<String>,
    pub(super) permission_decision: Option<Verdict>,
    pub(super) permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Map<String, Value>>,
    pub(super) decision: Option<Permission>,
    pub(super) retry: Option<bool>,
    pub(super) updated_tool_output: Option<Value>,
    #[serde(rename = "updatedMCPToolOutput")]
    pub(super) updated_mcp_tool_output: Option<Value>,
}

/// A word on a tool that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Allow,
    Ask,
    Defer,
    Deny,
}

/// An answer in place of a person.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Permission {
    pub(super) behavior: Behavior,
    pub(super) updated_input: Option<Map<String, Value>>,
    pub(super) updated_permissions: Option<Vec<Value>>,
    pub(super) message: Option<String>,
    pub(super) interrupt: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Behavior {
    Allow,
    Deny,
}

impl Specific {
    /// The inputs that it would have a tool run with.
    fn inputs(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let of_decision =
            self.decision.iter().filter_map(|decision| decision.updated_input.as_ref());
        self.updated_input.iter().chain(of_decision)
    }
}

impl Output {
    /// Reads a text as the output of a hook of that event; the error says what is wrong with it.
    pub(super) fn parse(text: &str, event: EventName) -> Result<Self, String> {
        let output: Self = serde_json::from_str(text)
            .map_err(|cause| format!("wrote JSON that is not of the documented form: {cause}"))?;
        match &output.specific {
            Some(specific) if specific.hook_event_name != event.to_string() => Err(format!(
                "wrote `hookSpecificOutput` for `{}`; its `hookEventName` must be `{event}`",
                specific.hook_event_name
            )),
            Some(specific) if specific.inputs().any(ToolUse::is_too_deep) => Err(format!(
                "wrote an `updatedInput` with more than {} values in values",
                ToolUse::MAX_INPUT_DEPTH
            )),
            Some(_) | None => Ok(output),
        }
    }

    /// Why it blocks, if it says so itself.
    pub(super) fn blocking_reason(&self) -> Option<String> {
        let specific = self.specific.as_ref();
        let denies =
            specific.is_some_and(|specific| specific.permission_decision == Some(Verdict::Deny));
        let reason = if denies {
            specific.and_then(|specific| specific.permission_decision_reason.clone())
        } else {
            None
        };
        let of_all = || self.reason.clone().filter(|_| self.decision == Some(Word::Block));
        reason.or_else(of_all).filter(|reason| !reason.trim().is_empty())
    }
}
