//! Hooks that hear when a person is asked, so that they can fetch the person.

use std::sync::Arc;

use innerve_agent::SharedPolicy;
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, HookEvent, HookEventName, Pipeline, PolicySource as _,
};
use innerve_protocol::SessionId;
use innerve_tool::{BoxFuture, CancellationToken};
use serde_json::{Map, Value};

use crate::output::warn;

/// Asks, and tells hooks that it does. They are not waited for.
struct Notifying {
    hooks: Pipeline,
    policy: Arc<SharedPolicy>,
    session_id: SessionId,
    asker: Arc<dyn Approver>,
}

/// The pipeline whose questions are told to its hooks as `Notification` (Claude Code, "Hooks reference").
pub(super) fn notifying(
    pipeline: Pipeline,
    policy: &Arc<SharedPolicy>,
    session_id: &SessionId,
) -> Pipeline {
    let asking = Notifying {
        hooks: pipeline.clone(),
        policy: Arc::clone(policy),
        session_id: session_id.clone(),
        asker: Arc::clone(pipeline.approver()),
    };
    pipeline.with_approver(Arc::new(asking))
}

impl Approver for Notifying {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        let (hooks, event) = (self.hooks.clone(), self.event(&request));
        tokio::spawn(async move {
            for message in hooks.run_hooks(event).await.messages {
                warn(&message);
            }
        });
        self.asker.ask(request, cancellation)
    }
}

impl Notifying {
    fn event(&self, request: &ApprovalRequest) -> HookEvent {
        let policy = self.policy.current();
        let fields = [
            ("message", format!("innerve needs your permission to use {}", request.tool)),
            ("notification_type", "permission_prompt".to_owned()),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), Value::String(value)));
        HookEvent {
            name: HookEventName::Notification,
            session_id: self.session_id.to_string(),
            agent_id: request.agent.as_ref().map(ToString::to_string),
            agent_type: None,
            cwd: policy.cwd.clone(),
            permission_mode: policy.mode.name(),
            tool: None,
            fields: Map::from_iter(fields),
        }
    }
}
