//! Messages and blocks as the wire has them, in short.

use innerve_protocol::Message;
use serde_json::{Value, json};

pub(crate) fn messages(value: Value) -> Vec<Message> {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

pub(crate) fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn thinking() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "sig"})
}

pub(crate) fn image() -> Value {
    json!({"type": "image", "source": {"type": "url", "url": "http://x/y.png"}})
}

pub(crate) fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {}})
}

pub(crate) fn result(id: &str, text: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": text})
}
