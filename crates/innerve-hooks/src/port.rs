//! Ports: the model, the agent and the connected servers that some hooks need from their host.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use crate::event::EventName;

/// Answers the question of a prompt hook with one request to a model.
///
/// Dropping the future cancels the request; the caller minds the timeout.
pub trait Judge: Send + Sync {
    /// Asks.
    fn judge<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Result<Answer, PortError>>;
}

/// Answers the question of an agent hook by an agent that may use tools.
///
/// Dropping the future cancels the agent; the caller minds the timeout.
pub trait AgentRunner: Send + Sync {
    /// Lets the agent work for at most `turns` rounds of tool uses.
    fn run<'a>(
        &'a self,
        question: Question<'a>,
        turns: u32,
    ) -> BoxFuture<'a, Result<Answer, PortError>>;
}

/// Calls a tool of a connected MCP server for an `mcp_tool` hook.
///
/// Dropping the future cancels the call; the caller minds the timeout.
pub trait ToolCaller: Send + Sync {
    /// Gives the text of the tool's answer, which is then read as a command's standard output is.
    fn call<'a>(&'a self, request: ToolRequest<'a>) -> BoxFuture<'a, Result<String, PortError>>;
}

/// What a prompt or agent hook asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The event.
    pub event: EventName,
    /// The whole prompt, as [`prompt_for`] makes it.
    pub prompt: &'a str,
    /// The model to ask, if the entry names one.
    pub model: Option<&'a str>,
}

/// What a model or an agent answered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Answer {
    /// Whether things may go on.
    pub ok: bool,
    /// Why not.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether the condition can never be met, so that asking for more work is pointless.
    #[serde(default)]
    pub impossible: bool,
}

/// What an `mcp_tool` hook calls.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolRequest<'a> {
    /// The server, by its name in the settings.
    pub server: &'a str,
    /// The tool, by the server's own name for it.
    pub tool: &'a str,
    /// The input.
    pub input: &'a Value,
}

/// Why a port gave no answer; the hook then has no say and the event goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The server is not connected.
    #[error("the server `{server}` is not connected")]
    NotConnected {
        /// The server.
        server: String,
    },
    /// The tool answered with an error.
    #[error("the tool answered with an error: {message}")]
    Tool {
        /// What it said.
        message: String,
    },
    /// The model or the agent did not come to an answer.
    #[error("no answer: {message}")]
    NoAnswer {
        /// Why.
        message: String,
    },
}

impl PortError {
    /// A stable word for the kind of error, free of anything a person or server wrote.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotConnected { .. } => "hooks.not_connected",
            Self::Tool { .. } => "hooks.tool_error",
            Self::NoAnswer { .. } => "hooks.no_answer",
        }
    }
}

/// Puts the event's data in the place of each `$ARGUMENTS`, or at the end when the prompt has none.
pub fn prompt_for(prompt: &str, event: &Value) -> String {
    const PLACE: &str = "$ARGUMENTS";
    let data = event.to_string();
    if prompt.contains(PLACE) {
        prompt.replace(PLACE, &data)
    } else {
        format!("{prompt}\n\n{data}")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_event_stands_where_the_prompt_wants_it() {
        let event = json!({"tool_name": "Bash"});
        assert_eq!(prompt_for("Is $ARGUMENTS fine?", &event), r#"Is {"tool_name":"Bash"} fine?"#);
        assert_eq!(prompt_for("Fine?", &event), "Fine?\n\n{\"tool_name\":\"Bash\"}");
    }

    #[test]
    fn event_data_that_names_the_place_is_not_expanded_again() {
        assert_eq!(prompt_for("<$ARGUMENTS>", &json!("$ARGUMENTS")), "<\"$ARGUMENTS\">");
    }

    #[test]
    fn an_answer_needs_only_its_verdict() {
        let answer: Answer = serde_json::from_str(r#"{"ok":false,"reason":"tests fail"}"#).unwrap();
        assert_eq!(
            answer,
            Answer { ok: false, reason: Some("tests fail".to_owned()), impossible: false }
        );
        assert!(serde_json::from_str::<Answer>(r#"{"reason":"fine"}"#).is_err());
    }

    struct Refuses;

    impl Judge for Refuses {
        fn judge<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Result<Answer, PortError>> {
            let reason = format!("{} {}", question.event, question.prompt);
            async move { Ok(Answer { ok: false, reason: Some(reason), impossible: false }) }.boxed()
        }
    }

    #[test]
    fn a_port_can_be_held_as_an_object() {
        let judge: Box<dyn Judge> = Box::new(Refuses);
        let question = Question { event: EventName::Stop, prompt: "done?", model: None };
        assert_eq!(
            judge.judge(question).now_or_never().unwrap().unwrap().reason.as_deref(),
            Some("Stop done?")
        );
    }
}
