//! `innerve tools`: what a model would be offered.

use std::io::{self, Write as _};

use crate::args::{ListKind, ToolsArguments};
use crate::exit::{Exit, Failure};
use crate::output::{self, broken_pipe_is_success};
use crate::provider;
use crate::wire::Workplace;

/// Runs the verb.
pub(crate) fn tools(arguments: &ToolsArguments) -> Result<Exit, Failure> {
    let workplace = Workplace::find(&arguments.policy)?;
    let list = arguments.list.task_list.unwrap_or(ListKind::Own);
    let pool = workplace.pool_offering(list, provider::from_environment().as_ref());
    if arguments.json {
        return broken_pipe_is_success(output::print_json(&pool.definitions()));
    }
    let mut text = String::new();
    for tool in pool.tools() {
        let definition = tool.definition();
        text.push_str(&format!(
            "{:<14} {}\n",
            definition.name,
            output::headline(&definition.description, 100)
        ));
    }
    broken_pipe_is_success(io::stdout().write_all(text.as_bytes()))
}
