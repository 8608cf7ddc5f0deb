//! Flags of the agent for editors.

use std::path::PathBuf;

use clap::Args;

use super::AgentArguments;

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Speaks the Agent Client Protocol on standard input and output; an editor starts it. It is there in programs that\nwere built with the feature `acp`.\n\nExample, in the settings of Zed:\n  \"agent_servers\": {\"innerve\": {\"command\": \"innerve\", \"args\": [\"acp\"], \"env\": {\"ANTHROPIC_API_KEY\": \"…\"}}}"
)]
pub(crate) struct AcpArguments {
    #[command(flatten)]
    pub(crate) agent: AgentArguments,
}

/// Where the command to run comes from.
#[derive(Clone, Debug, Args)]
pub(crate) struct EditorTerminalArguments {
    /// The socket of the agent that has the command.
    pub(crate) socket: PathBuf,
}
