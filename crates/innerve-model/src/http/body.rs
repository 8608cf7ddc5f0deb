//! The body of a streamed response: split into events, watched for silence, bounded.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::root;
use crate::sse::Splitter;
use crate::{ErrorClass, ModelError};

/// Bytes of one response at most: far above any model's output, so only a broken server gets there.
const RESPONSE_LIMIT: usize = 256 * 1024 * 1024;
/// How long the end of a finished body is awaited so that its connection can be used again.
const DRAIN_LIMIT: Duration = Duration::from_millis(50);

/// The body of a successful response as events.
pub(crate) struct Body {
    response: reqwest::Response,
    splitter: Splitter,
    queue: VecDeque<String>,
    received: usize,
    idle: Duration,
    deadline: Instant,
    request_id: Option<String>,
}

impl Body {
    pub(super) fn new(
        response: reqwest::Response,
        idle: Duration,
        request_id: Option<String>,
    ) -> Self {
        Self {
            response,
            splitter: Splitter::new(),
            queue: VecDeque::new(),
            received: 0,
            idle,
            deadline: Instant::now() + idle,
            request_id,
        }
    }

    /// The next event's data; `None` at a clean end.
    pub(super) async fn next(&mut self) -> Result<Option<String>, ModelError> {
        loop {
            if let Some(data) = self.queue.pop_front() {
                return Ok(Some(data));
            }
            let chunk = match timeout_at(self.deadline, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(None),
                Ok(Err(error)) => {
                    let cause = root(&error.without_url());
                    return Err(self.error(
                        ErrorClass::Transport,
                        format!("the connection broke while the response came in ({cause})"),
                    ));
                }
                Err(_) => {
                    return Err(self.error(
                        ErrorClass::Stalled,
                        format!("the response stalled: nothing came for {:?}", self.idle),
                    ));
                }
            };
            self.received = self.received.saturating_add(chunk.len());
            let split = self.splitter.push(&chunk).map_err(|error| {
                self.error(
                    ErrorClass::Malformed,
                    format!("an event is larger than {} bytes", error.limit),
                )
            })?;
            if self.received > RESPONSE_LIMIT {
                return Err(self.error(
                    ErrorClass::Malformed,
                    format!("the response is larger than {RESPONSE_LIMIT} bytes"),
                ));
            }
            if split.alive {
                self.deadline = Instant::now() + self.idle;
            }
            self.queue.extend(split.events);
        }
    }

    pub(super) fn error(&self, class: ErrorClass, message: String) -> ModelError {
        self.name(ModelError::new(class, message))
    }

    pub(super) fn name(&self, error: ModelError) -> ModelError {
        match &self.request_id {
            Some(id) if error.request_id().is_none() => error.with_request_id(id),
            Some(_) | None => error,
        }
    }

    /// Reads the rest of a finished body, so that the connection goes back to the pool.
    pub(super) async fn drain(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        let _ended = timeout(DRAIN_LIMIT, rest).await;
    }
}
