//! A whole agent with a tool of its own; a recording speaks for the model, so that no key is needed.
//!
//! `cargo run -p innerve-agent --example agent`

use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;

use innerve_agent::{Agent, AgentConfig, AgentEvent, Seat, SessionEnv, SharedPolicy, ToolFactory};
use innerve_model::{Recording, Replay};
use innerve_permission::{Behavior, NoDisk, Origin, Policy, Rule, RuleSource};
use innerve_pipeline::Pipeline;
use innerve_protocol::{ContentBlock, SessionId};
use innerve_tool::{DynTool, ToolBuilder, ToolSources};
use serde_json::json;

/// What the model says: first that it wants the weather of two cities, then what it makes of them.
const RECORDING: &str = r#"{"format":"innerve-recording","version":1,"model":"a-model"}
{"events":[{"event":{"type":"block_done","block":{"type":"tool_use","id":"toolu_1","name":"Weather","input":{"city":"Graz"}}}},{"event":{"type":"block_done","block":{"type":"tool_use","id":"toolu_2","name":"Weather","input":{"city":"Oslo"}}}}]}
{"expect":{"tool_results":["toolu_1","toolu_2"]},"events":[{"event":{"type":"block_done","block":{"type":"text","text":"Go to Graz."}}}]}
"#;

/// What each agent of a session gets to work with, sub-agents too.
struct Tools(Arc<dyn DynTool>);

impl ToolFactory for Tools {
    fn tools(&self, _seat: &Seat) -> ToolSources {
        ToolSources { builtins: vec![Arc::clone(&self.0)], mcp: vec![] }
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::wildcard_enum_match_arm, reason = "it shows some of the events")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let weather = ToolBuilder::new("Weather", schema)
        .description("Tells the weather of a city.")
        .build(|input, _| async move {
        let sunny = input.get("city").is_some_and(|city| city == "Graz");
        Ok(if sunny { "sunny" } else { "rain" }.into())
    })?;
    let mut policy = Policy::new("/repo", "/home/u");
    let origin = Origin::inline(RuleSource::User, "/home/u");
    policy.rules.push(Rule::parse("Weather", Behavior::Allow, origin)?);

    let folder = tempfile::tempdir()?;
    let agent = Agent::start(SessionEnv::new(
        SessionId::new("example"),
        // The log of the conversation: a killed session goes on from it.
        folder.path().join("example"),
        AgentConfig::new("a-model", vec!["You plan journeys.".to_owned()]),
        Arc::new(Replay::new(Recording::parse(RECORDING)?)),
        Pipeline::new(Arc::new(NoDisk)),
        Arc::new(SharedPolicy::new(policy, None)),
        Arc::new(Tools(weather)),
    ))?;

    let mut out = io::stdout();
    let mut run = agent.run(vec![ContentBlock::text("Graz or Oslo?")]);
    while let Some(event) = run.next().await {
        match event {
            AgentEvent::ToolStarted(tool_use) => {
                writeln!(out, "● {} {}", tool_use.name, tool_use.input)?;
            }
            AgentEvent::ToolEnded(report) => {
                writeln!(out, "  ✓ {}: {}", report.input, report.text)?;
            }
            AgentEvent::Text(text) => writeln!(out, "{text}")?,
            AgentEvent::Ended(summary) => {
                let reason = summary.terminal.reason;
                writeln!(out, "ended: {reason:?} after {} rounds", summary.turns)?;
            }
            _ => {}
        }
    }
    Ok(())
}
