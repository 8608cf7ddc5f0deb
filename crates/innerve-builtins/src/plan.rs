//! The tools of plan mode: `EnterPlanMode` looks before anything is changed, `ExitPlanMode` puts the plan to a person.

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, PermissionMode, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::{CallContext, SessionChange, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Asks the session to go into plan mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnterPlanModeTool;

/// Asks a person to approve a plan, and the session to leave plan mode then.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExitPlanModeTool;

/// What the model gives to [`EnterPlanModeTool`]: nothing.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::empty_structs_with_brackets,
    reason = "it stands for an object without fields; a unit struct stands for null"
)]
pub struct EnterPlanModeInput {}

/// What the model gives to [`ExitPlanModeTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitPlanModeInput {
    /// The plan, in Markdown
    pub plan: String,
}

/// What a tool of plan mode did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlanModeOutput {
    /// The plan that was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// Plan mode belongs to the conversation that a person takes part in.
fn refuse_agents(tool: &str, context: &CallContext) -> Result<(), ToolError> {
    if context.session.agent_id.is_some() {
        let message = format!(
            "a sub-agent cannot use {tool}; give back what you found, and the caller plans"
        );
        return Err(ToolError::invalid(message));
    }
    Ok(())
}

impl Tool for EnterPlanModeTool {
    type Input = EnterPlanModeInput;
    type Output = PlanModeOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "EnterPlanMode"
    }

    fn description(&self) -> String {
        "Begins plan mode, for large changes: read and search, change nothing, until the user approves your plan."
            .to_owned()
    }

    async fn call(
        &self,
        _input: EnterPlanModeInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<PlanModeOutput>, ToolError> {
        let mut output = ToolOutput::new(PlanModeOutput { plan: None });
        output.changes.push(SessionChange::SetMode(PermissionMode::Plan));
        Ok(output)
    }

    fn render(&self, _output: &PlanModeOutput) -> ToolResultContent {
        "Plan mode has begun. Read and search until you know what to do; change nothing. Then call ExitPlanMode with the \
         plan."
            .into()
    }

    async fn validate(
        &self,
        _input: &EnterPlanModeInput,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        refuse_agents(self.name(), context)?;
        if context.session.mode == PermissionMode::Plan {
            return Err(ToolError::invalid("this is plan mode already; go on planning"));
        }
        Ok(())
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn search_hint(&self) -> &'static str {
        "plan before changing anything"
    }

    fn classifier_input(&self, _input: &EnterPlanModeInput) -> String {
        "begin plan mode".to_owned()
    }
}

impl Tool for ExitPlanModeTool {
    type Input = ExitPlanModeInput;
    type Output = PlanModeOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "ExitPlanMode"
    }

    fn description(&self) -> String {
        "In plan mode, shows your plan to the user; once they approve it, plan mode ends."
            .to_owned()
    }

    async fn call(
        &self,
        input: ExitPlanModeInput,
        _approved: Option<Preview>,
        _context: CallContext<()>,
    ) -> Result<ToolOutput<PlanModeOutput>, ToolError> {
        let mut output = ToolOutput::new(PlanModeOutput { plan: Some(input.plan) });
        output.changes.push(SessionChange::LeavePlan);
        Ok(output)
    }

    fn render(&self, output: &PlanModeOutput) -> ToolResultContent {
        // The plan may have been edited by whoever approved it.
        let plan = output.plan.as_deref().unwrap_or_default();
        format!("The user approved this plan, and plan mode has ended. Carry it out now:\n\n{plan}")
            .into()
    }

    async fn validate(
        &self,
        input: &ExitPlanModeInput,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        refuse_agents(self.name(), context)?;
        if context.session.mode != PermissionMode::Plan {
            return Err(ToolError::invalid(
                "this is not plan mode, so there is nothing to leave; go on with the work",
            ));
        }
        if input.plan.trim().is_empty() {
            return Err(ToolError::invalid("the plan is empty; say what you are going to do"));
        }
        Ok(())
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn requires_user_interaction(&self) -> bool {
        true
    }

    fn search_hint(&self) -> &'static str {
        "approve a plan, leave plan mode"
    }

    fn classifier_input(&self, input: &ExitPlanModeInput) -> String {
        input.plan.clone()
    }
}
