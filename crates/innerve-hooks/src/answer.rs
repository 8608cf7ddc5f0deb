//! What a hook said: exit codes, JSON and text, read into the pipeline's words by the table of events.

mod json;

use std::fmt::Display;

use innerve_permission::RuleSource;
use innerve_pipeline::{HookDecision, HookOutcome, PermissionAnswer, PermissionUpdate};
use serde_json::Value;

use crate::event::{Block, Told};
use crate::process::{Finished, STDOUT, Status};
use crate::telemetry::{self, Trouble};
use crate::text::{TEXT, cut};
use crate::{Answer, Deferral, EventName};
use json::{Behavior, Output, Permission, Specific, Verdict, Word};

/// Reads the answers of one hook at one event.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) event: EventName,
    pub(crate) tool: Option<String>,
    pub(crate) source: RuleSource,
    /// The hook's name in messages.
    pub(crate) label: String,
    pub(crate) deferral: Deferral,
}

/// The standard output as far as it is understood.
enum Read {
    Nothing,
    Text(String),
    Json(Box<Output>),
    /// It begins as JSON does, and is none of a known form.
    Broken(String),
}

impl Reader {
    /// Reads a command that ended by itself (Claude Code, "Hooks reference", exit codes).
    pub(crate) fn command(&self, finished: &Finished) -> HookOutcome {
        let read = self.read_stdout(finished);
        match (finished.status, read) {
            (Status::Code(2), read) => {
                let (mut outcome, reason) = match read {
                    Read::Json(output) => {
                        let reason = output.blocking_reason();
                        (self.apply(*output), reason)
                    }
                    Read::Nothing | Read::Text(_) | Read::Broken(_) => {
                        (HookOutcome::default(), None)
                    }
                };
                // What the JSON allows does not undo the exit code.
                outcome.decision = None;
                outcome.permission =
                    outcome.permission.filter(|answer| *answer != PermissionAnswer::Allow);
                outcome.updates.clear();
                let reason = reason.map(|reason| cut(&reason, TEXT));
                self.block(&mut outcome, &reason.unwrap_or_else(|| finished.stderr.text(TEXT)));
                outcome
            }
            (_, Read::Json(output)) => self.apply(*output),
            (Status::Code(0), Read::Broken(why)) => self.failed(Trouble::Output, why),
            (Status::Code(0), Read::Text(text)) => self.heard(&text),
            (Status::Code(0), Read::Nothing) => HookOutcome::default(),
            (Status::Code(code), Read::Nothing | Read::Text(_) | Read::Broken(_)) => {
                let what = format!("ended with exit code {code}");
                self.failed_with(Trouble::ExitCode, what, finished)
            }
            (Status::Signal(signal), Read::Nothing | Read::Text(_) | Read::Broken(_)) => {
                let what = format!("was ended by signal {signal}");
                self.failed_with(Trouble::Signal, what, finished)
            }
        }
    }

    /// Reads a command that nobody waited for: it has no say any more. The second word is whether it wakes the model.
    pub(crate) fn late(&self, finished: &Finished, may_wake: bool) -> (HookOutcome, bool) {
        let mut outcome = match self.read_stdout(finished) {
            Read::Json(output) => {
                let HookOutcome { context, messages, .. } = self.apply(*output);
                HookOutcome { context, messages, ..HookOutcome::default() }
            }
            Read::Nothing | Read::Text(_) | Read::Broken(_) => HookOutcome::default(),
        };
        let wakes = may_wake && finished.status == Status::Code(2);
        if wakes {
            let words = finished.stderr.text(TEXT);
            let words = if words.is_empty() { "it gave no reason".to_owned() } else { words };
            outcome.context.push(format!("The background hook {} says: {words}", self.label));
        }
        (outcome, wakes)
    }

    /// Reads the body of a successful response to an HTTP hook.
    #[cfg(feature = "http")]
    pub(crate) fn body(&self, body: &str) -> HookOutcome {
        match self.read(body) {
            Read::Nothing => HookOutcome::default(),
            Read::Json(output) => self.apply(*output),
            Read::Broken(why) => self.failed(Trouble::Output, why),
            Read::Text(_) => self.failed(Trouble::Output, "answered with something else than JSON"),
        }
    }

    /// Reads the text that an MCP tool answered, as the output of a command that succeeded.
    pub(crate) fn text(&self, text: &str) -> HookOutcome {
        match self.read(text) {
            Read::Nothing => HookOutcome::default(),
            Read::Text(text) => self.heard(&text),
            Read::Json(output) => self.apply(*output),
            Read::Broken(why) => self.failed(Trouble::Output, why),
        }
    }

    /// Reads the answer of a model or an agent; `ends` says whether its no ends the turn where a tool was to run.
    pub(crate) fn answer(&self, answer: Answer, ends: bool) -> HookOutcome {
        let mut outcome = HookOutcome::default();
        if answer.ok {
            return outcome;
        }
        let reason = answer.reason.unwrap_or_else(|| self.no_reason());
        let reason = cut(&reason, TEXT);
        let is = |events: &[EventName]| events.contains(&self.event);
        if is(&[EventName::PermissionRequest, EventName::PermissionDenied]) {
            return outcome;
        }
        if answer.impossible && is(&[EventName::Stop, EventName::SubagentStop]) {
            // More work would be in vain: the agent may stop.
            outcome.messages.push(self.told(&reason));
            return outcome;
        }
        if ends && is(&[EventName::PreToolUse, EventName::PostToolUse]) {
            outcome.stop = Some(reason.clone());
        }
        self.block(&mut outcome, &reason);
        outcome
    }

    /// A hook that did not work has no say; a person is told.
    pub(crate) fn failed(&self, trouble: Trouble, why: impl Display) -> HookOutcome {
        telemetry::failed(trouble);
        let messages = vec![self.told(&why.to_string())];
        HookOutcome { messages, ..HookOutcome::default() }
    }

    fn failed_with(&self, trouble: Trouble, what: String, finished: &Finished) -> HookOutcome {
        let stderr = finished.stderr.text(TEXT);
        let why = if stderr.is_empty() { what } else { format!("{what}: {stderr}") };
        self.failed(trouble, why)
    }

    fn told(&self, what: &str) -> String {
        format!("{} hook {} {}", self.event, self.label, cut(what, TEXT))
    }

    fn no_reason(&self) -> String {
        format!("the hook {} gave no reason", self.label)
    }

    /// Text that is no JSON.
    fn heard(&self, text: &str) -> HookOutcome {
        let context = match self.event.told() {
            Told::Text => vec![self.fit(text)],
            Told::Nothing | Told::Context => Vec::new(),
        };
        HookOutcome { context, ..HookOutcome::default() }
    }

    /// What the pipeline tells the model is left whole: it saves what it cuts. Who runs other events may not.
    fn fit(&self, text: &str) -> String {
        if self.event.is_about_a_tool() { text.to_owned() } else { cut(text, TEXT) }
    }

    fn block(&self, outcome: &mut HookOutcome, reason: &str) {
        let reason = if reason.trim().is_empty() { self.no_reason() } else { reason.to_owned() };
        match self.event.block() {
            Block::Decides => {
                outcome.decision = outcome.decision.take().max(Some(HookDecision::Deny(reason)));
            }
            Block::Shown => outcome.messages.push(self.told(&reason)),
            Block::Ignored => {}
        }
    }

    fn read_stdout(&self, finished: &Finished) -> Read {
        let read = self.read(&finished.stdout.whole());
        match read {
            Read::Broken(_) if finished.stdout.dropped > 0 => {
                Read::Broken(format!("wrote JSON of more than {STDOUT} bytes"))
            }
            Read::Text(_) => Read::Text(finished.stdout.text(usize::MAX)),
            read @ (Read::Nothing | Read::Json(_) | Read::Broken(_)) => read,
        }
    }

    fn read(&self, text: &str) -> Read {
        let text = text.trim();
        if text.is_empty() {
            return Read::Nothing;
        }
        if !text.starts_with('{') {
            return Read::Text(text.to_owned());
        }
        match Output::parse(text, self.event) {
            Ok(output) => Read::Json(Box::new(output)),
            Err(why) => Read::Broken(why),
        }
    }

    fn apply(&self, output: Output) -> HookOutcome {
        let mut outcome = HookOutcome::default();
        outcome.messages.extend(output.system_message.map(|message| cut(&message, TEXT)));
        if output.goes_on == Some(false) {
            let reason = output.stop_reason.unwrap_or_else(|| self.no_reason());
            outcome.stop = Some(cut(&reason, TEXT));
        }
        match output.decision {
            Some(Word::Block) => {
                self.block(&mut outcome, &cut(output.reason.as_deref().unwrap_or(""), TEXT));
            }
            // Deprecated, and of tools that are about to run only.
            Some(Word::Approve) if self.event == EventName::PreToolUse => {
                outcome.decision = Some(HookDecision::Allow);
            }
            Some(Word::Approve) | None => {}
        }
        if let Some(specific) = output.specific {
            self.apply_specific(&mut outcome, specific);
        }
        outcome
    }

    /// What only some events may say; what the event may not say is left alone.
    fn apply_specific(&self, outcome: &mut HookOutcome, specific: Specific) {
        if self.event.told() != Told::Nothing {
            let context = specific.additional_context.filter(|text| !text.trim().is_empty());
            outcome.context.extend(context.map(|text| self.fit(&text)));
        }
        if self.event == EventName::PreToolUse {
            let reason = specific.permission_decision_reason;
            let decision = specific.permission_decision;
            let decision = decision.and_then(|word| self.decision(outcome, word, reason));
            outcome.decision = outcome.decision.take().max(decision);
            outcome.updated_input = specific.updated_input.map(Value::Object);
        } else if self.event == EventName::PermissionRequest {
            if let Some(permission) = specific.decision {
                self.permission(outcome, permission);
            }
        } else if self.event == EventName::PermissionDenied {
            outcome.retry = specific.retry == Some(true);
        } else if self.event == EventName::PostToolUse {
            let is_mcp = self.tool.as_deref().is_some_and(|tool| tool.starts_with("mcp__"));
            let of_server = specific.updated_mcp_tool_output.filter(|_| is_mcp);
            outcome.updated_output = specific.updated_tool_output.or(of_server);
        }
    }

    fn decision(
        &self,
        outcome: &mut HookOutcome,
        word: Verdict,
        reason: Option<String>,
    ) -> Option<HookDecision> {
        let reason = reason.map(|reason| cut(&reason, TEXT));
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or_else(|| self.no_reason());
        match word {
            Verdict::Allow => Some(HookDecision::Allow),
            Verdict::Ask => Some(HookDecision::Ask(format!("[{}] {reason}", place(self.source)))),
            Verdict::Deny => Some(HookDecision::Deny(reason)),
            Verdict::Defer => match self.deferral {
                Deferral::Honoured => Some(HookDecision::Defer),
                Deferral::Ignored => {
                    let what = "put the call off, which counts only where nobody can be asked";
                    outcome.messages.push(self.told(what));
                    None
                }
            },
        }
    }

    fn permission(&self, outcome: &mut HookOutcome, permission: Permission) {
        match permission.behavior {
            Behavior::Allow => {
                outcome.permission = Some(PermissionAnswer::Allow);
                outcome.updated_input = permission.updated_input.map(Value::Object);
                for update in permission.updated_permissions.unwrap_or_default() {
                    match PermissionUpdate::read(&update) {
                        Ok(update) => outcome.updates.push(update),
                        Err(why) => {
                            let what = format!("wants what cannot be done: {why}");
                            outcome.messages.push(self.told(&what));
                        }
                    }
                }
            }
            Behavior::Deny => {
                let message = permission.message.unwrap_or_else(|| self.no_reason());
                let interrupt = permission.interrupt == Some(true);
                outcome.permission =
                    Some(PermissionAnswer::Deny { message: cut(&message, TEXT), interrupt });
            }
        }
    }
}

/// Where a hook stands, as a person is told when it asks.
fn place(source: RuleSource) -> &'static str {
    match source {
        RuleSource::Policy => "Managed",
        RuleSource::Cli => "Command line",
        RuleSource::Local => "Local",
        RuleSource::Project => "Project",
        RuleSource::User => "User",
        RuleSource::Session => "Session",
        RuleSource::Skill => "Skill",
    }
}

#[cfg(test)]
mod tests;
