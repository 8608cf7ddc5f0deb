//! Who is asked: a person at the terminal, or a tool in their place (`--permission-prompt-tool`).

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use innerve_agent::{SharedPolicy, ToolFactory as _};
use innerve_permission::{Behavior, Origin, PermissionMode, Policy, Rule, RuleSource};
use innerve_pipeline::{
    Answer, ApprovalRequest, Approver, Pipeline, PolicySource as _, PromptTool, Turn, Unattended,
};
use innerve_tool::{BoxFuture, CancellationToken, ToolPool};

use super::Workplace;
use super::tools::BuiltinTools;
use crate::exit::Failure;

/// How long a server that is starting is waited for (Claude Code documentation, "MCP").
const PATIENCE: Duration = Duration::from_secs(30);

/// What ends the run, as soon as it turns out.
#[derive(Clone, Debug, Default)]
pub(super) struct Fatal(Arc<OnceLock<String>>);

/// Asks the tool; a tool that is not there ends the run at the first question.
struct ToolInPlace {
    name: String,
    tool: PromptTool,
    tools: Arc<BuiltinTools>,
    fatal: Fatal,
    cancellation: CancellationToken,
}

impl Workplace {
    /// Lets this tool answer what would be asked.
    pub(crate) fn set_prompt_tool(&mut self, name: &str) -> Result<(), Failure> {
        rule_for(name, &self.policy.cwd)?;
        self.prompt_tool = Some(name.to_owned());
        Ok(())
    }

    /// Why the run could not go on.
    pub(crate) fn fatal(&self) -> Option<Failure> {
        self.fatal.0.get().map(Failure::new)
    }

    /// The pipeline with the tool as approver, if one is set.
    pub(super) fn with_prompt_tool(
        &self,
        pipeline: Pipeline,
        tools: &Arc<BuiltinTools>,
        policy: &Arc<SharedPolicy>,
    ) -> Result<Pipeline, Failure> {
        let Some(name) = &self.prompt_tool else { return Ok(pipeline) };
        let rule = rule_for(name, &self.policy.cwd)?;
        let (tools, policy, tasks) =
            (Arc::clone(tools), Arc::clone(policy), Arc::clone(&self.tasks));
        let all = Arc::clone(&tools);
        let turn = move || {
            let current = policy.current();
            let seat = BuiltinTools::seat_without_agents(&tasks);
            let pool =
                ToolPool::assemble(tools.tools(&seat), |tool| current.rules.removes_tool(tool));
            // The tool itself is permitted by its flag, whatever the mode; deny rules hold.
            let mode = PermissionMode::Default;
            let mut own = Policy { mode, headless: true, ..(*current).clone() };
            own.rules.push(rule.clone());
            Turn::new(pool, Arc::new(own))
        };
        let asking = pipeline.clone().with_approver(Arc::new(Unattended));
        let approver = ToolInPlace {
            name: name.clone(),
            tool: PromptTool::new(name, asking, turn),
            tools: all,
            fatal: self.fatal.clone(),
            cancellation: self.cancellation.clone(),
        };
        Ok(pipeline.with_approver(Arc::new(approver)))
    }
}

fn rule_for(name: &str, cwd: &Path) -> Result<Rule, Failure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(Failure::usage(format!(
            "--permission-prompt-tool takes the name of a tool, such as mcp__desk__approve; `{name}` is none"
        )));
    }
    let origin = Origin::inline(RuleSource::Cli, cwd);
    Rule::parse(name, Behavior::Allow, origin).map_err(|error| {
        Failure::usage(format!("--permission-prompt-tool takes the name of a tool: {error}"))
    })
}

impl Approver for ToolInPlace {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            if !self.tool.is_available() {
                // Its server may be starting.
                tokio::select! {
                    () = self.tools.servers_settled(PATIENCE) => {}
                    () = cancellation.cancelled() => return Answer::Interrupted,
                }
            }
            if self.tool.is_available() {
                return self.tool.ask(request, cancellation).await;
            }
            let name = &self.name;
            let text = format!(
                "there is no tool `{name}` to ask about permissions; check --permission-prompt-tool and --mcp-config"
            );
            let _first_counts = self.fatal.0.set(text);
            self.cancellation.cancel();
            Answer::Interrupted
        })
    }
}
