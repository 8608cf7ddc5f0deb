//! A run that is under way: what it does, since when, and how far its calls are.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use innerve_agent::{Run, ToolReport};
use innerve_protocol::{ToolUse, ToolUseId};
use innerve_tool::ProgressEvent;
use serde_json::Value;

use super::super::results::Result;
use super::super::screen::cut;
use crate::output::{DIM, RED, YELLOW, calls, plain};

/// What takes less time shows none.
const SHORT: Duration = Duration::from_secs(1);
/// Running calls that are shown.
const MAX_CALLS: usize = 5;
/// Calls of a sub-agent that are shown under it.
const MAX_STEPS: usize = 3;
/// Calls of a sub-agent that are kept.
const KEPT_STEPS: usize = 500;

/// A run that is under way.
pub(super) struct Work {
    pub(super) run: Run,
    pub(super) is_stopping: bool,
    since: Instant,
    doing: &'static str,
    calls: Vec<Running>,
}

/// A call that was not answered yet.
struct Running {
    id: ToolUseId,
    tool: String,
    line: String,
    since: Instant,
    progress: Vec<String>,
    /// What its sub-agent has done, the last of it, and how much that was in all.
    steps: VecDeque<String>,
    count: usize,
}

impl Work {
    pub(super) fn begin(run: Run) -> Self {
        Self {
            run,
            is_stopping: false,
            since: Instant::now(),
            doing: "thinking",
            calls: Vec::new(),
        }
    }

    pub(super) fn does(&mut self, what: &'static str) {
        self.doing = what;
    }

    pub(super) fn started(&mut self, tool_use: &ToolUse) {
        self.calls.push(Running {
            id: tool_use.id.clone(),
            tool: tool_use.name.clone(),
            line: calls::call(&tool_use.name, &tool_use.input),
            since: Instant::now(),
            progress: Vec::new(),
            steps: VecDeque::new(),
            count: 0,
        });
    }

    /// A question about a call is settled: what it takes from now on is its own time.
    pub(super) fn answered(&mut self, id: &ToolUseId) {
        restart(&mut self.calls, id);
    }

    /// Takes news of a call; gives what should stay on the screen.
    pub(super) fn progress(&mut self, event: &ProgressEvent) -> Option<String> {
        let id = event.parent_tool_use_id.as_ref().unwrap_or(&event.tool_use_id);
        // What a sub-agent's own sub-agents do is told under the one that can be seen.
        let at = self.calls.iter().position(|call| call.id == *id);
        let call = match at {
            Some(at) => self.calls.get_mut(at)?,
            None => self.calls.iter_mut().find(|call| call.count > 0)?,
        };
        if event.parent_tool_use_id.is_none() {
            if let Some(lines) = calls::progress(&call.tool, &event.data) {
                call.progress = lines;
            }
            return None;
        }
        let field = |name: &str| event.data.get(name).and_then(Value::as_str);
        match (field("kind")?, field("code")) {
            ("tool_started", _) => {
                let input = event.data.get("input").unwrap_or(&Value::Null);
                call.step(format!("· {}", calls::call(field("tool").unwrap_or_default(), input)));
                call.count += 1;
            }
            ("tool_ended", Some(code)) => call.step(format!("  {RED}{}{RED:#}", plain(code))),
            ("warning", _) => {
                return Some(format!(
                    "    {YELLOW}{}{YELLOW:#}",
                    plain(field("text").unwrap_or_default())
                ));
            }
            _ => {}
        }
        None
    }

    /// A call was answered, maybe by the person's own no: what is kept of it, and the lines that tell it.
    pub(super) fn ended(&mut self, report: &ToolReport, is_denied: bool) -> (Result, Vec<String>) {
        let at = self.calls.iter().position(|call| call.id == report.tool_use_id);
        let call = at.map(|at| self.calls.remove(at));
        let (steps, count) = call.map(|call| (call.steps, call.count)).unwrap_or_default();
        let mut lines = vec![format!("● {}", calls::call(&report.tool, &report.input))];
        lines.extend(last_steps(&steps, count));
        if is_denied {
            lines.push(format!("  {YELLOW}⊘{YELLOW:#} not run: you said no"));
        } else {
            lines.extend(calls::ended(report, false));
        }
        (Result { report: report.clone(), steps: steps.into() }, lines)
    }

    /// What is going on.
    pub(super) fn lines(&self, room: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for call in self.calls.iter().take(MAX_CALLS) {
            lines.push(format!("{YELLOW}●{YELLOW:#} {}{}", call.line, time(call.since)));
            lines.extend(last_steps(&call.steps, call.count));
            lines.extend(call.progress.iter().map(|line| format!("    {line}")));
        }
        if let Some(more) = self.calls.len().checked_sub(MAX_CALLS + 1) {
            lines.push(format!("{DIM}  and {} more{DIM:#}", more + 1));
        }
        let doing = if self.calls.is_empty() { self.doing } else { "working" };
        let end = if self.is_stopping { "stopping" } else { "Esc stops" };
        let time = time(self.since);
        lines.push(format!("{YELLOW}●{YELLOW:#} {doing}{time}{DIM} · {end}{DIM:#}"));
        lines.into_iter().map(|line| cut(&line, room)).collect()
    }
}

impl Running {
    fn step(&mut self, line: String) {
        if self.steps.len() == KEPT_STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(line);
    }
}

/// Counts the time of this call from now on; all others go on.
fn restart(calls: &mut [Running], id: &ToolUseId) {
    if let Some(call) = calls.iter_mut().find(|call| call.id == *id) {
        call.since = Instant::now();
    }
}

/// The end of what a sub-agent did.
fn last_steps(steps: &VecDeque<String>, count: usize) -> Vec<String> {
    let hidden = steps.len().saturating_sub(MAX_STEPS);
    let mut lines = Vec::new();
    if hidden > 0 {
        lines.push(format!("    {DIM}{count} calls, the last of them:{DIM:#}"));
    }
    lines.extend(steps.iter().skip(hidden).map(|step| format!("    {step}")));
    lines
}

fn time(since: Instant) -> String {
    let elapsed = since.elapsed();
    if elapsed < SHORT { String::new() } else { format!(" {DIM}{}{DIM:#}", clock(elapsed)) }
}

fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(clock(Duration::from_secs(59)), "59 s");
        assert_eq!(clock(Duration::from_secs(125)), "2 min 5 s");
    }

    #[test]
    fn the_time_of_a_call_is_without_that_of_its_question() {
        let since = Instant::now().checked_sub(Duration::from_mins(1)).unwrap();
        let running = |id: &str| Running {
            id: ToolUseId::from(id),
            tool: "Bash".to_owned(),
            line: String::new(),
            since,
            progress: Vec::new(),
            steps: VecDeque::new(),
            count: 0,
        };
        let mut calls = [running("asked"), running("other")];
        restart(&mut calls, &ToolUseId::from("asked"));
        restart(&mut calls, &ToolUseId::from("of a sub-agent"));
        let times = calls.map(|call| call.since.elapsed() >= Duration::from_mins(1));
        assert_eq!(times, [false, true]);
    }

    #[test]
    fn of_many_steps_the_last_ones_are_shown() {
        let steps = |count: usize| (0..count).map(|step| step.to_string()).collect();
        assert_eq!(last_steps(&steps(2), 2), ["    0", "    1"]);
        assert_eq!(last_steps(&steps(9), 9).len(), 1 + MAX_STEPS);
    }
}
