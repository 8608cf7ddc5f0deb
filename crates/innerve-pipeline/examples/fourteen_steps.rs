//! Two tools of one's own through the fourteen steps: one by a rule, one that a person is asked about, one that is denied.
//!
//! `cargo run -p innerve-pipeline --example fourteen_steps`

use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;

use innerve_permission::{Behavior, NoDisk, Origin, Policy, Rule, RuleSource};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, Observer, Pipeline, Requested, StepReport, Turn,
};
use innerve_protocol::ToolUse;
use innerve_tool::{BoxFuture, CancellationToken, ToolBuilder, ToolPool, ToolSources};
use serde_json::json;

/// Stands for a person: says yes to staging, and no to anything else.
struct Person;

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let yes = request.input.get("to").is_some_and(|to| to == "staging");
            let mut out = io::stdout().lock();
            let why = &request.resolution.reason.message;
            writeln!(out, "   ? {} {}: {why}", request.tool, request.input).ok();
            if yes {
                Answer::once()
            } else {
                Answer::Deny { comment: Some("not on a Friday".to_owned()) }
            }
        })
    }
}

/// Prints each step as it is done.
struct Steps;

impl Observer for Steps {
    fn step(&self, report: &StepReport<'_>) {
        let ended =
            report.ended.map_or_else(String::new, |class| format!("  <- ends here: {class}"));
        writeln!(io::stdout().lock(), "  {}{ended}", report.step).ok();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = json!({
        "type": "object",
        "properties": { "to": { "enum": ["staging", "production"] } },
        "required": ["to"],
    });
    let deploy = ToolBuilder::new("Deploy", schema)
        .description("Deploys the current branch.")
        .build(|input, _| async move {
            Ok(format!("deployed to {}", input.get("to").unwrap_or_default()).into())
        })?;
    let status = ToolBuilder::new("Status", json!({ "type": "object" }))
        .build(|_, _| async { Ok("all is well".into()) })?;
    let tools = ToolSources { builtins: vec![deploy, status], mcp: vec![] };

    let mut policy = Policy::new("/repo", "/home/u");
    policy.headless = false;
    let origin = Origin::inline(RuleSource::User, "/home/u");
    policy.rules.push(Rule::parse("Status", Behavior::Allow, origin)?);
    let turn = Turn::new(ToolPool::assemble(tools, |_| false), Arc::new(policy));
    let pipeline = Pipeline::new(Arc::new(NoDisk))
        .with_approver(Arc::new(Person))
        .with_observer(Arc::new(Steps));

    for (id, tool, input) in [
        ("call_1", "Status", json!({})),
        ("call_2", "Deploy", json!({ "to": "staging" })),
        ("call_3", "Deploy", json!({ "to": "production" })),
        ("call_4", "Deploy", json!({ "to": "the moon" })),
    ] {
        writeln!(io::stdout().lock(), "{tool} {input}")?;
        let settled = pipeline.run(Requested::new(ToolUse::new(id, tool, input)), &turn).await;
        let text = settled.result.content.plain_text();
        writeln!(io::stdout().lock(), "  = {text}\n")?;
    }
    Ok(())
}
