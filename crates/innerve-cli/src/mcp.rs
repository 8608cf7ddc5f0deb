//! `innerve mcp`: the servers whose tools innerve uses, and innerve as a server.

mod found;
mod list;
mod serve;

use crate::args::{McpVerb, McpVerbArguments};
use crate::exit::{Exit, Failure};

pub(crate) use found::{Listed, find};

/// Runs the verb.
pub(crate) async fn mcp(arguments: McpVerbArguments) -> Result<Exit, Failure> {
    match arguments.verb {
        McpVerb::List(arguments) => list::list(&arguments).await,
        McpVerb::Serve(arguments) => serve::serve(&arguments).await,
    }
}
