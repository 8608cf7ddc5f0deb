//! Settings: the `hooks` object of a settings file, read entry by entry so that a broken one costs only itself.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::HooksError;
use crate::event::EventName;
use crate::matcher::Matcher;

/// The longest that the hooks of [`EventName::SessionEnd`] may take together.
const LONGEST_SESSION_END: Duration = Duration::from_mins(1);

/// The hooks of one settings file.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookSettings {
    events: BTreeMap<EventName, Vec<HookGroup>>,
}

/// Hooks that share a matcher.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookGroup {
    /// Which subjects they are for.
    pub(crate) matcher: Matcher,
    /// The hooks, in the order of the file.
    pub(crate) entries: Vec<HookEntry>,
}

/// One hook.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HookEntry {
    /// What it does.
    pub(crate) action: Action,
    /// `if`: the permission rule that a tool use must match for the hook to run.
    pub(crate) condition: Option<String>,
    /// How long it may take; `None` means [`EventName::default_timeout`].
    pub(crate) timeout: Option<Duration>,
    /// What a person sees while it runs.
    pub(crate) status_message: Option<String>,
    /// Whether it is removed after it ran once; only hooks of a skill are.
    pub(crate) once: bool,
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Runs a program.
    Command(CommandAction),
    /// Sends the event to an address.
    Http(HttpAction),
    /// Calls a tool of an MCP server.
    McpTool(McpToolAction),
    /// Asks a model.
    Prompt(PromptAction),
    /// Asks an agent.
    Agent(AgentAction),
}

/// What kind of work a hook is, as `type` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// `command`.
    Command,
    /// `http`.
    Http,
    /// `mcp_tool`.
    McpTool,
    /// `prompt`.
    Prompt,
    /// `agent`.
    Agent,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandAction {
    /// The program when there are `args`, else a line for the shell.
    pub(crate) command: String,
    /// The arguments; with them no shell is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<Vec<String>>,
    /// The shell for a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shell: Option<Shell>,
    /// Whether nobody waits for it; it then has no say.
    #[serde(default, rename = "async")]
    pub(crate) in_background: bool,
    /// Whether it wakes the model when it ends with exit code 2.
    #[serde(default, rename = "asyncRewake")]
    pub(crate) wakes: bool,
}

/// A shell for the line of a [`CommandAction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Shell {
    /// A POSIX shell.
    Bash,
    /// `PowerShell`.
    Powershell,
}

/// An address to send the event to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpAction {
    /// The address.
    pub(crate) url: String,
    /// Headers; `$NAME` in a value stands for an environment variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    /// The only environment variables that headers may name; others are empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed_env_vars: Vec<String>,
}

/// A tool of an MCP server to call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct McpToolAction {
    /// The server, which must be connected.
    pub(crate) server: String,
    /// The tool, by the server's own name for it.
    pub(crate) tool: String,
    /// The input; `${path}` in a text stands for a field of the event.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) input: Map<String, Value>,
}

/// A question for a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptAction {
    /// The question; `$ARGUMENTS` stands for the event.
    pub(crate) prompt: String,
    /// The model to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Whether a "no" is told to the model as a tool error instead of ending the turn.
    #[serde(default)]
    pub(crate) continue_on_block: bool,
}

/// A question for an agent with tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentAction {
    /// The question; `$ARGUMENTS` stands for the event.
    pub(crate) prompt: String,
    /// The model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

/// An entry that was left out, to be told to a person with the file's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SkippedEntry {
    /// Where it stands within `hooks`, as a JSON pointer (RFC 6901).
    pub(crate) at: String,
    /// Why.
    pub(crate) reason: HooksError,
}

/// The fields that every entry has, whatever its type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SharedFields {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "if")]
    condition: Option<String>,
    timeout: Option<f64>,
    status_message: Option<String>,
    #[serde(default)]
    once: bool,
}

impl HookSettings {
    /// Reads the value of `hooks`; what cannot be used is left out and listed.
    pub(crate) fn read(hooks: &Value) -> (Self, Vec<SkippedEntry>) {
        let mut settings = Self::default();
        let mut skipped = Skipped::default();
        let Some(events) = hooks.as_object() else {
            skipped.add(String::new(), HooksError::Shape { expected: "an object of events" });
            return (settings, skipped.0);
        };
        for (name, groups) in events {
            let at = format!("/{}", pointer_part(name));
            match (name.parse(), groups.as_array()) {
                (Ok(event), Some(groups)) => {
                    let groups = read_groups(event, groups, &at, &mut skipped);
                    if !groups.is_empty() {
                        settings.events.insert(event, groups);
                    }
                }
                (Ok(_), None) => {
                    skipped.add(at, HooksError::Shape { expected: "a list of groups" });
                }
                (Err(reason), _) => skipped.add(at, reason),
            }
        }
        (settings, skipped.0)
    }

    /// The groups of an event, in the order of the file.
    pub(crate) fn groups(&self, event: EventName) -> &[HookGroup] {
        self.events.get(&event).map_or(&[], Vec::as_slice)
    }
}

impl HookEntry {
    /// How long the hook may take at that event.
    pub(crate) fn timeout_at(&self, event: EventName) -> Duration {
        self.timeout.unwrap_or_else(|| event.default_timeout(self.action.kind()))
    }

    fn read(event: EventName, value: &Value) -> Result<Self, HooksError> {
        let shared: SharedFields = field(value)?;
        let kind = shared.kind.parse()?;
        if !event.accepts(kind) {
            return Err(HooksError::WrongAction { event, kind });
        }
        let action = match kind {
            ActionKind::Command => Action::Command(field(value)?),
            ActionKind::Http => Action::Http(field(value)?),
            ActionKind::McpTool => Action::McpTool(field(value)?),
            ActionKind::Prompt => Action::Prompt(field(value)?),
            ActionKind::Agent => Action::Agent(field(value)?),
        };
        Ok(Self {
            action,
            condition: shared.condition,
            timeout: shared.timeout.map(timeout).transpose()?,
            status_message: shared.status_message,
            once: shared.once,
        })
    }
}

impl Action {
    /// Its kind.
    pub(crate) fn kind(&self) -> ActionKind {
        match self {
            Self::Command(_) => ActionKind::Command,
            Self::Http(_) => ActionKind::Http,
            Self::McpTool(_) => ActionKind::McpTool,
            Self::Prompt(_) => ActionKind::Prompt,
            Self::Agent(_) => ActionKind::Agent,
        }
    }
}

impl ActionKind {
    /// The word that settings use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Http => "http",
            Self::McpTool => "mcp_tool",
            Self::Prompt => "prompt",
            Self::Agent => "agent",
        }
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl std::str::FromStr for ActionKind {
    type Err = HooksError;

    fn from_str(name: &str) -> Result<Self, HooksError> {
        [Self::Command, Self::Http, Self::McpTool, Self::Prompt, Self::Agent]
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| HooksError::UnknownAction { name: name.to_owned() })
    }
}

/// How long these hooks of [`EventName::SessionEnd`] may take together: the longest timeout that one of them asks for, at
/// least the default and at most a minute.
pub(crate) fn session_end_limit<'a>(entries: impl Iterator<Item = &'a HookEntry>) -> Duration {
    entries
        .filter_map(|entry| entry.timeout)
        .max()
        .unwrap_or_default()
        .max(EventName::SessionEnd.default_timeout(ActionKind::Command))
        .min(LONGEST_SESSION_END)
}

#[derive(Default)]
struct Skipped(Vec<SkippedEntry>);

impl Skipped {
    fn add(&mut self, at: String, reason: HooksError) {
        self.0.push(SkippedEntry { at, reason });
    }
}

fn read_groups(
    event: EventName,
    groups: &[Value],
    at: &str,
    skipped: &mut Skipped,
) -> Vec<HookGroup> {
    let mut read = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let at = format!("{at}/{index}");
        match read_matcher(event, group) {
            Ok((matcher, hooks)) => {
                let mut entries = Vec::new();
                for (index, hook) in hooks.iter().enumerate() {
                    match HookEntry::read(event, hook) {
                        Ok(entry) => entries.push(entry),
                        Err(reason) => skipped.add(format!("{at}/hooks/{index}"), reason),
                    }
                }
                if !entries.is_empty() {
                    read.push(HookGroup { matcher, entries });
                }
            }
            Err(reason) => skipped.add(at, reason),
        }
    }
    read
}

fn read_matcher(event: EventName, group: &Value) -> Result<(Matcher, &[Value]), HooksError> {
    let text = match group.get("matcher") {
        None => None,
        Some(Value::String(text)) => Some(text.as_str()),
        Some(_) => return Err(HooksError::Shape { expected: "a text as `matcher`" }),
    };
    let hooks = group.get("hooks").and_then(Value::as_array);
    let hooks = hooks.ok_or(HooksError::Shape { expected: "a list as `hooks`" })?;
    Ok((Matcher::parse(event, text)?, hooks))
}

fn field<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, HooksError> {
    T::deserialize(value).map_err(|cause| HooksError::Field { cause: cause.to_string() })
}

fn timeout(seconds: f64) -> Result<Duration, HooksError> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or(HooksError::Timeout { seconds })
}

/// A name as a part of a JSON pointer.
fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
