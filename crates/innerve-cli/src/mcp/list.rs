//! `innerve mcp list`: each server, how it is, what it offers, and what would mend it.

use std::io::{self, Write as _};

use innerve_mcp::{LeftOut, Problem, ServerState, ServerStatus};
use serde_json::{Value, json};

use crate::args::McpListArguments;
use crate::exit::{Exit, Failure};
use crate::mcp::Listed;
use crate::output::{self, broken_pipe_is_success, note, plain, warn};
use crate::wire::{PATIENCE, Workplace};

/// Runs the verb.
pub(super) async fn list(arguments: &McpListArguments) -> Result<Exit, Failure> {
    let workplace = Workplace::find(&arguments.policy)?;
    for warning in &workplace.warnings {
        warn(warning);
    }
    let listed = workplace.listed_servers(&arguments.mcp)?;
    if listed.is_empty() && !arguments.json {
        note(
            "no MCP servers; name them in .mcp.json, in `mcpServers` of the settings, or with --mcp-config",
        );
        return Ok(Exit::Success);
    }
    let servers = workplace.start_servers(&workplace.sessions.join("calls"), listed.clone());
    let mut statuses = Vec::new();
    if let Some(servers) = servers {
        servers.settled(PATIENCE).await;
        statuses = servers.statuses();
    }
    workplace.end_servers().await;
    let rows: Vec<Row> = listed.iter().map(|listed| Row::of(listed, &statuses)).collect();
    let printed = if arguments.json {
        output::print_json(&rows.iter().map(Row::json).collect::<Vec<_>>())
    } else {
        let text: String = rows.iter().map(Row::text).collect();
        io::stdout().write_all(text.as_bytes())
    };
    broken_pipe_is_success(printed)?;
    Ok(if rows.iter().any(Row::has_failed) { Exit::Failure } else { Exit::Success })
}

/// A server as it is listed.
struct Row {
    name: String,
    origin: String,
    transport: Option<&'static str>,
    state: &'static str,
    tools: Vec<String>,
    left_out: Vec<LeftOut>,
    problem: Option<Problem>,
    version: Option<String>,
}

impl Row {
    fn of(listed: &Listed, statuses: &[ServerStatus]) -> Self {
        let row = Self {
            name: listed.name.clone(),
            origin: listed.origin.clone(),
            transport: None,
            state: "failed",
            tools: Vec::new(),
            left_out: Vec::new(),
            problem: None,
            version: None,
        };
        match &listed.outcome {
            Err(hindrance) => Self {
                state: hindrance.state(),
                problem: Some(Problem { text: hindrance.to_string(), mend: hindrance.mend() }),
                ..row
            },
            Ok(config) => match statuses.iter().find(|status| status.name == listed.name) {
                None => Self { transport: Some(config.kind()), ..row },
                Some(status) => Self {
                    transport: Some(status.transport),
                    // It was tried again and again, but nobody waits here for the last try.
                    state: if status.state == ServerState::Reconnecting {
                        ServerState::Failed.name()
                    } else {
                        status.state.name()
                    },
                    tools: status.tools.clone(),
                    left_out: status.left_out.clone(),
                    problem: status.problem.clone(),
                    version: status.version.clone(),
                    ..row
                },
            },
        }
    }

    fn has_failed(&self) -> bool {
        self.state == ServerState::Failed.name()
    }

    fn json(&self) -> Value {
        let left_out: Vec<Value> = self
            .left_out
            .iter()
            .map(|left| json!({ "name": left.name, "problem": left.problem }))
            .collect();
        json!({
            "name": self.name,
            "state": self.state,
            "transport": self.transport,
            "origin": self.origin,
            "version": self.version,
            "tools": self.tools,
            "left_out": left_out,
            "problem": self.problem.as_ref().map(|problem| &problem.text),
            "mend": self.problem.as_ref().map(|problem| &problem.mend),
        })
    }

    fn text(&self) -> String {
        let transport = self.transport.unwrap_or("-");
        let version = self.version.as_deref().unwrap_or("");
        let mut text = format!("{:<20} {:<12} {transport:<6} {version}", self.name, self.state);
        text = format!("{}\n  from {}\n", text.trim_end(), self.origin);
        if let Some(Problem { text: what, mend }) = &self.problem {
            text.push_str(&format!("  problem: {what}\n"));
            if !mend.is_empty() {
                text.push_str(&format!("  mend: {mend}\n"));
            }
        }
        if !self.tools.is_empty() {
            text.push_str(&format!("  {} tools: {}\n", self.tools.len(), self.tools.join(", ")));
        }
        for left in &self.left_out {
            text.push_str(&format!("  left out: {}: {}\n", left.name, left.problem));
        }
        // What servers say of themselves must not move the cursor.
        text.lines().flat_map(|line| [plain(line), "\n".to_owned()]).collect()
    }
}
