//! Codes of failed calls, stable and safe to send to telemetry.

/// The server is not connected.
pub const NOT_CONNECTED: &str = "mcp:not_connected";
/// The connection was lost during the call.
pub const LOST: &str = "mcp:connection_lost";
/// The server refused the request: it does not know the tool, or not these arguments.
pub const REFUSED: &str = "mcp:refused";
/// What the server sent is not what the protocol wants.
pub const PROTOCOL: &str = "mcp:protocol";
