//! Both ends of MCP: this program serves a tool of its own, starts itself as a server, and calls the tool.
//!
//! `cargo run -p innerve-mcp --example both_ends`

use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use innerve_mcp::{ClientApprover, Host, Options, ServerConfig, Servers, serve};
use innerve_permission::{Behavior, NoDisk, Origin, Policy, Rule, RuleSource};
use innerve_pipeline::{Pipeline, Requested, Settled, Turn};
use innerve_protocol::ToolUse;
use innerve_tool::{DynTool, ToolBuilder, ToolPool, ToolSources};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).is_some_and(|argument| argument == "serve") {
        serving().await
    } else {
        asking().await
    }
}

/// The server: any MCP client can start it with `command` and `args`.
async fn serving() -> Result<(), Box<dyn Error>> {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let shout = ToolBuilder::new("shout", schema)
        .description("Says a text loudly.")
        .read_only()
        .build(|input, _| async move {
            let text = input.get("text").and_then(|text| text.as_str()).unwrap_or_default();
            Ok(format!("{}!", text.to_uppercase()).into())
        })?;
    let host = Arc::new(Serving(ToolSources { builtins: vec![shout], mcp: vec![] }));
    // Each call takes the fourteen steps; what needs a person is asked through the client.
    let asking = Arc::new(ClientApprover::default());
    let pipeline = Pipeline::new(Arc::new(NoDisk)).with_approver(Arc::clone(&asking) as _);
    Ok(serve(tokio::io::stdin(), tokio::io::stdout(), pipeline, host, asking).await?)
}

struct Serving(ToolSources);

impl Host for Serving {
    fn turn(&self) -> Turn {
        allowing("shout", self.0.clone())
    }

    fn settled(&self, _: &Settled) {}
}

/// The client: it starts the server, and its tools are tools like any others.
async fn asking() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout();
    let entry = json!({ "command": std::env::current_exe()?, "args": ["serve"] });
    let config = ServerConfig::parse("loud", &entry, &|name| std::env::var(name).ok())?;
    let servers = Servers::start(vec![config], &Options::new("/", std::env::temp_dir()));
    servers.settled(Duration::from_secs(20)).await;
    for status in servers.statuses() {
        writeln!(
            out,
            "{}: {}, with {}",
            status.name,
            status.state.name(),
            status.tools.join(", ")
        )?;
    }
    let tools: Vec<Arc<dyn DynTool>> = servers.tools();
    let pipeline = Pipeline::new(Arc::new(NoDisk));
    let input = json!({ "text": "it works" });
    // What a server says of its tools grants nothing: without the rule the call would be refused.
    for rule in ["mcp__other__*", "mcp__loud__*"] {
        let turn = allowing(rule, ToolSources { builtins: vec![], mcp: tools.clone() });
        let tool_use = ToolUse::new("call_1", "mcp__loud__shout", input.clone());
        let settled = pipeline.run(Requested::new(tool_use), &turn).await;
        writeln!(out, "allowed {rule}: {}", settled.result.content.plain_text())?;
    }
    servers.close().await;
    Ok(())
}

/// A turn with these tools, in which one rule allows something.
fn allowing(rule: &str, tools: ToolSources) -> Turn {
    let mut policy = Policy::new("/", "/home/u");
    let origin = Origin::inline(RuleSource::User, "/home/u");
    if let Ok(rule) = Rule::parse(rule, Behavior::Allow, origin) {
        policy.rules.push(rule);
    }
    Turn::new(ToolPool::assemble(tools, |_| false), Arc::new(policy))
}
