//! HTTP hooks against a real server on this machine.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use innerve_hooks::{HookSession, Hooks};
use innerve_permission::{Layer, RuleSource};
use innerve_pipeline::{HookDecision, HookEventName, HookOutcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::{Ground, pre};

/// A server that answers every request with the same bytes, and notes what it was sent.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn new(answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        let answer = answer.into();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read_request(&mut stream).await;
                noted.lock().unwrap().push(request);
                let _gone = stream.write_all(&answer).await;
                if answer.is_empty() {
                    tokio::time::sleep(Duration::from_mins(1)).await;
                }
            }
        });
        Self { url, requests }
    }

    fn request(&self) -> String {
        self.requests.lock().unwrap().first().cloned().unwrap_or_default()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).await.unwrap_or(0);
        bytes.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted = head.to_lowercase().split("content-length: ").nth(1).and_then(|rest| {
            rest.split("\r\n").next().and_then(|number| number.parse::<usize>().ok())
        });
        if length == 0 || wanted.is_none_or(|wanted| body.len() >= wanted) {
            return text;
        }
    }
}

fn response(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn entry(url: &str) -> Value {
    json!({"type": "http", "url": url, "timeout": 10})
}

async fn answered(answer: impl Into<Vec<u8>>) -> HookOutcome {
    let server = Server::new(answer).await;
    let ground = Ground::new();
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry(&server.url)]);
    ground.before(&hooks, "ls").await
}

#[track_caller]
fn assert_told(outcome: &HookOutcome, words: &str) {
    let silent = HookOutcome { messages: Vec::new(), ..outcome.clone() };
    assert_eq!(silent, HookOutcome::default());
    assert!(outcome.messages[0].contains(words), "{words}: {outcome:?}");
}

fn denial() -> String {
    pre(&json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}))
}

#[tokio::test]
async fn the_event_is_posted_and_the_json_of_the_answer_decides() {
    let server = Server::new(response("200 OK", &denial())).await;
    let ground = Ground::new();
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry(&server.url)]);
    let outcome = ground.before(&hooks, "ls").await;
    assert_eq!(outcome.decision, Some(HookDecision::Deny("no".to_owned())));

    let request = server.request();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /hook HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let told: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&told["hook_event_name"], &told["tool_input"]["command"]),
        (&json!("PreToolUse"), &json!("ls"))
    );
}

#[tokio::test]
async fn an_empty_answer_decides_nothing() {
    assert_eq!(answered(response("204 No Content", "")).await, HookOutcome::default());
    assert_eq!(answered(response("200 OK", "  ")).await, HookOutcome::default());
}

#[tokio::test]
async fn any_other_answer_is_an_error_that_blocks_nothing() {
    assert_told(&answered(response("200 OK", "fine")).await, "something else than JSON");
    assert_told(&answered(response("200 OK", "{\"half")).await, "documented form");
    assert_told(&answered(response("500 Oops", &denial())).await, "status 500");
    assert_told(&answered(response("403 Forbidden", &denial())).await, "status 403");
    assert_told(
        &answered("HTTP/1.1 200 OK\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{").await,
        "got no answer",
    );
    assert_told(&answered("nonsense\r\n\r\n").await, "got no answer");
    let long = format!("{{\"systemMessage\": \"{}\"}}", "x".repeat(2_000_000));
    assert_told(&answered(response("200 OK", &long)).await, "more than 1048576 bytes");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::new(response("200 OK", &denial())).await;
    let moved =
        format!("HTTP/1.1 307 Moved\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url);
    assert_told(&answered(moved).await, "status 307");
    assert_eq!(other.request(), "");
}

#[tokio::test]
async fn a_server_that_is_gone_or_silent_blocks_nothing() {
    let ground = Ground::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry(&url)]);
    assert_told(&ground.before(&hooks, "ls").await, "got no answer");

    let silent = Server::new("").await;
    let mut slow = entry(&silent.url);
    slow["timeout"] = json!(0.2);
    let hooks = ground.hooks(HookEventName::PreToolUse, &[slow]);
    assert_told(&ground.before(&hooks, "ls").await, "did not end within 200ms");
    let hooks = ground.hooks(HookEventName::PreToolUse, &[entry("no address")]);
    assert_told(&ground.before(&hooks, "ls").await, "has an address that is none");
}

/// Hooks of one HTTP entry under these further settings.
fn bounded(ground: &Ground, entry: &Value, settings: Value) -> Hooks {
    let mut value = settings;
    value["hooks"] = json!({"PreToolUse": [{"hooks": [entry]}]});
    let mut session = ground.session();
    for (name, secret) in [("TOKEN", "s3cr3t"), ("OTHER", "hidden")] {
        session.environment.insert(name.into(), secret.into());
    }
    let (hooks, warnings) =
        Hooks::new(&[Layer::new(RuleSource::User, "/", value)], HookSession { ..session });
    assert_eq!(warnings, []);
    hooks
}

#[tokio::test]
async fn headers_hold_only_variables_that_the_hook_and_the_settings_list() {
    for (settings, token) in [
        (json!({}), "s3cr3t"),
        (json!({"httpHookAllowedEnvVars": ["TOKEN"]}), "s3cr3t"),
        (json!({"httpHookAllowedEnvVars": ["NONE"]}), ""),
        (json!({"httpHookAllowedEnvVars": []}), ""),
    ] {
        let server = Server::new(response("200 OK", "")).await;
        let ground = Ground::new();
        let mut entry = entry(&server.url);
        entry["headers"] = json!({"X-Token": "<$TOKEN|${OTHER}>"});
        entry["allowedEnvVars"] = json!(["TOKEN"]);
        let hooks = bounded(&ground, &entry, settings.clone());
        assert_eq!(ground.before(&hooks, "ls").await, HookOutcome::default());
        let request = server.request();
        assert!(request.contains(&format!("x-token: <{token}|>\r\n")), "{settings}: {request}");
    }
}

#[tokio::test]
async fn a_header_that_is_none_stops_the_request_and_tells_no_secret() {
    let server = Server::new(response("200 OK", "")).await;
    let ground = Ground::new();
    let mut broken = entry(&server.url);
    broken["headers"] = json!({"X-Token": "$TOKEN\r\nHost: elsewhere"});
    broken["allowedEnvVars"] = json!(["TOKEN"]);
    let outcome = ground.before(&bounded(&ground, &broken, json!({})), "ls").await;
    assert_told(&outcome, "its header `X-Token` is not valid");
    assert!(!outcome.messages[0].contains("s3cr3t"));
    assert_eq!(server.request(), "");
}

#[tokio::test]
async fn only_addresses_that_settings_allow_are_sent_to() {
    for (allowed, sent) in [
        (json!(["http://127.0.0.1:*"]), true),
        (json!(["https://elsewhere/*", "http://127.0.0.1:*/hook"]), true),
        (json!(["http://127.0.0.1:*/other"]), false),
        (json!(["http://127.0.0.1/*"]), false),
        (json!([]), false),
    ] {
        let server = Server::new(response("200 OK", "")).await;
        let ground = Ground::new();
        let settings = json!({ "allowedHttpHookUrls": allowed });
        let hooks = bounded(&ground, &entry(&server.url), settings);
        let outcome = ground.before(&hooks, "ls").await;
        assert_eq!(!server.request().is_empty(), sent, "{allowed}");
        if !sent {
            assert_told(&outcome, "`allowedHttpHookUrls` has no entry");
        }
    }
}
