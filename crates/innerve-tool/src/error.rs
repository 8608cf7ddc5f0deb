//! Errors of tools and of their definitions, each with a stable code.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::SessionChange;

/// Codes that more than one tool uses; stable, `[a-z_:]`, safe to send to telemetry.
pub mod code {
    /// The call was cancelled.
    pub const INTERRUPTED: &str = "tool:interrupted";
    /// The call took too long.
    pub const TIMED_OUT: &str = "tool:timed_out";
    /// The tool panicked.
    pub const PANICKED: &str = "tool:panicked";
    /// The input makes no sense although it fits the schema.
    pub const INVALID: &str = "tool:invalid";
    /// There is no such file.
    pub const NOT_FOUND: &str = "tool:not_found";
    /// The operating system refused.
    pub const IO: &str = "tool:io";
    /// The tool did its work and reports a failure (a command that exits with 1).
    pub const FAILED: &str = "tool:failed";
    /// The permit is for another tool.
    pub const WRONG_PERMIT: &str = "tool:wrong_permit";
}

/// Why a call failed: a stable code, and words for the model.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ToolError {
    code: &'static str,
    message: String,
    changes: Vec<SessionChange>,
}

impl ToolError {
    /// An error with one of the stable codes and words that name the thing, the cause and the way out.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), changes: Vec::new() }
    }

    /// An input that makes no sense although it fits the schema.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(code::INVALID, message)
    }

    /// A call that was cancelled while it ran.
    pub fn interrupted() -> Self {
        Self::new(code::INTERRUPTED, "interrupted by the user before it finished")
    }

    /// An error of the operating system while doing `what`.
    pub fn io(what: &str, error: &io::Error) -> Self {
        let code = if error.kind() == io::ErrorKind::NotFound { code::NOT_FOUND } else { code::IO };
        Self::new(code, format!("{what}: {error}"))
    }

    /// Changes to the session that hold although the call failed (`cd sub; false` has moved).
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<SessionChange>) -> Self {
        self.changes = changes;
        self
    }

    /// The stable code; safe for telemetry.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Changes to the session that hold although the call failed.
    pub fn changes(&self) -> &[SessionChange] {
        &self.changes
    }

    /// The words for the model; may hold paths and output.
    pub fn message(&self) -> &str {
        &self.message
    }
}

// The message may hold secrets, so that it stays out of logs that print with `{:?}`.
impl fmt::Debug for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToolError").field("code", &self.code).finish_non_exhaustive()
    }
}

/// Why a tool cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name does not fit the API's pattern.
    #[error("tool name `{0}` must be 1 to 64 letters, digits, `_` or `-`")]
    Name(String),
    /// The schema is too large to be compiled.
    #[error("the input schema of `{tool}` has {bytes} bytes; at most {limit} are taken")]
    SchemaTooLarge {
        /// The tool.
        tool: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The schema is not a schema of an object.
    #[error("the input schema of `{tool}` cannot be used: {problem}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong.
        problem: String,
    },
}

impl DefinitionError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name(_) => "definition:name",
            Self::SchemaTooLarge { .. } => "definition:schema_too_large",
            Self::Schema { .. } => "definition:schema",
        }
    }
}
