//! Flags of the agent for editors.

use clap::Args;

use super::{McpArguments, ModelArguments, PolicyArguments};

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Speaks the Agent Client Protocol on standard input and output; an editor starts it. It is there in programs that\nwere built with the feature `acp`.\n\nExample, in the settings of Zed:\n  \"agent_servers\": {\"innerve\": {\"command\": \"innerve\", \"args\": [\"acp\"], \"env\": {\"ANTHROPIC_API_KEY\": \"…\"}}}"
)]
pub(crate) struct AcpArguments {
    #[command(flatten)]
    pub(crate) policy: PolicyArguments,
    #[command(flatten)]
    pub(crate) mcp: McpArguments,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Rounds of tool uses at most, in each prompt.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// US dollars at most in each session, sub-agents included.
    #[arg(long, value_name = "USD", value_parser = super::parse_dollars)]
    pub(crate) max_cost_usd: Option<f64>,
}
