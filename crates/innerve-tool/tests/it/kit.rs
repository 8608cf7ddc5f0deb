//! What the tests share: a context, a permit, and small tools.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_permission::{
    Approval, ApprovedBy, CallFacts, PermissionMode, Permit, Policy, Voices, judge,
};
use innerve_protocol::{SessionId, ToolUseId};
use innerve_tool::{
    CallContext, CancellationToken, DynTool, Reporter, SessionView, Silent, ToolBuilder,
};
use serde_json::{Value, json};

/// The context of a call in `/repo`.
pub(crate) fn context() -> CallContext {
    let id = ToolUseId::new("call_1");
    CallContext {
        tool_use_id: id.clone(),
        cwd: PathBuf::from("/repo"),
        cancellation: CancellationToken::new(),
        progress: Reporter::new(id, Arc::new(Silent)),
        session: Arc::new(SessionView {
            session_id: SessionId::new("session"),
            agent_id: None,
            depth: 0,
            mode: PermissionMode::Default,
            original_cwd: PathBuf::from("/repo"),
            additional_directories: Vec::new(),
            home: PathBuf::from("/home/user"),
            tools: Vec::new(),
        }),
    }
}

/// A permit for a call, given by a person.
pub(crate) fn permit(tool: &str, input: Value) -> Permit {
    let policy = Policy { headless: false, ..Policy::new("/repo", "/home/user") };
    let judgement = judge(&policy, CallFacts::new(tool, input), &Voices::default());
    judgement.approve(Approval { by: ApprovedBy::Person, preview: None }).unwrap()
}

/// A tool that answers with its name.
pub(crate) fn named(name: &str) -> Arc<dyn DynTool> {
    let answer = name.to_owned();
    ToolBuilder::new(name, json!({ "type": "object" }))
        .build(move |_, _| {
            let answer = answer.clone();
            async move { Ok(answer.as_str().into()) }
        })
        .unwrap()
}
