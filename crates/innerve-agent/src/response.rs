//! One response of the model: read block by block, tools started as soon as they are complete.

use std::time::Duration;

use futures_util::StreamExt as _;
use innerve_model::{ErrorClass, ModelError};
use innerve_pipeline::Requested;
use innerve_protocol::{ContentBlock, Request, StopReason, StreamEvent, Usage};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use crate::executor::Executor;
use crate::looping::Looping;
use crate::{AgentEvent, LogError, telemetry};

/// After so long without a sign of life a person is told.
const SILENCE: Duration = Duration::from_secs(45);

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Response {
    /// The blocks that were complete, in order.
    pub(crate) blocks: Vec<ContentBlock>,
    /// Why the model stopped; `None` if the stream broke or was stopped.
    pub(crate) stop: Option<(StopReason, Map<String, Value>)>,
    /// What it cost.
    pub(crate) usage: Usage,
    /// Why the stream broke.
    pub(crate) error: Option<ModelError>,
    /// Whether a person stopped it.
    pub(crate) interrupted: bool,
}

/// The silence that an event announces.
fn pause(event: &StreamEvent) -> Duration {
    match event {
        StreamEvent::Retrying(notice) => Duration::from_millis(notice.delay_ms),
        StreamEvent::Start { .. }
        | StreamEvent::BlockStart { .. }
        | StreamEvent::TextDelta { .. }
        | StreamEvent::ThinkingDelta { .. }
        | StreamEvent::InputDelta { .. }
        | StreamEvent::BlockDone { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Stop { .. }
        | StreamEvent::Ping => Duration::ZERO,
    }
}

impl Looping<'_> {
    /// Sends the request and reads the response to its end, while tools already run.
    pub(crate) async fn respond(
        &mut self,
        request: Request,
        executor: &mut Executor,
    ) -> Result<Response, LogError> {
        let mut stream = self.env.model.stream(request);
        let mut response = Response {
            blocks: Vec::new(),
            stop: None,
            usage: Usage::default(),
            error: None,
            interrupted: false,
        };
        let mut warn_at = Some(Instant::now() + SILENCE);
        loop {
            let cancellation = self.cancellation.clone();
            let warn = warn_at.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                () = cancellation.cancelled() => {
                    response.interrupted = true;
                    break;
                }
                Some(ended) = executor.next(), if executor.is_running() => self.ended(executor, ended).await?,
                event = stream.next() => match event {
                    Some(Ok(event)) => {
                        warn_at = Some(Instant::now() + SILENCE + pause(&event));
                        let is_stop = matches!(event, StreamEvent::Stop { .. });
                        self.take(event, &mut response, executor).await?;
                        if is_stop {
                            break;
                        }
                    }
                    Some(Err(error)) => {
                        response.error = Some(error);
                        break;
                    }
                    None => {
                        response.error = Some(ModelError::new(
                            ErrorClass::Truncated,
                            "the model's response ended before it was complete",
                        ));
                        break;
                    }
                },
                () = sleep_until(warn), if warn_at.is_some() => {
                    warn_at = None;
                    let text = format!("nothing has come from the model for {} s", SILENCE.as_secs());
                    self.tell(AgentEvent::Warning(text)).await;
                }
            }
        }
        Ok(response)
    }

    async fn take(
        &mut self,
        event: StreamEvent,
        response: &mut Response,
        executor: &mut Executor,
    ) -> Result<(), LogError> {
        match event {
            StreamEvent::Start { usage, .. } | StreamEvent::Usage(usage) => {
                response.usage.update(&usage);
            }
            StreamEvent::TextDelta { text, .. } => self.tell(AgentEvent::Text(text)).await,
            StreamEvent::ThinkingDelta { thinking, .. } => {
                self.tell(AgentEvent::Thinking(thinking)).await;
            }
            StreamEvent::BlockDone { block, invalid_input, .. } => {
                let block = match block {
                    ContentBlock::ToolUse(mut tool_use) => {
                        let new_id = std::sync::Arc::clone(&self.env.new_id);
                        self.conversation.adopt(&mut tool_use, new_id.as_ref());
                        executor.add(Requested { tool_use: tool_use.clone(), invalid_input });
                        self.start_tools(executor).await?;
                        ContentBlock::ToolUse(tool_use)
                    }
                    other @ (ContentBlock::Text(_)
                    | ContentBlock::Image(_)
                    | ContentBlock::Thinking(_)
                    | ContentBlock::RedactedThinking(_)
                    | ContentBlock::ToolResult(_)
                    | ContentBlock::ToolReference(_)
                    | ContentBlock::Unknown(_)) => other,
                };
                response.blocks.push(block);
            }
            StreamEvent::Stop { reason, details } => response.stop = Some((reason, details)),
            StreamEvent::Retrying(notice) => {
                // The provider's contract is that no tool use was complete; one that was has started and stays.
                response.blocks.retain(|block| block.as_tool_use().is_some());
                response.usage = Usage::default();
                telemetry::retrying(&notice);
                self.tell(AgentEvent::Retrying(notice)).await;
            }
            StreamEvent::BlockStart { .. } | StreamEvent::InputDelta { .. } | StreamEvent::Ping => {
            }
        }
        Ok(())
    }
}
