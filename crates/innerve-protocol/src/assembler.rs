//! Folds wire events into finished blocks.

use thiserror::Error;

use crate::{StreamEvent, WireError, WireEvent};

/// Folds the wire events of one response into [`StreamEvent`]s.
#[derive(Debug, Default)]
pub struct Assembler {}

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The provider gave up.
    #[error("the provider reported `{}`: {}", .0.kind, .0.message)]
    Provider(WireError),
    /// The stream ended before the response was complete.
    #[error("the stream ended before the response was complete; what had arrived in full was kept")]
    Truncated,
    /// The events make no sense.
    #[error("the provider sent a malformed stream: {0}")]
    Malformed(String),
}

impl Assembler {
    /// A fresh assembler for one response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next wire event and returns what the loop should see.
    pub fn push(&mut self, event: WireEvent) -> Result<Vec<StreamEvent>, StreamError> {
        let _ = event;
        Ok(Vec::new())
    }

    /// Says that the body ended.
    pub fn finish(&mut self) -> Result<Vec<StreamEvent>, StreamError> {
        Ok(Vec::new())
    }
}
