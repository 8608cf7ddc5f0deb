//! Stop reasons: why the model stopped writing.

use serde::{Deserialize, Serialize};

/// Why the model stopped (Anthropic Messages API, "stop reasons").
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// It reached the output limit.
    MaxTokens,
    /// It wrote a stop sequence.
    StopSequence,
    /// The provider paused a long turn; the same content is sent back to go on.
    PauseTurn,
    /// It refused.
    Refusal,
    /// The context window was full.
    ModelContextWindowExceeded,
    /// A reason that is not modelled here.
    #[serde(untagged)]
    Other(String),
}
