//! Another agent with this engine inside: it asks before every tool use, and runs nothing without a permit.
//!
//! `cargo run -p innerve-permission --example embed`

use std::error::Error;
use std::io::{self, Write as _};

use innerve_permission::{
    Approval, ApprovedBy, Behavior, CallFacts, Decision, Effect, Judgement, Layer, NoDisk, Origin,
    Permit, Place, Policy, Rule, RuleError, RuleSource, Target, Verdict, Voices, facts, judge,
    merge,
};
use serde_json::{Value, json};

/// The agent: all that this engine needs of it is a policy, which it may change at any time.
struct Agent {
    policy: Policy,
}

/// Somebody's word on a question.
enum Answer {
    Yes,
    /// Yes, and do not ask again in this session.
    Always,
    No,
}

impl Agent {
    /// Settings come as JSON values, from wherever; each layer says how much it may decide.
    fn new() -> Result<Self, RuleError> {
        let user = json!({ "permissions": { "deny": ["Read(~/.ssh/**)"], "allow": ["Bash(cargo test *)"] } });
        let project =
            json!({ "permissions": { "ask": ["Bash(git push *)"], "defaultMode": "acceptEdits" } });
        let settings = merge(&[
            Layer::new(RuleSource::User, "/home/u/.config/agent", user),
            Layer::new(RuleSource::Project, "/repo", project),
        ])?;
        let mut policy = settings.policy("/repo", "/home/u");
        policy.headless = false;
        // A real agent gives its own `PathFacts` here, so that links are followed.
        policy.follow_links(&NoDisk);
        Ok(Self { policy })
    }

    /// One tool use that a model wants: judged, perhaps asked about, and run by the permit alone.
    fn use_tool(&mut self, tool: &str, input: Value) -> Result<String, RuleError> {
        let judgement = judge(&self.policy, self.facts(tool, input), &Voices::default());
        let permit = match judgement.resolution().verdict {
            Verdict::Decided(Decision::Allow) => judgement.permit(),
            Verdict::Decided(Decision::Ask) => return self.ask(judgement),
            // This agent has no classifier; what would need one is not run.
            Verdict::Decided(Decision::Deny)
            | Verdict::NeedsClassifier { .. }
            | Verdict::Deferred => {
                return Ok(format!("denied: {}", judgement.resolution().reason.message));
            }
        };
        Ok(permit.map_or_else(|refused| refused.to_string(), |permit| run(&permit)))
    }

    /// What the call would do. The well-known tools are read from their input; an own tool states its facts.
    fn facts(&self, tool: &str, input: Value) -> CallFacts {
        let place = Place { cwd: &self.policy.cwd, home: &self.policy.home, disk: &NoDisk };
        if let Some(facts) = facts::from_call(tool, &input, place) {
            return facts;
        }
        match tool {
            "Deploy" => CallFacts::new(tool, input)
                .with_effects(&[Effect::Network, Effect::State])
                .with_target(Target::Host("deploy.example.com".to_owned())),
            // What nobody knows anything of is asked about.
            _ => CallFacts::new(tool, input),
        }
    }

    fn ask(&mut self, judgement: Judgement) -> Result<String, RuleError> {
        let resolution = judgement.resolution().clone();
        let approval = Approval { by: ApprovedBy::Person, preview: None };
        match person(judgement.facts().tool()) {
            Answer::No => return Ok(format!("rejected: {}", resolution.reason.message)),
            Answer::Yes => {}
            Answer::Always => {
                for suggestion in &resolution.suggestions {
                    let origin = Origin::inline(RuleSource::Session, "/repo");
                    self.policy.rules.push(Rule::parse(&suggestion.0, Behavior::Allow, origin)?);
                }
            }
        }
        let permit = judgement.approve(approval);
        let ran = permit.map_or_else(|refused| refused.to_string(), |permit| run(&permit));
        Ok(format!("asked ({}), {ran}", resolution.reason.message))
    }
}

/// Stands for a person at a keyboard.
fn person(tool: &str) -> Answer {
    match tool {
        "Deploy" => Answer::No,
        "Bash" => Answer::Always,
        _ => Answer::Yes,
    }
}

/// Stands for the tools: they get their input from the permit, so that what runs is what was judged.
fn run(permit: &Permit) -> String {
    format!("ran {} {}", permit.tool(), permit.input())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut agent = Agent::new()?;
    let mut out = io::stdout().lock();
    for (tool, input) in [
        ("Bash", json!({ "command": "git status && cargo test -q" })),
        ("Edit", json!({ "file_path": "src/lib.rs" })),
        ("Read", json!({ "file_path": "~/.ssh/id_ed25519" })),
        ("Bash", json!({ "command": "make all" })),
        ("Bash", json!({ "command": "make all -j8" })),
        ("Bash", json!({ "command": "git push origin main" })),
        ("Bash", json!({ "command": "cp -r ~/.ssh backup" })),
        ("Deploy", json!({ "target": "production" })),
    ] {
        let call = format!("{tool} {input}");
        writeln!(out, "{call}\n    {}", agent.use_tool(tool, input)?)?;
    }
    Ok(())
}
