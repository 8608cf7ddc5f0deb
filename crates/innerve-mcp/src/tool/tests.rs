//! Tools of servers as tools of ours.

#![expect(clippy::needless_pass_by_value, reason = "values are written in place")]

use serde_json::json;

use super::*;

#[track_caller]
fn fits(schema: Value, expected: Value) {
    assert_eq!(fit(schema), expected);
}

fn link() -> Arc<Link> {
    Link::unconnected("s", 100_000)
}

fn built(tools: Value) -> Built {
    build_all(&link(), serde_json::from_value(tools).unwrap())
}

#[track_caller]
fn one(tool: Value) -> Arc<dyn DynTool> {
    let built = built(json!([tool]));
    assert_eq!(built.left_out, []);
    Arc::clone(&built.tools[0])
}

#[test]
fn branches_at_the_root_are_put_together() {
    fits(
        json!({"type": "object", "anyOf": [
            {"properties": {"a": {"type": "string"}, "x": {"type": "string"}}, "required": ["a", "x"]},
            {"properties": {"b": {"type": "number"}, "x": {"type": "number"}}, "required": ["b", "x"]},
        ]}),
        json!({"type": "object", "required": ["x"], "properties": {
            "a": {"type": "string"}, "x": {}, "b": {"type": "number"},
        }}),
    );
    fits(
        json!({"allOf": [{"$ref": "#/$defs/p"}, {"properties": {"b": {}}, "required": ["b"]}], "required": ["c"],
               "$defs": {"p": {"properties": {"a": {}}, "required": ["a"]}}, "additionalProperties": false}),
        json!({"required": ["a", "b", "c"], "$defs": {"p": {"properties": {"a": {}}, "required": ["a"]}},
               "properties": {"a": {}, "b": {}}}),
    );
    fits(json!(null), json!({}));
    fits(
        json!({"type": "object", "properties": {"a": {"anyOf": []}}}),
        json!({"type": "object", "properties": {"a": {"anyOf": []}}}),
    );
}

#[test]
fn hints_make_a_tool_safe_beside_others_and_nothing_more() {
    let reads = one(
        json!({"name": "r", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}),
    );
    assert!(reads.is_concurrency_safe(&json!({})) && !reads.is_destructive(&json!({})));
    let silent = one(json!({"name": "w", "inputSchema": {"type": "object"}}));
    assert!(!silent.is_concurrency_safe(&json!({})) && silent.is_destructive(&json!({})));
    assert!(silent.should_defer() && !silent.always_load() && !silent.requires_user_interaction());
}

#[test]
fn meta_of_a_tool_is_heeded_within_limits() {
    let tool = one(json!({"name": "m", "inputSchema": {}, "_meta": {
        "anthropic/maxResultSizeChars": 300_000, "anthropic/alwaysLoad": true,
        "anthropic/requiresUserInteraction": true, "anthropic/searchHint": "words",
    }}));
    assert_eq!(tool.result_limit(), ResultLimit::Declared(300_000));
    assert!(tool.always_load() && tool.requires_user_interaction() && !tool.should_defer());
    assert_eq!(tool.search_hint(), "words");
    let plain = one(
        json!({"name": "p", "inputSchema": {}, "_meta": {"anthropic/maxResultSizeChars": "many"}}),
    );
    assert_eq!(plain.result_limit(), ResultLimit::Declared(100_000));
}

#[test]
fn a_bad_schema_leaves_its_tool_out_and_says_why() {
    let built = built(json!([
        {"name": "good", "inputSchema": {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}},
        {"name": "text", "inputSchema": {"type": "string"}},
        {"name": "remote", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}},
        {"name": "elephant", "inputSchema": {"type": "object", "properties": {"a": {"type": "elephant"}}}},
        {"name": "huge", "inputSchema": {"type": "object", "description": "x".repeat(300_000)}},
        {"name": "list", "inputSchema": []},
        {"name": "dialect", "inputSchema": {"type": "object", "$schema": "http://example.org/own"}},
        {"name": "refs", "inputSchema": {"type": "object", "$defs": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/x"}}}},
    ]));
    let names: Vec<&str> = built.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["mcp__s__good", "mcp__s__dialect", "mcp__s__refs"]);
    let out: Vec<&str> = built.left_out.iter().map(|out| out.name.as_str()).collect();
    assert_eq!(out, ["text", "remote", "elephant", "huge", "list"]);
    assert!(built.left_out.iter().all(|out| !out.problem.is_empty()));
}

#[test]
fn names_stay_apart_and_none_is_a_built_in_one() {
    let built = built(json!([
        {"name": "a.b", "inputSchema": {}}, {"name": "a_b", "inputSchema": {}}, {"name": "a.b", "inputSchema": {}},
        {"name": "Read", "inputSchema": {}}, {"name": "x".repeat(90), "inputSchema": {}},
    ]));
    let names: BTreeSet<&str> = built.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("mcp__s__") && name.len() <= 64), "{names:?}");
    assert_eq!(built.left_out.len(), 1);
}

#[test]
fn a_long_description_is_cut() {
    let tool = one(json!({"name": "d", "inputSchema": {}, "description": "ä".repeat(5_000)}));
    let shown = &tool.definition().description;
    assert!(shown.chars().count() == MAX_DESCRIPTION && shown.ends_with('…'));
}
