//! The order of the fourteen steps: this file and no other.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::pending;
use innerve_budget::ResultStore;
use innerve_permission::{PathFacts, Policy};
use innerve_protocol::{AgentId, SessionId, ToolUseId};
use innerve_tool::port::Clock;
use innerve_tool::{
    BoxFuture, CallContext, CancellationToken, ProgressSink, Reporter, SessionView, Silent,
    ToolPool,
};
use tracing::Instrument as _;

use crate::authorize::{Heard, Judged};
use crate::listen::Remarks;
use crate::questions::{Questions, Ticket};
use crate::settle::safe_class;
use crate::stage::{Given, Requested, Settled, Stopped};
use crate::telemetry::{self, Naming};
use crate::{
    Approver, Batch, Classifier, Denials, Grant, GrantScope, Hook, Observer, PermissionUpdate,
    Quiet, Step, StepReport, Unattended,
};

/// Runs tool uses. Lasts as long as a session; [`Turn`] holds what changes from turn to turn.
#[derive(Clone)]
pub struct Pipeline {
    pub(crate) disk: Arc<dyn PathFacts>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) classifier: Option<Arc<dyn Classifier>>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) results: Option<Arc<dyn ResultStore>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// Shared by all agents of a session.
    pub(crate) questions: Arc<Questions>,
    pub(crate) naming: Naming,
}

/// What holds for the calls of one turn.
#[derive(Clone)]
pub struct Turn {
    /// The tools that are offered.
    pub pool: ToolPool,
    /// The policy, asked for anew by each call.
    pub policy: Arc<dyn PolicySource>,
    /// The session.
    pub session_id: SessionId,
    /// The sub-agent that calls; `None` in the main conversation.
    pub agent_id: Option<AgentId>,
    /// Its type.
    pub agent_type: Option<String>,
    /// How deep below the main conversation the caller is.
    pub depth: u32,
    /// Cancelled when the turn is aborted; calls get children of it.
    pub cancellation: CancellationToken,
    /// Where progress goes.
    pub progress: Arc<dyn ProgressSink>,
    /// Refusals of the classifier so far.
    pub denials: Arc<Denials>,
    /// The deferred tools whose schemas the model has seen.
    pub loaded: Arc<BTreeSet<String>>,
    /// The calls of the response.
    pub batch: Arc<Batch>,
}

/// Gives the policy as it is now: mode and rules may change while calls are under way.
pub trait PolicySource: Send + Sync {
    /// The policy as it is now; its `cwd` is the session's current directory.
    fn current(&self) -> Arc<Policy>;

    /// Ends when the policy is another one than `seen`, an earlier [`Self::current`]; a question that is open then is
    /// looked at again. The default never ends: questions stay open until somebody answers them.
    fn changed<'a>(&'a self, seen: &'a Arc<Policy>) -> BoxFuture<'a, ()> {
        let _ = seen;
        Box::pin(pending())
    }

    /// Makes a change that a hook attached to its yes. An error is told to the person; the answer itself still holds.
    fn update(&self, update: &PermissionUpdate) -> Result<(), String> {
        let _ = update;
        Err("this policy is fixed; the answer holds for this call only".to_owned())
    }

    /// Remembers rules that a person granted. An error is told to the person; the answer itself still holds.
    fn remember(&self, grant: &Grant) -> Result<(), String>;
}

impl PolicySource for Policy {
    fn current(&self) -> Arc<Policy> {
        Arc::new(self.clone())
    }

    fn remember(&self, _grant: &Grant) -> Result<(), String> {
        Err("this policy is fixed; the rule holds for this call only".to_owned())
    }
}

impl Turn {
    /// A turn of the main conversation that shows no progress.
    pub fn new(pool: ToolPool, policy: Arc<dyn PolicySource>) -> Self {
        Self {
            pool,
            policy,
            session_id: SessionId::new("session"),
            agent_id: None,
            agent_type: None,
            depth: 0,
            cancellation: CancellationToken::new(),
            progress: Arc::new(Silent),
            denials: Arc::new(Denials::default()),
            loaded: Arc::default(),
            batch: Arc::new(Batch::single()),
        }
    }
}

impl Pipeline {
    /// A pipeline without hooks and classifier, with nobody to ask, that keeps no large results.
    pub fn new(disk: Arc<dyn PathFacts>) -> Self {
        Self {
            disk,
            hooks: Vec::new(),
            approver: Arc::new(Unattended),
            classifier: None,
            observer: Arc::new(Quiet),
            results: None,
            clock: None,
            questions: Arc::default(),
            naming: Naming::default(),
        }
    }

    /// Adds a hook.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Sets who is asked. Default: nobody.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = approver;
        self
    }

    /// Who is asked.
    pub fn approver(&self) -> &Arc<dyn Approver> {
        &self.approver
    }

    /// Sets the classifier of mode `auto`. Default: none.
    #[must_use]
    pub fn with_classifier(mut self, classifier: Arc<dyn Classifier>) -> Self {
        self.classifier = Some(classifier);
        self
    }

    /// Sets who watches. Default: nobody.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Sets where results go that are too large for the conversation. Default: they are cut.
    #[must_use]
    pub fn with_results(mut self, results: Arc<dyn ResultStore>) -> Self {
        self.results = Some(results);
        self
    }

    /// Sets the clock that timeouts go by. Default: tools time themselves out.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets what telemetry calls tools and calls. Default: by class, so that no name that others chose leaves the machine.
    #[must_use]
    pub fn with_naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// What telemetry calls tools and calls.
    pub fn naming(&self) -> Naming {
        self.naming
    }

    /// Takes the next ticket for the queue of questions, for a call that begins later than others that come after it.
    pub fn take_ticket(&self) -> Ticket {
        self.questions.queue()
    }

    /// Runs one tool use through the fourteen steps. Never fails: whatever happens is told in the result.
    pub async fn run(&self, requested: Requested, turn: &Turn) -> Settled {
        self.run_with(self.take_ticket(), requested, turn).await
    }

    /// As [`Self::run`], for a call whose ticket for the queue of questions was taken before: tasks that are spawned in one
    /// order begin in any.
    pub async fn run_with(&self, ticket: Ticket, requested: Requested, turn: &Turn) -> Settled {
        let span = telemetry::tool(self.naming, &requested.tool_use, turn.depth);
        let settled = Box::pin(self.settle(ticket, requested, turn)).instrument(span.clone()).await;
        telemetry::settled(&span, &settled);
        settled
    }

    async fn settle(&self, ticket: Ticket, requested: Requested, turn: &Turn) -> Settled {
        let mut call = Call::new(self, turn, &requested, ticket);
        match AssertUnwindSafe(call.steps(requested)).catch_unwind().await {
            Ok(Ok(settled)) => settled,
            Ok(Err(stopped)) => call.stop(*stopped),
            Err(payload) => {
                // The payload may hold secrets: it is dropped unseen.
                drop(payload);
                telemetry::internal_error(call.at);
                call.abandon()
            }
        }
    }

    pub(crate) fn now(&self) -> Option<Instant> {
        self.clock.as_ref().map(|clock| clock.instant())
    }
}

impl Call<'_> {
    async fn steps(&mut self, requested: Requested) -> Result<Settled, Box<Stopped>> {
        let tool = self.look_up(&requested)?; //                                      1
        self.check_abort()?; //                                                       2
        let mut given = Given::new(requested.tool_use.input);
        let authorized = loop {
            let input = self.parse(&tool, &given, requested.invalid_input.as_deref())?; // 3
            let validated = self.validate(&tool, input).await?; //                    4
            let suspicion = self.start_classifier(&validated, &given); //             5
            let prepared = self.prepare(validated); //                                6
            let Heard::Same = self.pre_hooks(&prepared, &mut given).await? else { continue }; // 7
            match self.resolve(prepared, suspicion, &mut given).await? {
                //                                                                    8
                Judged::Changed => {}
                Judged::Refused(refusal) => return Err(self.handle_refusal(*refusal).await), // 9
                Judged::Permitted(authorized) => {
                    self.pass(Step::HandleRefusal); //                                9
                    break *authorized;
                }
            }
        };
        let executed = self.execute(authorized).await?; //                           10
        let fitted = self.fit_result(executed); //                                   11
        let heard = self.post_hooks(fitted).await; //                                12
        let attached = self.attach(heard); //                                        13
        Ok(self.classify(attached)) //                                               14
    }
}

/// One run of the pipeline: what all steps need, what hooks said on the way, and how far it is.
pub(crate) struct Call<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) turn: &'a Turn,
    pub(crate) id: ToolUseId,
    pub(crate) name: String,
    pub(crate) remarks: Remarks,
    /// The step that is under way.
    pub(crate) at: Step,
    /// For how long a person allowed calls like it.
    pub(crate) granted: Option<GrantScope>,
    /// Its ticket for the queue of questions, until it is decided.
    pub(crate) ticket: Option<Ticket>,
    /// How long the tool ran, once it did and if there is a clock.
    pub(crate) ran: Option<Duration>,
    /// When the step began, if there is a clock.
    since: Option<Instant>,
}

impl<'a> Call<'a> {
    fn new(pipeline: &'a Pipeline, turn: &'a Turn, requested: &Requested, ticket: Ticket) -> Self {
        Self {
            pipeline,
            turn,
            id: requested.tool_use.id.clone(),
            name: requested.tool_use.name.clone(),
            remarks: Remarks::default(),
            at: Step::LookUp,
            granted: None,
            ticket: Some(ticket),
            ran: None,
            since: pipeline.now(),
        }
    }

    /// Reports that a step was passed.
    pub(crate) fn pass(&mut self, step: Step) {
        self.report(step, None);
    }

    /// Reports a step, and the code of what ended the call in it.
    pub(crate) fn report(&mut self, step: Step, ended: Option<&str>) {
        let now = self.pipeline.now();
        let elapsed = since_then(self.since, now);
        self.since = now;
        self.at = Step::ALL.get(usize::from(step.number())).copied().unwrap_or(step);
        let ended = ended.map(safe_class);
        let report = StepReport { tool_use_id: &self.id, tool: &self.name, step, elapsed, ended };
        telemetry::step(&report);
        self.watch(|observer| observer.step(&report));
    }

    /// Tells the observer, whose own panics are no matter of the call.
    pub(crate) fn watch(&self, tell: impl FnOnce(&dyn Observer)) {
        let told = catch_unwind(AssertUnwindSafe(|| tell(self.pipeline.observer.as_ref())));
        drop(told);
    }

    /// The context that the tool gets.
    pub(crate) fn context(&self, policy: &Policy) -> CallContext {
        let session = SessionView {
            session_id: self.turn.session_id.clone(),
            agent_id: self.turn.agent_id.clone(),
            depth: self.turn.depth,
            mode: policy.mode,
            original_cwd: policy.original_cwd.clone(),
            additional_directories: policy.additional_directories.clone(),
            home: policy.home.clone(),
            tools: self.turn.pool.names(),
        };
        CallContext {
            tool_use_id: self.id.clone(),
            cwd: policy.cwd.clone(),
            cancellation: self.turn.cancellation.child_token(),
            progress: Reporter::new(self.id.clone(), Arc::clone(&self.turn.progress)),
            session: Arc::new(session),
        }
    }
}

/// The time between two moments; zero without a clock.
fn since_then(then: Option<Instant>, now: Option<Instant>) -> Duration {
    now.zip(then).map_or(Duration::ZERO, |(now, then)| now.saturating_duration_since(then))
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pipeline").field("hooks", &self.hooks.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Turn")
            .field("session_id", &self.session_id)
            .field("agent_id", &self.agent_id)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}
