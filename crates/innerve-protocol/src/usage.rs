//! Usage: tokens that a response cost.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Tokens of one response; `None` is "not told". Counts within a stream are cumulative (Anthropic Messages API, "streaming").
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input tokens written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_creation_input_tokens: Option<u64>,
    /// Input tokens read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<u64>,
    /// Fields that are not modelled here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Usage {
    /// Overwrites what `later` tells; what it does not tell stays.
    pub fn update(&mut self, later: &Self) {
        let take = |field: &mut Option<u64>, new: Option<u64>| *field = new.or(*field);
        take(&mut self.input_tokens, later.input_tokens);
        take(&mut self.output_tokens, later.output_tokens);
        take(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        take(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        for (key, value) in &later.extra {
            if !value.is_null() {
                self.extra.insert(key.clone(), value.clone());
            }
        }
    }

    /// Adds another response's tokens, for totals over a session.
    pub fn add(&mut self, other: &Self) {
        let sum = |field: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *field = Some(field.unwrap_or_default().saturating_add(more));
            }
        };
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens);
        sum(&mut self.cache_read_input_tokens, other.cache_read_input_tokens);
    }

    /// All input tokens, cached ones included.
    pub fn total_input(&self) -> u64 {
        [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens]
            .into_iter()
            .flatten()
            .fold(0, u64::saturating_add)
    }
}
