//! Which tool calls an editor was told of, and whose terminals they show: an update that comes too early fails, and one
//! that leaves the terminal out takes it away.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{
    SessionUpdate, Terminal, TerminalId, ToolCallContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};

/// The calls that are under way, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Calls(HashMap<String, Call>);

#[derive(Debug, Default)]
struct Call {
    is_told: bool,
    terminal: Option<TerminalId>,
}

impl Calls {
    /// The call shows this terminal from now on; what to tell of that, if it is time to.
    #[cfg_attr(not(unix), expect(dead_code, reason = "terminals are for Unix"))]
    pub(crate) fn show(&mut self, id: &str, terminal: &TerminalId) -> Option<SessionUpdate> {
        let call = self.0.entry(id.to_owned()).or_default();
        call.terminal = Some(terminal.clone());
        call.is_told.then(|| {
            let fields = ToolCallUpdateFields::new().content(vec![shown(terminal)]);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))
        })
    }

    /// What is told of a call, with its terminal.
    pub(crate) fn follow(&mut self, mut update: SessionUpdate) -> SessionUpdate {
        if let SessionUpdate::ToolCall(call) = &mut update {
            let known = self.0.entry(call.tool_call_id.to_string()).or_default();
            known.is_told = true;
            if let Some(terminal) = &known.terminal {
                call.content = vec![shown(terminal)];
            }
        } else if let SessionUpdate::ToolCallUpdate(call) = &mut update {
            let id = call.tool_call_id.to_string();
            let status = call.fields.status;
            let is_over =
                matches!(status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed));
            let terminal = self.0.get(&id).and_then(|known| known.terminal.as_ref());
            if let (Some(terminal), Some(content)) = (terminal, &mut call.fields.content) {
                if status == Some(ToolCallStatus::Completed) {
                    // It shows all that there is to see.
                    content.clear();
                }
                content.insert(0, shown(terminal));
            }
            if is_over {
                self.0.remove(&id);
            }
        }
        update
    }
}

fn shown(terminal: &TerminalId) -> ToolCallContent {
    ToolCallContent::Terminal(Terminal::new(terminal.clone()))
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::ToolCall;

    use super::*;

    fn update(fields: ToolCallUpdateFields) -> SessionUpdate {
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("1", fields))
    }

    fn content(parts: Vec<ToolCallContent>) -> ToolCallUpdateFields {
        ToolCallUpdateFields::new().content(parts)
    }

    #[test]
    fn a_terminal_is_told_of_after_its_call_and_stays_in_it() {
        let (mut calls, id) = (Calls::default(), TerminalId::new("t"));
        let told = SessionUpdate::ToolCall(ToolCall::new("1", "`ls`"));
        assert_eq!(calls.follow(told.clone()), told);
        assert_eq!(calls.show("1", &id), Some(update(content(vec![shown(&id)]))));
        let running = update(ToolCallUpdateFields::new().status(ToolCallStatus::InProgress));
        assert_eq!(calls.follow(running.clone()), running);
        let failed = |parts| update(content(parts).status(ToolCallStatus::Failed));
        assert_eq!(calls.follow(failed(vec!["no".into()])), failed(vec![shown(&id), "no".into()]));
        assert!(calls.0.is_empty());
    }

    #[test]
    fn a_terminal_that_is_there_before_its_call_was_told_of_comes_with_it() {
        let (mut calls, id) = (Calls::default(), TerminalId::new("t"));
        assert_eq!(calls.show("1", &id), None);
        let call = ToolCall::new("1", "`ls`");
        let with = SessionUpdate::ToolCall(call.clone().content(vec![shown(&id)]));
        assert_eq!(calls.follow(SessionUpdate::ToolCall(call)), with);
        let done = |parts| update(content(parts).status(ToolCallStatus::Completed));
        assert_eq!(calls.follow(done(vec!["output".into()])), done(vec![shown(&id)]));
        assert!(calls.0.is_empty());
    }

    #[test]
    fn a_call_without_a_terminal_is_told_as_it_is() {
        let mut calls = Calls::default();
        let done = update(content(vec!["a".into()]).status(ToolCallStatus::Completed));
        assert_eq!(calls.follow(done.clone()), done);
    }
}
