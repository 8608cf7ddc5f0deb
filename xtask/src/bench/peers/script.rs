//! What the model has every agent do, by whichever tool for commands the agent offers it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::bench::server::{self, Piece, Request, Response};
use crate::bench::wire::{Call, Wire};

/// The commands of [`Script::Together`].
const CALLS: usize = 4;
/// How long each of them takes.
const CALL: Duration = Duration::from_secs(1);

/// Tools for commands, and the field that holds the command.
const TOOLS: [(&str, &str); 7] = [
    ("Bash", "command"),
    ("bash", "command"),
    ("exec_command", "cmd"),
    ("shell_command", "command"),
    ("shell", "command"),
    ("local_shell", "command"),
    ("run_shell_command", "command"),
];

/// What the model wants before it says that it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// A command that does nothing, so many times.
    Turns(usize),
    /// A command that writes 200 MB.
    Flood,
    /// A command that is done at once and leaves a child that holds its output open.
    Child,
    /// Commands that take a while, in one response.
    Together,
}

impl Script {
    /// The commands of the response of this number. No two are alike: agents stop a model that repeats itself.
    fn commands(self, number: usize) -> Vec<String> {
        match self {
            Self::Turns(turns) if number <= turns => vec![format!(": {number}; true")],
            Self::Flood if number == 1 => vec!["yes | head -c 200000000".to_owned()],
            Self::Child if number == 1 => vec!["sleep 20 & echo started".to_owned()],
            Self::Together if number == 1 => {
                // They read something: who runs only such commands side by side is measured like who runs all.
                let command = |call| format!(": {call}; sleep {}; cat notes.txt", CALL.as_secs());
                (1..=CALLS).map(command).collect()
            }
            Self::Turns(_) | Self::Flood | Self::Child | Self::Together => Vec::new(),
        }
    }
}

impl server::Script for Script {
    /// Requests without a tool for commands ask for a title or the like.
    fn counts(&self, request: &Request) -> bool {
        let Some(wire) = Wire::of(&request.path) else { return false };
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        tool(wire, &body).is_some()
    }

    fn response(&self, number: usize, request: &Request) -> Response {
        let Some(wire) = Wire::of(&request.path) else {
            // Counts of tokens, lists of models, and what else is asked for beside the task.
            return Response::Json(
                json!({ "totalTokens": 100, "input_tokens": 100, "data": [], "models": [] }),
            );
        };
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let commands = if number == 0 { Vec::new() } else { self.commands(number) };
        let calls: Vec<Call> = match tool(wire, &body) {
            None => Vec::new(),
            Some(tool) => commands.iter().map(|command| tool.call(command)).collect(),
        };
        Response::Stream(vec![Piece::at_once(wire.response(number, &calls))])
    }
}

/// A tool for commands as a request offers it.
struct Tool<'a> {
    name: &'a str,
    field: &'a str,
    schema: &'a Value,
}

fn tool(wire: Wire, body: &Value) -> Option<Tool<'_>> {
    let offered = wire.tools(body);
    TOOLS.into_iter().find_map(|(name, field)| {
        let (_, schema) = offered.iter().find(|(offered, _)| *offered == name)?;
        Some(Tool { name, field, schema })
    })
}

impl Tool<'_> {
    /// A call with what the tool demands beside the command.
    fn call(&self, command: &str) -> Call {
        let required = self.schema.get("required").and_then(Value::as_array);
        let required = required.map(Vec::as_slice).unwrap_or_default();
        let fill = |name: &Value| Some((name.as_str()?.to_owned(), json!("bench")));
        let mut input: Map<String, Value> = required.iter().filter_map(fill).collect();
        input.insert(self.field.to_owned(), json!(command));
        Call { name: self.name.to_owned(), input: Value::Object(input) }
    }
}

#[cfg(test)]
mod tests {
    use super::server::Script as _;
    use super::*;

    fn request(path: &str, body: &Value) -> Request {
        Request { path: path.to_owned(), body: body.to_string().into_bytes() }
    }

    #[test]
    fn a_command_is_asked_for_by_the_tool_and_the_fields_that_an_agent_offers() {
        let schema = json!({ "properties": {}, "required": ["command", "description"] });
        let gemini = json!({ "tools": [{ "functionDeclarations": [
            { "name": "run_shell_command", "parametersJsonSchema": schema }] }] });
        let codex =
            json!({ "tools": [{ "type": "function", "name": "exec_command", "parameters": {} }] });
        for (path, body, name, input) in [
            (
                "/v1beta/models/m:streamGenerateContent",
                &gemini,
                "run_shell_command",
                json!({ "command": ": 1; true", "description": "bench" }),
            ),
            ("/v1/responses", &codex, "exec_command", json!({ "cmd": ": 1; true" })),
        ] {
            let request = request(path, body);
            let script = Script::Turns(1);
            assert!(script.counts(&request), "{path}");
            let wire = Wire::of(path).unwrap();
            let call = tool(wire, body).unwrap().call(&script.commands(1)[0]);
            assert_eq!(call, Call { name: name.to_owned(), input }, "{path}");
        }
    }

    #[test]
    fn a_request_for_a_title_does_not_count() {
        let script = Script::Turns(1);
        assert!(!script.counts(&request("/v1/messages", &json!({ "tools": [] }))));
        assert!(!script.counts(&request("/v1/models", &Value::Null)));
    }
}
