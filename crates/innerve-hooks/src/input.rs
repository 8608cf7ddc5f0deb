//! What a hook is told: the JSON of an event, with the documented names.

use std::path::Path;

use innerve_pipeline::HookEvent;
use serde_json::{Map, Value};

use crate::EventName;

/// The event as a hook reads it (Claude Code, "Hooks reference", hook input).
pub(crate) fn describe(event: &HookEvent, name: EventName, transcript: Option<&Path>) -> Value {
    let mut fields = Map::new();
    let mut put = |field: &str, value: String| {
        fields.insert(field.to_owned(), Value::String(value));
    };
    put("session_id", event.session_id.clone());
    put(
        "transcript_path",
        transcript.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
    );
    put("cwd", event.cwd.to_string_lossy().into_owned());
    // How a sub-agent's questions travel is no mode that a person can set.
    let mode = if event.permission_mode == "bubble" { "default" } else { event.permission_mode };
    put("permission_mode", mode.to_owned());
    if let Some(agent) = &event.agent_id {
        put("agent_id", agent.clone());
    }
    if let Some(kind) = &event.agent_type {
        put("agent_type", kind.clone());
    }
    put("hook_event_name", name.to_string());
    if let Some(tool) = &event.tool {
        put("tool_name", tool.clone());
    }
    for (field, value) in &event.fields {
        // A question is not about a call that has an id yet.
        if name != EventName::PermissionRequest || field != "tool_use_id" {
            fields.insert(field.clone(), value.clone());
        }
    }
    Value::Object(fields)
}

/// What the event's matchers are compared with; `None` if it has no subject, or if the event does not tell it.
pub(crate) fn subject(name: EventName, told: &Value) -> Option<&str> {
    let text = told.get(name.subject()?.field())?.as_str()?;
    // A watched file is matched by its name.
    let is_file = name == EventName::FileChanged;
    Some(if is_file { text.rsplit('/').next().unwrap_or(text) } else { text })
}

/// Fills `${path}` in the texts of `template` with fields of the event: `${tool_input.file_path}`.
///
/// A text that is one such place and no more becomes the field itself, whatever its type. What the event does not have
/// is empty.
pub(crate) fn fill(template: &Value, told: &Value) -> Value {
    match template {
        Value::String(text) => fill_text(text, told),
        Value::Array(items) => items.iter().map(|item| fill(item, told)).collect(),
        Value::Object(fields) => {
            let filled = fields.iter().map(|(name, value)| (name.clone(), fill(value, told)));
            Value::Object(filled.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    }
}

fn fill_text(text: &str, told: &Value) -> Value {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, opened)) = rest.split_once("${") {
        let Some((path, after)) = opened.split_once('}') else { break };
        let value = field(told, path);
        if before.is_empty() && after.is_empty() && filled.is_empty() {
            return value.cloned().unwrap_or_else(|| Value::String(String::new()));
        }
        filled.push_str(before);
        match value {
            Some(Value::String(text)) => filled.push_str(text),
            Some(value) => filled.push_str(&value.to_string()),
            None => {}
        }
        rest = after;
    }
    filled.push_str(rest);
    Value::String(filled)
}

fn field<'a>(told: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(told, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        Value::Object(fields) => fields.get(name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use innerve_pipeline::HookEventName;
    use serde_json::json;

    use super::*;

    fn event(name: HookEventName) -> HookEvent {
        let fields = json!({"tool_input": {"command": "ls"}, "tool_use_id": "t1"});
        HookEvent {
            name,
            session_id: "s".to_owned(),
            agent_id: None,
            agent_type: None,
            cwd: "/repo".into(),
            permission_mode: "bubble",
            tool: Some("Bash".to_owned()),
            fields: fields.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn a_hook_is_told_the_documented_fields() {
        let told = describe(
            &event(HookEventName::PreToolUse),
            EventName::PreToolUse,
            Some(Path::new("/t.jsonl")),
        );
        assert_eq!(
            told,
            json!({
                "session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/repo", "permission_mode": "default",
                "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1",
            })
        );
        assert_eq!(subject(EventName::PreToolUse, &told), Some("Bash"));
        assert_eq!(subject(EventName::Stop, &told), None);
    }

    #[test]
    fn a_permission_request_names_no_call() {
        let mut event = event(HookEventName::PermissionRequest);
        event.agent_id = Some("a1".to_owned());
        event.agent_type = Some("Explore".to_owned());
        let told = describe(&event, EventName::PermissionRequest, None);
        assert_eq!(told.get("tool_use_id"), None);
        assert_eq!((&told["agent_id"], &told["transcript_path"]), (&json!("a1"), &json!("")));
        assert_eq!(told["agent_type"], json!("Explore"));
    }

    #[test]
    fn a_watched_file_is_matched_by_its_name() {
        let told = json!({"file_path": "/repo/.env"});
        assert_eq!(subject(EventName::FileChanged, &told), Some(".env"));
    }

    #[test]
    fn places_are_filled_with_fields_of_the_event() {
        let told = json!({"tool_input": {"path": "/a", "lines": [1, {"n": 2}]}, "x": "${y}"});
        for (template, filled) in [
            (json!("${tool_input.path}"), json!("/a")),
            (json!("${tool_input.lines}"), json!([1, {"n": 2}])),
            (json!("at ${tool_input.path}:${tool_input.lines.1.n}!"), json!("at /a:2!")),
            (json!("${nothing.there}"), json!("")),
            (json!("a${nothing}b ${open"), json!("ab ${open")),
            (json!({"k": ["${x}", 7]}), json!({"k": ["${y}", 7]})),
        ] {
            assert_eq!(fill(&template, &told), filled, "{template}");
        }
    }
}
