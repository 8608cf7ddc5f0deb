//! Steps 11 to 14: fit the result, let hooks speak, attach what follows, classify the error.

use innerve_budget::{Fitting, Limit, Spooled, fit_error};
use innerve_permission::{Approval, ApprovedBy};
use innerve_protocol::{Message, ToolResult, ToolResultContent};
use innerve_tool::{Rendered, ResultLimit, SessionChange, code};
use serde_json::{Map, Value};

use crate::loosening::{describe, needs_approval};
use crate::pipeline::Call;
use crate::stage::{Executed, Outcome, Settled, StopRequest, Stopped};
use crate::{HookDecision, HookEventName, Step};

/// A call whose result fits the conversation.
pub(crate) struct Fitted {
    call: Executed,
    result: ToolResult,
}

/// A call after its hooks.
pub(crate) struct Heard {
    call: Executed,
    result: ToolResult,
    feedback: Option<String>,
}

/// Characters of a hook's text for the model at most; a longer one is saved (Claude Code documentation, "hooks").
const HOOK_CHARS: usize = 10_000;

impl Call<'_> {
    /// Step 11.
    pub(crate) fn fit_result(&mut self, call: Executed) -> Fitted {
        let result = match &call.outcome {
            Ok(rendered) => {
                let limit = limit_of(call.tool.result_limit());
                let spooled = rendered.spooled.as_ref();
                let content = self.fit(limit, rendered.content.clone(), spooled);
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

    /// Fits one text to the conversation.
    fn fit(
        &self,
        limit: Limit,
        content: ToolResultContent,
        spooled: Option<&innerve_tool::Spooled>,
    ) -> ToolResultContent {
        let fitting = Fitting {
            tool: &self.name,
            tool_use_id: &self.id,
            limit,
            spooled: spooled.map(|spooled| Spooled {
                path: &spooled.path,
                bytes: spooled.bytes,
                total: spooled.total,
            }),
            store: self.pipeline.results.as_deref(),
        };
        fitting.fit(content).content
    }

    /// Step 12.
    pub(crate) async fn post_hooks(&mut self, fitted: Fitted) -> Heard {
        let Fitted { mut call, mut result } = fitted;
        let mut fields = Map::new();
        fields.insert("tool_input".to_owned(), call.input.clone());
        if let Some(elapsed) = self.ran {
            let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            fields.insert("duration_ms".to_owned(), Value::from(millis));
        }
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
        let policy = self.turn.policy.current();
        // Not given up when the turn is aborted: a hook may have to take something out of the result.
        let hooks = self.run_hooks(name, &policy, fields).await;
        if let Some(output) = hooks.updated_output.filter(|_| call.outcome.is_ok()) {
            let text = match &output {
                Value::String(text) => text.clone(),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => output.to_string(),
            };
            // What a hook makes larger is fitted again; that the tool bounds itself says nothing of the hook.
            let limit = match call.tool.result_limit() {
                ResultLimit::SelfBounded => Limit::of_tool(Limit::CAP),
                limit @ (ResultLimit::Chars(_) | ResultLimit::Declared(_)) => limit_of(limit),
            };
            result.content = self.fit(limit, ToolResultContent::Text(text), None);
            call.outcome = call.outcome.map(|rendered| Rendered { data: output, ..rendered });
        }
        let feedback = match hooks.decision {
            Some(HookDecision::Deny(reason)) => Some(reason),
            Some(HookDecision::Allow | HookDecision::Ask(_) | HookDecision::Defer) | None => None,
        };
        self.pass(Step::PostHooks);
        Heard { call, result, feedback }
    }

    /// Step 13.
    pub(crate) fn attach(&mut self, heard: Heard) -> Settled {
        let Heard { call, result, feedback } = heard;
        self.remarks.context.extend(feedback);
        let (outcome, code, data, mut messages, changes) = match call.outcome {
            Ok(rendered) => {
                let changes = self.permitted_changes(rendered.changes, call.approval.as_ref());
                (Outcome::Succeeded, None, rendered.data, rendered.messages, changes)
            }
            Err(error) => {
                let interrupted = error.code() == code::INTERRUPTED;
                let outcome = if interrupted { Outcome::Interrupted } else { Outcome::Failed };
                let changes = error.changes().to_vec();
                let changes = self.permitted_changes(changes, call.approval.as_ref());
                (outcome, Some(error.code().to_owned()), Value::Null, Vec::new(), changes)
            }
        };
        messages.append(&mut self.context_messages());
        self.pass(Step::Attach);
        Settled {
            result,
            tool: self.name.clone(),
            outcome,
            step: Step::Classify,
            code,
            data,
            elapsed: self.ran,
            resolution: Some(call.resolution),
            messages,
            notices: std::mem::take(&mut self.remarks.notices),
            changes,
            stop: self.remarks.stop.take().map(StopRequest::HookStopped),
        }
    }

    /// Step 14. The code is all that may leave for telemetry.
    pub(crate) fn classify(&mut self, mut settled: Settled) -> Settled {
        settled.code = settled.code.map(|code| safe_class(&code).to_owned());
        let code = settled.code.clone();
        self.report(Step::Classify, code.as_deref());
        settled
    }

    /// Ends a call that did not come to run: steps 11 to 13 have nothing to do, step 14 has.
    pub(crate) fn stop(&mut self, stopped: Stopped) -> Settled {
        let Stopped { step, code, text, outcome, resolution, stop } = stopped;
        let code = safe_class(&code).to_owned();
        self.report(step, Some(&code));
        let settled = Settled {
            result: ToolResult::error(self.id.clone(), fit_error(&text)),
            tool: self.name.clone(),
            outcome,
            step,
            code: Some(code),
            data: Value::Null,
            elapsed: self.ran,
            resolution,
            messages: self.context_messages(),
            notices: std::mem::take(&mut self.remarks.notices),
            changes: Vec::new(),
            stop: stop.or_else(|| self.remarks.stop.take().map(StopRequest::HookStopped)),
        };
        self.classify(settled)
    }

    /// Ends a call in which something of the host itself panicked.
    pub(crate) fn abandon(&mut self) -> Settled {
        let step = self.at;
        let text = if step < Step::Run {
            "Internal error before the call was permitted; nothing was run."
        } else {
            "Internal error; the result of the call is lost, and it may have had effects."
        };
        let outcome = Outcome::Failed;
        self.stop(Stopped {
            text: text.to_owned(),
            outcome,
            ..crate::validate::invalid(step, code::PANICKED, "")
        })
    }

    /// What hooks said to the model, each text within bounds.
    fn context_messages(&mut self) -> Vec<Message> {
        let texts = std::mem::take(&mut self.remarks.context);
        let limit = Limit::of_tool(HOOK_CHARS);
        let fit = |text| {
            let content = self.fit(limit, ToolResultContent::Text(text), None);
            Message::user(content.plain_text())
        };
        texts.into_iter().filter(|text| !text.trim().is_empty()).map(fit).collect()
    }

    /// A change that loosens permissions counts only if somebody's approval carried it.
    fn permitted_changes(
        &mut self,
        changes: Vec<SessionChange>,
        approval: Option<&Approval>,
    ) -> Vec<SessionChange> {
        if approval.is_some_and(|approval| approval.by != ApprovedBy::Classifier) {
            return changes;
        }
        let policy = self.turn.policy.current();
        let (dropped, kept): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| needs_approval(&policy, change));
        let tool = &self.name;
        let notice = |change: &SessionChange| {
            format!(
                "{tool} wanted to {}; nobody approved that, so it was not done",
                describe(change)
            )
        };
        self.remarks.notices.extend(dropped.iter().map(notice));
        kept
    }
}

fn limit_of(limit: ResultLimit) -> Limit {
    match limit {
        ResultLimit::Chars(chars) => Limit::of_tool(chars),
        ResultLimit::Declared(chars) => Limit::declared(chars),
        ResultLimit::SelfBounded => Limit::UNLIMITED,
    }
}

/// A code as it may leave the machine: short, and of letters, digits and `_:.-` only; what is not is told as `error`,
/// since its letters might be those of a path.
pub(crate) fn safe_class(code: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte);
    let is_safe = (1..=60).contains(&code.len()) && code.bytes().all(plain);
    if is_safe { code } else { "error" }
}
