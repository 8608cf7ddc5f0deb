//! The rules of a request, each broken alone, and the repairs that need the whole request.

use innerve_protocol::{
    Capabilities, RepairKind as Kind, Request, ToolDefinition, ViolationRule as Rule,
    normalize_request, validate, validate_request,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit;
use crate::transcripts::hostile;

fn capabilities() -> Capabilities {
    Capabilities { max_images: 2, ..Capabilities::anthropic() }
}

/// A good request with these fields replaced.
fn request(fields: Value) -> Request {
    let mut value = json!({
        "model": "m",
        "max_tokens": 8000,
        "tools": [tool("Read")],
        "messages": [{"role": "user", "content": "hi"}],
    });
    for (key, field) in fields.as_object().unwrap() {
        value[key] = field.clone();
    }
    serde_json::from_value(value).unwrap()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "x", "input_schema": {"type": "object"}})
}

fn with(mut value: Value, key: &str, field: Value) -> Value {
    value[key] = field;
    value
}

fn marker() -> Value {
    json!({"type": "ephemeral"})
}

#[track_caller]
fn check_for(capabilities: &Capabilities, fields: Value, expected: &[Rule], named: &str) {
    let found = validate_request(&request(fields), capabilities);
    let rules: Vec<Rule> = found.iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, expected, "{found:?}");
    assert!(found.iter().any(|violation| violation.text.contains(named)), "{found:?}");
}

#[track_caller]
fn check(fields: Value, expected: &[Rule], named: &str) {
    check_for(&capabilities(), fields, expected, named);
}

#[track_caller]
fn check_good(fields: Value) {
    assert_eq!(validate_request(&request(fields), &capabilities()), []);
}

#[test]
fn a_good_request_breaks_no_rule() {
    check_good(json!({}));
    check_good(json!({"tools": []}));
    check_good(json!({"thinking": {"type": "adaptive"}, "tool_choice": {"type": "any"}}));
    check_good(json!({"max_tokens": 0}));
}

#[test]
fn a_tool_that_the_provider_runs_has_settings_and_no_schema() {
    let search = json!({"name": "web_search", "max_uses": 3, "type": "web_search_20250305"});
    check_good(json!({"tools": [search]}));
    let without_kind = json!({"tools": [{"name": "web_search"}]});
    check(without_kind, &[Rule::SchemaNotObject], "input_schema");
    let custom = json!({"tools": [{"name": "web_search", "type": "custom"}]});
    check(custom, &[Rule::SchemaNotObject], "input_schema");

    let settings = json!({"max_uses": 3}).as_object().unwrap().clone();
    let made = ToolDefinition::server("web_search_20250305", "web_search", settings);
    assert!(made.is_server_tool());
    assert_eq!(serde_json::to_value(&made).unwrap(), search);
    assert_eq!(serde_json::from_value::<ToolDefinition>(search).unwrap(), made);
    assert!(!ToolDefinition::new("Read", "", json!({"type": "object"})).is_server_tool());
}

#[test]
fn a_conversation_begins_with_something_and_ends_with_the_user() {
    check(json!({"messages": []}), &[Rule::NoMessages], "at least one message");
    let ends = json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "I"}]});
    check(ends.clone(), &[Rule::EndsWithAssistant], "prefill");
    let old = Capabilities { assistant_prefill: true, ..capabilities() };
    assert_eq!(validate_request(&request(ends), &old), []);
}

#[test]
fn a_paused_turn_is_sent_back_as_it_is() {
    let paused = json!({"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    ]});
    check_good(json!({
        "tools": [tool("web_search")],
        "messages": [{"role": "user", "content": "hi"}, paused],
    }));
}

#[test]
fn output_tokens_fit_the_model() {
    check(json!({"max_tokens": 64_001}), &[Rule::MaxTokensTooLarge], "64001 > 64000");
}

#[test]
fn images_are_counted_wherever_they_are() {
    let image = json!({"type": "image", "source": {"type": "url", "url": "u"}});
    let nested = json!({"type": "tool_result", "tool_use_id": "a", "content": [image, image]});
    check_good(json!({"messages": [{"role": "user", "content": [nested]}]}));
    check(
        json!({"messages": [{"role": "user", "content": [nested, image]}]}),
        &[Rule::TooManyImages],
        "3 > 2",
    );
}

#[test]
fn tools_have_plain_unique_names_and_object_schemas() {
    check_good(json!({"tools": [tool(&"x".repeat(64))]}));
    for name in ["", "a.b", &"x".repeat(65)] {
        check(json!({"tools": [tool(name)]}), &[Rule::IllegalToolName], "tools.0.name");
    }
    check(json!({"tools": [tool("A"), tool("A")]}), &[Rule::DuplicateToolName], "`A`");
    for schema in [json!({}), json!({"type": "array"}), json!(true), json!({"anyOf": []})] {
        let odd = with(tool("A"), "input_schema", schema);
        check(json!({"tools": [tool("B"), odd]}), &[Rule::SchemaNotObject], "tools.1");
    }
}

#[test]
fn a_deferred_tool_has_no_marker_and_is_not_alone() {
    let deferred = with(tool("A"), "defer_loading", json!(true));
    check_good(json!({"tools": [tool("B"), deferred]}));
    check(json!({"tools": [deferred]}), &[Rule::AllToolsDeferred], "defer_loading=false");
    let marked = with(deferred, "cache_control", marker());
    check(json!({"tools": [tool("B"), marked]}), &[Rule::DeferredWithMarker], "tools.1: `A`");
}

#[test]
fn what_is_referred_to_is_defined() {
    let found = |name: &str| {
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "tool_reference", "tool_name": name},
        ]}]}])
    };
    check_good(json!({"messages": found("Read")}));
    check(json!({"messages": found("Gone")}), &[Rule::UnknownToolReference], "`Gone`");
    check_good(json!({"tool_choice": {"type": "tool", "name": "Read"}}));
    let forced = json!({"tool_choice": {"type": "tool", "name": "Gone"}});
    check(forced, &[Rule::UnknownToolChoice], "`Gone`");
}

#[test]
fn an_open_server_tool_use_goes_on_with_nothing_but_results() {
    let search =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let found =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let (call, result) = (kit::call("a"), kit::result("a", "x"));
    let talk = |first: Value, then: Value| {
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": first},
            {"role": "user", "content": then},
        ])
    };
    let tools = json!([tool("Read"), tool("web_search")]);
    check_good(json!({"messages": talk(json!([search, found]), json!("more"))}));
    check_good(json!({"tools": tools, "messages": talk(json!([search, call]), json!([result]))}));
    check(
        json!({"tools": tools, "messages": talk(json!([search]), json!("more"))}),
        &[Rule::OpenServerToolUse],
        "messages.1: `web_search` tool use with id `srvtoolu_1`",
    );
    check(
        json!({"messages": talk(json!([search, call]), json!([result]))}),
        &[Rule::OpenServerToolUse],
        "but no `web_search` tool was provided",
    );
}

#[test]
fn thinking_fits_the_model_and_the_request() {
    let enabled = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    let old = Capabilities { thinking_enabled: true, thinking_adaptive: false, ..capabilities() };
    check(json!({"thinking": enabled(1024)}), &[Rule::ThinkingNotSupported], "adaptive");
    let adaptive = json!({"thinking": {"type": "adaptive"}});
    check_for(&old, adaptive, &[Rule::ThinkingNotSupported], "adaptive");
    assert_eq!(validate_request(&request(json!({"thinking": enabled(1024)})), &old), []);
    for tokens in [0, 1023, 8000, 9000] {
        let fields = json!({"thinking": enabled(tokens)});
        check_for(&old, fields, &[Rule::ThinkingBudget], "budget_tokens");
    }
    for choice in [json!({"type": "any"}), json!({"type": "tool", "name": "Read"})] {
        let fields = json!({"thinking": enabled(1024), "tool_choice": choice});
        check_for(&old, fields, &[Rule::ThinkingWithForcedTool], "tool_choice");
    }
}

#[test]
fn thinking_that_was_switched_off_is_not_in_the_final_position() {
    let (thought, call, result) = (kit::thinking(), kit::call("a"), kit::result("a", "x"));
    let talk = |last: Value| {
        json!({"thinking": {"type": "disabled"}, "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": last},
        ]})
    };
    check(talk(json!([result])), &[Rule::ThinkingWhileDisabled], "messages.1");
    check_good(talk(json!([result, {"type": "text", "text": "next"}])));
}

#[test]
fn markers_of_all_parts_count_together() {
    let marked = |value: Value| with(value, "cache_control", marker());
    let fields = |automatic: Value| {
        json!({
            "tools": [marked(tool("A")), tool("B")],
            "system": [marked(kit::text("s"))],
            "messages": [{"role": "user", "content": [marked(kit::text("x")), marked(kit::text("y"))]}],
            "cache_control": automatic,
        })
    };
    check_good(fields(json!(null)));
    check(fields(marker()), &[Rule::TooManyCacheMarkers], "found 5");
    check(
        json!({"system": [marked(kit::text(" "))]}),
        &[Rule::BlankText, Rule::MarkerNotAllowed],
        "system.0",
    );
}

/// The names of what still has a marker after the repair, in order.
#[track_caller]
fn check_markers(fields: Value, kept: &[&str]) {
    let mut request = request(fields);
    let before = validate_request(&request, &capabilities());
    assert!(before.iter().any(|violation| violation.rule == Rule::TooManyCacheMarkers));
    let repairs = normalize_request(&mut request);
    assert!(repairs.iter().all(|repair| repair.kind == Kind::DroppedCacheMarker), "{repairs:?}");
    assert_eq!(validate_request(&request, &capabilities()), []);
    let mut found = Vec::new();
    let tools = request.tools.iter().filter(|tool| tool.cache_control.is_some());
    found.extend(tools.map(|tool| tool.name.clone()));
    let system = request.system.iter().filter(|block| block.cache_control.is_some());
    found.extend(system.map(|block| block.text.clone()));
    for message in serde_json::to_value(&request.messages).unwrap().as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            if block.get("cache_control").is_some() {
                found.push(block["text"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(found, kept);
}

#[test]
fn tools_and_instructions_keep_their_last_marker() {
    let marked = |value: Value| with(value, "cache_control", marker());
    let text = |text: &str| marked(kit::text(text));
    let messages = json!([
        {"role": "user", "content": [text("m1")]},
        {"role": "assistant", "content": [text("m2")]},
        {"role": "user", "content": [text("m3")]},
    ]);
    let tools = json!([marked(tool("T1")), marked(tool("T2"))]);
    let system = json!([text("s1"), text("s2")]);
    check_markers(
        json!({"tools": tools, "system": system, "messages": messages}),
        &["T2", "s2", "m2", "m3"],
    );
    check_markers(
        json!({"tools": tools, "system": system, "messages": messages, "cache_control": marker()}),
        &["T2", "s2", "m3"],
    );
    let few = json!([{"role": "user", "content": [text("m1")]}]);
    check_markers(
        json!({"tools": tools, "system": system, "messages": few}),
        &["T2", "s1", "s2", "m1"],
    );
}

#[test]
fn deferred_tools_lose_markers_and_are_loaded_when_alone() {
    let deferred = with(tool("A"), "defer_loading", json!(true));
    let marked = with(deferred, "cache_control", marker());
    let mut alone = request(json!({"tools": [marked]}));
    let repairs = normalize_request(&mut alone);
    let kinds: Vec<Kind> = repairs.iter().map(|repair| repair.kind).collect();
    assert_eq!(kinds, [Kind::DroppedCacheMarker, Kind::LoadedTools]);
    assert!(repairs.iter().all(|repair| repair.message.is_none()));
    assert_eq!(validate_request(&alone, &capabilities()), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_repaired_request_keeps_to_its_rules(
        messages in hostile(),
        tools in prop::collection::vec(any::<(bool, bool)>(), 0..5),
        system in prop::collection::vec((any::<bool>(), any::<bool>()), 0..5),
        automatic: bool,
    ) {
        let mut request = request(json!({}));
        request.messages = messages.into_iter().map(Into::into).collect();
        request.tools = tools.iter().enumerate().map(|(index, (marked, deferred))| {
            let mut value = tool(&format!("T{index}"));
            value["defer_loading"] = json!(deferred);
            if *marked {
                value["cache_control"] = marker();
            }
            serde_json::from_value(value).unwrap()
        }).collect();
        request.system = system.iter().map(|(marked, blank)| {
            let mut value = json!({"type": "text", "text": if *blank { " " } else { "x" }});
            if *marked {
                value["cache_control"] = marker();
            }
            serde_json::from_value(value).unwrap()
        }).collect();
        if automatic {
            request.extra.insert("cache_control".to_owned(), marker());
        }
        normalize_request(&mut request);
        prop_assert_eq!(validate(&request.messages), vec![]);
        let repaired = [
            Rule::TooManyCacheMarkers, Rule::MarkerNotAllowed, Rule::BlankText,
            Rule::DeferredWithMarker, Rule::AllToolsDeferred,
        ];
        for violation in validate_request(&request, &capabilities()) {
            prop_assert!(!repaired.contains(&violation.rule), "{:?}", violation);
        }
        let once = request.clone();
        prop_assert_eq!(normalize_request(&mut request), vec![]);
        prop_assert_eq!(request, once);
    }
}
