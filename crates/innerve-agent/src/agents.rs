//! The types of sub-agent: built-in ones, and those that people define in Markdown files.

mod front_matter;

use std::sync::Arc;

use innerve_permission::PermissionMode;
use innerve_tool::DynTool;
use innerve_tool::port::AgentType;
use thiserror::Error;

use crate::fork::FORK;
use front_matter::{FrontMatter, Value};

/// Characters of a description that the Agent tool shows; each request holds it.
const MAX_DESCRIPTION: usize = 1_000;
/// Characters of a name.
const MAX_NAME: usize = 64;

/// A type of sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentDefinition {
    /// Its name.
    pub name: String,
    /// When to use it, in words for a model.
    pub description: String,
    /// Its instructions.
    pub prompt: String,
    /// The tools it gets; `None` for all that a sub-agent may have.
    pub tools: Option<Vec<String>>,
    /// Tools that it does not get whatever `tools` says.
    pub disallowed_tools: Vec<String>,
    /// Its model; its parent's if `None`.
    pub model: Option<String>,
    /// Its permission mode; counts only where it is tighter than its parent's.
    pub mode: Option<PermissionMode>,
    /// Rounds of tool uses at most.
    pub max_turns: Option<u32>,
    /// Whether it works in the background, whatever it is started with; it gets fewer tools then.
    pub background: bool,
}

/// The types that the built-in ones are: name, when to use it, instructions, tools.
const BUILT_IN: &[(&str, &str, &str, Option<&[&str]>)] = &[
    (
        "Explore",
        "Searches and reads code; changes nothing. Use it to find where something is done.",
        "You explore a code base for another agent. Read and search only; change nothing. Answer with what you \
         found: file paths with line numbers, and the few facts that matter. Be brief.",
        Some(&["Bash", "Glob", "Grep", "Read"]),
    ),
    (
        DEFAULT_AGENT,
        "Does a self-contained task of several steps and reports.",
        "You do one task for another agent, which sees only your last message. Do all of it, check it, and end \
         with a short report of what you did and found.",
        None,
    ),
    (
        FORK,
        "A copy of you that knows your whole conversation; for a side task that needs it.",
        "",
        None,
    ),
];

/// The type that is used when none is named.
pub(crate) const DEFAULT_AGENT: &str = "general-purpose";

/// Tools that no sub-agent gets: they need a person who follows the conversation.
const NOT_FOR_SUBAGENTS: &[&str] =
    &["AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TaskOutput"];

/// What a sub-agent in the background keeps, besides tools of MCP servers (Claude Code documentation, "sub-agents").
const IN_BACKGROUND: &[&str] = &[
    "Agent",
    "Bash",
    "Edit",
    "EnterWorktree",
    "ExitWorktree",
    "Glob",
    "Grep",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "SendMessage",
    "Skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// What a coordinator keeps: it has others do the work (Claude Code documentation, "coordinator mode").
pub(crate) const OF_COORDINATOR: &[&str] = &["Agent", "SendMessage", "TaskStop"];

/// The name of a type as telemetry may tell it: what people call theirs is nobody's business.
pub(crate) fn public_name(name: &str) -> &'static str {
    BUILT_IN.iter().find(|row| row.0 == name).map_or("custom", |row| row.0)
}

/// Why a text is no [`AgentDefinition`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct AgentDefinitionError(String);

impl AgentDefinition {
    /// The built-in types.
    pub fn built_in() -> Vec<Self> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        BUILT_IN
            .iter()
            .map(|(name, description, prompt, tools)| Self {
                name: (*name).to_owned(),
                description: (*description).to_owned(),
                prompt: (*prompt).to_owned(),
                tools: tools.map(owned),
                ..Self::default()
            })
            .collect()
    }

    /// Reads a definition: front matter between lines of `---`, then instructions (Claude Code documentation,
    /// "sub-agents"). Gives also what in it does not count.
    ///
    /// # Errors
    /// Says why it is no definition.
    pub fn parse(text: &str) -> Result<(Self, Vec<String>), AgentDefinitionError> {
        Self::read(text).map_err(AgentDefinitionError)
    }

    fn read(text: &str) -> Result<(Self, Vec<String>), String> {
        let FrontMatter { fields, body } = FrontMatter::parse(text)?;
        let mut odd = Vec::new();
        let mut definition = Self { prompt: body.trim().to_owned(), ..Self::default() };
        for (key, value) in fields {
            match key.as_str() {
                "name" => definition.name = value.text(),
                "description" => {
                    definition.description = value.text().chars().take(MAX_DESCRIPTION).collect();
                }
                "tools" => definition.tools = tool_names(value, &mut odd),
                "disallowedTools" => {
                    definition.disallowed_tools = tool_names(value, &mut odd).unwrap_or_default();
                }
                "model" => {
                    definition.model =
                        Some(value.text()).filter(|name| !matches!(name.as_str(), "inherit" | ""));
                }
                "permissionMode" => {
                    definition.mode = Some(
                        value.text().parse().map_err(|error| format!("permissionMode: {error}"))?,
                    );
                }
                "maxTurns" => {
                    let number = value.text().parse().ok().filter(|number| *number > 0);
                    definition.max_turns = Some(number.ok_or("maxTurns is no positive number")?);
                }
                "background" => definition.background = value.text() == "true",
                // How a program draws it.
                "color" => {}
                other => odd.push(format!("`{other}` is not known here and does not count")),
            }
        }
        definition.check()?;
        Ok((definition, odd))
    }

    fn check(&self) -> Result<(), String> {
        let plain = |name: &str| {
            name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | ':'))
        };
        if self.name.is_empty() {
            return Err("it has no `name`".to_owned());
        }
        if !plain(&self.name) || self.name.len() > MAX_NAME {
            return Err(format!(
                "the name `{}` may hold letters, digits, `-` and `_`, and {MAX_NAME} of them at most",
                self.name.chars().take(MAX_NAME).collect::<String>()
            ));
        }
        if self.name.eq_ignore_ascii_case(FORK) {
            return Err(format!("the name `{FORK}` is taken: it copies a conversation"));
        }
        if self.description.trim().is_empty() {
            return Err("it has no `description`, by which a model chooses it".to_owned());
        }
        if self.prompt.is_empty() {
            return Err("it has no instructions after its front matter".to_owned());
        }
        Ok(())
    }

    /// Whether an agent of this type gets a tool.
    pub(crate) fn has(&self, tool: &dyn DynTool, may_spawn: bool) -> bool {
        let name = tool.name();
        let is_left = NOT_FOR_SUBAGENTS.contains(&name)
            && !(name == "ExitPlanMode"
                && self.mode == Some(PermissionMode::Plan)
                && !self.background);
        if is_left || (name == "Agent" && !may_spawn) {
            return false;
        }
        if self.background && !IN_BACKGROUND.contains(&name) && !name.starts_with("mcp__") {
            return false;
        }
        let named = |entry: &String| is_named(tool, entry);
        !self.disallowed_tools.iter().any(named)
            && self.tools.as_ref().is_none_or(|tools| tools.iter().any(named))
    }
}

/// Whether an entry of a list of tools means this tool: its name, a former name, a whole MCP server, or all.
fn is_named(tool: &dyn DynTool, entry: &str) -> bool {
    let name = tool.name();
    if entry == "*" || entry == name || tool.aliases().contains(&entry) {
        return true;
    }
    // `mcp__server` and `mcp__server__*` are all tools of that server.
    let server = entry.strip_suffix("__*").unwrap_or(entry);
    server.starts_with("mcp__")
        && name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
}

/// The names in a list; `None` for all tools. What cannot be a name is told and names nothing.
fn tool_names(value: Value, odd: &mut Vec<String>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for name in value.words() {
        if name.contains(['(', ')']) {
            odd.push(format!("`{name}`: a list of tools holds names only; the tool is left out"));
        } else {
            names.push(name);
        }
    }
    (!names.iter().any(|name| name == "*")).then_some(names)
}

/// The types that one session has, by name.
#[derive(Clone, Debug)]
pub struct AgentTypes(Arc<[Arc<AgentDefinition>]>);

impl Default for AgentTypes {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl AgentTypes {
    /// The built-in types and these; of those with one name the last counts.
    pub fn new(more: Vec<AgentDefinition>) -> Self {
        let mut all: Vec<Arc<AgentDefinition>> = Vec::new();
        for definition in AgentDefinition::built_in().into_iter().chain(more) {
            all.retain(|there| !there.name.eq_ignore_ascii_case(&definition.name));
            all.push(Arc::new(definition));
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Self(all.into())
    }

    /// All of them, sorted by name.
    pub fn all(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Finds a type by name, case folded.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<AgentDefinition>> {
        self.0.iter().find(|agent| agent.name.eq_ignore_ascii_case(name)).map(Arc::clone)
    }

    /// As the Agent tool shows them.
    pub(crate) fn shown(&self) -> Vec<AgentType> {
        self.all()
            .map(|agent| AgentType {
                name: agent.name.clone(),
                description: agent.description.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
