//! Steps 11 to 14: fit the result, let hooks speak, attach what follows, classify the error.

use innerve_budget::{Fitting, Limit, Spooled, fit_error};
use innerve_permission::{Approval, Approver as ApprovedBy};
use innerve_protocol::{Message, ToolResult, ToolResultContent};
use innerve_tool::{ResultLimit, SessionChange, code};
use serde_json::{Map, Value};

use crate::pipeline::Call;
use crate::stage::{Executed, Outcome, Settled, StopRequest, Stopped};
use crate::{HookDecision, HookEvent, HookEventName, HookOutcome, Step};

/// A call whose result fits the conversation.
pub(crate) struct Fitted {
    call: Executed,
    result: ToolResult,
}

/// A call after its hooks.
pub(crate) struct Heard {
    call: Executed,
    result: ToolResult,
    hooks: HookOutcome,
}

impl Call<'_> {
    /// Step 11.
    pub(crate) fn fit_result(&mut self, call: Executed) -> Fitted {
        let result = match &call.outcome {
            Ok(rendered) => {
                let content = self.fit(&call, rendered.content.clone(), rendered.spooled.as_ref());
                ToolResult::ok(self.id.clone(), content)
            }
            Err(error) => {
                let text = fit_error(error.message());
                ToolResult::error(self.id.clone(), text)
            }
        };
        self.pass(Step::FitResult);
        Fitted { call, result }
    }

    /// Fits one result to the conversation.
    fn fit(
        &self,
        call: &Executed,
        content: ToolResultContent,
        spooled: Option<&innerve_tool::Spooled>,
    ) -> ToolResultContent {
        let limit = match call.tool.result_limit() {
            ResultLimit::Chars(chars) => Limit::of_tool(chars),
            ResultLimit::Declared(chars) => Limit::declared(chars),
            ResultLimit::SelfBounded => Limit::UNLIMITED,
        };
        let fitting = Fitting {
            tool: &self.name,
            tool_use_id: &self.id,
            limit,
            spooled: spooled.map(|spooled| Spooled { path: &spooled.path, bytes: spooled.bytes }),
            store: self.pipeline.results.as_deref(),
        };
        fitting.fit(content).content
    }

    /// Step 12.
    pub(crate) async fn post_hooks(&mut self, fitted: Fitted) -> Heard {
        let Fitted { call, mut result } = fitted;
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), call.input.clone());
        fields.insert("tool_use_id".to_owned(), Value::String(self.id.to_string()));
        let name = match &call.outcome {
            Ok(rendered) => {
                fields.insert("tool_response".to_owned(), rendered.data.clone());
                HookEventName::PostToolUse
            }
            Err(error) => {
                fields.insert("error".to_owned(), Value::String(error.message().to_owned()));
                fields.insert(
                    "is_interrupt".to_owned(),
                    Value::Bool(error.code() == code::INTERRUPTED),
                );
                HookEventName::PostToolUseFailure
            }
        };
        let hooks = self.hear_after(name, fields).await;
        if let (Ok(_), Some(output)) = (&call.outcome, &hooks.updated_output) {
            let text = match output {
                Value::String(text) => text.clone(),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => output.to_string(),
            };
            // What a hook makes larger is fitted again.
            let content = self.fit(&call, ToolResultContent::Text(text), None);
            result.content = content;
        }
        self.pass(Step::PostHooks);
        Heard { call, result, hooks }
    }

    async fn hear_after(&self, name: HookEventName, fields: Map<String, Value>) -> HookOutcome {
        let listening: Vec<_> = self
            .pipeline
            .hooks
            .iter()
            .filter(|hook| hook.listens(name, Some(&self.name)))
            .collect();
        if listening.is_empty() {
            return HookOutcome::default();
        }
        let policy = self.turn.policy.current();
        let event = HookEvent {
            name,
            session_id: self.turn.session_id.to_string(),
            agent_id: self.turn.agent_id.as_ref().map(ToString::to_string),
            cwd: policy.cwd.clone(),
            permission_mode: policy.mode.name(),
            tool: Some(self.name.clone()),
            fields,
        };
        let runs = listening.into_iter().map(|hook| hook.run(event.clone()));
        futures_util::future::join_all(runs)
            .await
            .into_iter()
            .fold(HookOutcome::default(), HookOutcome::and)
    }

    /// Step 13.
    pub(crate) fn attach(&mut self, heard: Heard) -> Settled {
        let Heard { call, result, hooks: after } = heard;
        let before = call.hooks;
        let (outcome, code, data, mut messages, changes) = match call.outcome {
            Ok(rendered) => {
                let changes = permitted_changes(rendered.changes, call.approval.as_ref());
                (Outcome::Succeeded, None, rendered.data, rendered.messages, changes)
            }
            Err(error) if error.code() == code::INTERRUPTED => (
                Outcome::Interrupted,
                Some(error.code().to_owned()),
                Value::Null,
                Vec::new(),
                Vec::new(),
            ),
            Err(error) => (
                Outcome::Failed,
                Some(error.code().to_owned()),
                Value::Null,
                Vec::new(),
                Vec::new(),
            ),
        };
        let feedback = match &after.decision {
            Some(HookDecision::Deny(reason)) => Some(reason.clone()),
            Some(HookDecision::Allow | HookDecision::Ask(_) | HookDecision::Defer) | None => None,
        };
        let texts = before.context.into_iter().chain(after.context).chain(feedback);
        messages.extend(texts.map(Message::user));
        let notices = before.messages.into_iter().chain(after.messages).collect();
        self.pass(Step::Attach);
        Settled {
            result,
            tool: self.name.clone(),
            outcome,
            step: Step::Classify,
            code,
            data,
            resolution: Some(call.resolution),
            messages,
            notices,
            changes,
            stop: after.stop.map(StopRequest::HookStopped),
        }
    }

    /// Step 14. The code is all that may leave for telemetry.
    pub(crate) fn classify(&mut self, mut settled: Settled) -> Settled {
        settled.code = settled.code.map(|code| safe_class(&code));
        let code = settled.code.clone();
        self.report(Step::Classify, code.as_deref());
        settled
    }

    /// Ends a call that did not come to run: steps 11 to 13 have nothing to do, step 14 has.
    pub(crate) fn stop(&mut self, stopped: Stopped) -> Settled {
        let Stopped { step, code, text, outcome, resolution, stop } = stopped;
        let code = safe_class(&code);
        self.report(step, Some(&code));
        let settled = Settled {
            result: ToolResult::error(self.id.clone(), fit_error(&text)),
            tool: self.name.clone(),
            outcome,
            step,
            code: Some(code),
            data: Value::Null,
            resolution,
            messages: Vec::new(),
            notices: Vec::new(),
            changes: Vec::new(),
            stop,
        };
        self.classify(settled)
    }
}

/// A change that loosens permissions counts only if somebody's approval carried it.
fn permitted_changes(
    changes: Vec<SessionChange>,
    approval: Option<&Approval>,
) -> Vec<SessionChange> {
    let approved = approval.is_some_and(|approval| approval.by != ApprovedBy::Classifier);
    let loosens = |change: &SessionChange| match change {
        SessionChange::SetMode(mode) => {
            use innerve_permission::PermissionMode as Mode;
            match mode {
                Mode::Plan | Mode::DontAsk => false,
                Mode::Default
                | Mode::AcceptEdits
                | Mode::Auto
                | Mode::BypassPermissions
                | Mode::Bubble => true,
            }
        }
        SessionChange::LeavePlan | SessionChange::AddDirectories(_) => true,
        SessionChange::SetCwd(_)
        | SessionChange::SetRoot(_)
        | SessionChange::LoadTools(_)
        | SessionChange::SetTodos(_) => false,
    };
    changes.into_iter().filter(|change| approved || !loosens(change)).collect()
}

/// A code as it may leave the machine: short, and of letters, digits and `_:.-` only.
fn safe_class(code: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || "_:.-".contains(*letter);
    let class: String = code.chars().filter(plain).take(60).collect();
    if class.is_empty() { "error".to_owned() } else { class }
}
