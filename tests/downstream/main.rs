//! A program of somebody else that takes the permission engine, and nothing else of innerve, from its package.
//!
//! `cargo xtask package` compiles it outside of the workspace, against the packed files, and runs it.

use innerve_permission::{
    Behavior, Decision, NoDisk, Origin, Place, Policy, Rule, RuleSource, Verdict, Voices, facts,
    resolve,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut policy = Policy::new("/repo", "/home/u");
    policy.headless = false;
    let origin = Origin::inline(RuleSource::User, "/home/u/.config/agent");
    policy.rules.push(Rule::parse("Bash(npm test *)", Behavior::Allow, origin.clone())?);
    policy.rules.push(Rule::parse("Bash(git push *)", Behavior::Deny, origin)?);
    for (command, expected) in [
        ("git status && npm test -- -w", Decision::Allow),
        ("npm test && rm -rf build", Decision::Ask),
        ("git status; git push -f", Decision::Deny),
    ] {
        let place = Place { cwd: "/repo".as_ref(), home: "/home/u".as_ref(), disk: &NoDisk };
        let input = serde_json::json!({ "command": command });
        let facts = facts::from_call("Bash", &input, place).ok_or("Bash is a well-known tool")?;
        let resolution = resolve(&policy, &facts, &Voices::default());
        if resolution.verdict != Verdict::Decided(expected) {
            return Err(format!("{command}: {:?}", resolution.verdict).into());
        }
        println!("{command}: {expected:?}, {}", resolution.reason.message);
    }
    Ok(())
}
