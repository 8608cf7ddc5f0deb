//! Retrying against a server that fails.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use innerve_model::{Anthropic, Endpoint, ErrorClass, Model as _, Pace, RetryPolicy, Retrying};
use innerve_protocol::{ContentBlock, StreamEvent};
use serde_json::json;

use crate::server::{Reply, Server, asks, block_events, blocks, collect, event, messages_response};

#[derive(Clone, Default)]
struct Still(Arc<Mutex<Vec<Duration>>>);

impl Pace for Still {
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.0.lock().unwrap().push(wait);
        Box::pin(std::future::ready(()))
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

fn anthropic(server: &Server) -> Anthropic {
    Anthropic::new(Endpoint::new(&server.url).idle_timeout(Duration::from_secs(1))).unwrap()
}

fn hello() -> Reply {
    Reply::stream(messages_response(&[json!({"type": "text", "text": "hello"})], "end_turn"))
}

struct Outcome {
    events: Vec<StreamEvent>,
    error: Option<ErrorClass>,
    waits: Vec<Duration>,
    requests: usize,
}

async fn run(replies: Vec<Reply>) -> Outcome {
    let server = Server::start(replies).await;
    let still = Still::default();
    let model = Retrying::new(anthropic(&server)).with_pace(still.clone());
    let (events, error) = collect(model.stream(asks("hi"))).await;
    let waits = still.0.lock().unwrap().clone();
    Outcome {
        events,
        error: error.map(|error| error.class()),
        waits,
        requests: server.seen().len(),
    }
}

#[tokio::test]
async fn f22_the_wait_that_a_429_asks_for_is_kept() {
    let busy = |name: &str, value: &str| {
        Reply::api_error(429, "rate_limit_error", "slow").header(name, value)
    };
    let outcome =
        run(vec![busy("retry-after", "7"), busy("retry-after-ms", "1500"), hello()]).await;
    assert_eq!(outcome.waits, [Duration::from_secs(7), Duration::from_millis(1500)]);
    assert_eq!((outcome.error, outcome.requests), (None, 3));

    let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_mins(1));
    let outcome = run(vec![busy("retry-after", &date), hello()]).await;
    assert!(
        outcome.waits[0] > Duration::from_secs(50) && outcome.waits[0] <= Duration::from_mins(1)
    );
}

#[tokio::test]
async fn f23_a_400_is_not_asked_again() {
    let outcome = run(vec![Reply::api_error(400, "invalid_request_error", "bad"), hello()]).await;
    assert_eq!((outcome.error, outcome.requests), (Some(ErrorClass::Invalid), 1));
}

#[tokio::test]
async fn the_servers_word_on_retrying_counts() {
    let says = |status, word: &str| Reply::error(status, "").header("x-should-retry", word);
    assert_eq!(run(vec![says(500, "false"), hello()]).await.requests, 1);
    assert_eq!(run(vec![says(400, "true"), hello()]).await.requests, 2);
}

#[tokio::test]
async fn f9_an_overload_inside_the_stream_is_retried_without_doubling_text() {
    let body = messages_response(&[json!({"type": "text", "text": "hello"})], "end_turn");
    let cut = body[..body.find("event: content_block_stop").unwrap()].to_owned();
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let outcome = run(vec![Reply::stream(cut + &event(&error)), hello()]).await;
    assert_eq!((outcome.error, outcome.requests), (None, 2));
    assert_eq!(blocks(&outcome.events), [ContentBlock::text("hello")]);
    let voided =
        outcome.events.iter().position(|event| matches!(event, StreamEvent::Retrying(_))).unwrap();
    let after = &outcome.events[voided..];
    assert!(matches!(&after[0], StreamEvent::Retrying(notice) if notice.class == "overloaded"));
    let text: String = after
        .iter()
        .filter_map(|event| {
            if let StreamEvent::TextDelta { text, .. } = event { Some(text.as_str()) } else { None }
        })
        .collect();
    assert_eq!(text, "hello");
}

#[tokio::test]
async fn nothing_is_retried_after_a_finished_tool_use() {
    let start =
        messages_response(&[], "end_turn").split_inclusive("\n\n").next().unwrap().to_owned();
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}});
    let outcome =
        run(vec![Reply::stream(start + &block_events(0, &block)).then_reset(), hello()]).await;
    assert_eq!((outcome.error, outcome.requests), (Some(ErrorClass::Transport), 1));
    assert_eq!(blocks(&outcome.events).len(), 1);
}

#[tokio::test]
async fn a_reset_and_a_stall_are_asked_again() {
    let start =
        messages_response(&[], "end_turn").split_inclusive("\n\n").next().unwrap().to_owned();
    let outcome = run(vec![Reply::stream(start.clone()).then_reset(), hello()]).await;
    assert_eq!((outcome.error, outcome.requests), (None, 2));
    let outcome = run(vec![Reply::stream(start.clone()).then_stall(), hello()]).await;
    assert_eq!((outcome.error, outcome.requests), (None, 2));
    let outcome = run(vec![
        Reply::stream(start.clone()).then_stall(),
        Reply::stream(start).then_stall(),
        hello(),
    ])
    .await;
    assert_eq!((outcome.error, outcome.requests), (Some(ErrorClass::Stalled), 2));
}

#[tokio::test]
async fn real_time_passes_between_attempts() {
    let busy = || Reply::api_error(529, "overloaded_error", "Overloaded");
    let server = Server::start([busy(), busy(), hello()]).await;
    let policy = RetryPolicy::new().first_wait(Duration::from_millis(40));
    let model = Retrying::new(anthropic(&server)).with_policy(policy);
    let before = Instant::now();
    let (events, error) = collect(model.stream(asks("hi"))).await;
    assert_eq!(error, None);
    assert!(before.elapsed() >= Duration::from_millis(120));
    let waits: Vec<u64> = events
        .iter()
        .filter_map(|event| {
            if let StreamEvent::Retrying(notice) = event { Some(notice.delay_ms) } else { None }
        })
        .collect();
    assert!(matches!(waits[..], [40..=50, 80..=100]), "{waits:?}");
}
