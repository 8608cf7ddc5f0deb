//! What stays the same for a whole run.

/// Settings of a run; read once, never changed while it lasts.
#[derive(Clone, Debug)]
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
    /// Safe calls that run at the same time at most.
    pub max_concurrency: usize,
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
            max_concurrency: 10,
        }
    }
}
