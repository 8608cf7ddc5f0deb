//! `innerve mcp serve`: the built-in tools for another program, under this user's rules.

use std::sync::Arc;

use innerve_agent::SharedPolicy;
use innerve_mcp::{ClientApprover, Host};
use innerve_pipeline::{Settled, Turn};
use innerve_tool::{SessionChange, ToolPool};

use crate::args::McpServeArguments;
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::warn;
use crate::wire::Workplace;

/// Tools that make sense only within a conversation of innerve's own.
const NOT_SERVED: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "ToolSearch",
];

/// Runs the verb.
pub(super) async fn serve(arguments: &McpServeArguments) -> Result<Exit, Failure> {
    let mut workplace = Workplace::find(&arguments.policy)?;
    for warning in &workplace.warnings {
        warn(warning);
    }
    let asking = Arc::new(ClientApprover::default());
    workplace.ask_by(Arc::clone(&asking) as _);
    let (pipeline, pool, policy) = workplace.served()?;
    let pool = pool.narrowed(|tool| !NOT_SERVED.contains(&tool.name()));
    let host = Arc::new(Served { pool, policy });
    let mut interrupts = Interrupts::listen()?;
    let serving =
        innerve_mcp::serve(tokio::io::stdin(), tokio::io::stdout(), pipeline, host, asking);
    let exit = tokio::select! {
        served = serving => match served {
            Ok(()) => Ok(Exit::Success),
            Err(error) => Err(Failure::new(error.to_string())),
        },
        () = interrupts.next() => Ok(Exit::Interrupted),
    };
    workplace.close();
    exit
}

/// The session that a client's calls belong to.
struct Served {
    pool: ToolPool,
    policy: Arc<SharedPolicy>,
}

impl Host for Served {
    fn turn(&self) -> Turn {
        Turn::new(self.pool.clone(), Arc::clone(&self.policy) as _)
    }

    fn settled(&self, settled: &Settled) {
        for notice in &settled.notices {
            warn(notice);
        }
        for change in &settled.changes {
            match change {
                SessionChange::SetCwd(cwd) | SessionChange::SetRoot(cwd) => {
                    self.policy.set_cwd(cwd);
                }
                SessionChange::AddDirectories(directories) => {
                    self.policy.add_directories(directories);
                }
                // There is no conversation that these could be about.
                SessionChange::SetMode(_)
                | SessionChange::LeavePlan
                | SessionChange::LoadTools(_)
                | SessionChange::SetTodos(_) => {}
            }
        }
    }
}
