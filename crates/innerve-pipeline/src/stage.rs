//! The stages between the steps: what is known of a call at each point, from request to result.

use std::sync::Arc;
use std::time::Duration;

use innerve_permission::{Approval, ApprovedBy, Permit, Policy, Reason, Resolution};
use innerve_protocol::{Message, ToolResult, ToolUse};
use innerve_tool::{CallContext, DynTool, Rendered, SessionChange, ToolError};
use serde_json::Value;

use crate::{HookDecision, Step};

/// A tool use that is to be answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Requested {
    /// The tool use as the model wrote it.
    pub tool_use: ToolUse,
    /// The raw input, if it was no JSON: then nothing runs.
    pub invalid_input: Option<String>,
}

impl Requested {
    /// A tool use with readable input.
    pub fn new(tool_use: ToolUse) -> Self {
        Self { tool_use, invalid_input: None }
    }
}

/// The input as it stands, and who has had a say on it: what goes round when somebody changes it.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) input: Value,
    /// Whether the hooks were heard; they run once.
    pub(crate) heard: bool,
    /// What the hooks decided.
    pub(crate) decision: Option<HookDecision>,
    /// Whether they wrote the input, and with it what a person would have answered.
    pub(crate) answered: bool,
    /// Who approved this very input by editing it.
    pub(crate) edited_by: Option<ApprovedBy>,
}

impl Given {
    pub(crate) fn new(input: Value) -> Self {
        let input = without_internal(input);
        Self { input, heard: false, decision: None, answered: false, edited_by: None }
    }

    /// Takes another input in place of the one that was.
    pub(crate) fn replace(&mut self, input: Value) {
        self.input = without_internal(input);
    }
}

/// Fields that some hosts add to an input for their own use: whoever else gives one would be believed what only the host
/// may say (Claude Code, "Bash": the simulated result of `sed -i`).
const INTERNAL: &[&str] = &["_simulatedSedEdit"];

/// The input as anybody may give it; nothing reads the rest.
fn without_internal(mut input: Value) -> Value {
    if let Value::Object(fields) = &mut input {
        fields.retain(|name, _| !INTERNAL.contains(&name.as_str()));
    }
    input
}

/// An input that fits the schema and makes sense.
pub(crate) struct Validated {
    pub(crate) tool: Arc<dyn DynTool>,
    pub(crate) input: Value,
    pub(crate) context: CallContext,
    pub(crate) policy: Arc<Policy>,
}

/// A permitted call.
pub(crate) struct Authorized {
    pub(crate) tool: Arc<dyn DynTool>,
    pub(crate) permit: Permit,
    pub(crate) approval: Option<Approval>,
    pub(crate) context: CallContext,
    pub(crate) input: Value,
    pub(crate) resolution: Resolution,
}

/// A call that ran.
pub(crate) struct Executed {
    pub(crate) tool: Arc<dyn DynTool>,
    pub(crate) input: Value,
    pub(crate) outcome: Result<Rendered, ToolError>,
    pub(crate) approval: Option<Approval>,
    pub(crate) resolution: Resolution,
}

/// A call that ended before it ran.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) step: Step,
    pub(crate) code: String,
    pub(crate) text: String,
    pub(crate) outcome: Outcome,
    pub(crate) resolution: Option<Resolution>,
    pub(crate) stop: Option<StopRequest>,
}

/// A finished call: one result, whatever happened, and what follows from it.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The answer for the model.
    pub result: ToolResult,
    /// The tool's canonical name, or the name given if there is no such tool.
    pub tool: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The last step that was reached.
    pub step: Step,
    /// The stable code of the failure; `None` if it succeeded. Safe for telemetry.
    pub code: Option<String>,
    /// The tool's own data, or what a hook put in its place, for machines; null if it did not succeed.
    pub data: Value,
    /// How long the tool itself ran, without what came before: hooks and questions. `None` if it did not run, or if the
    /// pipeline has no clock.
    pub elapsed: Option<Duration>,
    /// What was decided and why, if it came to that.
    pub resolution: Option<Resolution>,
    /// Messages to append after the results.
    pub messages: Vec<Message>,
    /// Texts of hooks for the person.
    pub notices: Vec<String>,
    /// Changes to the session, to be applied after the batch, in the order of the calls.
    pub changes: Vec<SessionChange>,
    /// Whether the run must stop after this batch.
    pub stop: Option<StopRequest>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran and succeeded.
    Succeeded,
    /// It ran and failed, or its input was not valid.
    Failed,
    /// It was refused, and why.
    Refused(Box<Reason>),
    /// A hook deferred it.
    Deferred,
    /// It was interrupted before or while it ran.
    Interrupted,
}

/// Why the run must stop after a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopRequest {
    /// A person said no without a comment: they want to speak first.
    DeniedByUser,
    /// A hook stopped the run, and why.
    HookStopped(String),
    /// A hook deferred the call.
    Deferred,
}
