//! Tests of playing and recording.

use std::io::{self, Write};

use innerve_protocol::{Message, SystemBlock, ToolResult, ToolUse};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn block_on<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(future)
}

fn recording(lines: &[Value]) -> Recording {
    let mut text = "{\"format\":\"innerve-recording\",\"version\":1,\"model\":\"m\"}\n".to_owned();
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    Recording::parse(&text).unwrap()
}

fn says(text: &str) -> Value {
    json!({"event": {"type": "block_done", "block": {"type": "text", "text": text}}})
}

fn request(system: &str, messages: Vec<Message>) -> Request {
    let system = vec![SystemBlock::new(system)];
    Request { system, ..Request::new("m", 100, messages.into_iter().map(Into::into).collect()) }
}

fn asks(text: &str) -> Request {
    request("you are an agent", vec![Message::user(text)])
}

fn play_all(model: &impl Model, request: Request) -> Vec<Result<StreamEvent, ModelError>> {
    block_on(model.stream(request).collect())
}

/// The texts of the response, or the error's message.
#[track_caller]
fn check(model: &impl Model, request: Request, expected: &str) {
    let events = play_all(model, request);
    let texts = events.iter().filter_map(|event| match event {
        Ok(StreamEvent::BlockDone { block, .. }) => block.as_text().map(str::to_owned),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    });
    assert_eq!(texts.collect::<Vec<_>>().join("|"), expected);
}

#[test]
fn a_block_alone_makes_a_whole_response() {
    let use_block = json!({"type": "tool_use", "id": "a", "name": "Read", "input": {"p": 1}});
    let line =
        json!({"events": [says("hi"), {"event": {"type": "block_done", "block": use_block}}]});
    let model = Replay::new(recording(&[line]));
    let events: Vec<StreamEvent> =
        play_all(&model, asks("x")).into_iter().collect::<Result<_, _>>().unwrap();
    let kinds: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    let starts: Vec<&str> =
        kinds.iter().map(|text| text.split([' ', '(']).next().unwrap()).collect();
    assert_eq!(
        starts,
        [
            "Start",
            "BlockStart",
            "TextDelta",
            "BlockDone",
            "BlockStart",
            "InputDelta",
            "BlockDone",
            "Stop"
        ]
    );
    let stop =
        StreamEvent::Stop { reason: innerve_protocol::StopReason::ToolUse, details: Map::new() };
    assert_eq!(events.last(), Some(&stop));
    assert!(matches!(&events[0], StreamEvent::Start { model, .. } if model == "m"));
    assert!(matches!(events[6], StreamEvent::BlockDone { index: 1, .. }));
}

#[test]
fn a_text_that_grows_without_a_beginning_is_said_once() {
    let delta = |text: &str| json!({"event": {"type": "text_delta", "index": 0, "text": text}});
    let done = json!({"event": {"type": "block_done", "index": 0, "block": {"type": "text", "text": "one two"}}});
    let line = json!({"events": [delta("one "), delta("two"), done]});
    let events: Vec<StreamEvent> = play_all(&Replay::new(recording(&[line])), asks("x"))
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    let texts: Vec<&str> = events
        .iter()
        .filter_map(|event| {
            if let StreamEvent::TextDelta { text, .. } = event { Some(text.as_str()) } else { None }
        })
        .collect();
    assert_eq!(texts, ["one ", "two"]);
}

#[test]
fn responses_come_in_order_and_their_end_is_an_error() {
    let model = Replay::new(recording(&[
        json!({"events": [says("one")]}),
        json!({"events": [says("two")]}),
    ]));
    check(&model, asks("x"), "one");
    check(&model, asks("x"), "two");
    check(
        &model,
        asks("x"),
        "the recording has no further response for lane `main` after 2; the conversation went on longer than the recorded one",
    );
}

#[test]
fn conversations_are_told_apart_by_their_instructions_and_first_words() {
    let lanes = [
        json!({"events": [says("main 1")]}),
        json!({"lane": "a", "when": {"user_contains": "find"}, "events": [says("a 1")]}),
        json!({"lane": "b", "when": {"user_contains": "find all"}, "events": [says("b 1")]}),
        json!({"lane": "c", "when": {"system_contains": "summarise"}, "events": [says("c 1")]}),
        json!({"lane": "a", "events": [says("a 2")]}),
        json!({"events": [says("main 2")]}),
    ];
    let model = Replay::new(recording(&lanes));
    check(&model, asks("find all of it"), "b 1");
    check(&model, asks("please find it"), "a 1");
    check(&model, asks("do something"), "main 1");
    check(&model, request("summarise this", vec![Message::user("…")]), "c 1");
    let mut longer = vec![Message::user("please find it"), Message::assistant("a 1")];
    longer.push(Message::user("do something"));
    check(&model, request("", longer), "a 2");
    check(&model, asks("do something"), "main 2");
}

#[test]
fn a_request_that_answers_other_tool_uses_is_refused() {
    let lines = [
        json!({"expect": {"messages": 1}, "events": [says("one")]}),
        json!({"expect": {"tool_results": ["t1"]}, "events": [says("two")]}),
    ];
    let model = Replay::new(recording(&lines));
    check(&model, asks("x"), "one");
    let answer = |id: &str| {
        let result = ToolResult::ok(id.into(), "fine");
        let content = vec![ContentBlock::ToolResult(result)];
        let tool_use = ContentBlock::ToolUse(ToolUse::new(id, "Read", json!({})));
        let messages = vec![
            Message::user("x"),
            Message::new(Role::Assistant, vec![tool_use]),
            Message::new(Role::User, content),
        ];
        request("", messages)
    };
    check(
        &model,
        answer("t2"),
        "response 2 of lane `main` answers another request than this: results for [t1] were expected, results for [t2] came",
    );
    check(&model, answer("t1"), "two");
}

#[test]
fn a_recorded_failure_fails_again() {
    let line =
        json!({"events": [says("part")], "error": {"class": "stream_truncated", "message": "cut"}});
    let model = Replay::new(recording(&[line]));
    let events = play_all(&model, asks("x"));
    let error = events.last().unwrap().as_ref().unwrap_err();
    assert_eq!((error.class(), error.message()), (ErrorClass::Truncated, "cut"));
}

#[track_caller]
fn check_broken(text: &str, expected: &str) {
    let error = Recording::parse(text).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Replay);
    assert!(error.message().contains(expected), "{error}");
}

#[test]
fn a_broken_recording_is_told_with_its_line() {
    let header = "{\"format\":\"innerve-recording\",\"version\":1,\"model\":\"m\"}";
    check_broken("", "empty");
    check_broken("{}", "line 1");
    check_broken(&header.replace('1', "2"), "version 2");
    check_broken(&header.replace("innerve-", ""), "format `recording`");
    check_broken(&format!("{header}\n\n{{\"events\":[]}}\n{{\"evnts\":[]}}"), "line 4");
    check_broken(
        &format!("{header}\n{{\"events\":[{{\"event\":{{\"type\":\"nonsense\"}}}}]}}"),
        "line 2",
    );
}

#[test]
fn pauses_are_kept_in_proportion() {
    let slow = json!({"after_ms": 1000, "event": {"type": "ping"}});
    let line = json!({"events": [slow, says("x")]});
    let timed = |factor| {
        let model = Replay::new(recording(std::slice::from_ref(&line))).with_pauses(factor);
        let before = std::time::Instant::now();
        check(&model, asks("x"), "x");
        before.elapsed()
    };
    assert!(timed(0.0) < Duration::from_millis(900));
    assert!(timed(0.25) >= Duration::from_millis(250));
    assert!(timed(f64::NAN) < Duration::from_millis(900));
}

#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<u8>>>);

impl Shelf {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shelf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_recorded_plays_back_with_its_sub_agents() {
    let lines = [
        json!({"expect": {}, "events": [says("main 1")]}),
        json!({"lane": "a", "when": {"user_contains": "find"}, "events": [says("a 1")]}),
        json!({"lane": "a", "events": [says("a 2")], "error": {"class": "server", "message": "broken"}}),
    ];
    let shelf = Shelf::default();
    let model = Recorder::new(Replay::new(recording(&lines)), Box::new(shelf.clone()));
    let requests = [
        asks("do it"),
        request(
            "",
            vec![Message::new(
                Role::User,
                vec![
                    ContentBlock::text("find it"),
                    ContentBlock::text("<system-reminder>now</system-reminder>"),
                ],
            )],
        ),
        asks("find it"),
    ];
    let first: Vec<_> = requests.iter().map(|request| play_all(&model, request.clone())).collect();
    assert_eq!(model.failure(), None);
    let text = shelf.text();
    assert_eq!(text.lines().count(), 4);
    assert!(text.contains(r#""when":{"user_contains":"find it"}"#), "{text}");
    let replay = Replay::new(Recording::parse(&text).unwrap());
    let second: Vec<_> =
        requests.iter().map(|request| play_all(&replay, request.clone())).collect();
    assert_eq!(first, second);
}

#[test]
fn a_dropped_response_is_not_recorded() {
    let shelf = Shelf::default();
    let lines = [json!({"events": [says("one")]}), json!({"events": [says("two")]})];
    let model = Recorder::new(Replay::new(recording(&lines)), Box::new(shelf.clone()));
    block_on(async {
        let mut events = model.stream(asks("x"));
        assert!(events.next().await.is_some());
    });
    assert_eq!(shelf.text(), "");
    check(&model, asks("x"), "two");
    assert_eq!(shelf.text().lines().count(), 2);
}

#[test]
fn a_failing_writer_does_not_stop_the_conversation() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let model =
        Recorder::new(Replay::new(recording(&[json!({"events": [says("one")]})])), Box::new(Full));
    check(&model, asks("x"), "one");
    assert_eq!(model.failure().unwrap(), "the recording cannot be written: no storage space");
}

struct Says(Vec<StreamEvent>);
impl Model for Says {
    fn name(&self) -> &'static str {
        "says"
    }
    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::anthropic()
    }
    fn stream(&self, _: Request) -> EventStream {
        Box::pin(stream::iter(self.0.clone().into_iter().map(Ok)))
    }
}

fn any_event() -> impl Strategy<Value = StreamEvent> {
    let text = "[a-zä🦀\\n\"]{0,8}";
    prop_oneof![
        (0..3_usize, text).prop_map(|(index, text)| StreamEvent::TextDelta { index, text }),
        (0..3_usize, text)
            .prop_map(|(index, thinking)| StreamEvent::ThinkingDelta { index, thinking }),
        (0..3_usize, text)
            .prop_map(|(index, partial_json)| StreamEvent::InputDelta { index, partial_json }),
        (0..3_usize, text, text).prop_map(|(index, id, name)| StreamEvent::BlockStart {
            index,
            kind: innerve_protocol::BlockKind::ToolUse { id: id.as_str().into(), name },
        }),
        Just(StreamEvent::BlockStart { index: 1, kind: innerve_protocol::BlockKind::Other }),
        any::<u32>().prop_map(|count| {
            let usage = json!({"input_tokens": count, "odd": {"a": [1]}});
            StreamEvent::Usage(serde_json::from_value(usage).unwrap())
        }),
        Just(StreamEvent::Ping),
    ]
}

proptest! {
    #[test]
    fn every_event_survives_recording_and_playing(
        body in proptest::collection::vec(any_event(), 0..12),
        raw in proptest::option::of("[{}a]{0,5}"),
        reason in "[a-z_]{1,12}",
    ) {
        let usage = serde_json::from_value(json!({"output_tokens": 1})).unwrap();
        let mut events =
            vec![StreamEvent::Start { id: "msg".to_owned(), model: "m".to_owned(), usage }];
        events.push(StreamEvent::BlockStart { index: 0, kind: innerve_protocol::BlockKind::Text });
        events.extend(body);
        let block = serde_json::from_value(json!({"type": "tool_use", "id": "a", "name": "b", "input": {}, "x": 1})).unwrap();
        events.push(StreamEvent::BlockStart { index: 7, kind: innerve_protocol::BlockKind::Other });
        events.push(StreamEvent::BlockDone { index: 7, block, invalid_input: raw });
        let details = json!({"stop_sequence": "x"}).as_object().unwrap().clone();
        let reason = serde_json::from_value(json!(reason)).unwrap();
        events.push(StreamEvent::Stop { reason, details });

        let shelf = Shelf::default();
        let model = Recorder::new(Says(events.clone()), Box::new(shelf.clone()));
        play_all(&model, asks("x"));
        let replay = Replay::new(Recording::parse(&shelf.text()).unwrap());
        let played: Vec<StreamEvent> =
            play_all(&replay, asks("x")).into_iter().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(played, events);
    }
}

#[test]
fn a_recording_searches_the_web_only_if_it_holds_a_search() {
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let searched = json!({"event": {"type": "block_done", "block": result}});
    let searches = |events: Value| {
        let model = Replay::new(recording(&[json!({"events": events})]));
        (model.capabilities("claude-sonnet-5").web_search, model.capabilities("other").web_search)
    };
    assert_eq!(searches(json!([says("one")])), (false, false));
    assert_eq!(searches(json!([says("one"), searched])), (true, true));
    let claims = Replay::new(recording(&[])).with_capabilities(Capabilities::anthropic());
    assert!(claims.capabilities("other").web_search);
}
