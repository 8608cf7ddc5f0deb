//! The port: what the agent loop asks of a model, whatever speaks behind it.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use innerve_protocol::{Capabilities, Request, StreamEvent};

use crate::ModelError;

/// The events of one response; dropping it cancels the request.
///
/// After an error or after [`StreamEvent::Stop`] nothing more comes.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ModelError>> + Send>>;

/// A source of model responses.
///
/// Object-safe: the loop holds an `Arc<dyn Model>`. Implementations send nothing before the stream is polled.
pub trait Model: Send + Sync {
    /// Names the provider, such as `anthropic`; for messages and telemetry.
    fn name(&self) -> &str;

    /// Says what the model of that name can take.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// Asks for one response.
    fn stream(&self, request: Request) -> EventStream;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        (**self).capabilities(model)
    }

    fn stream(&self, request: Request) -> EventStream {
        (**self).stream(request)
    }
}
