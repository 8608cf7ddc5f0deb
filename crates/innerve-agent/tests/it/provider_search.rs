//! Searches of the web by the provider, against a server that speaks its wire format.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use innerve_agent::{ProviderSearcher, Spending};
use innerve_model::{Anthropic, Endpoint};
use innerve_protocol::{Capabilities, Request, validate, validate_request};
use innerve_tool::port::{SearchHit, WebSearcher};
use innerve_tool::{BoxFuture, ToolError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const MODEL: &str = "claude-sonnet-5";

/// What the server answers.
enum Reply {
    /// These blocks, then this stop reason, with so many searches counted.
    Says(Vec<Value>, &'static str, u64),
    Fails(u16, Value),
    /// Begins, and says nothing more.
    Hangs,
}

/// A provider on this machine; every request must be one that the API takes.
struct Provider {
    url: String,
    seen: Arc<Mutex<Vec<Request>>>,
    /// Somebody hung up on a response that was under way.
    hung_up: Arc<Notify>,
    spending: Arc<Spending>,
}

impl Provider {
    async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let provider =
            Self { url, seen: Arc::default(), hung_up: Arc::default(), spending: Arc::default() };
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let (seen, hung_up) = (Arc::clone(&provider.seen), Arc::clone(&provider.hung_up));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let Some(body) = read_request(&mut stream).await else { continue };
                let reply = match serde_json::from_value::<Request>(body.clone()) {
                    Ok(request) => {
                        let mut broken = validate(&request.messages);
                        broken.extend(validate_request(&request, &Capabilities::anthropic()));
                        seen.lock().unwrap().push(request);
                        match broken.first() {
                            Some(broken) => refuses(&format!("the test: {}", broken.text)),
                            None => {
                                replies.pop_front().unwrap_or_else(|| refuses("no reply is left"))
                            }
                        }
                    }
                    Err(error) => refuses(&format!("the test: {error}")),
                };
                let is_open = matches!(reply, Reply::Hangs);
                stream.write_all(written(&reply).as_bytes()).await.unwrap();
                if is_open {
                    let mut byte = [0];
                    let read = stream.read(&mut byte).await;
                    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
                    hung_up.notify_one();
                }
            }
        });
        provider
    }

    fn searcher(&self) -> ProviderSearcher {
        let model = Anthropic::new(Endpoint::new(&self.url).api_key("k", "K")).unwrap();
        ProviderSearcher::new(Arc::new(model), MODEL, Arc::clone(&self.spending))
            .with_advice("set SEARCH_URL")
    }

    fn request(&self, index: usize) -> Request {
        self.seen.lock().unwrap()[index].clone()
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
        })?;
        if body.len() >= length {
            return serde_json::from_str(body).ok();
        }
    }
}

fn written(reply: &Reply) -> String {
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let usage = json!({ "input_tokens": 1_000, "output_tokens": 1 });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage,
    });
    let start = event(&json!({ "type": "message_start", "message": message }));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    match reply {
        Reply::Hangs => format!("{head}{start}"),
        Reply::Fails(status, body) => {
            let body = body.to_string();
            format!(
                "HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        }
        Reply::Says(blocks, reason, searches) => {
            let mut body = format!("{head}{start}");
            for (index, block) in blocks.iter().enumerate() {
                body.push_str(&block_events(index, block).iter().map(&event).collect::<String>());
            }
            let used = json!({ "web_search_requests": searches });
            let usage =
                json!({ "input_tokens": 5_000, "output_tokens": 100, "server_tool_use": used });
            body.push_str(&event(
                &json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage }),
            ));
            body.push_str(&event(&json!({ "type": "message_stop" })));
            body
        }
    }
}

/// The events of a block, in the pieces in which the API sends them.
fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let mut start = block.clone();
    let mut deltas = Vec::new();
    match block["type"].as_str().unwrap() {
        "text" => {
            start["text"] = json!("");
            start["citations"] = Value::Null;
            let citations = block["citations"].as_array().into_iter().flatten();
            deltas
                .extend(citations.map(|one| json!({ "type": "citations_delta", "citation": one })));
            deltas.push(json!({ "type": "text_delta", "text": block["text"] }));
        }
        "server_tool_use" | "tool_use" => {
            start["input"] = json!({});
            let input = block["input"].to_string();
            deltas.push(json!({ "type": "input_json_delta", "partial_json": input }));
        }
        _ => {}
    }
    let mut events =
        vec![json!({ "type": "content_block_start", "index": index, "content_block": start })];
    events.extend(
        deltas
            .into_iter()
            .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
    );
    events.push(json!({ "type": "content_block_stop", "index": index }));
    events
}

fn refuses(message: &str) -> Reply {
    let error = json!({ "type": "invalid_request_error", "message": message });
    Reply::Fails(400, json!({ "type": "error", "error": error }))
}

fn search(id: &str) -> Value {
    json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": { "query": "rust" } })
}

fn result(id: &str, content: &Value) -> Value {
    json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": content })
}

fn page(url: &str, title: &str, age: Option<&str>) -> Value {
    json!({ "type": "web_search_result", "url": url, "title": title, "encrypted_content": "Eq8=", "page_age": age })
}

fn failure(code: &str) -> Value {
    json!({ "type": "web_search_tool_result_error", "error_code": code })
}

fn says(text: &str, cited: &[(&str, &str)]) -> Value {
    let citations: Vec<Value> = cited
        .iter()
        .map(|(url, quote)| {
            json!({
                "type": "web_search_result_location", "url": url, "title": "T", "encrypted_index": "Eo8=",
                "cited_text": quote,
            })
        })
        .collect();
    json!({ "type": "text", "text": text, "citations": citations })
}

fn hit(title: &str, url: &str, snippet: &str) -> SearchHit {
    SearchHit { title: title.to_owned(), url: url.to_owned(), snippet: snippet.to_owned() }
}

async fn find(searcher: &ProviderSearcher, query: &str) -> Result<Vec<SearchHit>, ToolError> {
    searcher.search(query, &[], &[]).await
}

/// A searcher that finds one page.
struct Another;

impl WebSearcher for Another {
    fn search<'a>(
        &'a self,
        query: &'a str,
        allowed: &'a [String],
        blocked: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<SearchHit>, ToolError>> {
        let snippet = format!("{query} {allowed:?} {blocked:?}");
        Box::pin(async move { Ok(vec![hit("other", "https://other.example/", &snippet)]) })
    }
}

#[tokio::test]
async fn pages_are_found_and_those_that_the_model_quotes_come_first() {
    let provider = Provider::start([Reply::Says(
        vec![
            says("I search.", &[]),
            search("s1"),
            result(
                "s1",
                &json!([
                    page("https://a.example/", "A", None),
                    page("https://b.example/", "B", Some("May 1, 2026")),
                    page("https://a.example/", "A again", None),
                ]),
            ),
            says("B says ", &[]),
            says(
                "that it is 42",
                &[("https://b.example/", "It is 42."), ("https://b.example/", "It is 42.")],
            ),
            says(".", &[]),
        ],
        "end_turn",
        1,
    )])
    .await;
    let hits = find(&provider.searcher(), "what is it?").await.unwrap();
    assert_eq!(
        hits,
        [
            hit("B", "https://b.example/", "(May 1, 2026) that it is 42 It is 42."),
            hit("A", "https://a.example/", ""),
        ]
    );

    let request = provider.request(0);
    let tools = serde_json::to_value(&request.tools).unwrap();
    let only = json!([{ "type": "web_search_20250305", "name": "web_search", "max_uses": 8 }]);
    assert_eq!(tools, only);
    assert_eq!((request.model.as_str(), request.messages.len()), (MODEL, 1));
    assert_eq!(request.messages[0].plain_text(), "Search for: what is it?");
    assert!(request.tool_choice.is_none() && request.thinking.is_none());

    // 5,000 tokens in at $2 per million, 100 out at $10, and one search at one cent.
    let dollars = provider.spending.dollars().unwrap();
    assert!((dollars - (0.01 + 0.001 + 0.01)).abs() < 1e-9, "{dollars}");
    assert_eq!(provider.spending.usage().input_tokens, Some(5_000));
}

#[tokio::test]
async fn domains_are_passed_on() {
    let none = || Reply::Says(vec![search("s1"), result("s1", &json!([]))], "end_turn", 1);
    let provider = Provider::start([none(), none()]).await;
    let searcher = provider.searcher();
    let domains = ["docs.rs".to_owned(), "a.example".to_owned()];
    assert_eq!(searcher.search("x", &domains, &[]).await.unwrap(), []);
    assert_eq!(searcher.search("x", &[], &domains).await.unwrap(), []);
    let tool = |index| serde_json::to_value(&provider.request(index).tools[0]).unwrap();
    assert_eq!(tool(0)["allowed_domains"], json!(domains));
    assert_eq!(tool(0).get("blocked_domains"), None);
    assert_eq!(tool(1)["blocked_domains"], json!(domains));
    assert_eq!(tool(1).get("allowed_domains"), None);
}

#[tokio::test]
async fn a_failed_search_says_what_to_do() {
    for (code, way_out) in [
        ("max_uses_exceeded", "search for less at once"),
        ("too_many_requests", "wait a while"),
        ("query_too_long", "the query is too long"),
        ("request_too_large", "search for less at once"),
        ("invalid_tool_input", "in other words"),
        ("unavailable", "try again later"),
        ("new_code", "failed (new_code)"),
        ("\u{1b}[2J\nevil", "failed (2Jevil)"),
    ] {
        let blocks = vec![search("s1"), result("s1", &failure(code)), says("Sorry.", &[])];
        let provider = Provider::start([Reply::Says(blocks, "end_turn", 0)]).await;
        let error = find(&provider.searcher(), "x").await.unwrap_err();
        assert!(error.message().contains(way_out), "{code}: {}", error.message());
        assert!(!error.message().contains(char::is_control), "{code}");
    }
}

#[tokio::test]
async fn what_was_found_before_a_failure_counts() {
    let blocks = vec![
        search("s1"),
        result("s1", &json!([page("https://a.example/", "A", None)])),
        search("s2"),
        result("s2", &failure("max_uses_exceeded")),
    ];
    let provider = Provider::start([Reply::Says(blocks, "end_turn", 1)]).await;
    let hits = find(&provider.searcher(), "x").await.unwrap();
    assert_eq!(hits, [hit("A", "https://a.example/", "")]);
}

#[tokio::test]
async fn a_paused_turn_goes_on_as_it_was_left() {
    let provider = Provider::start([
        Reply::Says(
            vec![
                search("s1"),
                result("s1", &json!([page("https://a.example/", "A", None)])),
                search("s2"),
            ],
            "pause_turn",
            1,
        ),
        Reply::Says(
            vec![
                result("s2", &json!([page("https://b.example/", "B", None)])),
                says("Done.\n", &[]),
            ],
            "pause_turn",
            1,
        ),
        Reply::Says(vec![says("So it is", &[("https://b.example/", "")])], "end_turn", 0),
    ])
    .await;
    let hits = find(&provider.searcher(), "x").await.unwrap();
    assert_eq!(
        hits,
        [hit("B", "https://b.example/", "So it is"), hit("A", "https://a.example/", "")]
    );

    let kinds = |index: usize| {
        let request = provider.request(index);
        assert_eq!(request.messages.len(), if index == 0 { 1 } else { 2 });
        let kinds =
            request.messages.last().unwrap().content.iter().map(|block| block.kind().to_owned());
        (kinds.collect::<Vec<_>>(), request.tools[0].extra["max_uses"].clone())
    };
    assert_eq!(
        kinds(1),
        (
            ["server_tool_use", "web_search_tool_result", "server_tool_use"]
                .map(str::to_owned)
                .to_vec(),
            json!(6)
        )
    );
    assert_eq!(kinds(2).0.len(), 5);
    let encrypted = serde_json::to_value(&provider.request(2).messages[1]).unwrap();
    assert_eq!(encrypted["content"][1]["content"][0]["encrypted_content"], "Eq8=");
    // Three responses and two searches.
    let dollars = provider.spending.dollars().unwrap();
    assert!((dollars - (3.0 * 0.011 + 0.02)).abs() < 1e-9, "{dollars}");
}

#[tokio::test]
async fn a_turn_that_is_paused_for_ever_ends() {
    let searches = (0..20).map(|index| {
        let id = format!("s{index}");
        Reply::Says(vec![search(&id), result(&id, &json!([]))], "pause_turn", 1)
    });
    let provider = Provider::start(searches).await;
    assert_eq!(find(&provider.searcher(), "x").await.unwrap(), []);
    assert_eq!(provider.count(), 8);
}

#[tokio::test]
async fn a_provider_that_does_not_know_the_tool_is_asked_once() {
    for (status, kind, message) in [
        (
            400,
            "invalid_request_error",
            "tools.0: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags: 'custom'",
        ),
        (
            400,
            "invalid_request_error",
            "'claude-x' does not support tool types: web_search_20250305.",
        ),
        (422, "invalid_request_error", "tools.0.input_schema: Field required"),
        (403, "permission_error", "Web search is not enabled for this organization."),
    ] {
        let fails = || {
            let error = json!({ "type": kind, "message": message });
            [Reply::Fails(status, json!({ "type": "error", "error": error }))]
        };
        let provider = Provider::start(fails()).await;
        let searcher = provider.searcher();
        for _ in 0..3 {
            let error = find(&searcher, "x").await.unwrap_err();
            let text = error.message();
            assert!(text.contains(message) && text.contains("Do not search again"), "{text}");
            assert!(text.ends_with("; set SEARCH_URL"), "{text}");
        }
        assert_eq!(provider.count(), 1, "{message}");

        let provider = Provider::start(fails()).await;
        let searcher = provider.searcher().with_fallback(Arc::new(Another));
        for _ in 0..3 {
            let (allowed, blocked) = (["a.example".to_owned()], []);
            let hits = searcher.search("x", &allowed, &blocked).await.unwrap();
            assert_eq!(hits, [hit("other", "https://other.example/", r#"x ["a.example"] []"#)]);
        }
        assert_eq!(provider.count(), 1, "{message}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_one_search_does_not_end_all() {
    let message = "tools.0.web_search_20250305.allowed_domains: not allowed for this organization";
    let provider = Provider::start([
        refuses(message),
        refuses("messages: something else"),
        Reply::Fails(
            404,
            json!({ "error": { "type": "not_found_error", "message": "no such model" } }),
        ),
        Reply::Says(vec![says("I cannot do that.", &[])], "refusal", 0),
        Reply::Says(vec![says("It is 42.", &[])], "end_turn", 0),
        Reply::Says(vec![search("s1"), result("s1", &json!([]))], "end_turn", 1),
    ])
    .await;
    let searcher = provider.searcher().with_fallback(Arc::new(Another));
    for words in [message, "something else", "no such model", "refused to search"] {
        let error = find(&searcher, "x").await.unwrap_err();
        assert!(error.message().contains(words), "{}", error.message());
    }
    // A model that answers from memory found nothing that could be passed on.
    assert_eq!(find(&searcher, "x").await.unwrap()[0].title, "other");
    assert_eq!(find(&searcher, "x").await.unwrap(), []);
    assert_eq!(provider.count(), 6);
}

#[tokio::test]
async fn a_server_that_leaves_the_search_to_us_has_none() {
    let call =
        json!({ "type": "tool_use", "id": "t1", "name": "web_search", "input": { "query": "x" } });
    let provider = Provider::start([Reply::Says(vec![call], "tool_use", 0)]).await;
    let searcher = provider.searcher();
    for _ in 0..2 {
        let error = find(&searcher, "x").await.unwrap_err();
        assert!(error.message().contains("cannot search the web"), "{}", error.message());
    }
    assert_eq!(provider.count(), 1);
}

#[tokio::test]
async fn blocks_that_make_no_sense_are_passed_over() {
    let odd = vec![
        search("s1"),
        result(
            "s1",
            &json!([
                null, 7, "x", [], {}, { "url": 7 }, { "url": "" },
                { "url": "https://a.example/", "title": ["T"], "page_age": 5 },
            ]),
        ),
        json!({ "type": "text", "text": "t", "citations": [null, 7, { "url": "https://a.example/", "cited_text": 7 }] }),
    ];
    let provider = Provider::start([Reply::Says(odd, "end_turn", 1)]).await;
    let hits = find(&provider.searcher(), "x").await.unwrap();
    assert_eq!(hits, [hit("", "https://a.example/", "t")]);

    let provider =
        Provider::start([Reply::Says(vec![result("s1", &json!("?"))], "end_turn", 0)]).await;
    let error = find(&provider.searcher(), "x").await.unwrap_err();
    assert!(error.message().contains("failed"), "{}", error.message());
}

#[tokio::test]
async fn much_that_was_found_is_bounded() {
    let title = "t".repeat(1_000);
    let many: Vec<Value> =
        (0..1_000).map(|n| page(&format!("https://a.example/{n}"), &title, None)).collect();
    let long = "q".repeat(200_000);
    let quotes = ["1", "2", "3"].map(|n| format!("{n}{long}"));
    let quotes = quotes.each_ref().map(|quote| ("https://a.example/0", quote.as_str()));
    let blocks = vec![search("s1"), result("s1", &json!(many)), says("x", &quotes)];
    let provider = Provider::start([Reply::Says(blocks, "end_turn", 1)]).await;
    let hits = find(&provider.searcher(), "x").await.unwrap();
    assert_eq!(hits.len(), 200);
    assert!(hits[0].snippet.len() < 5_000, "{}", hits[0].snippet.len());
}

#[tokio::test]
async fn a_search_that_nobody_waits_for_is_hung_up_on_and_paid_for() {
    let provider = Provider::start([Reply::Hangs]).await;
    let searcher = provider.searcher();
    let began = async {
        while provider.count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The beginning of the response is read.
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    tokio::select! {
        found = find(&searcher, "x") => panic!("{found:?}"),
        () = began => {}
    }
    tokio::time::timeout(Duration::from_secs(10), provider.hung_up.notified()).await.unwrap();
    assert_eq!(provider.spending.usage().input_tokens, Some(1_000));
}
