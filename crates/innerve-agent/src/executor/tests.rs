//! Every order in which calls can come, start and end, with an interruption at every point of it, on the executor itself.

use std::sync::Mutex;

use innerve_permission::facts::{Need, Place};
use innerve_permission::{CallFacts, NoDisk, Policy, Preview};
use innerve_protocol::{ToolResultContent, ToolUseId};
use innerve_tool::{
    CallContext, DynTool, Tool, ToolError, ToolOutput, ToolPool, ToolSources, erase,
};
use serde_json::{Map, json};
use tokio::sync::Notify;

use super::*;

/// What a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It runs beside others, and a message of the user may end it.
    Safe,
    /// It runs alone.
    Serial,
    /// There is no such tool.
    Unknown,
    /// Its input is no JSON.
    Broken,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    /// The next call is complete.
    Add,
    /// This call ends.
    End(usize),
    /// The user stops the run.
    Interrupt,
    /// The user writes something.
    MakeWay,
    /// Nothing more may start.
    Close,
}

/// What the tools did.
#[derive(Default)]
struct Board {
    started: Mutex<Vec<usize>>,
    ended: Mutex<Vec<usize>>,
    gates: Mutex<BTreeMap<usize, Arc<Notify>>>,
}

impl Board {
    fn gate(&self, call: usize) -> Arc<Notify> {
        Arc::clone(self.gates.lock().unwrap().entry(call).or_default())
    }

    fn started(&self) -> Vec<usize> {
        self.started.lock().unwrap().clone()
    }

    fn running(&self) -> BTreeSet<usize> {
        let ended = self.ended.lock().unwrap();
        self.started().into_iter().filter(|call| !ended.contains(call)).collect()
    }
}

/// A tool whose calls wait for their gates.
struct Gated {
    name: &'static str,
    board: Arc<Board>,
}

impl Tool for Gated {
    type Input = Map<String, Value>;
    type Output = String;
    type Progress = ();

    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> String {
        "Waits.".to_owned()
    }
    fn facts(&self, input: &Value, _: &CallContext, _: Place<'_>) -> CallFacts {
        CallFacts::new(self.name, input.clone()).with_need(Need::Never)
    }
    fn is_concurrency_safe(&self, _: &Self::Input) -> bool {
        self.name == "Safe"
    }
    fn interrupt_behavior(&self) -> InterruptBehavior {
        if self.name == "Safe" { InterruptBehavior::Cancel } else { InterruptBehavior::Block }
    }
    async fn call(
        &self,
        input: Self::Input,
        _: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<String>, ToolError> {
        let call = usize::try_from(input["call"].as_u64().unwrap()).unwrap();
        self.board.started.lock().unwrap().push(call);
        let gate = self.board.gate(call);
        let ended = tokio::select! {
            biased;
            () = gate.notified() => Ok(ToolOutput::new(format!("result {call}"))),
            () = context.cancellation.cancelled() => Err(ToolError::interrupted()),
        };
        self.board.ended.lock().unwrap().push(call);
        ended
    }
    fn render(&self, output: &String) -> ToolResultContent {
        output.as_str().into()
    }
}

/// One way through a scenario.
struct Walk {
    kinds: Vec<Kind>,
    board: Arc<Board>,
    executor: Executor,
    added: usize,
    /// Calls whose results have been taken.
    taken: BTreeSet<usize>,
    /// How many calls had started when nothing more might start.
    closed: Option<usize>,
    cancelled: bool,
    fault: Fault,
}

/// What is wrong on purpose, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    None,
    /// One call more than allowed may run.
    Limit,
    /// Calls that must run alone run beside others.
    Safety,
    /// A result is thrown away.
    Result,
}

const LIMIT: usize = 2;

impl Walk {
    fn new(kinds: &[Kind]) -> Self {
        Self::with(kinds, Fault::None)
    }

    fn with(kinds: &[Kind], fault: Fault) -> Self {
        let board = Arc::new(Board::default());
        let tool = |name| -> Arc<dyn DynTool> {
            erase(Gated { name, board: Arc::clone(&board) }).unwrap()
        };
        let builtins = vec![tool("Safe"), tool("Serial")];
        let pool = ToolPool::assemble(ToolSources { builtins, mcp: Vec::new() }, |_| false);
        let turn = Turn::new(pool, Arc::new(Policy::new("/repo", "/home/user")));
        let max_concurrency = LIMIT + usize::from(fault == Fault::Limit);
        let config = AgentConfig { max_concurrency, ..AgentConfig::new("any", Vec::new()) };
        let pipeline = Arc::new(Pipeline::new(Arc::new(NoDisk)));
        Self {
            kinds: kinds.to_vec(),
            board,
            executor: Executor::new(pipeline, Arc::new(turn), &config),
            added: 0,
            taken: BTreeSet::new(),
            closed: None,
            cancelled: false,
            fault,
        }
    }

    /// What may happen now.
    fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        if self.added < self.kinds.len() {
            moves.push(Move::Add);
        }
        moves.extend(
            self.executor
                .tasks
                .values()
                .copied()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(Move::End),
        );
        if self.closed.is_none() {
            moves.extend([Move::Interrupt, Move::Close]);
            moves.extend(self.executor.is_interruptible().then_some(Move::MakeWay));
        }
        moves
    }

    async fn make(&mut self, next: Move) {
        match next {
            Move::Add => {
                let kind = self.kinds[self.added];
                let name = match kind {
                    Kind::Serial if self.fault != Fault::Safety => "Serial",
                    Kind::Unknown => "Nope",
                    Kind::Safe | Kind::Serial | Kind::Broken => "Safe",
                };
                let tool_use = ToolUse::new(id(self.added), name, json!({ "call": self.added }));
                let invalid_input = (kind == Kind::Broken).then(|| "{".to_owned());
                self.executor.add(Requested { tool_use, invalid_input });
                self.added += 1;
            }
            Move::End(call) => {
                self.board.gate(call).notify_one();
                while !self.taken.contains(&call) {
                    let ended = self.executor.next().await.unwrap();
                    assert!(self.taken.insert(ended), "{ended} ended twice");
                }
            }
            Move::Interrupt | Move::MakeWay | Move::Close => {
                self.closed = Some(self.board.started().len());
                self.cancelled = next != Move::Close;
                match next {
                    Move::Interrupt => self.executor.interrupt(),
                    Move::MakeWay => self.executor.make_way(),
                    Move::Close | Move::Add | Move::End(_) => self.executor.close("closed"),
                }
            }
        }
        let started = self.executor.startable();
        assert!(self.closed.is_none() || started.is_empty(), "started after the end: {started:?}");
        for (call, tool_use) in started {
            assert_eq!(tool_use.id, id(call));
            self.executor.launch(call);
        }
        self.settle().await;
        self.check();
    }

    /// Lets every call that was launched get as far as it can, and others show that they do not start.
    async fn settle(&self) {
        let is_real = |call: &&usize| matches!(self.kinds[**call], Kind::Safe | Kind::Serial);
        let (ended, running) = (self.executor.settled.keys(), self.executor.tasks.values());
        let launched = ended.chain(running).filter(is_real).count();
        for _ in 0..50 {
            let is_late = self.board.started().len() < launched;
            let is_ending = self.cancelled && !self.board.running().is_empty();
            if !is_late && !is_ending {
                break;
            }
            tokio::task::yield_now().await;
        }
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    }

    /// What must hold at any time.
    fn check(&self) {
        let started = self.board.started();
        let once: BTreeSet<usize> = started.iter().copied().collect();
        assert_eq!(once.len(), started.len(), "a call ran twice: {started:?}");
        if let Some(before) = self.closed {
            assert_eq!(started.len(), before, "a call started after the end");
        }
        let running = self.board.running();
        assert!(running.len() <= LIMIT, "{running:?}");
        let is_serial = |call: &usize| self.kinds[*call] == Kind::Serial;
        assert!(running.len() < 2 || !running.iter().any(is_serial), "not alone: {running:?}");
        for call in &started {
            // Whatever stands before an unsafe call has ended before it, and it before whatever stands behind.
            let earlier = (0..*call).filter(is_serial);
            let ended = self.board.ended.lock().unwrap();
            assert!(earlier.into_iter().all(|earlier| ended.contains(&earlier)), "{call} overtook");
        }
        if self.closed.is_none() && self.executor.tasks.is_empty() {
            assert!(self.executor.schedule.is_done(), "calls wait and nothing runs");
        }
        if self.cancelled {
            assert!(running.is_empty(), "still running: {running:?}");
        }
    }

    /// Every call has one result, in order, and it is the true one.
    fn finish(self) {
        let Self { board, mut executor, kinds, added, closed, cancelled, taken, fault } = self;
        if fault == Fault::Result {
            executor.settled.pop_first();
        }
        let (started, settled) = (board.started(), executor.finish());
        assert_eq!(settled.len(), added);
        for (call, settled) in settled.iter().enumerate() {
            let text = settled.result.content.plain_text();
            assert_eq!(settled.result.tool_use_id, id(call));
            assert_eq!(settled.result.failed(), text != format!("result {call}"), "{text}");
            if started.contains(&call) {
                assert!(taken.contains(&call));
                assert!(!settled.result.failed() || cancelled, "a result was lost: {text}");
            } else if matches!(kinds[call], Kind::Safe | Kind::Serial) {
                assert!(closed.is_some() && settled.outcome == Outcome::Interrupted, "{text}");
            } else {
                assert!(settled.result.failed(), "{text}");
            }
        }
    }
}

fn id(call: usize) -> ToolUseId {
    ToolUseId::new(format!("call_{call}"))
}

/// Goes all ways on from here, where these moves have led; gives how many there are.
async fn explore(walk: Walk, moves: &mut Vec<Move>) -> usize {
    if walk.added == walk.kinds.len() && walk.executor.tasks.is_empty() {
        walk.finish();
        return 1;
    }
    let (kinds, fault) = (walk.kinds.clone(), walk.fault);
    let next = walk.moves();
    let mut here = Some(walk);
    let mut ways = 0;
    for next in next {
        // One way goes on from here; for each other one the moves are made again.
        let mut walk = if let Some(walk) = here.take() {
            walk
        } else {
            let mut walk = Walk::with(&kinds, fault);
            for made in moves.iter() {
                walk.make(*made).await;
            }
            walk
        };
        walk.make(next).await;
        moves.push(next);
        ways += Box::pin(explore(walk, moves)).await;
        moves.pop();
    }
    ways
}

/// Goes all ways of all scenarios of so many calls of these kinds.
async fn explore_all(kinds: &[Kind], calls: u32) -> usize {
    let mut ways = 0;
    for number in 0..kinds.len().pow(calls) {
        let mut rest = number;
        let scenario: Vec<Kind> = (0..calls)
            .map(|_| {
                let kind = kinds[rest % kinds.len()];
                rest /= kinds.len();
                kind
            })
            .collect();
        ways += explore(Walk::new(&scenario), &mut Vec::new()).await;
    }
    ways
}

#[tokio::test]
async fn i7_no_order_of_three_calls_of_any_kind_loses_or_repeats_one() {
    let kinds = [Kind::Safe, Kind::Serial, Kind::Unknown, Kind::Broken];
    for calls in 0..=3 {
        let ways = explore_all(&kinds, calls).await;
        assert!(calls < 3 || ways > 2_000, "{ways}");
    }
}

#[tokio::test]
async fn i7_no_order_of_four_calls_loses_or_repeats_one() {
    let ways = explore_all(&[Kind::Safe, Kind::Serial], 4).await;
    assert!(ways > 2_000, "{ways}");
}

#[tokio::test]
async fn f58_what_is_discarded_yields_nothing_and_what_waited_never_runs() {
    let mut walk = Walk::new(&[Kind::Safe, Kind::Serial, Kind::Safe]);
    for next in [Move::Add, Move::Add, Move::Add] {
        walk.make(next).await;
    }
    let board = Arc::clone(&walk.board);
    assert_eq!(board.started(), [0]);
    drop(walk);
    board.gate(0).notify_one();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!((board.started(), board.running().len()), (vec![0], 1), "it was ended, not run");
}

#[tokio::test]
async fn i7_stopping_the_turn_stops_its_calls_and_one_call_s_end_stops_no_other() {
    let mut walk = Walk::new(&[Kind::Safe, Kind::Safe]);
    walk.make(Move::Add).await;
    walk.make(Move::Add).await;
    walk.make(Move::End(0)).await;
    assert_eq!(walk.board.running(), BTreeSet::from([1]));
    // The parent of all calls of a response.
    let turn = Arc::clone(&walk.executor.turn);
    turn.cancellation.cancel();
    walk.settle().await;
    assert!(walk.board.running().is_empty());
    assert_eq!(walk.executor.next().await.unwrap(), 1);
}

#[tokio::test]
async fn what_is_wrong_is_found() {
    for (fault, kinds) in [
        (Fault::Limit, [Kind::Safe, Kind::Safe, Kind::Safe]),
        (Fault::Safety, [Kind::Safe, Kind::Serial, Kind::Safe]),
        (Fault::Result, [Kind::Safe, Kind::Serial, Kind::Safe]),
    ] {
        let mut moves = Vec::new();
        let explored = explore(Walk::with(&kinds, fault), &mut moves);
        let found = std::panic::AssertUnwindSafe(explored);
        assert!(futures_util::FutureExt::catch_unwind(found).await.is_err(), "{fault:?}");
    }
}
