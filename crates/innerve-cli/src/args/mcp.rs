//! Flags and verbs for MCP servers.

use clap::{Args, Subcommand};

use super::PolicyArguments;

/// Which MCP servers there are.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct McpArguments {
    /// One more file with MCP servers (`mcpServers`), or the same as JSON; may be repeated.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Uses the MCP servers of --mcp-config alone.
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  innerve mcp list\n  innerve mcp serve --allow 'Bash(cargo test *)'"
)]
pub(crate) struct McpVerbArguments {
    #[command(subcommand)]
    pub(crate) verb: McpVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpVerb {
    /// Lists the MCP servers: how each one is, what it offers, and what would mend it.
    List(McpListArguments),
    /// Offers the built-in tools to an MCP client, on standard input and output.
    Serve(Box<McpServeArguments>),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Servers are named in `mcpServers` of settings, in `.mcp.json` (which counts in a trusted workspace) and by\n--mcp-config. Each one is started to see what it offers. Exits 1 when one of them fails.\n\nExamples:\n  innerve mcp list\n  innerve mcp list --json | jq '.[].tools'"
)]
pub(crate) struct McpListArguments {
    /// Prints a list of JSON objects.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) mcp: McpArguments,
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Every call runs under your own rules. What would be asked about is asked through the client where it can show\nquestions (elicitation), and denied otherwise.\n\nExample, as an entry of another program's mcpServers:\n  \"innerve\": {\"command\": \"innerve\", \"args\": [\"mcp\", \"serve\", \"--allow\", \"Bash(cargo test *)\"]}"
)]
pub(crate) struct McpServeArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
}
