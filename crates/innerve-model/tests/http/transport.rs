//! Connections: timeouts, silence, redirects, reuse, cancellation.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use innerve_model::{Anthropic, Endpoint, ErrorClass, Model as _, ModelError};
use innerve_protocol::StreamEvent;
use serde_json::json;

use crate::server::{Reply, Server, asks, collect, event, messages_response};

fn endpoint(server: &Server) -> Endpoint {
    Endpoint::new(&server.url)
        .api_key("sk-test-key", "ANTHROPIC_API_KEY")
        .idle_timeout(Duration::from_millis(300))
}

async fn failure(endpoint: Endpoint) -> ModelError {
    let model = Anthropic::new(endpoint).unwrap();
    collect(model.stream(asks("hi"))).await.1.expect("the request fails")
}

fn start() -> String {
    messages_response(&[], "end_turn").split_inclusive("\n\n").next().unwrap().to_owned()
}

#[tokio::test]
async fn a_silent_stream_is_given_up() {
    let server = Server::start([Reply::stream(start()).then_stall()]).await;
    let before = Instant::now();
    let error = failure(endpoint(&server)).await;
    assert_eq!((error.class(), error.code()), (ErrorClass::Stalled, "stream_stalled"));
    assert!(
        before.elapsed() >= Duration::from_millis(300) && before.elapsed() < Duration::from_secs(5)
    );
}

#[tokio::test]
async fn bytes_that_make_no_line_are_no_sign_of_life() {
    let mut reply = Reply::stream(start());
    for _ in 0..8 {
        reply = reply.then("data: x").then_pause(100);
    }
    let server = Server::start([reply.then_stall()]).await;
    assert_eq!(failure(endpoint(&server)).await.class(), ErrorClass::Stalled);
}

#[tokio::test]
async fn pings_and_comments_keep_a_thinking_model_alive() {
    for sign in [event(&json!({"type": "ping"})), ": working\n\n".to_owned()] {
        let body = messages_response(&[], "end_turn");
        let (first, rest) = body.split_at(start().len());
        let mut reply = Reply::stream(first);
        for _ in 0..6 {
            reply = reply.then_pause(250).then(&sign);
        }
        let server = Server::start([reply.then(rest)]).await;
        let endpoint = endpoint(&server).idle_timeout(Duration::from_secs(1));
        let (_, error) = collect(Anthropic::new(endpoint).unwrap().stream(asks("hi"))).await;
        assert_eq!(error, None);
    }
}

#[tokio::test]
async fn a_complete_response_ends_at_once_even_if_the_connection_lingers() {
    let server =
        Server::start([Reply::stream(messages_response(&[], "end_turn")).then_stall()]).await;
    let before = Instant::now();
    let endpoint = endpoint(&server).idle_timeout(Duration::from_mins(1));
    let (_, error) = collect(Anthropic::new(endpoint).unwrap().stream(asks("hi"))).await;
    assert_eq!(error, None);
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
}

#[tokio::test]
async fn a_slow_first_byte_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let error = failure(Endpoint::new(url).response_timeout(Duration::from_millis(100))).await;
    assert_eq!(error.class(), ErrorClass::Timeout);
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_password() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = failure(Endpoint::new(format!("http://user:hunter2@{address}"))).await;
    assert_eq!(error.class(), ErrorClass::ConnectionRefused);
    let text = format!("{error} {error:?}");
    assert!(text.contains(&address.to_string()) && text.contains("check the base URL"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let elsewhere = Server::start([]).await;
    let server = Server::start([Reply::error(307, "").header("location", &elsewhere.url)]).await;
    let error = failure(endpoint(&server)).await;
    assert_eq!((error.class(), error.http_status()), (ErrorClass::Invalid, Some(307)));
    assert_eq!(elsewhere.seen().len(), 0);
}

#[tokio::test]
async fn one_connection_serves_many_requests_even_of_a_caller_that_stops_at_the_stop() {
    let server =
        Server::start((0..4).map(|_| Reply::stream(messages_response(&[], "end_turn")).chunk(1)))
            .await;
    let model = Anthropic::new(endpoint(&server)).unwrap();
    for _ in 0..4 {
        let mut events = model.stream(asks("hi"));
        while !matches!(events.next().await, Some(Ok(StreamEvent::Stop { .. }))) {}
    }
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [1, 1, 1, 1]);
}

#[tokio::test]
async fn dropping_the_stream_hangs_up() {
    let server = Server::start([Reply::stream(start()).then_stall()]).await;
    let mut events = Anthropic::new(endpoint(&server)).unwrap().stream(asks("hi"));
    assert!(matches!(events.next().await, Some(Ok(StreamEvent::Start { .. }))));
    drop(events);
    for _ in 0..100 {
        if server.hung_up() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server still holds the connection");
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let server = Server::start([]).await;
    let events = Anthropic::new(endpoint(&server)).unwrap().stream(asks("hi"));
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(events);
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_server_without_tls_is_a_transport_error() {
    let server = Server::start([]).await;
    let error = failure(Endpoint::new(server.url.replace("http:", "https:"))).await;
    assert_eq!(error.class(), ErrorClass::Transport);
}

#[test]
fn bad_settings_are_told_before_any_request() {
    let class =
        |endpoint: Endpoint| Anthropic::new(endpoint).map(drop).map_err(|error| error.class());
    assert_eq!(class(Endpoint::new("not a url")), Err(ErrorClass::Invalid));
    assert_eq!(class(Endpoint::new("http://x").header("bad name", "x")), Err(ErrorClass::Invalid));
    assert_eq!(class(Endpoint::new("http://x").header("x", "a\nb")), Err(ErrorClass::Invalid));
    let error = Anthropic::new(Endpoint::new("http://x").api_key("a\nb", "MY_KEY")).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Auth);
    assert!(error.message().contains("MY_KEY"), "{error}");
}
