//! What stays the same for a whole run.

use crate::AgentTypes;

use crate::ToolSearchMode;

/// Settings of a run; read once, never changed while it lasts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The model's name.
    pub model: String,
    /// Instructions, stable ones first.
    pub system: Vec<String>,
    /// Output tokens per response at most.
    pub max_tokens: u32,
    /// Output tokens per response after a response was cut at `max_tokens`.
    pub escalated_max_tokens: u32,
    /// Rounds of tool uses at most; `None` for no limit.
    pub max_turns: Option<u32>,
    /// US dollars at most, sub-agents included; `None` for no limit.
    pub max_cost_usd: Option<f64>,
    /// Tokens of input and output at most, sub-agents included; `None` for no limit.
    pub max_total_tokens: Option<u64>,
    /// Output tokens that the main conversation should use before it ends; `None` lets the model decide.
    pub token_target: Option<u64>,
    /// Models that answer for the rest of a run, one after the other, when the one before is overloaded or refuses.
    pub fallback_models: Vec<String>,
    /// The types of sub-agent.
    pub agents: AgentTypes,
    /// Whether the main conversation only coordinates: it has sub-agents do all the work, side by side.
    pub coordinator: bool,
    /// Whether a conversation that gets too long is replaced by a summary.
    pub auto_compact: bool,
    /// The type of a sub-agent; `None` for the main conversation.
    pub agent_type: Option<String>,
    /// Safe calls that run at the same time at most.
    pub max_concurrency: usize,
    /// When tools are deferred, if there is a tool that finds them.
    pub tool_search: ToolSearchMode,
    /// Whether a command that fails cancels the calls that run beside it.
    pub bash_failure_cancels: bool,
}

impl AgentConfig {
    /// The usual limits for a model.
    pub fn new(model: impl Into<String>, system: Vec<String>) -> Self {
        Self {
            model: model.into(),
            system,
            max_tokens: 8_000,
            escalated_max_tokens: 64_000,
            max_turns: None,
            max_cost_usd: None,
            agent_type: None,
            max_total_tokens: None,
            token_target: None,
            fallback_models: Vec::new(),
            agents: AgentTypes::default(),
            coordinator: false,
            auto_compact: true,
            max_concurrency: 10,
            tool_search: ToolSearchMode::USUAL,
            bash_failure_cancels: false,
        }
    }
}
