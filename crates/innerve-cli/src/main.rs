//! The `innerve` program: reads flags, wires the crates together, prints.

#[cfg(feature = "acp")]
mod acp;
mod agents;
mod analyze;
mod args;
mod calendar;
mod call;
mod chat;
mod check;
mod completions;
mod converse;
mod doctor;
mod exit;
mod hook;
mod instructions;
mod interrupts;
mod jsonl;
mod judging;
mod mcp;
mod output;
mod private;
mod project;
mod provider;
mod rules;
mod run;
mod sessions;
mod settings;
mod telemetry;
mod terminal;
mod tools;
mod tour;
mod trace;
mod trust;
mod wire;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Arguments, SandboxExecArguments, Verb};
use crate::exit::{Exit, Failure};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return hook::exit_for_usage(&error),
    };
    let telemetry = telemetry::start(&arguments.log);
    let exit = match dispatch(arguments) {
        Ok(exit) => exit,
        Err(failure) => {
            output::complain(&failure.message);
            failure.exit
        }
    };
    drop(telemetry);
    exit.into()
}

fn dispatch(arguments: Arguments) -> Result<Exit, Failure> {
    match arguments.verb {
        None => with_runtime(chat::chat(arguments.chat)),
        Some(Verb::Run(arguments)) => with_runtime(run::run(*arguments)),
        Some(Verb::Check(arguments)) => check::check(&arguments),
        Some(Verb::Analyze(arguments)) => analyze::analyze(&arguments),
        Some(Verb::Call(arguments)) => with_runtime(call::call(*arguments)),
        Some(Verb::Rules(arguments)) => rules::rules(&arguments),
        Some(Verb::Hook(arguments)) => Ok(hook::hook(&arguments)),
        Some(Verb::Doctor(arguments)) => {
            with_runtime(async move { doctor::doctor(&arguments).await })
        }
        Some(Verb::Completions(arguments)) => completions::completions(&arguments),
        Some(Verb::Trust(arguments)) => trust::trust(&arguments),
        Some(Verb::Mcp(arguments)) => with_runtime(mcp::mcp(arguments)),
        #[cfg(feature = "acp")]
        Some(Verb::Acp(arguments)) => with_runtime(acp::acp(*arguments)),
        #[cfg(not(feature = "acp"))]
        Some(Verb::Acp(_)) => Err(Failure::usage(
            "this program was built without the agent for editors; build it with: cargo build --release --features acp",
        )),
        #[cfg(all(feature = "acp", unix))]
        Some(Verb::EditorTerminal(arguments)) => acp::terminal(&arguments),
        #[cfg(not(all(feature = "acp", unix)))]
        Some(Verb::EditorTerminal(_)) => {
            Err(Failure::usage("this program has no agent for editors, and nothing to run for one"))
        }
        Some(Verb::Sessions(arguments)) => with_runtime(sessions::sessions(arguments)),
        Some(Verb::SandboxExec(arguments)) => {
            let SandboxExecArguments { order, program, arguments } = arguments;
            innerve_builtins::sandbox::launch(&order, &program, &arguments)
                .map_err(|error| Failure::new(format!("the sandbox cannot be made: {error}")))?;
            Ok(Exit::Success)
        }
        Some(Verb::Tools(arguments)) => with_runtime(async move { tools::tools(&arguments) }),
    }
}

/// One runtime per process; verbs that need none start none.
fn with_runtime(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the async runtime cannot start: {error}")))?;
    let exit = runtime.block_on(work);
    // A command that does not end must not keep the program: its process group was ended before.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    exit
}
