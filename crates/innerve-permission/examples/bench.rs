//! Times the check of a call (facts and decision) under 10 rules and under 1,000, side by side.
//!
//! `cargo run --release -p innerve-permission --example bench` prints samples as JSON; `cargo xtask bench check` makes a table
//! of them and holds it to its bound.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::Instant;

use innerve_permission::{
    Behavior, CallFacts, NoDisk, Origin, Place, Policy, Resolution, Rule, RuleError, RuleSource,
    Voices, facts, resolve,
};
use serde_json::{Value, json};

/// How often each call is checked.
const ROUNDS: usize = 501;
/// How often the rules are compiled.
const COMPILATIONS: usize = 11;

/// How much longer a check may take with a hundred times the rules.
const BOUND: f64 = 2.0;

fn main() -> Result<(), Box<dyn Error>> {
    writeln!(io::stdout().lock(), "{}", Value::Array(measure()?))?;
    Ok(())
}

fn measure() -> Result<Vec<Value>, RuleError> {
    let (few, many) = (policy(10)?, policy(1_000)?);
    let mut rows = Vec::new();
    let mut row = |name: &str, samples: &[f64], unit: &str, bound: Option<f64>| {
        let name = format!("check: {name}");
        rows.push(json!({ "name": name, "samples": samples, "unit": unit, "bound": bound }));
    };
    // Of each round the calls of all kinds together.
    let mut all = vec![(0.0, 0.0); ROUNDS];
    for (name, tool, input) in calls() {
        let (few, many) = side_by_side(&few, &many, tool, &input);
        for ((few_all, many_all), (few, many)) in all.iter_mut().zip(few.iter().zip(&many)) {
            *few_all += few;
            *many_all += many;
        }
        let ratios: Vec<f64> = few.iter().zip(&many).map(|(few, many)| many / few).collect();
        row(&format!("{name}, 10 rules"), &few, "us", None);
        row(&format!("{name}, 1,000 rules"), &many, "us", None);
        row(&format!("{name}, ratio"), &ratios, "x", None);
    }
    let compiled: Result<Vec<f64>, RuleError> = (0..COMPILATIONS)
        .map(|_| {
            let begun = Instant::now();
            let fresh = policy(1_000)?;
            drop(black_box(check(&fresh, "Read", &json!({ "file_path": "a" }))));
            Ok(begun.elapsed().as_secs_f64() * 1e3)
        })
        .collect();
    row("1,000 rules read and compiled, once", &compiled?, "ms", None);
    let ratios: Vec<f64> = all.iter().map(|(few, many)| many / few).collect();
    row("all kinds together, ratio", &ratios, "x", Some(BOUND));
    Ok(rows)
}

fn calls() -> Vec<(&'static str, &'static str, Value)> {
    let bash = |command: &str| json!({ "command": command });
    vec![
        ("git status", "Bash", bash("git status")),
        ("an allowed command", "Bash", bash("tool7 build --release")),
        ("a denied command", "Bash", bash("sudo tool3 purge everything")),
        ("a compound", "Bash", bash("cd src && grep -n foo a.rs | sort | uniq -c > out.txt")),
        ("an unknown operand", "Bash", bash("cat \"$FILE\" && rm -rf \"$DIR\"")),
        ("a search of a tree", "Bash", bash("grep -rn foo .")),
        ("Read", "Read", json!({ "file_path": "src/deep/in/the/tree/lib.rs" })),
        ("Edit", "Edit", json!({ "file_path": "src/deep/in/the/tree/lib.rs" })),
        ("WebFetch", "WebFetch", json!({ "url": "https://docs.example.com/a" })),
        ("an MCP tool", "mcp__server7__read", json!({ "id": 7 })),
    ]
}

/// A policy with so many rules of all kinds, none of them twice.
fn policy(rules: usize) -> Result<Policy, RuleError> {
    let mut policy = Policy::new("/repo", "/home/u");
    policy.headless = false;
    for number in 0..rules {
        let (behavior, text) = match number % 10 {
            0 => (Behavior::Allow, format!("Bash(tool{number} build *)")),
            1 => (Behavior::Allow, format!("Bash(tool{} test --case {number})", number % 70)),
            2 => (Behavior::Ask, format!("Bash(tool{} push {number} *)", number % 70)),
            3 => (Behavior::Deny, format!("Bash(tool{number} purge *)")),
            4 => (Behavior::Allow, format!("Edit(/src/part{number}/**)")),
            5 => (Behavior::Deny, format!("Read(/private/area{number}/**)")),
            6 => (Behavior::Deny, format!("Edit(**/generated{number}/*.rs)")),
            7 => (Behavior::Allow, format!("WebFetch(domain:host{number}.example.com)")),
            8 => (Behavior::Allow, format!("mcp__server{number}")),
            _ => (Behavior::Deny, format!("Agent(agent{number})")),
        };
        policy.rules.push(Rule::parse(
            &text,
            behavior,
            Origin::inline(RuleSource::Project, "/repo"),
        )?);
    }
    Ok(policy)
}

/// The microseconds of the same check under both policies, taken in turn.
fn side_by_side(few: &Policy, many: &Policy, tool: &str, input: &Value) -> (Vec<f64>, Vec<f64>) {
    let (mut few_times, mut many_times) = (Vec::new(), Vec::new());
    // The rules are compiled, and the processor woken, before anything counts.
    for _ in 0..20 {
        drop(black_box(check(few, tool, input)));
        drop(black_box(check(many, tool, input)));
    }
    for _ in 0..ROUNDS {
        for (times, policy) in [(&mut few_times, few), (&mut many_times, many)] {
            let begun = Instant::now();
            drop(black_box(check(policy, tool, black_box(input))));
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    (few_times, many_times)
}

fn check(policy: &Policy, tool: &str, input: &Value) -> Resolution {
    let place = Place { cwd: &policy.cwd, home: &policy.home, disk: &NoDisk };
    let facts =
        facts::from_call(tool, input, place).unwrap_or_else(|| CallFacts::new(tool, input.clone()));
    resolve(policy, &facts, &Voices::default())
}
