//! The hooks of a session behind the port of the pipeline: choosing, running side by side, combining.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use innerve_permission::{Layer, RuleSource, SettingsWarning};
use innerve_pipeline::{Hook, HookEvent, HookEventName, HookOutcome};
use serde_json::Value;
use tracing::Instrument as _;

use crate::answer::Reader;
use crate::background::Background;
use crate::condition::ToolUse;
use crate::configure::{Configured, configure};
use crate::settings::{Action, session_end_limit};
use crate::{
    AgentRunner, EventName, HookObserver, HookRun, HookSession, Judge, ToolCaller, input,
    telemetry, text,
};

/// The hooks of a session: commands, HTTP calls, and what asks a model, an agent or an MCP server through a port.
///
/// All that match an event run at the same time, each to its end, and their words are combined by strictness; those of
/// managed settings come last and so decide which of several new inputs counts. A hook that does not work has no say:
/// a person is told, and the event goes on.
///
/// Needs a tokio runtime with timer and I/O enabled.
pub struct Hooks {
    all: Vec<Configured>,
    pub(crate) session: HookSession,
    pub(crate) background: Arc<Background>,
    pub(crate) judge: Option<Arc<dyn Judge>>,
    pub(crate) agents: Option<Arc<dyn AgentRunner>>,
    pub(crate) tools: Option<Arc<dyn ToolCaller>>,
    observer: Option<Arc<dyn HookObserver>>,
    #[cfg(feature = "http")]
    pub(crate) http: crate::http::Http,
}

/// One hook at one event, with all that running it needs.
pub(crate) struct Firing<'a> {
    pub(crate) hook: &'a Configured,
    pub(crate) event: &'a HookEvent,
    /// The event as the hook is told it.
    pub(crate) told: &'a Value,
    pub(crate) limit: Duration,
    pub(crate) reader: Reader,
}

impl Hooks {
    /// Reads the hooks of the settings; what cannot be used is left out and told, with its file and line.
    ///
    /// Hooks of a project's files count when their layer is trusted. `disableAllHooks`, `allowManagedHooksOnly`,
    /// `allowedHttpHookUrls` and `httpHookAllowedEnvVars` have their documented meaning (Claude Code, "Settings").
    pub fn new(layers: &[Layer], session: HookSession) -> (Self, Vec<SettingsWarning>) {
        let configuration = configure(layers);
        let hooks = Self {
            all: configuration.hooks,
            session,
            background: Arc::default(),
            judge: None,
            agents: None,
            tools: None,
            observer: None,
            #[cfg(feature = "http")]
            http: crate::http::Http::new(configuration.http),
        };
        (hooks, configuration.warnings)
    }

    /// Sets who answers prompt hooks. Default: nobody, and such hooks are told of as not working.
    #[must_use]
    pub fn with_judge(mut self, judge: Arc<dyn Judge>) -> Self {
        self.judge = Some(judge);
        self
    }

    /// Sets who answers agent hooks. Default: nobody, as with prompt hooks.
    #[must_use]
    pub fn with_agents(mut self, agents: Arc<dyn AgentRunner>) -> Self {
        self.agents = Some(agents);
        self
    }

    /// Sets who calls the tools of MCP servers. Default: nobody, as with prompt hooks.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<dyn ToolCaller>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Sets who watches hooks run. Default: nobody.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn HookObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Whether there are no hooks at all.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes what hooks in the background have said so far. The next `UserPromptSubmit` or `PostToolBatch` takes it
    /// too, so only who wakes the model by [`Self::woken`] has to.
    pub fn take_late(&self) -> HookOutcome {
        self.background.take()
    }

    /// Ends when a hook in the background (`asyncRewake`) wants the model to be woken; [`Self::take_late`] has its
    /// words.
    pub async fn woken(&self) {
        self.background.woken().await;
    }

    async fn answer(&self, event: HookEvent) -> HookOutcome {
        let name = EventName::from(event.name);
        let told = input::describe(&event, name, self.session.transcript_path.as_deref());
        let chosen = self.choose(name, &event, &told);
        let shared = (name == EventName::SessionEnd)
            .then(|| session_end_limit(chosen.iter().map(|hook| &hook.entry)));
        let firings = chosen.into_iter().map(|hook| {
            let own = hook.entry.timeout_at(name);
            let reader = Reader {
                event: name,
                tool: event.tool.clone(),
                source: hook.source,
                label: label(&hook.entry.action),
                deferral: self.session.deferral,
            };
            // At the end of a session all hooks share one limit.
            let limit =
                shared.map_or(own, |shared| hook.entry.timeout.unwrap_or(shared).min(shared));
            self.watched(Firing { hook, event: &event, told: &told, limit, reader })
        });
        let outcomes = join_all(firings).await;
        let inputs = outcomes.iter().filter(|outcome| outcome.updated_input.is_some()).count();
        let late =
            if takes_late(event.name) { self.background.take() } else { HookOutcome::default() };
        let mut combined = outcomes.into_iter().fold(late, HookOutcome::and);
        if inputs > 1 {
            combined.messages.push(format!(
                "{inputs} {name} hooks changed the input of the same call; only the last one counts"
            ));
        }
        combined
    }

    /// The hooks that the event meets, in the order of configuration, of identical ones the first.
    fn choose(&self, name: EventName, event: &HookEvent, told: &Value) -> Vec<&Configured> {
        let subject = input::subject(name, told);
        let mut tool_use = None;
        let mut chosen: Vec<&Configured> = Vec::new();
        for hook in self.all.iter().filter(|hook| hook.event == name) {
            // What the event does not tell might be what the hook is for.
            if !subject.is_none_or(|subject| hook.is_for(subject)) {
                continue;
            }
            if let Some(condition) = &hook.condition {
                let Some(tool) = event.tool.as_deref().filter(|_| name.is_about_a_tool()) else {
                    continue;
                };
                let tool_use = tool_use.get_or_insert_with(|| {
                    let input = told.get("tool_input").unwrap_or(&Value::Null);
                    ToolUse::new(tool, input, &event.cwd, &self.session.home)
                });
                if !condition.holds(tool_use) {
                    continue;
                }
            }
            if chosen.iter().any(|known| known.entry.action == hook.entry.action) {
                continue;
            }
            // Only a hook of a skill can be one that runs once.
            let once = hook.entry.once && hook.source == RuleSource::Skill;
            if once && hook.spent.swap(true, Ordering::Relaxed) {
                continue;
            }
            chosen.push(hook);
        }
        chosen
    }

    async fn watched(&self, firing: Firing<'_>) -> HookOutcome {
        let label = firing.reader.label.clone();
        let entry = &firing.hook.entry;
        let run = HookRun {
            event: firing.reader.event,
            source: firing.hook.source,
            label: &label,
            status_message: entry.status_message.as_deref(),
        };
        let span = telemetry::hook(run.event, entry.action.kind(), run.source);
        let since = Instant::now();
        if let Some(observer) = &self.observer {
            observer.started(&run);
        }
        let outcome = self.act(firing).instrument(span.clone()).await;
        span.in_scope(|| telemetry::ended(&outcome, since.elapsed()));
        if let Some(observer) = &self.observer {
            observer.ended(&run, since.elapsed());
        }
        outcome
    }
}

impl Hook for Hooks {
    fn listens(&self, event: HookEventName, tool: Option<&str>) -> bool {
        let name = EventName::from(event);
        let meets = |hook: &Configured| {
            hook.event == name
                && (!name.is_about_a_tool() || tool.is_none_or(|tool| hook.is_for(tool)))
        };
        self.all.iter().any(meets) || (takes_late(event) && self.background.has_said())
    }

    fn run(&self, event: HookEvent) -> BoxFuture<'_, HookOutcome> {
        self.answer(event).boxed()
    }
}

/// Whether the event brings what hooks in the background have said: it begins something new for the model.
fn takes_late(event: HookEventName) -> bool {
    matches!(event, HookEventName::UserPromptSubmit | HookEventName::PostToolBatch)
}

/// The hook's name in messages.
fn label(action: &Action) -> String {
    let (kind, text) = match action {
        Action::Command(command) => ("", command.command.as_str()),
        // What follows may be a token.
        Action::Http(http) => ("", http.url.split(['?', '#']).next().unwrap_or_default()),
        Action::McpTool(tool) => {
            return format!("`{}`", text::label(&format!("{}: {}", tool.server, tool.tool)));
        }
        Action::Prompt(prompt) => ("prompt ", prompt.prompt.as_str()),
        Action::Agent(agent) => ("agent ", agent.prompt.as_str()),
    };
    format!("{kind}`{}`", text::label(text))
}

impl fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts = BTreeMap::new();
        for hook in &self.all {
            *counts.entry(hook.event).or_insert(0) += 1;
        }
        formatter.debug_struct("Hooks").field("events", &counts).finish_non_exhaustive()
    }
}
