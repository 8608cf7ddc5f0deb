//! Puts tool calls together from the pieces of a Chat Completions stream, whatever a server does to them.

use std::collections::HashSet;

use innerve_protocol::{BlockKind, ContentBlock, StreamEvent, ToolUse};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::decode::lenient;
use crate::{ErrorClass, ModelError};

/// Calls per response at most.
const CALL_LIMIT: usize = 256;

/// One entry of `delta.tool_calls`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Piece {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    function: Option<Function>,
}

/// The function of a piece, or the older `function_call`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Function {
    #[serde(default, deserialize_with = "lenient")]
    name: Option<String>,
    #[serde(default)]
    arguments: Value,
}

impl From<Function> for Piece {
    fn from(function: Function) -> Self {
        Self { index: Some(0), id: None, function: Some(function) }
    }
}

/// A call as far as it is known.
#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    /// The id as the server gave it.
    wire_id: String,
    name: String,
    arguments: String,
    /// The name came again, without arguments, after the arguments were complete.
    announced_again: bool,
    block: Option<Block>,
    done: bool,
}

#[derive(Clone, Debug)]
struct Block {
    index: usize,
    id: String,
}

/// What became of the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) calls: bool,
    pub(super) truncated: bool,
}

pub(super) struct Accumulator {
    slots: Vec<Slot>,
    used_ids: HashSet<String>,
    new_id: Box<dyn Fn() -> String + Send>,
    calls: bool,
}

impl Accumulator {
    pub(super) fn new(new_id: Box<dyn Fn() -> String + Send>) -> Self {
        Self { slots: Vec::new(), used_ids: HashSet::new(), new_id, calls: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes one piece; `next_block` counts the response's blocks.
    pub(super) fn push(
        &mut self,
        piece: Piece,
        next_block: &mut usize,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ModelError> {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let (text, whole) = match function.arguments {
            Value::Null => (String::new(), false),
            Value::String(text) => (text, false),
            other @ (Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_)) => {
                (other.to_string(), true)
            }
        };
        let place = match self.find(piece.index, &id, &name, &text) {
            Found::Slot(place) => place,
            Found::None => return Ok(()),
            Found::New => {
                if self.slots.len() >= CALL_LIMIT {
                    return Err(ModelError::new(
                        ErrorClass::Malformed,
                        format!("the response holds more than {CALL_LIMIT} tool calls"),
                    ));
                }
                let again = self.latest(piece.index).filter(|slot| slot.announced_again);
                let inherited = again.map(|slot| slot.name.clone()).unwrap_or_default();
                self.close_complete(next_block, events);
                self.slots.push(Slot { index: piece.index, name: inherited, ..Slot::default() });
                self.slots.len() - 1
            }
        };
        let Some(slot) = self.slots.get_mut(place) else { return Ok(()) };
        if slot.done {
            return Ok(());
        }
        if slot.wire_id.is_empty() {
            slot.wire_id = id;
        }
        if slot.name != name && slot.arguments.is_empty() {
            slot.name.push_str(&name);
        } else if !name.is_empty() && text.trim().is_empty() && is_complete(&slot.arguments) {
            slot.announced_again = true;
        }
        if text.is_empty() {
            return Ok(());
        }
        if whole {
            slot.arguments.clone_from(&text);
        } else {
            slot.arguments.push_str(&text);
        }
        if let Some(block) = self.start(place, next_block, events) {
            events.push(StreamEvent::InputDelta { index: block.index, partial_json: text });
        }
        Ok(())
    }

    fn find(&self, index: Option<u64>, id: &str, name: &str, text: &str) -> Found {
        let known = |id: &str| self.slots.iter().rposition(|slot| slot.wire_id == id);
        if index.is_some() {
            let Some(place) = self.slots.iter().rposition(|slot| slot.index == index) else {
                return Found::New;
            };
            let Some(slot) = self.slots.get(place) else { return Found::New };
            if !id.is_empty() && id == slot.wire_id {
                return Found::Slot(place);
            }
            if !id.is_empty() && !slot.wire_id.is_empty() {
                // Several calls under one index, told apart by their ids.
                return known(id).map_or(Found::New, Found::Slot);
            }
            let announced = (!name.is_empty() && (name != slot.name || !text.trim().is_empty()))
                || (slot.announced_again && !text.trim().is_empty());
            if announced && is_complete(&slot.arguments) {
                // The same, without ids.
                return Found::New;
            }
            return Found::Slot(place);
        }
        if !id.is_empty() {
            return known(id).map_or(Found::New, Found::Slot);
        }
        match (name.is_empty(), self.slots.len().checked_sub(1)) {
            (false, _) => Found::New,
            (true, Some(last)) => Found::Slot(last),
            (true, None) => Found::None,
        }
    }

    fn latest(&self, index: Option<u64>) -> Option<&Slot> {
        self.slots.iter().rfind(|slot| slot.index == index)
    }

    /// Begins the block of a call whose name is known, after those of the calls before it, so that their order stays.
    fn start(
        &mut self,
        place: usize,
        next_block: &mut usize,
        events: &mut Vec<StreamEvent>,
    ) -> Option<Block> {
        for slot in self.slots.iter_mut().take(place + 1) {
            if slot.block.is_some() || slot.name.is_empty() {
                continue;
            }
            let mut id = slot.wire_id.clone();
            // A source of ids that repeats itself must not hang the stream.
            for _ in 0..16 {
                if !id.is_empty() && !self.used_ids.contains(&id) {
                    break;
                }
                id = (self.new_id)();
            }
            self.used_ids.insert(id.clone());
            slot.block = Some(Block { index: *next_block, id: id.clone() });
            events.push(StreamEvent::BlockStart {
                index: *next_block,
                kind: BlockKind::ToolUse { id: id.as_str().into(), name: slot.name.clone() },
            });
            *next_block += 1;
        }
        self.slots.get(place)?.block.clone()
    }

    /// Ends the calls that cannot grow any more, so that their tools can start.
    fn close_complete(&mut self, next_block: &mut usize, events: &mut Vec<StreamEvent>) {
        for place in 0..self.slots.len() {
            let complete = self
                .slots
                .get(place)
                .is_some_and(|slot| !slot.done && is_complete(&slot.arguments));
            if complete {
                self.close(place, false, next_block, events);
            }
        }
    }

    /// Ends all calls; `cut` says that the server reached the output limit.
    pub(super) fn finish(
        &mut self,
        cut: bool,
        next_block: &mut usize,
        events: &mut Vec<StreamEvent>,
    ) -> Outcome {
        let mut truncated = false;
        for place in 0..self.slots.len() {
            truncated |= self.close(place, cut, next_block, events);
        }
        Outcome { calls: self.calls, truncated }
    }

    /// Ends one call and says whether it was cut off, in which case it is left out.
    fn close(
        &mut self,
        place: usize,
        cut: bool,
        next_block: &mut usize,
        events: &mut Vec<StreamEvent>,
    ) -> bool {
        let Some(slot) = self.slots.get_mut(place) else { return false };
        if std::mem::replace(&mut slot.done, true) || slot.name.is_empty() {
            return false;
        }
        let arguments = std::mem::take(&mut slot.arguments);
        let (input, invalid_input) = match read_arguments(&arguments) {
            Ok(input) => (input, None),
            Err(Unreadable::Prefix) => return true,
            Err(Unreadable::Other) if cut => return true,
            Err(Unreadable::Other) => (Map::new(), Some(arguments)),
        };
        let name = slot.name.clone();
        if let Some(block) = self.start(place, next_block, events) {
            self.calls = true;
            let tool_use = ToolUse::new(block.id.as_str(), name, Value::Object(input));
            events.push(StreamEvent::BlockDone {
                index: block.index,
                block: ContentBlock::ToolUse(tool_use),
                invalid_input,
            });
        }
        false
    }
}

enum Found {
    Slot(usize),
    New,
    None,
}

#[derive(Debug, PartialEq, Eq)]
enum Unreadable {
    /// The text ends too early.
    Prefix,
    /// The text is no JSON object.
    Other,
}

/// Nothing is no arguments; an object in a string is an object, since some servers encode twice.
fn read_arguments(text: &str) -> Result<Map<String, Value>, Unreadable> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(input)) => shallow(input),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::String(inner)) => {
            serde_json::from_str(&inner).map_err(|_| Unreadable::Other).and_then(shallow)
        }
        Err(error) if error.is_eof() => Err(Unreadable::Prefix),
        Ok(Value::Bool(_) | Value::Number(_) | Value::Array(_)) | Err(_) => Err(Unreadable::Other),
    }
}

fn shallow(input: Map<String, Value>) -> Result<Map<String, Value>, Unreadable> {
    if ToolUse::is_too_deep(&input) { Err(Unreadable::Other) } else { Ok(input) }
}

/// Whether `text` is one whole JSON object.
fn is_complete(text: &str) -> bool {
    text.trim_end().ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
