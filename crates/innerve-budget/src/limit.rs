//! How long a tool's result may be.

/// How long a tool's result may be in a conversation, in Unicode scalar values.
///
/// Only the constructors make one, so that no limit is above its cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(Option<usize>);

impl Limit {
    /// The cap of what a tool asks for.
    pub const CAP: usize = 50_000;
    /// The cap of what an MCP server declares for its tool (`anthropic/maxResultSizeChars` in `_meta`; Claude Code
    /// documentation, "MCP").
    pub const DECLARED_CAP: usize = 500_000;
    /// For a tool that bounds its own results: one that reads files would otherwise be sent to read what it has just read.
    pub const UNLIMITED: Self = Self(None);

    /// What a tool asks for, at most [`Self::CAP`].
    pub const fn of_tool(chars: usize) -> Self {
        Self(Some(if chars < Self::CAP { chars } else { Self::CAP }))
    }

    /// What an MCP server declares for its tool, at most [`Self::DECLARED_CAP`].
    pub const fn declared(chars: usize) -> Self {
        Self(Some(if chars < Self::DECLARED_CAP { chars } else { Self::DECLARED_CAP }))
    }

    /// Characters at most; `None` is unlimited.
    pub const fn chars(self) -> Option<usize> {
        self.0
    }
}
