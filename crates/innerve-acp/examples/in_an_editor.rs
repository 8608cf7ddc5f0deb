//! An agent that an editor can start; a recording speaks for the model, so that no key is needed.
//!
//! `cargo run -p innerve-acp --example in_an_editor` plays the editor as well and shows what both say. With the argument
//! `stdio` it serves a real one: name `target/debug/examples/in_an_editor` and that argument in the editor's settings.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use innerve_acp::{AcpError, Host, HostedSession, Opening, serve};
use innerve_agent::{
    Agent, AgentConfig, PastSession, Seat, SessionEnv, SharedPolicy, ToolFactory, random_id,
};
use innerve_model::{Recording, Replay};
use innerve_permission::{NoDisk, Policy};
use innerve_pipeline::Pipeline;
use innerve_protocol::SessionId;
use innerve_tool::{BoxFuture, ToolSources};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

const RECORDING: &str = r#"{"format":"innerve-recording","version":1,"model":"a-model"}
{"events":[{"event":{"type":"block_done","block":{"type":"text","text":"Hello, editor."}}}]}
"#;

/// Opens a session for each conversation of the editor.
struct Agents(PathBuf);

impl Host for Agents {
    fn open(&self, opening: Opening) -> Result<Box<dyn HostedSession>, AcpError> {
        let failed = |error: &dyn Error| AcpError::Opening(error.to_string());
        let id = opening.past.clone().unwrap_or_else(random_id);
        let folder = self.0.join(&id);
        let recording = Recording::parse(RECORDING).map_err(|error| failed(&error))?;
        let env = SessionEnv::new(
            SessionId::new(id),
            &folder,
            AgentConfig::new("a-model", vec!["Be brief.".to_owned()]),
            Arc::new(Replay::new(recording)),
            // Questions go to the editor; `opening.editor.files(…)` has the files as it shows them.
            Pipeline::new(Arc::new(NoDisk)).with_approver(opening.editor.approver()),
            Arc::new(SharedPolicy::new(Policy::new(&opening.cwd, "/home/u"), None)),
            Arc::new(NoTools),
        );
        let agent = match opening.past {
            None => Agent::start(env),
            Some(_) => PastSession::take(&folder).and_then(|past| Agent::resume(env, past)),
        };
        Ok(Box::new(Session(agent.map_err(|error| failed(&error))?)))
    }

    fn warn(&self, text: &str) {
        writeln!(io::stderr(), "warning: {text}").ok();
    }
}

struct Session(Agent);

impl HostedSession for Session {
    fn agent(&self) -> &Agent {
        &self.0
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// `innerve-builtins` has a full set of tools.
struct NoTools;

impl ToolFactory for NoTools {
    fn tools(&self, _seat: &Seat) -> ToolSources {
        ToolSources::default()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let agents = Arc::new(Agents(folder.path().to_owned()));
    if std::env::args().nth(1).is_some_and(|argument| argument == "stdio") {
        return Ok(serve(agents, tokio::io::stdin(), tokio::io::stdout()).await?);
    }
    let (mut to_agent, input) = tokio::io::duplex(64 << 10);
    let (output, from_agent) = tokio::io::duplex(64 << 10);
    let editor = async move {
        let mut lines = BufReader::new(from_agent).lines();
        let mut session = Value::Null;
        for (id, method) in [(1, "initialize"), (2, "session/new"), (3, "session/prompt")] {
            let params = match method {
                "initialize" => json!({ "protocolVersion": 1 }),
                "session/new" => json!({ "cwd": "/", "mcpServers": [] }),
                _ => json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Hi" }] }),
            };
            writeln!(io::stdout(), "editor  {method}")?;
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            to_agent.write_all(format!("{request}\n").as_bytes()).await?;
            // Until the answer comes, the agent tells what goes on.
            while let Some(line) = lines.next_line().await? {
                let message: Value = serde_json::from_str(&line)?;
                if let Some(update) = message.pointer("/params/update") {
                    let told = update.pointer("/content/text").unwrap_or_default();
                    let kind = update.get("sessionUpdate").unwrap_or_default();
                    writeln!(io::stdout(), "agent   {kind} {told}")?;
                }
                if message.get("id") == Some(&json!(id)) {
                    let said = |name| message.pointer(&format!("/result/{name}"));
                    session = said("sessionId").cloned().unwrap_or(session);
                    let what = said("agentInfo/name")
                        .or(said("stopReason"))
                        .or(said("modes/currentModeId"));
                    writeln!(io::stdout(), "agent   {}", what.unwrap_or_default())?;
                    break;
                }
            }
        }
        Ok::<(), Box<dyn Error>>(())
    };
    let (served, edited) = tokio::join!(serve(agents, input, output), editor);
    served?;
    edited
}
