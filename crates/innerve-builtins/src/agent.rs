//! The Agent tool: hands a task to a sub-agent and gives back its last words.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, PermissionMode, Preview};
use innerve_protocol::{AgentId, ToolResultContent, Usage};
use innerve_tool::port::{
    AgentType, Isolation, SubagentError, SubagentOutcome, SubagentRequest, SubagentSpawner, TaskId,
};
use innerve_tool::{
    CallContext, Tool, ToolError, ToolOutput, code as tool_code, without_reminders,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{code, paths};

/// Starts sub-agents.
#[derive(Clone)]
pub struct AgentTool {
    spawner: Arc<dyn SubagentSpawner>,
}

/// What the model gives to [`AgentTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentInput {
    /// The task in 3 to 5 words
    pub description: String,
    /// The task, with all that the agent must know
    pub prompt: String,
    /// The type of agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<String>,
    /// Another model than yours
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Return at once; you are told when it is done
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_in_background: Option<bool>,
    /// Permission mode, no wider than yours
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Work in a git worktree of its own
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationKind>,
    /// Directory to work in (not with isolation)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Where a sub-agent may be told to work, apart from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = crate::schema::plain_enum)]
pub enum IsolationKind {
    /// In a git worktree of its own.
    Worktree,
}

/// How a sub-agent ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum AgentOutput {
    /// It ran to its end.
    Completed {
        /// Its id.
        agent_id: AgentId,
        /// Its last words.
        content: String,
        /// How it ended, if not by being done.
        note: Option<String>,
        /// How many tools it used.
        total_tool_use_count: u32,
        /// How long it took, in milliseconds.
        total_duration_ms: u64,
        /// The tokens it cost.
        total_tokens: u64,
        /// The tokens by kind.
        usage: Usage,
    },
    /// It goes on in the background.
    Launched {
        /// Its id.
        agent_id: AgentId,
        /// The task it is registered as.
        task_id: TaskId,
    },
}

impl AgentTool {
    /// Starts agents with `spawner`.
    pub fn new(spawner: Arc<dyn SubagentSpawner>) -> Self {
        Self { spawner }
    }

    fn request<P>(
        &self,
        input: &AgentInput,
        context: &CallContext<P>,
    ) -> Result<SubagentRequest, ToolError> {
        if input.prompt.trim().is_empty() {
            return Err(ToolError::invalid("the prompt is empty; say what the agent shall do"));
        }
        let isolation = match (&input.isolation, &input.cwd) {
            (Some(IsolationKind::Worktree), Some(_)) => {
                return Err(ToolError::invalid(
                    "isolation and cwd exclude each other: a worktree is a directory of its own",
                ));
            }
            (Some(IsolationKind::Worktree), None) => Isolation::Worktree,
            (None, Some(cwd)) => Isolation::Directory(paths::checked(cwd, context)?),
            (None, None) => Isolation::None,
        };
        let mode = match &input.mode {
            Some(mode) => Some(
                mode.parse::<PermissionMode>()
                    .map_err(|error| ToolError::invalid(error.to_string()))?,
            ),
            None => None,
        };
        let agent_type = match &input.subagent_type {
            Some(name) => Some(self.known_type(name)?),
            None => None,
        };
        Ok(SubagentRequest {
            description: input.description.clone(),
            prompt: input.prompt.clone(),
            agent_type,
            model: input.model.clone(),
            mode,
            background: input.run_in_background.unwrap_or(false),
            isolation,
        })
    }

    /// The type's name as it is spelt; models vary its case.
    fn known_type(&self, name: &str) -> Result<String, ToolError> {
        let types = self.spawner.agent_types();
        let exact = types.iter().find(|known| known.name == name);
        let any_case = || types.iter().find(|known| known.name.eq_ignore_ascii_case(name.trim()));
        if let Some(known) = exact.or_else(any_case) {
            return Ok(known.name.clone());
        }
        let available = types.into_iter().map(|known| known.name).collect();
        Err(failed(&SubagentError::UnknownType { name: name.to_owned(), available }))
    }
}

fn failed(error: &SubagentError) -> ToolError {
    let code = match error {
        SubagentError::Interrupted => tool_code::INTERRUPTED,
        SubagentError::UnknownType { .. } => tool_code::INVALID,
        SubagentError::Limit(_) | SubagentError::Unsupported(_) | SubagentError::Failed(_) | _ => {
            code::AGENT
        }
    };
    ToolError::new(code, error.to_string())
}

impl std::fmt::Debug for AgentTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AgentTool").finish_non_exhaustive()
    }
}

impl Tool for AgentTool {
    type Input = AgentInput;
    type Output = AgentOutput;
    type Progress = Value;

    fn name(&self) -> &'static str {
        "Agent"
    }

    fn aliases(&self) -> &[&str] {
        &["Task"]
    }

    fn description(&self) -> String {
        let mut text = "Hands a task to a sub-agent that starts without your conversation and answers once, to you \
                        alone. Use it for searches and side tasks whose details you need not see."
            .to_owned();
        let types = self.spawner.agent_types();
        if !types.is_empty() {
            text.push_str(" Types:");
            for AgentType { name, description } in types {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n- {name}: {description}");
            }
        }
        text
    }

    async fn call(
        &self,
        input: AgentInput,
        _approved: Option<Preview>,
        context: CallContext<Value>,
    ) -> Result<ToolOutput<AgentOutput>, ToolError> {
        let request = self.request(&input, &context)?;
        let outcome = self.spawner.spawn(request, context).await.map_err(|error| failed(&error))?;
        Ok(ToolOutput::new(match outcome {
            SubagentOutcome::Completed { agent_id, text, note, tool_uses, duration, usage } => {
                AgentOutput::Completed {
                    agent_id,
                    content: without_reminders(&text),
                    note: note.map(|note| without_reminders(&note)),
                    total_tool_use_count: tool_uses,
                    total_duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                    total_tokens: usage
                        .total_input()
                        .saturating_add(usage.output_tokens.unwrap_or_default()),
                    usage,
                }
            }
            SubagentOutcome::Launched { agent_id, task_id } => {
                AgentOutput::Launched { agent_id, task_id }
            }
        }))
    }

    fn render(&self, output: &AgentOutput) -> ToolResultContent {
        match output {
            AgentOutput::Completed {
                agent_id,
                content,
                note,
                total_tool_use_count,
                total_duration_ms,
                total_tokens,
                usage: _,
            } => {
                let mut text =
                    if content.trim().is_empty() { "(the agent said nothing)" } else { content }
                        .to_owned();
                if let Some(note) = note {
                    let _ = write!(text, "\n\n[Note: {note}]");
                }
                let seconds = Duration::from_millis(*total_duration_ms).as_secs_f64();
                let _ = write!(
                    text,
                    "\n\nagentId: {agent_id}\nusage: {total_tokens} tokens, {total_tool_use_count} tool uses, {seconds:.1} s"
                );
                text.into()
            }
            AgentOutput::Launched { agent_id, task_id } => format!(
                "The agent works in the background as task {}; you are told when it is done. Do not wait for it.\n\nagentId: {agent_id}",
                task_id.as_str()
            )
            .into(),
        }
    }

    async fn validate(&self, input: &AgentInput, context: &CallContext) -> Result<(), ToolError> {
        self.request(input, context).map(drop)
    }

    fn prepare(&self, input: &mut Value, context: &CallContext) {
        paths::prepare_field(input, "cwd", context);
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn classifier_input(&self, input: &AgentInput) -> String {
        format!("{}: {}", input.description, input.prompt)
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }
}
