//! A command hook in the settings refuses a tool use, and says why.
//!
//! `cargo run -p innerve-hooks --example refuse`

use std::error::Error;
use std::io::{self, Write as _};

use innerve_hooks::{HookSession, Hooks};
use innerve_permission::{Layer, RuleSource};
use innerve_pipeline::{Hook as _, HookDecision, HookEvent, HookEventName};
use serde_json::{Value, json};

/// A hook as people write it: it reads the event as JSON, and refuses with exit code 2 and a reason.
const GUARD: &str = r#"
case "$(cat)" in
  *"npm publish"*) echo "publishing is done by CI" >&2; exit 2 ;;
  *migrate*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse",
      "permissionDecision": "ask", "permissionDecisionReason": "look twice"}}' ;;
esac
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let settings = json!({ "hooks": { "PreToolUse": [
        { "matcher": "Bash", "hooks": [{ "type": "command", "command": GUARD, "timeout": 10 }] },
        { "matcher": "Edit", "hooks": [{ "type": "comand", "command": "true" }] },
    ] } });
    let layers = [Layer::new(RuleSource::User, "/home/u", settings)];
    let session = HookSession::new("/", "/", std::env::vars_os());
    let (hooks, warnings) = Hooks::new(&layers, session);

    let mut out = io::stdout();
    for warning in warnings {
        writeln!(out, "left out: {}", warning.reason)?;
    }
    for command in ["npm publish", "make migrate", "npm test"] {
        let outcome = hooks.run(event(&json!({ "tool_input": { "command": command } }))).await;
        let word = match outcome.decision {
            Some(HookDecision::Deny(reason)) => format!("refused: {reason}"),
            Some(HookDecision::Ask(reason)) => format!("ask: {reason}"),
            Some(HookDecision::Allow | HookDecision::Defer) | None => {
                "nothing against it".to_owned()
            }
        };
        writeln!(out, "{command:<12}  {word}")?;
    }
    Ok(())
}

/// What the pipeline tells hooks before a tool use; a host gives them to it with `Pipeline::with_hook`.
fn event(fields: &Value) -> HookEvent {
    HookEvent {
        name: HookEventName::PreToolUse,
        session_id: "example".to_owned(),
        agent_id: None,
        agent_type: None,
        cwd: "/".into(),
        permission_mode: "default",
        tool: Some("Bash".to_owned()),
        fields: fields.as_object().cloned().unwrap_or_default(),
    }
}
