//! A whole agent with the built-in tools on real files; a recording speaks for the model, so that no key is needed.
//!
//! `cargo run -p innerve --example whole_agent`

#![expect(clippy::wildcard_enum_match_arm, reason = "an example shows some of many events")]

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;

use innerve::agent::{Agent, AgentConfig, AgentEvent, Seat, SessionEnv, SharedPolicy, ToolFactory};
use innerve::builtins::bash::{BashOptions, BashTool};
use innerve::builtins::edit::EditTool;
use innerve::builtins::host::{DiskSpool, HostClock, HostFiles, HostProcesses, MemoryLedger};
use innerve::builtins::read::ReadTool;
use innerve::builtins::{FileAccess, show};
use innerve::model::{Recording, Replay};
use innerve::permission::{PermissionMode, Policy};
use innerve::pipeline::{Outcome, Pipeline};
use innerve::protocol::{ContentBlock, SessionId};
use innerve::settings::DiskPaths;
use innerve::tool::{DefinitionError, DynTool, ToolSources, erase};

/// The model reads, edits, tries out, and tries what nothing allows.
const RECORDING: &str = r#"{"format":"innerve-recording","version":1,"model":"a-model"}
{"events":[{"event":{"type":"block_done","block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"greet.sh"}}}}]}
{"events":[{"event":{"type":"block_done","block":{"type":"tool_use","id":"toolu_2","name":"Edit","input":{"file_path":"greet.sh","old_string":"Helo","new_string":"Hello"}}}}]}
{"events":[{"event":{"type":"block_done","block":{"type":"tool_use","id":"toolu_3","name":"Bash","input":{"command":"grep -n Hello greet.sh"}}}},{"event":{"type":"block_done","block":{"type":"tool_use","id":"toolu_4","name":"Bash","input":{"command":"grep -q Hello greet.sh && git push"}}}}]}
{"events":[{"event":{"type":"block_done","block":{"type":"text","text":"The greeting is spelled right now; it is not pushed."}}}]}
"#;

/// The tools share one view of the files: what was read is what may be edited.
fn tools() -> Result<Vec<Arc<dyn DynTool>>, DefinitionError> {
    let files = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()));
    let spool = Arc::new(DiskSpool::new(std::env::temp_dir().join("innerve-example")));
    let processes = Arc::new(HostProcesses::new());
    let bash = BashTool::new(processes, spool, Arc::new(HostClock), BashOptions::default());
    Ok(vec![erase(ReadTool::new(files.clone()))?, erase(EditTool::new(files))?, erase(bash)?])
}

struct Tools(Vec<Arc<dyn DynTool>>);

impl ToolFactory for Tools {
    fn tools(&self, _seat: &Seat) -> ToolSources {
        ToolSources { builtins: self.0.clone(), mcp: vec![] }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().canonicalize()?.join("project");
    fs::create_dir(&project)?;
    fs::write(project.join("greet.sh"), "#!/bin/sh\necho \"Helo, $1\"\n")?;

    // What only reads needs no rule; this mode lets edits inside the project through; nobody can be asked about the rest.
    let mut policy = Policy::new(&project, "/home/u");
    policy.mode = PermissionMode::AcceptEdits;
    let agent = Agent::start(SessionEnv::new(
        SessionId::new("example"),
        folder.path().join("session"),
        AgentConfig::new("a-model", vec!["You mend scripts.".to_owned()]),
        Arc::new(Replay::new(Recording::parse(RECORDING)?)),
        Pipeline::new(Arc::new(DiskPaths)),
        Arc::new(SharedPolicy::new(policy, None)),
        Arc::new(Tools(tools()?)),
    ))?;

    let mut out = io::stdout();
    let mut run = agent.run(vec![ContentBlock::text("Mend the greeting and push it.")]);
    while let Some(event) = run.next().await {
        match event {
            AgentEvent::ToolStarted(call) => {
                writeln!(out, "● {} {}", call.name, show::of(&call.name).call(&call.input))?;
            }
            AgentEvent::ToolEnded(report) => match report.outcome {
                Outcome::Refused(reason) => writeln!(out, "  ⊘ {}", reason.message)?,
                Outcome::Succeeded | Outcome::Failed | Outcome::Deferred | Outcome::Interrupted => {
                    let shown = show::of(&report.tool).result(&report.data, &report.text);
                    writeln!(out, "  ✓ {}", shown.headline)?;
                }
            },
            AgentEvent::Text(text) => writeln!(out, "{text}")?,
            _ => {}
        }
    }
    Ok(())
}
