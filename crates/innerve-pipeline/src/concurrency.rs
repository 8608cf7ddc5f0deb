//! Which tool uses may run beside others.

use innerve_protocol::ToolUse;
use innerve_tool::{Lookup, ToolPool};

/// Whether a tool use may run beside other safe ones: its tool is known, its input fits, and the tool says so.
/// Every doubt, a panic of the tool included, says no.
pub fn is_concurrency_safe(pool: &ToolPool, tool_use: &ToolUse) -> bool {
    match pool.find(&tool_use.name) {
        Lookup::Found(tool) => {
            tool.parse(tool_use.input.clone()).is_ok_and(|input| tool.is_concurrency_safe(&input))
        }
        Lookup::Removed(_) | Lookup::Unknown { .. } => false,
    }
}
