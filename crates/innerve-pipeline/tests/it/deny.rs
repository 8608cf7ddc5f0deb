//! I3 by exhaustion: no combination of voices turns a deny rule into a run.

use std::sync::Arc;

use innerve_permission::{Behavior, PermissionMode, Policy};
use innerve_pipeline::{
    Answer, ClassifierVerdict, Grant, GrantScope, HookDecision, HookEventName, HookOutcome,
    PermissionAnswer,
};
use innerve_tool::erase;
use serde_json::{Value, json};

use crate::kit::{Bench, Hooks, Judge, Person, Probe, policy, pool, rule};

const MODES: [PermissionMode; 7] = [
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::Plan,
    PermissionMode::Auto,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
    PermissionMode::Bubble,
];

/// What is denied, by a rule on the tool, on the path and on a parameter.
fn denied() -> [(&'static str, Value); 3] {
    [
        ("Agent", json!({ "path": "a" })),
        ("Edit(/secret)", json!({ "path": "/repo/secret" })),
        ("Agent(model:opus)", json!({ "path": "a", "model": "opus" })),
    ]
}

fn pre_hooks(denied: &Value) -> Vec<HookOutcome> {
    let decisions = [
        None,
        Some(HookDecision::Allow),
        Some(HookDecision::Ask("hm".to_owned())),
        Some(HookDecision::Defer),
    ];
    let plain = decisions.map(|decision| HookOutcome { decision, ..HookOutcome::default() });
    let smuggling =
        plain.clone().map(|outcome| HookOutcome { updated_input: Some(denied.clone()), ..outcome });
    plain.into_iter().chain(smuggling).collect()
}

fn permission_hooks(denied: &Value) -> Vec<HookOutcome> {
    let allow = HookOutcome { permission: Some(PermissionAnswer::Allow), ..HookOutcome::default() };
    let smuggling = HookOutcome { updated_input: Some(denied.clone()), ..allow.clone() };
    vec![HookOutcome::default(), allow, smuggling]
}

fn answers(denied: &Value) -> Vec<Answer> {
    let grant = Grant {
        scope: GrantScope::Session,
        rules: vec!["Agent".to_owned(), "Edit".to_owned(), "Edit(//**)".to_owned()],
    };
    vec![
        Answer::once(),
        Answer::Allow { remember: Some(grant), edited: None },
        Answer::Allow { remember: None, edited: Some(denied.clone()) },
        Answer::Unavailable("away".to_owned()),
    ]
}

fn verdicts() -> Vec<Option<ClassifierVerdict>> {
    vec![
        None,
        Some(ClassifierVerdict::Allow),
        Some(ClassifierVerdict::Unavailable("asleep".to_owned())),
    ]
}

#[tokio::test]
async fn i3_deny_is_final() {
    let mut tried = 0_u32;
    let probe = Probe::default();
    let ran = Arc::clone(&probe.ran);
    let pool = pool(vec![erase(probe).unwrap()]);
    for (deny, forbidden) in denied() {
        let policy = lenient(deny);
        // Asked for outright, and smuggled in by whoever may change the input.
        for asked in [forbidden.clone(), json!({ "path": "harmless" })] {
            let pre = pre_hooks(&forbidden);
            for (mode, before) in
                MODES.iter().flat_map(|mode| pre.iter().map(move |it| (*mode, it)))
            {
                for request in permission_hooks(&forbidden) {
                    for answer in answers(&forbidden) {
                        for verdict in verdicts() {
                            let voices = (before.clone(), request.clone(), answer.clone(), verdict);
                            let policy = Policy { mode, ..policy.clone() };
                            let bench = Bench::with_pool(pool.clone(), Arc::clone(&ran), policy);
                            check(bench, deny, &forbidden, &asked, voices).await;
                            tried += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 5_000, "{tried}");
}

type Voices = (HookOutcome, HookOutcome, Answer, Option<ClassifierVerdict>);

/// A policy that allows everything but what the rule denies.
fn lenient(deny: &str) -> Policy {
    let mut policy = policy(PermissionMode::Default, &[deny]);
    policy.bypass_available = true;
    policy.classifier_available = true;
    for allow in ["Agent", "Edit", "Edit(//**)"] {
        policy.rules.push(rule(allow, Behavior::Allow));
    }
    policy
}

async fn check(
    bench: Bench,
    deny: &str,
    forbidden: &Value,
    asked: &Value,
    (before, request, answer, verdict): Voices,
) {
    let mode = bench.rules.0.lock().unwrap().mode;
    let voices = (before.clone(), request.clone(), answer.clone(), verdict.clone());
    let hooks = Hooks::new(move |event| match event.name {
        HookEventName::PreToolUse => before.clone(),
        HookEventName::PermissionRequest => request.clone(),
        _ => HookOutcome::default(),
    });
    let person = Person::new(move |_| answer.clone());
    let mut bench = bench.hooks(&hooks).person(&person);
    if let Some(verdict) = verdict {
        bench = bench.judge(&Judge::new(verdict));
    }
    let settled = bench.call("Agent", asked.clone()).await;
    let ran = std::mem::take(&mut *bench.ran.lock().unwrap());
    assert!(!ran.contains(forbidden), "{mode} {deny} {asked} {voices:?}");
    if deny == "Agent" || asked == forbidden {
        // A hook may change a forbidden input into a harmless one; none of these does.
        assert!(ran.is_empty() && settled.result.failed(), "{mode} {deny} {asked} {voices:?}");
    }
}
