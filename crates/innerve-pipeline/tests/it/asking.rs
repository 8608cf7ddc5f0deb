//! Questions: one at a time and in order, taken back when nobody needs to be asked any more.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use innerve_permission::facts::Need;
use innerve_permission::{Behavior, PermissionMode, Policy, ReasonKind};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, Classifier, ClassifierRequest, ClassifierVerdict, Grant,
    GrantScope, HookOutcome, Outcome, PolicySource, Requested, Settled, Step, StopRequest, Turn,
};
use innerve_protocol::{AgentId, ToolUse};
use innerve_tool::{BoxFuture, CancellationToken, ToolError, ToolOutput};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::kit::{Bench, Hooks, Person, Probe, TestClock, policy, preview, rule, text};

/// A policy that tells of its changes, as a session's does.
pub(crate) struct Live {
    now: Mutex<Arc<Policy>>,
    changes: watch::Sender<()>,
}

impl Live {
    pub(crate) fn new(policy: Policy) -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(Arc::new(policy)), changes: watch::Sender::new(()) })
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Policy)) {
        let mut now = self.now.lock().unwrap();
        let mut policy = (**now).clone();
        change(&mut policy);
        *now = Arc::new(policy);
        drop(now);
        self.changes.send_replace(());
    }

    fn add(&self, text: &str, behavior: Behavior) {
        self.change(|policy| policy.rules.push(rule(text, behavior)));
    }
}

impl PolicySource for Live {
    fn current(&self) -> Arc<Policy> {
        Arc::clone(&self.now.lock().unwrap())
    }
    fn changed<'a>(&'a self, seen: &'a Arc<Policy>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut changes = self.changes.subscribe();
            while Arc::ptr_eq(&self.current(), seen) {
                changes.changed().await.unwrap();
            }
        })
    }
    fn remember(&self, grant: &Grant) -> Result<(), String> {
        grant.rules.iter().for_each(|text| self.add(text, Behavior::Allow));
        Ok(())
    }
}

/// A desk with a bell: shows questions, and answers when the test says so.
#[derive(Default)]
struct Desk {
    shown: Mutex<Vec<String>>,
    taken_back: Mutex<Vec<String>>,
    answers: tokio::sync::Mutex<Option<tokio::sync::mpsc::UnboundedReceiver<Answer>>>,
    /// The most questions that were on the desk at once.
    most: Mutex<(usize, usize)>,
}

impl Desk {
    fn new() -> (Arc<Self>, tokio::sync::mpsc::UnboundedSender<Answer>) {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let answers = tokio::sync::Mutex::new(Some(receiver));
        (Arc::new(Self { answers, ..Self::default() }), sender)
    }

    fn shown(&self) -> Vec<String> {
        self.shown.lock().unwrap().clone()
    }

    fn taken_back(&self) -> Vec<String> {
        self.taken_back.lock().unwrap().clone()
    }

    /// Waits until so many questions were shown.
    async fn wait_for(&self, count: usize) {
        while self.shown().len() < count {
            tokio::task::yield_now().await;
        }
    }
}

impl Approver for Desk {
    fn ask(&self, request: ApprovalRequest, cancelled: CancellationToken) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let path = request.input.get("path").and_then(Value::as_str).unwrap_or_default();
            let who = request.agent.map(|agent| format!(" for {agent}")).unwrap_or_default();
            let name = format!("{path}{who}");
            self.shown.lock().unwrap().push(name.clone());
            {
                let mut most = self.most.lock().unwrap();
                most.0 += 1;
                most.1 = most.1.max(most.0);
            }
            let mut answers = self.answers.lock().await;
            let answer = tokio::select! {
                answer = answers.as_mut().unwrap().recv() => answer.unwrap(),
                () = cancelled.cancelled() => {
                    self.taken_back.lock().unwrap().push(name);
                    Answer::Interrupted
                }
            };
            self.most.lock().unwrap().0 -= 1;
            answer
        })
    }
}

fn at_desk(
    policy: Policy,
) -> (Bench, Arc<Live>, Arc<Desk>, tokio::sync::mpsc::UnboundedSender<Answer>) {
    let live = Live::new(policy);
    let (desk, answers) = Desk::new();
    let mut bench = Bench::new(Probe::asking()).clock(TestClock::Instant);
    bench.turn.policy = Arc::clone(&live) as Arc<dyn PolicySource>;
    bench.pipeline = bench.pipeline.with_approver(Arc::clone(&desk) as Arc<dyn Approver>);
    (bench, live, desk, answers)
}

fn asked() -> Policy {
    policy(PermissionMode::Default, &[])
}

fn call(id: &str, path: &str) -> Requested {
    Requested::new(ToolUse::new(id, "Agent", json!({ "path": path })))
}

fn granted(scope: GrantScope) -> Answer {
    let remember = Some(Grant { scope, rules: vec!["Agent".to_owned()] });
    Answer::Allow { remember, edited: None }
}

#[tokio::test]
async fn questions_of_all_agents_are_asked_one_at_a_time_in_the_order_in_which_they_came_up() {
    let (bench, _, desk, answers) = at_desk(asked());
    let child = Turn { agent_id: Some(AgentId::new("a7")), ..bench.turn.clone() };
    // A sub-agent has a clone of the pipeline.
    let of_child = bench.pipeline.clone();
    for _ in 0..3 {
        answers.send(Answer::once()).unwrap();
    }
    let (one, two, three) = tokio::join!(
        bench.run(call("1", "a")),
        of_child.run(call("2", "b"), &child),
        bench.run(call("3", "c")),
    );
    assert!([&one, &two, &three].iter().all(|call| call.outcome == Outcome::Succeeded));
    assert_eq!(desk.shown(), ["a", "b for a7", "c"]);
    assert_eq!(desk.most.lock().unwrap().1, 1, "never two at once");
}

#[tokio::test]
async fn a_ticket_that_was_taken_first_asks_first_whoever_begins() {
    let (bench, _, desk, answers) = at_desk(asked());
    for _ in 0..3 {
        answers.send(Answer::once()).unwrap();
    }
    let (first, second, third) =
        (bench.pipeline.take_ticket(), bench.pipeline.take_ticket(), bench.pipeline.take_ticket());
    // A call that needs no question gives its ticket up.
    let free = Bench::new(Probe::default());
    let (three, two, one) = tokio::join!(
        bench.pipeline.run_with(third, call("3", "c"), &bench.turn),
        bench.pipeline.run_with(second, call("2", "b"), &free.turn),
        bench.pipeline.run_with(first, call("1", "a"), &bench.turn),
    );
    for call in [one, two, three] {
        assert_eq!(call.outcome, Outcome::Succeeded);
    }
    assert_eq!(desk.shown(), ["a", "c"]);
}

#[tokio::test]
async fn a_grant_answers_the_questions_that_wait_behind_it_unseen() {
    for scope in [GrantScope::Session, GrantScope::Always] {
        let (bench, _, desk, answers) = at_desk(asked());
        answers.send(granted(scope)).unwrap();
        let (one, two, three) = tokio::join!(
            bench.run(call("1", "a")),
            bench.run(call("2", "b")),
            bench.run(call("3", "c")),
        );
        for call in [&one, &two, &three] {
            assert_eq!(call.outcome, Outcome::Succeeded);
        }
        assert_eq!(desk.shown(), ["a"], "nobody saw the others");
        assert_eq!(two.resolution.unwrap().reason.kind, ReasonKind::Rule);
    }
}

#[tokio::test]
async fn a_yes_for_once_answers_nothing_else() {
    let (bench, _, desk, answers) = at_desk(asked());
    answers.send(Answer::once()).unwrap();
    answers.send(Answer::Deny { comment: Some("not this".to_owned()) }).unwrap();
    let (one, two) = tokio::join!(bench.run(call("1", "a")), bench.run(call("2", "b")));
    assert_eq!(one.outcome, Outcome::Succeeded);
    assert!(text(&two).contains("not this") && two.stop.is_none());
    assert_eq!(desk.shown(), ["a", "b"]);
}

#[tokio::test]
async fn an_open_question_is_taken_back_when_rules_come_to_allow_the_call() {
    let (bench, live, desk, _answers) = at_desk(asked());
    let reload = async {
        desk.wait_for(1).await;
        // Another rule leaves the question open.
        live.add("Other", Behavior::Allow);
        tokio::task::yield_now().await;
        assert!(desk.taken_back().is_empty());
        live.add("Agent", Behavior::Allow);
    };
    let (settled, ()) = tokio::join!(bench.path("a"), reload);
    assert_eq!(settled.outcome, Outcome::Succeeded);
    assert_eq!(desk.taken_back(), ["a"]);
    assert_eq!(bench.paths(), ["a"]);
}

#[tokio::test]
async fn i3_an_open_question_is_taken_back_when_rules_come_to_deny_the_call() {
    let (bench, live, desk, _answers) = at_desk(asked());
    let reload = async {
        desk.wait_for(1).await;
        live.add("Agent", Behavior::Deny);
    };
    let (settled, ()) = tokio::join!(bench.path("a"), reload);
    assert!(
        matches!(&settled.outcome, Outcome::Refused(reason) if reason.kind == ReasonKind::Rule)
    );
    assert_eq!(settled.step, Step::HandleRefusal);
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn i3_a_deny_rule_that_comes_with_the_yes_beats_it() {
    struct Late(Arc<Live>);
    impl Approver for Late {
        fn ask(&self, _: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
            self.0.add("Agent", Behavior::Deny);
            Box::pin(async { Answer::once() })
        }
    }
    let (mut bench, live, _, _answers) = at_desk(asked());
    bench.pipeline = bench.pipeline.with_approver(Arc::new(Late(live)));
    let settled = bench.path("a").await;
    assert!(matches!(settled.outcome, Outcome::Refused(_)));
    assert!(bench.paths().is_empty());
}

#[tokio::test]
async fn a_mode_that_asks_nobody_ends_an_open_question() {
    for (mode, runs) in
        [(PermissionMode::BypassPermissions, true), (PermissionMode::DontAsk, false)]
    {
        let (bench, live, desk, _answers) = at_desk(asked());
        let switch = async {
            desk.wait_for(1).await;
            live.change(|policy| policy.mode = mode);
        };
        let (settled, ()) = tokio::join!(bench.path("a"), switch);
        assert_eq!(settled.outcome == Outcome::Succeeded, runs, "{mode}: {}", text(&settled));
        assert_eq!(desk.taken_back(), ["a"]);
    }
}

#[tokio::test]
async fn a_question_that_waits_leaves_the_queue_with_its_turn() {
    let (bench, _, desk, answers) = at_desk(asked());
    let other = Turn { cancellation: CancellationToken::new(), ..bench.turn.clone() };
    let pipeline = bench.pipeline.clone();
    let act = async {
        desk.wait_for(1).await;
        other.cancellation.cancel();
        tokio::task::yield_now().await;
        answers.send(Answer::once()).unwrap();
        answers.send(Answer::once()).unwrap();
    };
    let (one, two, three, ()) = tokio::join!(
        bench.run(call("1", "a")),
        pipeline.run(call("2", "b"), &other),
        bench.run(call("3", "c")),
        act
    );
    assert_eq!(two.outcome, Outcome::Interrupted);
    assert_eq!((one.outcome, three.outcome), (Outcome::Succeeded, Outcome::Succeeded));
    assert_eq!(desk.shown(), ["a", "c"]);
}

#[tokio::test]
async fn an_approver_that_panics_holds_up_nobody_behind_it() {
    struct Once(Mutex<bool>);
    impl Approver for Once {
        fn ask(&self, _: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
            let first = std::mem::replace(&mut *self.0.lock().unwrap(), false);
            Box::pin(async move {
                tokio::task::yield_now().await;
                assert!(!first, "the first question breaks it");
                Answer::once()
            })
        }
    }
    let (mut bench, _, _, _answers) = at_desk(asked());
    bench.pipeline = bench.pipeline.with_approver(Arc::new(Once(Mutex::new(true))));
    let (one, two) = tokio::join!(bench.run(call("1", "a")), bench.run(call("2", "b")));
    assert_eq!(one.code.as_deref(), Some("tool:panicked"));
    assert_eq!(two.outcome, Outcome::Succeeded);
}

/// Notes what it is shown and says yes a little later.
struct Slow(Mutex<Vec<Vec<u8>>>);
impl Approver for Slow {
    fn ask(&self, request: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        self.0.lock().unwrap().push(request.preview.unwrap().after);
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Answer::once()
        })
    }
}

/// Computed when the question is asked, not when it begins to wait.
#[tokio::test]
async fn i6_a_preview_is_of_the_moment_in_which_it_is_shown() {
    static WRITTEN: Mutex<String> = Mutex::new(String::new());
    let probe = Probe {
        preview: |input| Ok(Some(preview(&input.path, &WRITTEN.lock().unwrap()))),
        body: Box::new(|input, _, _| {
            WRITTEN.lock().unwrap().push_str(&input.path);
            Box::pin(async { Ok::<_, ToolError>(innerve_tool::ToolOutput::new("done".to_owned())) })
        }),
        ..Probe::asking()
    };
    let slow = Arc::new(Slow(Mutex::default()));
    let mut bench = Bench::new(probe).clock(TestClock::Instant);
    bench.pipeline = bench.pipeline.with_approver(Arc::clone(&slow) as Arc<dyn Approver>);
    let (one, two) = tokio::join!(bench.run(call("1", "a")), bench.run(call("2", "b")));
    assert!(one.outcome == Outcome::Succeeded && two.outcome == Outcome::Succeeded);
    assert_eq!(*slow.0.lock().unwrap(), [b"".to_vec(), b"a".to_vec()]);
}

#[tokio::test]
async fn every_answer_does_what_it_says() {
    let mut seen: Vec<(&str, bool, bool)> = Vec::new();
    let comment = Some("use make".to_owned());
    for (name, answer) in [
        ("once", Answer::once()),
        ("session", granted(GrantScope::Session)),
        ("always", granted(GrantScope::Always)),
        ("no", Answer::Deny { comment: None }),
        ("no with comment", Answer::Deny { comment }),
    ] {
        let (bench, live, _, answers) = at_desk(asked());
        answers.send(answer).unwrap();
        let settled = bench.path("a").await;
        let remembered = live.current().rules.rules().len() == 1;
        seen.push((name, settled.outcome == Outcome::Succeeded, remembered));
        let ends = settled.stop == Some(StopRequest::DeniedByUser);
        assert_eq!(ends, name == "no", "only a bare no ends the turn");
        assert_eq!(text(&settled).contains("use make"), name == "no with comment");
    }
    assert_eq!(
        seen,
        [
            ("once", true, false),
            ("session", true, true),
            ("always", true, true),
            ("no", false, false),
            ("no with comment", false, false),
        ]
    );
}

/// A classifier that changes the policy while it thinks.
struct Thinking(Arc<Live>, fn(&mut Policy), ClassifierVerdict);

impl Classifier for Thinking {
    fn start(&self, _: ClassifierRequest) -> BoxFuture<'static, ClassifierVerdict> {
        self.0.change(self.1);
        let verdict = self.2.clone();
        Box::pin(async { verdict })
    }
}

#[tokio::test]
async fn a_verdict_that_the_mode_no_longer_wants_is_discarded() {
    let run = async |change: fn(&mut Policy), verdict: ClassifierVerdict| -> (Settled, usize) {
        let (mut bench, live, desk, answers) = at_desk(policy(PermissionMode::Auto, &[]));
        answers.send(Answer::once()).unwrap();
        let thinking = Thinking(live, change, verdict);
        bench.pipeline = bench.pipeline.with_classifier(Arc::new(thinking));
        let settled = bench.path("a").await;
        (settled, desk.shown().len())
    };
    let block = || ClassifierVerdict::Block("no".to_owned());
    // A person is asked, whatever the verdict was.
    for verdict in [ClassifierVerdict::Allow, block()] {
        let (settled, asked) = run(|policy| policy.mode = PermissionMode::Default, verdict).await;
        assert_eq!((settled.outcome, asked), (Outcome::Succeeded, 1));
    }
    let (settled, asked) =
        run(|policy| policy.mode = PermissionMode::DontAsk, ClassifierVerdict::Allow).await;
    assert!(matches!(settled.outcome, Outcome::Refused(_)) && asked == 0);
    // A rule that came meanwhile beats a verdict either way.
    let deny = |policy: &mut Policy| policy.rules.push(rule("Agent", Behavior::Deny));
    let (settled, asked) = run(deny, ClassifierVerdict::Allow).await;
    assert!(matches!(settled.outcome, Outcome::Refused(_)) && asked == 0);
    let bypass = |policy: &mut Policy| policy.mode = PermissionMode::BypassPermissions;
    assert_eq!(run(bypass, block()).await.0.outcome, Outcome::Succeeded);
}

#[tokio::test]
async fn a_rule_that_came_while_hooks_ran_has_its_say() {
    let (bench, live, _, _answers) = at_desk(policy(PermissionMode::BypassPermissions, &[]));
    let hooks = crate::kit::Hooks::new(move |event| {
        if event.name == innerve_pipeline::HookEventName::PreToolUse {
            live.add("Agent", Behavior::Deny);
        }
        innerve_pipeline::HookOutcome::default()
    });
    let settled = bench.hooks(&hooks).path("a").await;
    assert!(matches!(settled.outcome, Outcome::Refused(_)));
}

#[tokio::test]
async fn the_time_of_a_call_is_the_tools_own_and_not_that_of_the_answer() {
    let now = Arc::new(Mutex::new(Instant::now()));
    let pass = |seconds: u64| {
        let now = Arc::clone(&now);
        move || *now.lock().unwrap() += Duration::from_secs(seconds)
    };
    let bench = |answer: fn() -> Answer| {
        let (works, thinks, hears) = (pass(2), pass(60), pass(10));
        let tool = Probe::doing(move |_| {
            works();
            async { Ok(ToolOutput::new("done".to_owned())) }
        });
        let person = Person::new(move |_| {
            thinks();
            answer()
        });
        let hooks = Hooks::new(move |_| {
            hears();
            HookOutcome::default()
        });
        Bench::new(Probe { need: Need::Always, ..tool })
            .person(&person)
            .hooks(&hooks)
            .clock(TestClock::Set(Arc::clone(&now)))
    };
    let allowed = bench(Answer::once).path("a").await;
    assert_eq!(allowed.elapsed, Some(Duration::from_secs(2)), "{allowed:?}");
    let refused = bench(|| Answer::Deny { comment: None }).path("a").await;
    assert_eq!(refused.elapsed, None, "{refused:?}");
}
