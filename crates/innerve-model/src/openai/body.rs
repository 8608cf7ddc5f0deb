//! The bytes of a request. What was written for the last requests is not written again.

use innerve_protocol::{ContentBlock, Message, Request, SharedMessage, ToolResultContent};
use serde::Serialize;

use super::{Dialect, encode};

/// Conversations that are remembered at most: the main one and a few of its sub-agents'.
const CONVERSATIONS: usize = 4;

/// The messages of the last requests as they were written, the latest conversation last.
#[derive(Debug, Default)]
pub(super) struct Written(Vec<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    /// Kept, so that no other message can be taken for it.
    message: SharedMessage,
    /// What it became, objects parted by commas; `None` if that may change.
    text: Option<String>,
}

impl Written {
    /// Writes a request.
    pub(super) fn write(
        &mut self,
        request: &Request,
        dialect: &Dialect,
    ) -> Result<Vec<u8>, serde_json::Error> {
        self.update(request, dialect)?;
        let entries = self.0.last().map(Vec::as_slice).unwrap_or_default();
        let messages: usize =
            entries.iter().filter_map(|entry| entry.text.as_ref()).map(String::len).sum();
        let mut body = Vec::with_capacity(messages + entries.len() + 32 * 1024);
        body.extend_from_slice(b"{\"model\":");
        write(&mut body, &request.model)?;
        body.extend_from_slice(b",\"messages\":[");
        let mut is_first = true;
        let mut add = |body: &mut Vec<u8>, text: &str| {
            if !text.is_empty() {
                if !std::mem::take(&mut is_first) {
                    body.push(b',');
                }
                body.extend_from_slice(text.as_bytes());
            }
        };
        if let Some(instructions) = encode::instructions(request) {
            add(&mut body, &serde_json::to_string(&instructions)?);
        }
        let mut previous = None;
        for entry in entries {
            match &entry.text {
                Some(text) => add(&mut body, text),
                None => add(&mut body, &written(request, dialect, previous, &entry.message)?),
            }
            previous = Some(&*entry.message);
        }
        body.push(b']');
        for (name, value) in encode::rest(request, dialect) {
            body.push(b',');
            write(&mut body, &name)?;
            body.push(b':');
            write(&mut body, &value)?;
        }
        body.push(b'}');
        Ok(body)
    }

    /// Makes the last conversation that of the request; what it begins with like one of those before is taken from there.
    fn update(&mut self, request: &Request, dialect: &Dialect) -> Result<(), serde_json::Error> {
        let common = |entries: &Vec<Entry>| {
            let pairs = entries.iter().zip(&request.messages);
            pairs.take_while(|(entry, message)| entry.message.is_clone_of(message)).count()
        };
        let best = self.0.iter().enumerate().map(|(place, entries)| (common(entries), place)).max();
        let mut entries = match best {
            Some((shared, place)) if shared > 0 => {
                let mut entries = self.0.remove(place);
                entries.truncate(shared);
                entries
            }
            Some(_) | None => Vec::with_capacity(request.messages.len()),
        };
        let mut previous = entries.last().map(|entry| entry.message.clone());
        for message in request.messages.get(entries.len()..).unwrap_or_default() {
            let text = if has_reference(message) {
                None
            } else {
                Some(written(request, dialect, previous.as_deref(), message)?)
            };
            entries.push(Entry { message: message.clone(), text });
            previous = Some(message.clone());
        }
        self.0.push(entries);
        if self.0.len() > CONVERSATIONS {
            self.0.remove(0);
        }
        Ok(())
    }
}

/// What a message becomes, objects parted by commas.
fn written(
    request: &Request,
    dialect: &Dialect,
    previous: Option<&Message>,
    message: &Message,
) -> Result<String, serde_json::Error> {
    let objects = encode::message(request, dialect, previous, message);
    let texts: Result<Vec<String>, _> = objects.iter().map(serde_json::to_string).collect();
    texts.map(|texts| texts.join(","))
}

/// Whether it says what the tools of the request say, which may change.
fn has_reference(message: &Message) -> bool {
    let is_reference = |block: &ContentBlock| matches!(block, ContentBlock::ToolReference(_));
    let mut results = message.content.iter().filter_map(ContentBlock::as_tool_result);
    results.any(|result| match &result.content {
        ToolResultContent::Blocks(blocks) => blocks.iter().any(is_reference),
        ToolResultContent::Absent | ToolResultContent::Text(_) => false,
    })
}

fn write(body: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
    serde_json::to_writer(body, value)
}

#[cfg(test)]
mod tests {
    use innerve_protocol::{Role, ToolResult, ToolUse};
    use serde_json::{Value, json};

    use super::*;

    fn request(messages: &[SharedMessage]) -> Request {
        Request::new("local", 100, messages.to_vec())
    }

    fn round(number: usize) -> [SharedMessage; 2] {
        let id = format!("t{number}");
        let call = ToolUse::new(id.as_str(), "Read", json!({ "n": number }));
        let result = ToolResult::ok(id.as_str().into(), format!("\"{number}\""));
        [
            Message::new(Role::Assistant, vec![ContentBlock::ToolUse(call)]).into(),
            Message::new(Role::User, vec![ContentBlock::ToolResult(result)]).into(),
        ]
    }

    /// What is written with what went before in mind is what is written without.
    #[track_caller]
    fn check(written: &mut Written, messages: &[SharedMessage]) {
        let (request, dialect) = (request(messages), Dialect::new());
        let body = written.write(&request, &dialect).unwrap();
        let fresh = Written::default().write(&request, &dialect).unwrap();
        assert_eq!(String::from_utf8(body), String::from_utf8(fresh));
        let _json: Value =
            serde_json::from_slice(&written.write(&request, &dialect).unwrap()).unwrap();
    }

    #[test]
    fn what_is_remembered_changes_no_byte() {
        let mut written = Written::default();
        let mut messages: Vec<SharedMessage> = vec![Message::user("Do it.").into()];
        check(&mut written, &[]);
        for number in 0..5 {
            check(&mut written, &messages);
            messages.extend(round(number));
        }
        // Another conversation in between, and one that is as long and differs in its middle.
        check(&mut written, &round(7));
        let mut other = messages.clone();
        *other[4].make_mut() = Message::user("changed");
        check(&mut written, &other);
        check(&mut written, &messages);
        // A compaction.
        check(&mut written, &messages[9..]);
        assert!(written.0.len() <= CONVERSATIONS);
    }

    #[test]
    fn what_was_written_is_not_written_again() {
        let mut written = Written::default();
        let mut messages: Vec<SharedMessage> = vec![Message::user("Do it.").into()];
        messages.extend(round(1));
        written.update(&request(&messages), &Dialect::new()).unwrap();
        let before = written.0[0][0].text.as_ref().unwrap().as_ptr();
        messages.extend(round(2));
        written.update(&request(&messages), &Dialect::new()).unwrap();
        assert_eq!((written.0.len(), written.0[0].len()), (1, 5));
        assert_eq!(written.0[0][0].text.as_ref().unwrap().as_ptr(), before);
    }
}
