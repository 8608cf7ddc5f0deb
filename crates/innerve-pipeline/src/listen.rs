//! Tells hooks of an event and combines what they say.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use innerve_permission::Policy;
use serde_json::{Map, Value};

use crate::pipeline::Call;
use crate::{Hook, HookDecision, HookEvent, HookEventName, HookOutcome, Pipeline};

/// What hooks said besides their decisions, over all events of a call.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// For the model.
    pub(crate) context: Vec<String>,
    /// For the person.
    pub(crate) notices: Vec<String>,
    /// The run must stop after this call, and why.
    pub(crate) stop: Option<String>,
}

impl Pipeline {
    /// Runs all hooks that listen to an event, at the same time, and combines their words in the order of
    /// configuration. Events of calls are told by the steps themselves; this is for those of a session.
    pub async fn run_hooks(&self, event: HookEvent) -> HookOutcome {
        let hooks = self.hooks.iter().map(AsRef::as_ref);
        let listening = hooks.filter(|hook| listens(*hook, event.name, event.tool.as_deref()));
        let runs = listening.map(|hook| speak(hook, event.clone()));
        join_all(runs).await.into_iter().fold(HookOutcome::default(), HookOutcome::and)
    }
}

impl Call<'_> {
    /// Tells hooks of an event of this call. Their texts are kept for the end of the call, whatever that is.
    pub(crate) async fn run_hooks(
        &mut self,
        name: HookEventName,
        policy: &Policy,
        mut fields: Map<String, Value>,
    ) -> HookOutcome {
        fields.insert("tool_use_id".to_owned(), Value::String(self.id.to_string()));
        let event = HookEvent {
            name,
            session_id: self.turn.session_id.to_string(),
            agent_id: self.turn.agent_id.as_ref().map(ToString::to_string),
            agent_type: self.turn.agent_type.clone(),
            cwd: policy.cwd.clone(),
            permission_mode: policy.mode.name(),
            tool: Some(self.name.clone()),
            fields,
        };
        let mut outcome = self.pipeline.run_hooks(event).await;
        self.remarks.context.append(&mut outcome.context);
        self.remarks.notices.append(&mut outcome.messages);
        if let Some(why) = outcome.stop.take() {
            self.remarks.stop.get_or_insert(why);
        }
        outcome
    }
}

/// Runs a hook. The call to [`Hook::run`] itself may panic as well, hence the block around it.
async fn speak(hook: &dyn Hook, event: HookEvent) -> HookOutcome {
    let name = event.name;
    match AssertUnwindSafe(async move { hook.run(event).await }).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(payload) => {
            drop(payload);
            broken(name)
        }
    }
}

/// A hook that cannot say whether it listens is asked.
fn listens(hook: &dyn Hook, name: HookEventName, tool: Option<&str>) -> bool {
    catch_unwind(AssertUnwindSafe(|| hook.listens(name, tool))).unwrap_or_else(|payload| {
        drop(payload);
        true
    })
}

/// The word of a hook that panicked: before a tool runs it might have been a no.
fn broken(name: HookEventName) -> HookOutcome {
    let text = format!("a {} hook failed with an internal error", name.name());
    let decision = (name == HookEventName::PreToolUse).then(|| HookDecision::Deny(text.clone()));
    HookOutcome { decision, messages: vec![text], ..HookOutcome::default() }
}
