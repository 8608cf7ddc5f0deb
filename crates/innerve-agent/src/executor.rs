//! Runs the tool uses of one response: each starts as soon as its block is complete and the schedule lets it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use innerve_pipeline::{
    Outcome, Pipeline, Requested, Settled, Step, StopRequest, Turn, is_concurrency_safe,
};
use innerve_protocol::{ToolResult, ToolUse};
use innerve_tool::{InterruptBehavior, Lookup, code};
use serde_json::Value;
use tokio::task::{self, JoinSet};
use tracing::{Instrument as _, Span};

use crate::AgentConfig;
use crate::schedule::Schedule;

/// The tool whose failures may cancel the calls beside it.
const BASH: &str = "Bash";
/// Characters of a command by which the model knows it again.
const LABEL: usize = 40;

/// The tool uses of one response and their results. Dropping it ends all that run.
pub(crate) struct Executor {
    pipeline: Arc<Pipeline>,
    turn: Arc<Turn>,
    schedule: Schedule,
    requested: Vec<Requested>,
    settled: BTreeMap<usize, Settled>,
    running: JoinSet<Settled>,
    tasks: HashMap<task::Id, usize>,
    /// Calls that wait for nobody.
    unscheduled: Vec<usize>,
    /// Calls that have ended and whose changes do not hold yet.
    undue: BTreeSet<usize>,
    /// Why nothing more may start.
    closed: Option<&'static str>,
    /// Whether a command that fails cancels the calls beside it.
    cascades: bool,
    /// The command that failed and cancelled them.
    failed_beside: Option<String>,
    /// The run that the calls belong to.
    span: Span,
}

impl Executor {
    pub(crate) fn new(pipeline: Arc<Pipeline>, turn: Arc<Turn>, config: &AgentConfig) -> Self {
        Self {
            pipeline,
            turn,
            schedule: Schedule::new(config.max_concurrency),
            requested: Vec::new(),
            settled: BTreeMap::new(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
            unscheduled: Vec::new(),
            undue: BTreeSet::new(),
            closed: None,
            cascades: config.bash_failure_cancels,
            failed_beside: None,
            span: Span::current(),
        }
    }

    /// Queues a tool use. It does not start before [`Self::launch`].
    pub(crate) fn add(&mut self, requested: Requested) {
        self.turn.batch.add();
        let index = self.schedule.add(is_concurrency_safe(&self.turn.pool, &requested.tool_use));
        // What can only end in an error is answered at once and holds nothing up.
        let has_tool = matches!(self.turn.pool.find(&requested.tool_use.name), Lookup::Found(_));
        if requested.invalid_input.is_some() || !has_tool {
            self.schedule.finish(index);
            self.unscheduled.push(index);
        }
        self.requested.push(requested);
    }

    /// The response is complete: no more calls will come.
    pub(crate) fn complete(&self) {
        self.turn.batch.complete();
    }

    /// The calls that may start now; each must be given to [`Self::launch`] once it is in the log.
    pub(crate) fn startable(&mut self) -> Vec<(usize, ToolUse)> {
        if self.closed.is_some() {
            return Vec::new();
        }
        let unscheduled = std::mem::take(&mut self.unscheduled);
        unscheduled
            .into_iter()
            .chain(self.schedule.start())
            .filter_map(|index| Some((index, self.requested.get(index)?.tool_use.clone())))
            .collect()
    }

    /// Starts a call.
    pub(crate) fn launch(&mut self, index: usize) {
        let Some(requested) = self.requested.get(index).cloned() else { return };
        let (pipeline, turn) = (Arc::clone(&self.pipeline), Arc::clone(&self.turn));
        // Taken here, so that questions come in the order of the calls.
        let ticket = pipeline.take_ticket();
        let task = self.running.spawn(
            async move { pipeline.run_with(ticket, requested, &turn).await }
                .instrument(self.span.clone()),
        );
        self.tasks.insert(task.id(), index);
    }

    /// Waits for a call to end and says which; `None` if none runs.
    pub(crate) async fn next(&mut self) -> Option<usize> {
        loop {
            let (id, ended) = match self.running.join_next_with_id().await? {
                Ok((id, settled)) => (id, Some(settled)),
                Err(error) => (error.id(), None),
            };
            let Some(index) = self.tasks.remove(&id) else { continue };
            // The pipeline catches panics; if one gets past it, the answer must not be lost.
            let mut settled = ended.unwrap_or_else(|| {
                let text = "internal error; the call was abandoned and may have had effects";
                self.synthetic(index, text, Outcome::Failed, code::PANICKED)
            });
            self.cascade(index, &mut settled);
            self.schedule.finish(index);
            if settled.stop.is_some() {
                self.close("not executed: an earlier call of this response ended the turn");
            }
            self.settled.insert(index, settled);
            self.undue.insert(index);
            return Some(index);
        }
    }

    /// Whether any call runs.
    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Lets nothing more start; what waits is answered by this text.
    pub(crate) fn close(&mut self, why: &'static str) {
        self.closed.get_or_insert(why);
    }

    /// Ends all that run and lets nothing more start. Wait with [`Self::next`] for the results.
    pub(crate) fn interrupt(&mut self) {
        self.close("interrupted by the user before it started; nothing was run");
        self.turn.cancellation.cancel();
    }

    /// As [`Self::interrupt`], because the user wrote something that the model should see at once.
    pub(crate) fn make_way(&mut self) {
        self.close("not executed: the user wrote something first");
        self.turn.cancellation.cancel();
    }

    /// Whether a message of the user may end what runs: only if all of it can be done again at no cost.
    pub(crate) fn is_interruptible(&self) -> bool {
        let tool_uses = self.tasks.values().filter_map(|index| self.tool_use(*index));
        let mut tools = tool_uses.map(|tool_use| self.turn.pool.find(&tool_use.name));
        let cancels = |tool| match tool {
            Lookup::Found(tool) => tool.interrupt_behavior() == InterruptBehavior::Cancel,
            Lookup::Removed(_) | Lookup::Unknown { .. } => true,
        };
        self.is_running() && tools.all(cancels)
    }

    /// Where it is switched on, a command that fails cancels the calls beside it, and these say so.
    fn cascade(&mut self, index: usize, settled: &mut Settled) {
        if let Some(command) = &self.failed_beside {
            if settled.code.as_deref() == Some(code::INTERRUPTED) {
                let text = format!("cancelled: the parallel call {command} failed");
                *settled = self.synthetic(index, &text, Outcome::Interrupted, code::INTERRUPTED);
            }
        } else if self.cascades && settled.tool == BASH && settled.outcome == Outcome::Failed {
            let input = self.tool_use(index).map(|tool_use| &tool_use.input);
            let command =
                input.and_then(|input| input.get("command")?.as_str()).unwrap_or_default();
            let label: String = command.chars().take(LABEL).collect();
            self.failed_beside = Some(format!("{BASH}({label})"));
            self.close("not executed: a command of the same response failed");
            self.turn.cancellation.cancel();
        }
    }

    /// What became of a call.
    pub(crate) fn settled(&self, index: usize) -> Option<&Settled> {
        self.settled.get(&index)
    }

    /// The tool use of a call.
    pub(crate) fn tool_use(&self, index: usize) -> Option<&ToolUse> {
        self.requested.get(index).map(|requested| &requested.tool_use)
    }

    /// The calls whose changes hold from now on: none while anything runs, so that no call changes what those beside it
    /// see, then all that have ended since the last time, in the order of the calls.
    pub(crate) fn due(&mut self) -> Vec<usize> {
        if self.is_running() {
            Vec::new()
        } else {
            std::mem::take(&mut self.undue).into_iter().collect()
        }
    }

    /// How many calls there are.
    pub(crate) fn len(&self) -> usize {
        self.requested.len()
    }

    /// All results, in the order of the calls; calls that never ran are answered here.
    pub(crate) fn finish(mut self) -> Vec<Settled> {
        let why = self.closed.unwrap_or("not executed");
        for index in 0..self.requested.len() {
            if !self.settled.contains_key(&index) {
                let settled = self.synthetic(index, why, Outcome::Interrupted, code::INTERRUPTED);
                self.settled.insert(index, settled);
            }
        }
        self.settled.into_values().collect()
    }

    fn synthetic(&self, index: usize, text: &str, outcome: Outcome, code: &str) -> Settled {
        let tool_use =
            self.tool_use(index).cloned().unwrap_or_else(|| ToolUse::new("", "", Value::Null));
        Settled {
            result: ToolResult::error(tool_use.id, text),
            tool: tool_use.name,
            outcome,
            step: Step::LookUp,
            code: Some(code.to_owned()),
            data: Value::Null,
            elapsed: None,
            resolution: None,
            messages: Vec::new(),
            notices: Vec::new(),
            changes: Vec::new(),
            stop: None::<StopRequest>,
        }
    }
}

#[cfg(test)]
mod tests;
