//! Sends a request again when that can help, and says so.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use innerve_protocol::{BlockKind, Capabilities, ContentBlock, Request, RetryNotice, StreamEvent};

use crate::{ErrorClass, EventStream, Model, ModelError};

/// Attempts that no configuration may exceed.
const MAX_ATTEMPTS: u32 = 15;
/// Retries after a cut while the model was only thinking.
const THINKING_RETRIES: u32 = 2;
/// Retries after a response went silent.
const STALL_RETRIES: u32 = 1;
/// Retries in a row when nobody listens at the address: long enough for a server that restarts.
const REFUSED_RETRIES: u32 = 3;

/// How often and how patiently a request is sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    max_attempts: u32,
    first_wait: Duration,
    longest_backoff: Duration,
    longest_wait: Duration,
    overloaded_limit: Option<u32>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl RetryPolicy {
    /// Ten attempts; half a second doubling up to 32 seconds; no wait above five minutes.
    pub fn new() -> Self {
        Self {
            max_attempts: 10,
            first_wait: Duration::from_millis(500),
            longest_backoff: Duration::from_secs(32),
            longest_wait: Duration::from_mins(5),
            overloaded_limit: None,
        }
    }

    /// Sends at most this often, the first time included; between 1 and 15.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.clamp(1, MAX_ATTEMPTS);
        self
    }

    /// Waits this long after the first failure; each further wait is twice the one before.
    #[must_use]
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Fails at once when the provider asks for a longer wait than this.
    #[must_use]
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Gives up after so many overloads in a row, so that the caller can turn to another model; no limit by default.
    #[must_use]
    pub fn overloaded_limit(mut self, limit: u32) -> Self {
        self.overloaded_limit = Some(limit);
        self
    }

    /// `min(32 s, 500 ms · 2^(attempt − 1)) · (1 + jitter / 4)`; `attempt` counts from 1, `jitter` is in 0..1.
    fn backoff(&self, attempt: u32, jitter: f64) -> Duration {
        let doubled = 2_u32.checked_pow(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = self.first_wait.saturating_mul(doubled).min(self.longest_backoff);
        wait.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 4.0)
    }
}

/// The time and chance that retrying needs; a test's own makes it instant and exact.
pub trait Pace: Send + Sync {
    /// Waits.
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// A number in 0..1.
    fn jitter(&self) -> f64;
}

/// The real clock and real chance.
#[derive(Clone, Copy, Debug, Default)]
struct RealPace;

impl Pace for RealPace {
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(wait))
    }

    fn jitter(&self) -> f64 {
        fastrand::f64()
    }
}

/// Wraps a model so that passing failures are retried.
///
/// A request is sent again only while no text and no tool use of its response is complete, since what was complete may
/// already have been acted on. [`StreamEvent::Retrying`] comes before each wait and voids what came before it.
/// Dropping the stream ends a wait, too.
pub struct Retrying<M> {
    model: Arc<M>,
    policy: RetryPolicy,
    pace: Arc<dyn Pace>,
}

impl<M: Model + 'static> Retrying<M> {
    /// Wraps `model` with the usual policy.
    pub fn new(model: M) -> Self {
        Self { model: Arc::new(model), policy: RetryPolicy::new(), pace: Arc::new(RealPace) }
    }

    /// Retries as `policy` says.
    #[must_use]
    pub fn with_policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Takes time and chance from `pace`.
    #[must_use]
    pub fn with_pace(mut self, pace: impl Pace + 'static) -> Self {
        self.pace = Arc::new(pace);
        self
    }
}

impl<M> fmt::Debug for Retrying<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Retrying").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl<M: Model + 'static> Model for Retrying<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.model.capabilities(model)
    }

    fn stream(&self, request: Request) -> EventStream {
        let run = Run {
            model: Arc::clone(&self.model),
            policy: self.policy.clone(),
            pace: Arc::clone(&self.pace),
            request,
            current: None,
            wait: None,
            progress: Progress::Nothing,
            attempt: 1,
            thinking_cuts: 0,
            stalls: 0,
            refusals: 0,
            overloads: 0,
            ended: false,
        };
        Box::pin(stream::unfold(run, Run::step))
    }
}

/// How far the response of the current attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Nothing,
    Thinking,
    /// Text or a tool use has begun.
    Begun,
    /// Text or a tool use is complete: there is no way back.
    Delivered,
}

struct Run<M> {
    model: Arc<M>,
    policy: RetryPolicy,
    pace: Arc<dyn Pace>,
    request: Request,
    current: Option<EventStream>,
    wait: Option<Duration>,
    progress: Progress,
    attempt: u32,
    thinking_cuts: u32,
    stalls: u32,
    refusals: u32,
    overloads: u32,
    ended: bool,
}

impl<M: Model> Run<M> {
    async fn step(mut self) -> Option<(Result<StreamEvent, ModelError>, Self)> {
        if self.ended {
            return None;
        }
        if let Some(wait) = self.wait.take() {
            self.pace.sleep(wait).await;
        }
        let model = &self.model;
        let request = &self.request;
        let current = self.current.get_or_insert_with(|| model.stream(request.clone()));
        match current.next().await? {
            Ok(event) => {
                self.progress = self.progress.max(progress(&event));
                Some((Ok(event), self))
            }
            Err(error) => {
                self.current = None;
                let Some(wait) = self.plan(&error) else {
                    self.ended = true;
                    return Some((Err(error), self));
                };
                let notice = RetryNotice {
                    attempt: self.attempt,
                    max_attempts: self.last_attempt(&error),
                    delay_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    class: error.code().to_owned(),
                    message: error.message().to_owned(),
                };
                self.attempt += 1;
                self.progress = Progress::Nothing;
                self.wait = Some(wait);
                Some((Ok(StreamEvent::Retrying(notice)), self))
            }
        }
    }

    /// The attempt that will be the last one if it goes on like this.
    fn last_attempt(&self, error: &ModelError) -> u32 {
        let left = if error.class() == ErrorClass::ConnectionRefused {
            (REFUSED_RETRIES + 1).saturating_sub(self.refusals)
        } else if error.class() == ErrorClass::Stalled {
            (STALL_RETRIES + 1).saturating_sub(self.stalls)
        } else {
            u32::MAX
        };
        self.policy.max_attempts.min(self.attempt.saturating_add(left))
    }

    /// How long to wait before the next attempt; `None` if there is none.
    fn plan(&mut self, error: &ModelError) -> Option<Duration> {
        if !error.is_retryable()
            || self.progress == Progress::Delivered
            || self.attempt >= self.policy.max_attempts
        {
            return None;
        }
        if error.class() == ErrorClass::Overloaded {
            self.overloads += 1;
            if self.policy.overloaded_limit.is_some_and(|limit| self.overloads >= limit) {
                return None;
            }
        } else {
            self.overloads = 0;
        }
        if error.class() == ErrorClass::Stalled {
            self.stalls += 1;
            if self.stalls > STALL_RETRIES {
                return None;
            }
        }
        if error.class() == ErrorClass::ConnectionRefused {
            self.refusals += 1;
            if self.refusals > REFUSED_RETRIES {
                return None;
            }
        } else {
            self.refusals = 0;
        }
        let mut exponent = self.attempt;
        if self.progress == Progress::Thinking {
            self.thinking_cuts += 1;
            if self.thinking_cuts > THINKING_RETRIES {
                return None;
            }
            // Quick: the provider was working, only the line was cut.
            exponent = 1;
        }
        let backoff = self.policy.backoff(exponent, self.pace.jitter());
        let wait = error.retry_after().map_or(backoff, |asked| asked.max(backoff));
        (wait <= self.policy.longest_wait).then_some(wait)
    }
}

fn progress(event: &StreamEvent) -> Progress {
    match event {
        StreamEvent::BlockStart { kind: BlockKind::Thinking, .. }
        | StreamEvent::ThinkingDelta { .. }
        | StreamEvent::BlockDone {
            block: ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_),
            ..
        } => Progress::Thinking,
        StreamEvent::BlockStart { .. }
        | StreamEvent::TextDelta { .. }
        | StreamEvent::InputDelta { .. } => Progress::Begun,
        StreamEvent::BlockDone { .. } | StreamEvent::Stop { .. } => Progress::Delivered,
        StreamEvent::Start { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Ping
        | StreamEvent::Retrying(_) => Progress::Nothing,
    }
}

#[cfg(test)]
mod tests;
