//! The form that stream events have in a recording, and what may be left out of it.

use std::collections::HashSet;

use innerve_protocol::{BlockKind, ContentBlock, StopReason, StreamEvent, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An event and the pause before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    #[serde(default)]
    pub(super) after_ms: u64,
    pub(super) event: Event,
}

/// [`StreamEvent`] as JSON; retries are not recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    Start {
        #[serde(default)]
        id: String,
        #[serde(default)]
        model: String,
        #[serde(default)]
        usage: Usage,
    },
    BlockStart {
        index: usize,
        kind: Kind,
    },
    TextDelta {
        index: usize,
        text: String,
    },
    ThinkingDelta {
        index: usize,
        thinking: String,
    },
    InputDelta {
        index: usize,
        partial_json: String,
    },
    BlockDone {
        /// The next free place if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<usize>,
        block: ContentBlock,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid_input: Option<String>,
    },
    Usage {
        usage: Usage,
    },
    Stop {
        reason: StopReason,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        details: Map<String, Value>,
    },
    Ping,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Text,
    Thinking,
    ToolUse { id: String, name: String },
    Other,
}

impl Event {
    /// Whether it completes a block of this kind.
    pub(super) fn holds(&self, kind: &str) -> bool {
        matches!(self, Self::BlockDone { block, .. } if block.kind() == kind)
    }

    /// The recorded form; `None` for what is not recorded.
    pub(super) fn of(event: &StreamEvent) -> Option<Self> {
        Some(match event.clone() {
            StreamEvent::Start { id, model, usage } => Self::Start { id, model, usage },
            StreamEvent::BlockStart { index, kind } => {
                let kind = match kind {
                    BlockKind::Text => Kind::Text,
                    BlockKind::Thinking => Kind::Thinking,
                    BlockKind::ToolUse { id, name } => {
                        Kind::ToolUse { id: id.as_str().to_owned(), name }
                    }
                    BlockKind::Other => Kind::Other,
                };
                Self::BlockStart { index, kind }
            }
            StreamEvent::TextDelta { index, text } => Self::TextDelta { index, text },
            StreamEvent::ThinkingDelta { index, thinking } => {
                Self::ThinkingDelta { index, thinking }
            }
            StreamEvent::InputDelta { index, partial_json } => {
                Self::InputDelta { index, partial_json }
            }
            StreamEvent::BlockDone { index, block, invalid_input } => {
                Self::BlockDone { index: Some(index), block, invalid_input }
            }
            StreamEvent::Usage(usage) => Self::Usage { usage },
            StreamEvent::Stop { reason, details } => Self::Stop { reason, details },
            StreamEvent::Ping => Self::Ping,
            StreamEvent::Retrying(_) => return None,
        })
    }
}

/// Turns recorded events into stream events and fills in what was left out.
pub(super) struct Player {
    model: String,
    started: bool,
    stopped: bool,
    used_tool: bool,
    begun: HashSet<usize>,
    next_index: usize,
}

impl Player {
    pub(super) fn new(model: String) -> Self {
        Self {
            model,
            started: false,
            stopped: false,
            used_tool: false,
            begun: HashSet::new(),
            next_index: 0,
        }
    }

    pub(super) fn take(&mut self, event: Event) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        if self.stopped {
            return events;
        }
        if !std::mem::replace(&mut self.started, true) && !matches!(event, Event::Start { .. }) {
            let model = self.model.clone();
            events.push(StreamEvent::Start { id: String::new(), model, usage: Usage::default() });
        }
        match event {
            Event::Start { id, model, usage } => {
                events.push(StreamEvent::Start { id, model, usage });
            }
            Event::BlockStart { index, kind } => {
                self.begin(index);
                let kind = match kind {
                    Kind::Text => BlockKind::Text,
                    Kind::Thinking => BlockKind::Thinking,
                    Kind::ToolUse { id, name } => {
                        BlockKind::ToolUse { id: id.as_str().into(), name }
                    }
                    Kind::Other => BlockKind::Other,
                };
                events.push(StreamEvent::BlockStart { index, kind });
            }
            // A block that grows has begun, also where its beginning was left out.
            Event::TextDelta { index, text } => {
                self.begin(index);
                events.push(StreamEvent::TextDelta { index, text });
            }
            Event::ThinkingDelta { index, thinking } => {
                self.begin(index);
                events.push(StreamEvent::ThinkingDelta { index, thinking });
            }
            Event::InputDelta { index, partial_json } => {
                events.push(StreamEvent::InputDelta { index, partial_json });
            }
            Event::BlockDone { index, block, invalid_input } => {
                let index = index.unwrap_or(self.next_index);
                if !self.begun.contains(&index) {
                    self.begin(index);
                    events.extend(beginning(index, &block));
                }
                self.used_tool |= block.as_tool_use().is_some();
                events.push(StreamEvent::BlockDone { index, block, invalid_input });
            }
            Event::Usage { usage } => events.push(StreamEvent::Usage(usage)),
            Event::Stop { reason, details } => {
                self.stopped = true;
                events.push(StreamEvent::Stop { reason, details });
            }
            Event::Ping => events.push(StreamEvent::Ping),
        }
        events
    }

    /// The end of the response, if it was left out.
    pub(super) fn end(mut self) -> Vec<StreamEvent> {
        let reason = if self.used_tool { StopReason::ToolUse } else { StopReason::EndTurn };
        self.take(Event::Stop { reason, details: Map::new() })
    }

    fn begin(&mut self, index: usize) {
        self.begun.insert(index);
        self.next_index = self.next_index.max(index.saturating_add(1));
    }
}

/// What comes before a block that is only given as a whole.
fn beginning(index: usize, block: &ContentBlock) -> Vec<StreamEvent> {
    let kind = match block {
        ContentBlock::Text(_) => BlockKind::Text,
        ContentBlock::Thinking(_) => BlockKind::Thinking,
        ContentBlock::ToolUse(tool_use) => {
            BlockKind::ToolUse { id: tool_use.id.clone(), name: tool_use.name.clone() }
        }
        ContentBlock::Image(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => BlockKind::Other,
    };
    let growth = match block {
        ContentBlock::Text(block) => {
            Some(StreamEvent::TextDelta { index, text: block.text.clone() })
        }
        ContentBlock::Thinking(block) => {
            Some(StreamEvent::ThinkingDelta { index, thinking: block.thinking.clone() })
        }
        ContentBlock::ToolUse(tool_use) => {
            Some(StreamEvent::InputDelta { index, partial_json: tool_use.input.to_string() })
        }
        ContentBlock::Image(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_)
        | ContentBlock::Unknown(_) => None,
    };
    std::iter::once(StreamEvent::BlockStart { index, kind }).chain(growth).collect()
}
