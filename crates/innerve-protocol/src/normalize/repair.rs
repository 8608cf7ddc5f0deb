//! Repairs as data, for tests, logs and telemetry.

/// One repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// What was done.
    pub kind: RepairKind,
    /// The message it was done to, counted in the transcript as it was before; `None` for tools and instructions.
    pub message: Option<usize>,
}

/// The kinds of repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RepairKind {
    /// Adjacent messages of one role were merged; told of the later one.
    MergedRoles,
    /// Instructions in the middle of the conversation became a reminder in the user's words.
    ConvertedSystem,
    /// A block was moved out of a message whose role may not have it, into one of the other role.
    MovedBlock,
    /// A block that is allowed nowhere near its place was dropped.
    DroppedBlock,
    /// Text without a visible character was dropped.
    DroppedEmptyText,
    /// A message without content was dropped.
    DroppedEmptyMessage,
    /// Blocks that a tool result may not contain were unpacked or dropped.
    FlattenedResult,
    /// An error result without text got one.
    FilledErrorResult,
    /// What is not text was moved out of an error result, behind it.
    MovedMedia,
    /// A tool use's input that is not an object was replaced by an empty one.
    ReplacedInput,
    /// A tool use's name was cut or cleaned.
    RenamedTool,
    /// A tool use got another id, and its result with it: the old one was illegal or not unique.
    RenamedToolUse,
    /// Results were moved to the front of their message, or into the order of their tool uses.
    MovedResults,
    /// A tool use without a result got an error result.
    AnsweredToolUse,
    /// A result without a tool use in the message before was dropped.
    DroppedOrphanResult,
    /// A second result for a tool use was dropped.
    DroppedDuplicateResult,
    /// Thinking at the end of a message that others follow was dropped.
    DroppedThinking,
    /// Whitespace at the end of the last assistant text was cut.
    TrimmedWhitespace,
    /// A cache marker beyond the fourth, or where none may be, was taken away.
    DroppedCacheMarker,
    /// Tools were loaded at once because all of them were deferred.
    LoadedTools,
}

#[derive(Debug, Default)]
pub(super) struct Repairs(Vec<Repair>);

impl Repairs {
    pub(super) fn add(&mut self, kind: RepairKind, message: usize) {
        self.0.push(Repair { kind, message: Some(message) });
    }

    pub(super) fn add_outside(&mut self, kind: RepairKind) {
        self.0.push(Repair { kind, message: None });
    }

    pub(super) fn into_list(self) -> Vec<Repair> {
        self.0
    }
}
