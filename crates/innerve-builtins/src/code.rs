//! Codes of the errors that only these tools give; stable and safe for telemetry, beside those of `innerve_tool::code`.

/// The file was not read, or only in part, before it was to be changed.
pub const NOT_READ: &str = "file:not_read";
/// The file has changed since it was read.
pub const STALE: &str = "file:stale";
/// There is a file where a new one was to be made.
pub const EXISTS: &str = "file:exists";
/// The file is larger than the tool takes.
pub const TOO_LARGE: &str = "file:too_large";
/// It is a directory, a device, a FIFO or a socket.
pub const NOT_A_FILE: &str = "file:not_a_file";
/// The content is not text.
pub const BINARY: &str = "file:binary";
/// The text to replace is not in the file.
pub const NO_MATCH: &str = "edit:no_match";
/// The text to replace is in the file more than once.
pub const AMBIGUOUS: &str = "edit:ambiguous";
/// A pattern, glob or file type cannot be used.
pub const PATTERN: &str = "search:pattern";
/// The sub-agent did not start or did not end well.
pub const AGENT: &str = "agent:failed";

/// The task in the background cannot be stopped.
pub const TASK: &str = "task:ended";

/// A page lies at an address that is not public.
pub const PRIVATE_ADDRESS: &str = "web:private_address";
/// A server answered that it failed.
pub const HTTP_STATUS: &str = "web:status";
/// A page is no text.
pub const MEDIA_TYPE: &str = "web:media_type";
/// A server cannot be reached.
pub const NETWORK: &str = "web:network";
/// A worktree cannot be made, left or removed.
pub const WORKTREE: &str = "worktree:refused";

/// All codes of this crate, sorted.
pub const ALL: &[&str] = &[
    AGENT,
    AMBIGUOUS,
    NO_MATCH,
    BINARY,
    EXISTS,
    NOT_A_FILE,
    NOT_READ,
    STALE,
    TOO_LARGE,
    PATTERN,
    TASK,
    MEDIA_TYPE,
    NETWORK,
    PRIVATE_ADDRESS,
    HTTP_STATUS,
    WORKTREE,
];
