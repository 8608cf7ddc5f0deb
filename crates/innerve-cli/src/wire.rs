//! Puts the crates together: settings, tools, pipeline and session of one directory.

mod approval;
mod auto;
mod hidden;
mod ledger;
mod mode;
mod notify;
mod offer;
mod reload;
pub(crate) mod sandbox;
mod servers;
mod tools;
mod web;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use innerve_agent::{
    AgentConfig, AgentTypes, Journal, ResultFiles, RuleSaver, SessionEnv, SharedPolicy,
    Surroundings, Tasks, default_system_prompt, random_id,
};
use innerve_builtins::host::{HostClock, HostFiles};
use innerve_hooks::{Deferral, HookSession, Hooks};
use innerve_mcp::Servers;
use innerve_permission::{
    Behavior, Layer, Origin, PathFacts, Policy, Rule, RuleSource, SettingsWarning,
};
use innerve_pipeline::{Approver, Pipeline, PolicySource, Turn};
use innerve_protocol::SessionId;
use innerve_settings::Watcher;
use innerve_tool::port::FileSystem;
#[cfg(all(feature = "acp", unix))]
use innerve_tool::port::ProcessRunner;
use innerve_tool::{CancellationToken, ToolPool};

use crate::args::{PolicyArguments, SessionArguments};
use crate::calendar;
use crate::exit::Failure;
use crate::instructions;
use crate::output::warn;
use crate::provider::Chosen;
use crate::settings::{self, Found};
use crate::telemetry;
use crate::terminal::{AtTerminal, Keyboard};
use crate::trace::Trace;
use approval::Fatal;
pub(crate) use reload::Reload;
pub(crate) use servers::PATIENCE;
use tools::{BuiltinTools, Confinements, Processes, Reading};

/// A directory with all that holds in it.
pub(crate) struct Workplace {
    pub(crate) policy: Policy,
    pub(crate) warnings: Vec<String>,
    pub(crate) disk: Arc<dyn PathFacts>,
    /// The folder that holds this directory's sessions.
    pub(crate) sessions: PathBuf,
    /// The folder of innerve's state.
    pub(crate) state: PathBuf,
    config: PathBuf,
    layers: Vec<Layer>,
    agents: AgentTypes,
    saver: Option<Arc<dyn RuleSaver>>,
    watcher: Option<Watcher>,
    trusted: bool,
    bypass_disabled: bool,
    auto_disabled: bool,
    prompt_tool: Option<String>,
    /// Whoever is asked, if not a person at a plain terminal.
    approver: Option<Arc<dyn Approver>>,
    /// What the file tools work on.
    files: Arc<dyn FileSystem>,
    /// What starts the commands of each agent.
    processes: Processes,
    fatal: Fatal,
    sandbox: Option<sandbox::Prepared>,
    /// Why there is none although settings ask for one.
    no_sandbox: Option<String>,
    /// Held by whoever asks at the terminal.
    asking: Arc<tokio::sync::Mutex<()>>,
    servers: Mutex<Vec<Arc<Servers>>>,
    tasks: Arc<Tasks>,
    cancellation: CancellationToken,
}

/// Who watches calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Nobody.
    Nothing,
    /// Each step is printed.
    Trace,
}

impl Workplace {
    /// The current directory with its settings files and flags.
    pub(crate) fn find(arguments: &PolicyArguments) -> Result<Self, Failure> {
        Self::find_in(&current_dir()?, arguments)
    }

    /// A directory with its settings files and flags.
    pub(crate) fn find_in(cwd: &Path, arguments: &PolicyArguments) -> Result<Self, Failure> {
        let found = settings::find(cwd, arguments)?;
        let mut workplace = Self::of(cwd, found);
        workplace.set_up_sandbox()?;
        if let Some(mode) = arguments.permission_mode {
            workplace.set_mode(mode);
        }
        Ok(workplace)
    }

    /// Finds the sandbox that settings ask for.
    fn set_up_sandbox(&mut self) -> Result<(), Failure> {
        let outcome = sandbox::prepare(&self.layers, &self.policy.home, &self.config, &self.state)?;
        self.policy.sandbox = outcome.prepared.as_ref().map(|prepared| prepared.sandbox.clone());
        self.warnings.extend(outcome.warnings);
        self.sandbox = outcome.prepared;
        self.no_sandbox = outcome.unavailable;
        Ok(())
    }

    /// What commands run in, if settings ask for a sandbox and there is one.
    pub(crate) fn sandbox_name(&self) -> Option<&'static str> {
        self.sandbox.as_ref().map(sandbox::Prepared::name)
    }

    /// What hosts commands reach in the sandbox, in words; `None` if they reach none.
    pub(crate) fn sandbox_reach(&self) -> Option<String> {
        self.sandbox.as_ref().and_then(|sandbox| sandbox.reach(&self.policy.rules))
    }

    /// What rules and settings keep from commands in the sandbox, in words.
    pub(crate) fn sandbox_keeps(&self) -> Option<String> {
        self.sandbox.as_ref()?.keeps(&self.policy)
    }

    /// Why commands run without the sandbox that settings ask for.
    pub(crate) fn sandbox_trouble(&self) -> Option<&str> {
        self.no_sandbox.as_deref()
    }

    /// A directory without any settings.
    pub(crate) fn bare(cwd: &Path) -> Result<Self, Failure> {
        Ok(Self::of(cwd, settings::none(cwd)?))
    }

    fn of(cwd: &Path, found: Found) -> Self {
        let Found {
            mut policy,
            layers,
            agents,
            warnings,
            locations,
            disk,
            saver,
            watcher,
            trusted,
            bypass_disabled,
            auto_disabled,
        } = found;
        policy.headless = true;
        Self {
            policy,
            warnings: warnings.iter().map(warning_text).collect(),
            disk,
            sessions: sessions_of(&locations.state_dir(), cwd),
            state: locations.state_dir(),
            config: locations.config_dir(),
            layers,
            agents,
            saver,
            watcher,
            trusted,
            bypass_disabled,
            auto_disabled,
            prompt_tool: None,
            approver: None,
            files: Arc::new(HostFiles),
            processes: tools::of_this_machine(),
            fatal: Fatal::default(),
            asking: Arc::default(),
            sandbox: None,
            no_sandbox: None,
            servers: Mutex::default(),
            tasks: Arc::default(),
            cancellation: CancellationToken::new(),
        }
    }

    /// Whether the project's own files loosen something that does not count yet.
    pub(crate) fn waits_for_trust(&self) -> bool {
        !self.trusted && self.layers.iter().any(settings::loosens)
    }

    /// Sets who is asked.
    pub(crate) fn ask_by(&mut self, approver: Arc<dyn Approver>) {
        self.approver = Some(approver);
    }

    /// Lets the file tools work on these files in place of the disk's.
    #[cfg(feature = "acp")]
    pub(crate) fn work_on(&mut self, files: Arc<dyn FileSystem>) {
        self.files = files;
    }

    /// Has each agent's commands started by what this makes, in place of the processes of this machine.
    #[cfg(all(feature = "acp", unix))]
    pub(crate) fn run_by(
        &mut self,
        processes: impl Fn() -> Arc<dyn ProcessRunner> + Send + Sync + 'static,
    ) {
        self.processes = Arc::new(processes);
    }

    /// Adds an allow rule.
    pub(crate) fn allow(&mut self, rule: &str) -> Result<(), Failure> {
        self.add(rule, Behavior::Allow)
    }

    /// Adds a deny rule.
    pub(crate) fn deny(&mut self, rule: &str) -> Result<(), Failure> {
        self.add(rule, Behavior::Deny)
    }

    fn add(&mut self, rule: &str, behavior: Behavior) -> Result<(), Failure> {
        let origin = Origin::inline(RuleSource::Cli, self.policy.cwd.clone());
        let rule = Rule::parse(rule, behavior, origin)
            .map_err(|error| Failure::usage(error.to_string()))?;
        self.policy.rules.push(rule);
        Ok(())
    }

    /// What a session is built from; `id` is that of a session that goes on.
    pub(crate) fn session(
        &self,
        chosen: Chosen,
        arguments: &SessionArguments,
        id: Option<&str>,
        watch: Watch,
    ) -> Result<SessionEnv, Failure> {
        self.may_start()?;
        let session_id = id.map_or_else(new_session_id, str::to_owned);
        let folder = self.sessions.join(&session_id);
        let mut policy = self.policy.clone();
        policy.plan_file = Some(folder.join("plan.md"));
        let pipeline = self.pipeline(&folder, watch, &mut policy);
        let spending = Arc::default();
        let classifier = self.classifier(&chosen, &spending, &mut policy);
        let cwd = &self.policy.cwd;
        let surroundings = Surroundings {
            cwd: cwd.clone(),
            is_git: cwd.ancestors().any(|directory| directory.join(".git").exists()),
            platform: std::env::consts::OS.to_owned(),
            date: calendar::today(),
            instructions: instructions::collect(&self.config, cwd),
        };
        let mut config =
            AgentConfig::new(chosen.name.as_str(), default_system_prompt(&surroundings));
        config.max_turns = arguments.agent.max_turns;
        config.max_cost_usd = arguments.agent.max_cost_usd;
        config.agents = self.agents.clone();
        config.tool_search = arguments.agent.model.tool_search.unwrap_or(config.tool_search);
        config.coordinator = arguments.coordinator;
        config.fallback_models.clone_from(&arguments.agent.model.fallback_model);
        let policy = Arc::new(self.shared(policy));
        let results = SessionEnv::results_folder(&folder);
        let journal = Arc::new(Journal::new(&folder));
        let tools = self
            .tools(results, Reading::Tracked, Arc::clone(&policy) as _)
            .with_journal(Arc::clone(&journal) as _)
            .with_model(&chosen, &spending)
            .with_servers(self.session_servers(&folder, &arguments.agent.mcp)?);
        let tools = Arc::new(tools);
        let session_id = SessionId::new(session_id);
        let pipeline = if policy.current().headless {
            pipeline
        } else {
            notify::notifying(pipeline, &policy, &session_id)
        };
        let pipeline = self.with_prompt_tool(pipeline, &tools, &policy)?;
        let task_list = offer::task_list(arguments.list.task_list, &folder);
        let mut env =
            SessionEnv::new(session_id, folder, config, chosen.model, pipeline, policy, tools);
        env.tasks = Arc::clone(&self.tasks) as _;
        env.task_list = task_list;
        env.journal = Some(journal);
        env.worktrees = Some(Arc::new(tools::worktrees()));
        env.classifier = classifier;
        env.spending = spending;
        env.cancellation = self.cancellation.clone();
        Ok(env)
    }

    /// A pipeline for one call that no model made. The person who makes it has seen the files it names.
    pub(crate) fn single_call(
        &self,
        watch: Watch,
        servers: Option<Arc<Servers>>,
    ) -> Result<(Pipeline, Turn), Failure> {
        self.may_start()?;
        let folder = self.sessions.join("calls");
        let mut policy = self.policy.clone();
        Self::without_classifier(&mut policy);
        let pipeline = self.pipeline(&folder, watch, &mut policy);
        let policy = Arc::new(self.shared(policy));
        let results = SessionEnv::results_folder(&folder);
        let tools = self.tools(results, Reading::Assumed, Arc::clone(&policy) as _);
        let tools = tools.with_servers(servers);
        let pool = tools.pool_without_agents(&self.tasks);
        let pool = ToolPool::assemble(pool, |name| self.policy.rules.removes_tool(name));
        Ok((pipeline, Turn::new(pool, policy)))
    }

    /// What calls of another program need: a pipeline, the tools, and the policy of the session that they make up.
    pub(crate) fn served(&self) -> Result<(Pipeline, ToolPool, Arc<SharedPolicy>), Failure> {
        self.may_start()?;
        let folder = self.sessions.join(new_session_id());
        let mut policy = self.policy.clone();
        Self::without_classifier(&mut policy);
        let pipeline = self.pipeline(&folder, Watch::Nothing, &mut policy);
        let policy = Arc::new(self.shared(policy));
        let results = SessionEnv::results_folder(&folder);
        let tools = self.tools(results, Reading::Tracked, Arc::clone(&policy) as _);
        let pool = tools.pool_without_agents(&self.tasks);
        let pool = ToolPool::assemble(pool, |name| self.policy.rules.removes_tool(name));
        Ok((pipeline, pool, policy))
    }

    fn pipeline(&self, folder: &Path, watch: Watch, policy: &mut Policy) -> Pipeline {
        let results = ResultFiles::new(SessionEnv::results_folder(folder));
        let mut pipeline = Pipeline::new(Arc::clone(&self.disk))
            .with_results(Arc::new(results))
            .with_clock(Arc::new(HostClock))
            .with_naming(telemetry::naming());
        let keyboard = if self.approver.is_none() { Keyboard::open() } else { None };
        let is_attended =
            keyboard.is_some() || self.approver.is_some() || self.prompt_tool.is_some();
        let mut session = self.hook_session(folder);
        // A call is put off only where nobody can be asked (Claude Code, "Hooks reference").
        session.deferral = if is_attended { Deferral::Ignored } else { Deferral::Honoured };
        let (hooks, odd) = Hooks::new(&self.layers, session);
        for warning in &odd {
            warn(&warning_text(warning));
        }
        if !hooks.is_empty() {
            pipeline = pipeline.with_hook(Arc::new(hooks));
        }
        if let Some(approver) = &self.approver {
            pipeline = pipeline.with_approver(Arc::clone(approver));
            policy.headless = false;
        } else if let Some(keyboard) = keyboard {
            pipeline = pipeline.with_approver(self.in_turn(Arc::new(AtTerminal::new(keyboard))));
            policy.headless = false;
        }
        policy.headless &= self.prompt_tool.is_none();
        match watch {
            Watch::Nothing => pipeline,
            Watch::Trace => pipeline.with_observer(Arc::new(Trace::default())),
        }
    }

    fn hook_session(&self, folder: &Path) -> HookSession {
        let mut session =
            HookSession::new(&self.policy.original_cwd, &self.policy.home, std::env::vars_os());
        session.transcript_path = Some(folder.join("log.jsonl"));
        session
    }

    fn shared(&self, policy: Policy) -> SharedPolicy {
        SharedPolicy::new(policy, self.saver.clone()).with_path_facts(Arc::clone(&self.disk))
    }

    fn tools(
        &self,
        results: PathBuf,
        reading: Reading,
        policy: Arc<dyn PolicySource>,
    ) -> BuiltinTools {
        let scratch = self.sandbox.as_ref().and_then(sandbox::Prepared::scratch);
        let confinement = self.sandbox.clone().map(|sandbox| {
            let disk = Arc::clone(&self.disk);
            let main = sandbox.confinement(Arc::clone(&policy), &disk);
            let by_policy = Box::new(move |policy| sandbox.confinement(policy, &disk));
            Confinements { main, by_policy }
        });
        let hidden = Some(hidden::by_rules(policy, &self.disk));
        BuiltinTools::new(results, reading, Arc::clone(&self.files), hidden)
            .with_processes(Arc::clone(&self.processes))
            .with_confinement(confinement, scratch)
    }

    /// Ends what still runs.
    pub(crate) fn close(&self) {
        self.cancellation.cancel();
        self.tasks.stop_all();
    }
}

/// A warning with its place.
pub(crate) fn warning_text(warning: &SettingsWarning) -> String {
    let place = match (&warning.file, warning.line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", file.display()),
        (Some(file), None) => format!("{}: ", file.display()),
        (None, _) => format!("{} settings: ", warning.source.name()),
    };
    format!("{place}{}", warning.reason)
}

fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new(format!(
            "the current directory cannot be read: {error}; change to one that exists"
        ))
    })
}

/// The folder that holds the sessions of a directory.
fn sessions_of(state: &Path, cwd: &Path) -> PathBuf {
    let slug: String = cwd
        .to_string_lossy()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .take(200)
        .collect();
    state.join("projects").join(slug)
}

/// The folder that holds the sessions of the current directory.
pub(crate) fn sessions_folder() -> Result<PathBuf, Failure> {
    let cwd = current_dir()?;
    Ok(sessions_of(&settings::locations(&cwd)?.state_dir(), &cwd))
}

/// Sortable by time, and safe as a folder's name.
pub(crate) fn new_session_id() -> String {
    let tail: String = random_id().chars().take(6).collect();
    format!("{}-{tail}", calendar::stamp())
}
