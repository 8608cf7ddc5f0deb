//! Tests of retrying with a scripted model and a clock that does not tick.

use std::sync::Mutex;
use std::task::Poll;

use futures_util::future::poll_fn;
use innerve_protocol::{StopReason, ToolUse, Usage};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[expect(clippy::unnecessary_wraps, reason = "scripts are lists of results")]
mod events {
    use super::*;

    pub(super) fn start() -> Result<StreamEvent, ModelError> {
        Ok(StreamEvent::Start { id: String::new(), model: String::new(), usage: Usage::default() })
    }

    pub(super) fn begins(kind: BlockKind) -> Result<StreamEvent, ModelError> {
        Ok(StreamEvent::BlockStart { index: 0, kind })
    }

    pub(super) fn done(block: ContentBlock) -> Result<StreamEvent, ModelError> {
        Ok(StreamEvent::BlockDone { index: 0, block, invalid_input: None })
    }
}
use events::{begins, done, start};

type Script = Vec<Result<StreamEvent, ModelError>>;

/// Plays one script per attempt and counts the attempts.
struct Scripted(Mutex<std::collections::VecDeque<Script>>);

impl Model for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::anthropic()
    }

    fn stream(&self, _: Request) -> EventStream {
        let script = self.0.lock().unwrap().pop_front().expect("an attempt too many");
        Box::pin(stream::iter(script))
    }
}

/// Remembers the waits instead of waiting.
#[derive(Clone, Default)]
struct Still {
    waits: Arc<Mutex<Vec<Duration>>>,
    jitter: f64,
}

impl Pace for Still {
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.waits.lock().unwrap().push(wait);
        Box::pin(std::future::ready(()))
    }

    fn jitter(&self) -> f64 {
        self.jitter
    }
}

fn request() -> Request {
    serde_json::from_value(json!({"model": "m", "max_tokens": 10, "messages": []})).unwrap()
}

fn fails(class: ErrorClass) -> Result<StreamEvent, ModelError> {
    Err(ModelError::new(class, "failed"))
}

fn answer() -> Script {
    let stop = StreamEvent::Stop { reason: StopReason::EndTurn, details: Map::new() };
    vec![start(), begins(BlockKind::Text), done(ContentBlock::text("hi")), Ok(stop)]
}

struct Outcome {
    events: Script,
    waits: Vec<u64>,
    left: usize,
}

impl Outcome {
    fn error(&self) -> Option<ErrorClass> {
        self.events.last()?.as_ref().err().map(ModelError::class)
    }
}

fn run_with(scripts: Vec<Script>, policy: RetryPolicy) -> Outcome {
    let still = Still::default();
    let model = Arc::new(Scripted(Mutex::new(scripts.into())));
    let retrying = Retrying::new(Arc::clone(&model)).with_policy(policy).with_pace(still.clone());
    let events = block_on(retrying.stream(request()).collect::<Vec<_>>());
    let waits = still.waits.lock().unwrap();
    let waits = waits.iter().map(|wait| u64::try_from(wait.as_millis()).unwrap()).collect();
    let left = model.0.lock().unwrap().len();
    Outcome { events, waits, left }
}

fn run(scripts: Vec<Script>) -> Outcome {
    run_with(scripts, RetryPolicy::new())
}

#[test]
fn a_server_that_is_not_running_is_given_up_soon() {
    let refused = || vec![fails(ErrorClass::ConnectionRefused)];
    let outcome = run((0..6).map(|_| refused()).collect());
    assert_eq!(outcome.error(), Some(ErrorClass::ConnectionRefused));
    assert_eq!((outcome.waits, outcome.left), (vec![500, 1_000, 2_000], 2));
    let told = outcome.events.iter().filter_map(|event| match event {
        Ok(StreamEvent::Retrying(notice)) => Some((notice.attempt, notice.max_attempts)),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(1, 4), (2, 4), (3, 4)]);
    // One that was seen meanwhile is waited for again.
    let mut scripts: Vec<Script> = (0..3).map(|_| refused()).collect();
    scripts.push(vec![fails(ErrorClass::Server)]);
    scripts.extend((0..3).map(|_| refused()));
    scripts.push(answer());
    assert_eq!(run(scripts).error(), None);
}

#[test]
fn waits_double_up_to_32_seconds_over_ten_attempts() {
    let outcome = run(vec![vec![fails(ErrorClass::Server)]; 12]);
    assert_eq!(outcome.waits, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 32_000, 32_000]);
    assert_eq!(outcome.error(), Some(ErrorClass::Server));
    assert_eq!(outcome.left, 2);
}

#[test]
fn a_notice_tells_attempt_wait_and_class() {
    let outcome = run(vec![vec![fails(ErrorClass::Overloaded)], answer()]);
    let Err(error) = fails(ErrorClass::Overloaded) else { panic!("it fails") };
    let notice = RetryNotice {
        attempt: 1,
        max_attempts: 10,
        delay_ms: 500,
        class: "overloaded".to_owned(),
        message: error.message().to_owned(),
    };
    assert_eq!(outcome.events[0], Ok(StreamEvent::Retrying(notice)));
    assert_eq!(outcome.events[1..], answer());
}

#[test]
fn attempts_are_capped_at_fifteen() {
    let policy = RetryPolicy::new().max_attempts(100);
    let outcome = run_with(vec![vec![fails(ErrorClass::Server)]; 20], policy);
    assert_eq!(outcome.left, 5);
}

#[test]
fn what_cannot_change_is_not_retried() {
    for class in [
        ErrorClass::Auth,
        ErrorClass::Billing,
        ErrorClass::Invalid,
        ErrorClass::NotFound,
        ErrorClass::Certificate,
        ErrorClass::Overflow,
        ErrorClass::Media,
        ErrorClass::Cancelled,
        ErrorClass::Replay,
    ] {
        let outcome = run(vec![vec![fails(class)], answer()]);
        assert_eq!((outcome.error(), outcome.left), (Some(class), 1));
    }
}

#[test]
fn a_longer_wait_asked_for_is_kept_and_a_shorter_one_is_not() {
    let asks = |seconds| {
        let wait = Duration::from_secs(seconds);
        vec![Err(ModelError::new(ErrorClass::RateLimit, "slow").with_retry_after(wait))]
    };
    assert_eq!(run(vec![asks(7), answer()]).waits, [7000]);
    assert_eq!(run(vec![asks(0), answer()]).waits, [500]);
    let outcome = run(vec![asks(301), answer()]);
    assert_eq!((outcome.waits, outcome.left), (vec![], 1));
}

#[test]
fn nothing_is_retried_once_text_or_a_tool_use_is_complete() {
    let tool_use = ContentBlock::ToolUse(ToolUse::new("a", "Read", json!({})));
    for block in [ContentBlock::text("hi"), tool_use] {
        let outcome = run(vec![vec![start(), done(block), fails(ErrorClass::Truncated)], answer()]);
        assert_eq!((outcome.error(), outcome.left), (Some(ErrorClass::Truncated), 1));
    }
}

#[test]
fn text_that_was_cut_off_is_asked_for_again() {
    let text = Ok(StreamEvent::TextDelta { index: 0, text: "ab".to_owned() });
    let cut = vec![start(), begins(BlockKind::Text), text, fails(ErrorClass::Overloaded)];
    let outcome = run(vec![cut, answer()]);
    assert_eq!((outcome.error(), outcome.left), (None, 0));
}

#[test]
fn a_cut_while_thinking_is_retried_twice_and_quickly() {
    let thinking = ContentBlock::Thinking(innerve_protocol::ThinkingBlock::default());
    let cut =
        vec![start(), begins(BlockKind::Thinking), done(thinking), fails(ErrorClass::Transport)];
    let outcome = run(vec![cut.clone(), cut.clone(), cut.clone(), cut]);
    assert_eq!((outcome.waits.as_slice(), outcome.left), ([500, 500].as_slice(), 1));
}

#[test]
fn a_silent_stream_is_asked_for_once_more() {
    let outcome = run(vec![vec![start(), fails(ErrorClass::Stalled)]; 4]);
    assert_eq!((outcome.error(), outcome.left), (Some(ErrorClass::Stalled), 2));
}

#[test]
fn a_caller_with_another_model_gets_the_overload_early() {
    let policy = RetryPolicy::new().overloaded_limit(3);
    let overloaded = vec![fails(ErrorClass::Overloaded)];
    let server = vec![fails(ErrorClass::Server)];
    let scripts = vec![
        overloaded.clone(),
        overloaded.clone(),
        server,
        overloaded.clone(),
        overloaded.clone(),
        overloaded.clone(),
        overloaded,
    ];
    let outcome = run_with(scripts, policy);
    assert_eq!((outcome.error(), outcome.left), (Some(ErrorClass::Overloaded), 1));
}

#[test]
fn dropping_the_stream_ends_the_wait() {
    struct Forever;
    impl Pace for Forever {
        fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(std::future::pending())
        }
        fn jitter(&self) -> f64 {
            0.0
        }
    }
    let model =
        Arc::new(Scripted(Mutex::new(vec![vec![fails(ErrorClass::Server)], answer()].into())));
    let retrying = Retrying::new(Arc::clone(&model)).with_pace(Forever);
    let mut events = retrying.stream(request());
    assert!(matches!(block_on(events.next()), Some(Ok(StreamEvent::Retrying(_)))));
    let waiting =
        block_on(poll_fn(|context| Poll::Ready(events.poll_next_unpin(context).is_pending())));
    assert!(waiting);
    drop(events);
    assert_eq!(model.0.lock().unwrap().len(), 1);
}

proptest! {
    #[test]
    fn waits_stay_within_their_bounds(attempt in 1_u32..40, jitter in -1.0..2.0_f64) {
        let wait = RetryPolicy::new().backoff(attempt, jitter).as_secs_f64();
        let plain = (0.5 * 2_f64.powi(i32::try_from(attempt).unwrap() - 1)).min(32.0);
        prop_assert!(wait >= plain - 1e-6 && wait <= plain * 1.25 + 1e-6);
    }
}
