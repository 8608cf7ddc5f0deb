//! What becomes of a call in each step: run here one by one, and written down in `docs/pipeline.md`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use innerve_budget::{MemoryStore, ResultStore};
use innerve_permission::PermissionMode::{
    self, Auto, BypassPermissions, Default as Usual, DontAsk,
};
use innerve_pipeline::{
    Answer, ClassifierVerdict, HookDecision, HookEventName, HookOutcome, Outcome, PermissionAnswer,
    Requested, Settled, Step, StopRequest,
};
use innerve_protocol::ToolUse;
use innerve_tool::{SessionChange, ToolError, ToolOutput, ToolPool, ToolSources, code, erase};
use serde_json::json;

use crate::kit::{Bench, Hooks, Judge, Person, Probe, TestClock, changing, policy, preview, text};

/// One way in which a step does not simply pass.
struct Case {
    step: Step,
    when: &'static str,
    settled: Settled,
    /// The step in which the observer was told that the call ended, and the code; nothing if it went on.
    ended: Option<(Step, String)>,
}

async fn case(step: Step, when: &'static str, bench: Bench, requested: Requested) -> Case {
    let settled = bench.run(requested).await;
    let ended = bench.steps().iter().find_map(|line| {
        let (passed, code) = line.split_once(" ended: ")?;
        let step = Step::ALL.iter().find(|step| passed.starts_with(&step.to_string()))?;
        Some((*step, code.to_owned()))
    });
    Case { step, when, settled, ended }
}

fn path(path: &str) -> Requested {
    Requested::new(ToolUse::new("call_1", "Agent", json!({ "path": path })))
}

fn tool(name: &str, input: serde_json::Value) -> Requested {
    Requested::new(ToolUse::new("call_1", name, input))
}

fn at(name: HookEventName, outcome: HookOutcome) -> Bench {
    Bench::new(Probe::asking()).person(&Person::yes()).hooks(&Hooks::at(name, outcome))
}

fn deciding(decision: HookDecision) -> HookOutcome {
    HookOutcome { decision: Some(decision), ..HookOutcome::default() }
}

fn stopping() -> HookOutcome {
    HookOutcome { stop: Some("the hook says why".to_owned()), ..HookOutcome::default() }
}

fn asking(answer: Answer) -> Bench {
    Bench::new(Probe::asking()).person(&Person::new(move |_| answer.clone()))
}

fn classified(verdict: ClassifierVerdict) -> Bench {
    Bench::in_mode(Probe::asking(), Auto, &[]).judge(&Judge::new(verdict))
}

fn in_mode(mode: PermissionMode, deny: &[&str]) -> Bench {
    Bench::in_mode(Probe::asking(), mode, deny)
}

/// A bench whose turn is aborted as soon as hooks hear this event.
fn aborted_at(name: HookEventName, probe: Probe) -> Bench {
    let bench = Bench::new(probe);
    let cancellation = bench.turn.cancellation.clone();
    bench.hooks(&Hooks::new(move |event| {
        if event.name == name {
            cancellation.cancel();
        }
        HookOutcome::default()
    }))
}

fn saying(words: usize) -> Probe {
    Probe::doing(move |_| async move { Ok(ToolOutput::new("w".repeat(words))) })
}

fn removed() -> Bench {
    let builtins = vec![erase(Probe::default()).unwrap()];
    let pool = ToolPool::assemble(ToolSources { builtins, mcp: Vec::new() }, |_| true);
    Bench::with_pool(pool, Arc::default(), policy(BypassPermissions, &["Agent"]))
}

fn aborted_before() -> Bench {
    let bench = Bench::new(Probe::default());
    bench.turn.cancellation.cancel();
    bench
}

fn stored(probe: Probe) -> Bench {
    let mut bench = Bench::new(probe);
    let store = MemoryStore::new(10_000_000);
    bench.pipeline = bench.pipeline.with_results(Arc::new(store) as Arc<dyn ResultStore>);
    bench
}

async fn before_the_judgement() -> Vec<Case> {
    let broken = Requested {
        invalid_input: Some("{\"path\": ".to_owned()),
        ..Requested::new(ToolUse::new("call_1", "Agent", json!({})))
    };
    let deferred = Bench::new(Probe { deferred: true, ..Probe::default() });
    let panicking = |input: &crate::kit::Input| panic!("{}", input.path);
    let fragile = Bench::new(Probe { invalid: panicking, ..Probe::default() });
    let usual = || Bench::new(Probe::default());
    let fails = HookOutcome { decision: None, ..HookOutcome::default() };
    let deny = deciding(HookDecision::Deny("the hook says why".to_owned()));
    let new_input =
        HookOutcome { updated_input: Some(json!({ "path": 7 })), ..HookOutcome::default() };
    vec![
        case(Step::LookUp, "there is no such tool", usual(), tool("Agnet", json!({}))).await,
        case(Step::LookUp, "a deny rule removed the tool", removed(), path("a")).await,
        case(Step::CheckAbort, "the turn was aborted", aborted_before(), path("a")).await,
        case(Step::Parse, "the input is no JSON", usual(), broken).await,
        case(
            Step::Parse,
            "the input does not fit the schema",
            usual(),
            tool("Agent", json!({ "paht": "a" })),
        )
        .await,
        case(Step::Parse, "so, and the schema was never sent", deferred, tool("Agent", json!({})))
            .await,
        case(Step::Validate, "the tool says that it makes no sense", usual(), path("invalid"))
            .await,
        case(Step::Validate, "the tool's check panics", fragile, path("a")).await,
        case(
            Step::PreHooks,
            "a hook stops the run",
            at(HookEventName::PreToolUse, stopping()),
            path("a"),
        )
        .await,
        case(
            Step::PreHooks,
            "a hook denies (told in step 9)",
            at(HookEventName::PreToolUse, deny),
            path("a"),
        )
        .await,
        case(
            Step::PreHooks,
            "a hook gives an input that is not valid (back to step 3)",
            at(HookEventName::PreToolUse, new_input),
            path("a"),
        )
        .await,
        case(
            Step::PreHooks,
            "a hook fails by itself",
            at(HookEventName::PreToolUse, fails),
            path("a"),
        )
        .await,
        case(
            Step::PreHooks,
            "the turn is aborted",
            aborted_at(HookEventName::PreToolUse, Probe::asking()),
            path("a"),
        )
        .await,
    ]
}

async fn judged() -> Vec<Case> {
    let preview_fails = Bench::new(Probe {
        preview: |_| Err(ToolError::io("cannot be read", &std::io::ErrorKind::NotFound.into())),
        ..Probe::asking()
    });
    let shown = Bench::new(Probe {
        preview: |input| Ok(Some(preview(&input.path, "after"))),
        ..Probe::asking()
    });
    let mut broken = Bench::new(Probe::asking());
    broken.pipeline = broken.pipeline.with_approver(Arc::new(crate::permission::Broken));
    let block = ClassifierVerdict::Block("the classifier says why".to_owned());
    let silent = ClassifierVerdict::Unavailable("no answer (overloaded)".to_owned());
    let no = PermissionAnswer::Deny { message: "the hook says why".to_owned(), interrupt: false };
    let no = HookOutcome { permission: Some(no), ..HookOutcome::default() };
    let comment = Some("what they said".to_owned());
    let defer = at(HookEventName::PreToolUse, deciding(HookDecision::Defer));
    let step = Step::HandleRefusal;
    vec![
        case(Step::Resolve, "a hook defers the call", defer, path("a")).await,
        case(Step::Resolve, "the tool cannot say what it would write", preview_fails, path("a"))
            .await,
        case(
            Step::Resolve,
            "the turn is aborted while somebody is asked",
            aborted_at(HookEventName::PermissionRequest, Probe::asking()),
            path("a"),
        )
        .await,
        case(Step::Resolve, "the question is taken back", asking(Answer::Interrupted), path("a"))
            .await,
        case(Step::Resolve, "whoever is asked panics", broken, path("a")).await,
        case(step, "a rule denies", in_mode(Usual, &["Agent"]), path("a")).await,
        case(step, "the mode denies", in_mode(DontAsk, &[]), path("a")).await,
        case(step, "nobody can be asked", shown, path("a")).await,
        case(step, "the classifier blocks", classified(block), path("a")).await,
        case(step, "the classifier gives no verdict", classified(silent), path("a")).await,
        case(
            step,
            "a `PermissionRequest` hook says no",
            at(HookEventName::PermissionRequest, no),
            path("a"),
        )
        .await,
        case(step, "a person says no, and why", asking(Answer::Deny { comment }), path("a")).await,
        case(step, "a person says no", asking(Answer::Deny { comment: None }), path("a")).await,
    ]
}

async fn run() -> Vec<Case> {
    let fails =
        Probe::doing(|_| async { Err(ToolError::new(code::FAILED, "Exit code 1\nthe output")) });
    let never = || Probe::doing(|_| std::future::pending());
    let slow = Probe { timeout: Some(Duration::from_mins(2)), ..never() };
    let slow = Bench::new(slow).clock(TestClock::Instant);
    let panics = Probe::doing(|_| async { panic!("hidden") });
    let aborted = aborted_at(HookEventName::PreToolUse, Probe::default());
    let mut stopped = Bench::new(never()).clock(TestClock::Instant);
    // Cancelled from within, as soon as it runs.
    let cancellation = stopped.turn.cancellation.clone();
    let body = Probe::doing(move |_| {
        cancellation.cancel();
        std::future::pending()
    });
    let pool = crate::kit::pool(vec![erase(body).unwrap()]);
    stopped.turn.pool = pool;
    let long_error =
        Probe::doing(|_| async { Err(ToolError::new(code::FAILED, "e".repeat(20_000))) });
    let replaced =
        HookOutcome { updated_output: Some(json!("w".repeat(60_000))), ..HookOutcome::default() };
    let flooding = stored(Probe::default()).hooks(&Hooks::at(HookEventName::PostToolUse, replaced));
    let post = |outcome| {
        Bench::new(Probe::default()).hooks(&Hooks::at(HookEventName::PostToolUse, outcome))
    };
    let feedback = deciding(HookDecision::Deny("the hook says why".to_owned()));
    let loosening =
        Probe::doing(|_| async { Ok(changing(vec![SessionChange::SetMode(BypassPermissions)])) });
    let odd = Probe::doing(|_| async { Err(ToolError::new("a path: /etc/passwd", "it failed")) });
    vec![
        case(Step::Run, "the turn was aborted meanwhile", aborted, path("a")).await,
        case(Step::Run, "the tool fails", Bench::new(fails), path("a")).await,
        case(Step::Run, "the tool takes too long", slow, path("a")).await,
        case(Step::Run, "the turn is aborted while it runs", stopped, path("a")).await,
        case(Step::Run, "the tool panics", Bench::new(panics), path("a")).await,
        case(Step::FitResult, "the result is too long", stored(saying(60_000)), path("a")).await,
        case(Step::FitResult, "so, and it cannot be saved", Bench::new(saying(60_000)), path("a"))
            .await,
        case(Step::FitResult, "the tool wrote nothing", Bench::new(saying(0)), path("a")).await,
        case(Step::FitResult, "an error is too long", Bench::new(long_error), path("a")).await,
        case(Step::PostHooks, "a hook gives another output, too long as well", flooding, path("a"))
            .await,
        case(
            Step::PostHooks,
            "a hook has something to say (in a message behind the result)",
            post(feedback),
            path("a"),
        )
        .await,
        case(Step::PostHooks, "a hook stops the run", post(stopping()), path("a")).await,
        case(
            Step::Attach,
            "a change loosens permissions, and nobody approved it (dropped and told to the person)",
            Bench::new(loosening),
            path("a"),
        )
        .await,
        case(
            Step::Classify,
            "the error's code could hold something private",
            Bench::new(odd),
            path("a"),
        )
        .await,
    ]
}

/// The beginning of what the model reads, as a cell of a table.
fn cell(text: &str) -> String {
    let text = text.replace('\n', "⏎").replace('|', "\\|");
    let short: String = text.chars().take(140).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    // Code that holds a backtick stands between two of them.
    let (open, close) = if short.contains('`') { ("`` ", " ``") } else { ("`", "`") };
    format!("{open}{short}{dots}{close}")
}

fn turn_of(settled: &Settled) -> &'static str {
    match (&settled.stop, &settled.outcome) {
        (Some(StopRequest::DeniedByUser), _) => "ends, the person speaks next",
        (Some(StopRequest::HookStopped(_)), _) => "ends, stopped by the hook",
        (Some(StopRequest::Deferred), _) => "ends, deferred",
        (None, Outcome::Interrupted) => "is aborted",
        (None, Outcome::Succeeded | Outcome::Failed | Outcome::Refused(_) | Outcome::Deferred) => {
            "goes on"
        }
    }
}

fn page(cases: &[Case]) -> String {
    let mut page = String::from(
        "# The fourteen steps of a tool use\n\n\
         Every tool use takes these steps, in this order, whoever makes it. Steps after the one that ended a call have nothing\n\
         to do, but for the last one; the order is in `crates/innerve-pipeline/src/pipeline.rs` and nowhere else.\n\n\
         This page is written by `cargo xtask test failures --update` from the steps themselves and from calls that fail in each\n\
         way; a test fails when it does not hold any more.\n\n\
         | # | step | what happens |\n|---|---|---|\n",
    );
    for step in Step::ALL {
        let _ = writeln!(page, "| {} | `{}` | {} |", step.number(), step.name(), step.summary());
    }
    page.push_str(
        "\n## What can happen in each step\n\n\
         *Ends with* is the stable code, all that telemetry is told; *reads* is how the result begins that the model gets. A call\n\
         without a code goes on to the next step. The tool is called `Agent` here, and needs a permission.\n\n\
         | # | when | ends with | the result is | the model reads | the turn |\n|---|---|---|---|---|---|\n",
    );
    for step in Step::ALL {
        let of_step = cases.iter().filter(|case| case.step == step);
        let mut any = false;
        for Case { when, settled, ended, .. } in of_step {
            any = true;
            let code = match ended {
                None => "–".to_owned(),
                Some((at, code)) if *at == step => format!("`{code}`"),
                Some((at, code)) => format!("`{code}` in step {}", at.number()),
            };
            let kind = if settled.result.failed() { "an error" } else { "a result" };
            let (number, told) = (step.number(), cell(&text(settled)));
            let turn = turn_of(settled);
            let _ = writeln!(page, "| {number} | {when} | {code} | {kind} | {told} | {turn} |");
        }
        if !any {
            let number = step.number();
            let _ = writeln!(
                page,
                "| {number} | never; what panics in it counts for nothing | – | – | – | goes on |"
            );
        }
    }
    page
}

#[tokio::test]
async fn the_page_about_the_steps_says_what_they_do() {
    let mut cases = before_the_judgement().await;
    cases.extend(judged().await);
    cases.extend(run().await);
    for case in &cases {
        // Whatever happens is told in exactly one result, under the call's own id, within bounds.
        assert_eq!(case.settled.result.tool_use_id.as_str(), "call_1");
        let chars = text(&case.settled).chars().count();
        assert!((1..=50_200).contains(&chars), "{}: {chars}", case.when);
        assert_eq!(
            case.ended.is_some(),
            case.settled.result.failed(),
            "{}: an error has a code, and nothing else has",
            case.when
        );
    }
    let page = page(&cases);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/pipeline.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "docs/pipeline.md is not what the steps do; see what has changed with `cargo xtask test failures --update`"
    );
}
