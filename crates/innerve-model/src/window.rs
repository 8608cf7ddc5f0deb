//! A context window that somebody knows better than the provider does.

use innerve_protocol::{Capabilities, Request};

use crate::{EventStream, Model};

/// A model whose context window is told by whoever set it up, as for a model on one's own machine.
///
/// Answers take a quarter of the window at most, since a server refuses what does not fit with the input.
///
/// ```
/// # #[cfg(feature = "replay")] {
/// use innerve_model::{Model as _, Recording, Replay, Windowed};
///
/// let recording = Recording::parse(r#"{"format":"innerve-recording","version":1,"model":"local"}"#)?;
/// let model = Windowed::new(Replay::new(recording), 32_768);
/// assert_eq!(model.capabilities("local").context_window, 32_768);
/// assert_eq!(model.capabilities("local").max_output_tokens, 8_192);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Windowed<M> {
    model: M,
    tokens: u64,
}

impl<M> Windowed<M> {
    /// `model`, which takes `tokens` of input and output together.
    pub fn new(model: M, tokens: u64) -> Self {
        Self { model, tokens }
    }
}

impl<M: Model> Model for Windowed<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let known = self.model.capabilities(model);
        let quarter = u32::try_from(self.tokens / 4).unwrap_or(u32::MAX).max(1);
        Capabilities {
            context_window: self.tokens,
            max_output_tokens: known.max_output_tokens.min(quarter),
            ..known
        }
    }

    fn stream(&self, request: Request) -> EventStream {
        self.model.stream(request)
    }
}
