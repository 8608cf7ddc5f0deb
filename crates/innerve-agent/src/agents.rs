//! The built-in types of sub-agent, one row each.

use innerve_tool::DynTool;
use innerve_tool::port::AgentType;

/// A type of sub-agent.
#[derive(Debug)]
pub(crate) struct AgentDefinition {
    /// Its name.
    pub(crate) name: &'static str,
    /// When to use it, in words for a model.
    pub(crate) description: &'static str,
    /// Its instructions.
    pub(crate) prompt: &'static str,
    /// The tools it gets; `None` for all that a sub-agent may have.
    pub(crate) tools: Option<&'static [&'static str]>,
}

/// All built-in types, sorted by name.
pub(crate) const AGENTS: &[AgentDefinition] = &[
    AgentDefinition {
        name: "Explore",
        description: "Searches and reads code; changes nothing. Use it to find where something is done.",
        prompt: "You explore a code base for another agent. Read and search only; change nothing. Answer with what you \
                 found: file paths with line numbers, and the few facts that matter. Be brief.",
        tools: Some(&["Bash", "Glob", "Grep", "Read"]),
    },
    AgentDefinition {
        name: "general-purpose",
        description: "Does a self-contained task of several steps and reports.",
        prompt: "You do one task for another agent, which sees only your last message. Do all of it, check it, and end \
                 with a short report of what you did and found.",
        tools: None,
    },
];

/// The type that is used when none is named.
pub(crate) const DEFAULT_AGENT: &str = "general-purpose";

/// Tools that no sub-agent gets: they need a person who follows the conversation.
const NOT_FOR_SUBAGENTS: &[&str] =
    &["AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TaskOutput"];

impl AgentDefinition {
    /// Finds a type by name, case folded.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name.eq_ignore_ascii_case(name))
    }

    /// Whether an agent of this type gets a tool.
    pub(crate) fn has(&self, tool: &dyn DynTool, may_spawn: bool) -> bool {
        let name = tool.name();
        if NOT_FOR_SUBAGENTS.contains(&name) || (name == "Agent" && !may_spawn) {
            return false;
        }
        self.tools.is_none_or(|tools| tools.contains(&name))
    }
}

/// The types as the Agent tool shows them.
pub(crate) fn agent_types() -> Vec<AgentType> {
    AGENTS
        .iter()
        .map(|agent| AgentType {
            name: agent.name.to_owned(),
            description: agent.description.to_owned(),
        })
        .collect()
}
