//! The tool name of a rule: exact, an MCP server, or a glob.

use super::pattern::StarPattern;
use super::tools;
use crate::Behavior;

/// Which tools a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamePattern {
    /// One tool.
    Exact(String),
    /// `mcp__server`: every tool of that server.
    Server(String),
    /// A glob over the full name.
    Glob(String, StarPattern),
}

impl NamePattern {
    /// Compiles a canonical name; the error says why a rule of this behavior must not have it.
    pub(super) fn new(name: &str, behavior: Behavior) -> Result<Self, String> {
        let mcp = name.strip_prefix("mcp__");
        if name.contains('*') {
            // An allow must fix the server: a glob would also cover servers that are added later.
            let fixes_server = mcp
                .and_then(|rest| rest.split_once("__"))
                .is_some_and(|(server, _)| !server.is_empty() && !server.contains('*'));
            if behavior == Behavior::Allow && !fixes_server {
                return Err(format!(
                    "allows tools by the glob `{name}`; an allow rule names its tool, or one server as in `mcp__server__*`"
                ));
            }
            return Ok(Self::Glob(name.to_owned(), StarPattern::new(name)));
        }
        match mcp {
            Some("") => {
                Err("names no MCP server; write `mcp__server` or `mcp__server__tool`".to_owned())
            }
            Some(server) if !server.contains("__") => Ok(Self::Server(name.to_owned())),
            _ => Ok(Self::Exact(name.to_owned())),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Exact(text) | Self::Server(text) | Self::Glob(text, _) => text,
        }
    }

    /// `mcp__server` of the tool `mcp__server__tool`.
    pub(crate) fn server_of(tool: &str) -> Option<&str> {
        let rest = tool.strip_prefix("mcp__")?;
        let (server, _) = rest.split_once("__")?;
        tool.get(..tool.len() - rest.len() + server.len())
    }

    /// Whether the rule speaks of the tool `name`.
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(text) => text == name,
            Self::Server(text) => name
                .strip_prefix(text.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("__")),
            Self::Glob(_, pattern) => pattern.matches(name),
        }
    }

    /// Whether no known tool has this name; names with `_` may belong to tools that are added at run time.
    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Self::Exact(text) => !text.contains('_') && !tools::is_known(text),
            Self::Server(_) | Self::Glob(..) => false,
        }
    }
}
