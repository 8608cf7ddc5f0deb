//! Configuration: which servers there are and how they are reached, as `.mcp.json` and settings say it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};
use thiserror::Error;

/// How long a server may take to start when nothing else is said (Claude Code documentation, "MCP").
const STARTUP: Duration = Duration::from_secs(30);
/// How long a call may take when nothing else is said: more than a day (Claude Code documentation, "MCP").
const CALL: Duration = Duration::from_secs(100_000);
/// The longest name of a server, in characters.
const MAX_NAME: usize = 64;

/// One server: its name and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The name, as permission rules and tool names have it.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long it may take to start.
    pub startup_timeout: Duration,
    /// How long one call may take, whatever progress it reports.
    pub call_timeout: Duration,
    /// Whether its tools are always in the prompt, however many there are.
    pub always_load: bool,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that speaks on its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: BTreeMap<String, String>,
    },
    /// A server at an address (streamable HTTP).
    Http {
        /// The address.
        url: String,
        /// Headers for every request.
        headers: BTreeMap<String, String>,
    },
}

/// Why an entry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The name is empty or too long.
    #[error("a server's name has 1 to 64 characters, and at least one letter or digit")]
    Name,
    /// A field is missing or has another type.
    #[error("`{field}` must be {expected}")]
    Field {
        /// The field.
        field: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The kind of transport is not known or not spoken any more.
    #[error(
        "the transport `{0}` is not available; use `stdio` with a `command`, or `http` with a `url`"
    )]
    Transport(String),
    /// A variable is not set.
    #[error(
        "the variable {variable}, which `{field}` names, is not set; set it, or write ${{{variable}:-a default}}"
    )]
    Variable {
        /// The variable.
        variable: String,
        /// The field that names it.
        field: String,
    },
}

impl ConfigError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name => "mcp:config_name",
            Self::Field { .. } => "mcp:config_field",
            Self::Transport(_) => "mcp:config_transport",
            Self::Variable { .. } => "mcp:config_variable",
        }
    }
}

impl ServerConfig {
    /// Reads one entry of `mcpServers`. `${NAME}` and `${NAME:-default}` in commands, arguments, variables, addresses and
    /// headers are replaced by what `variables` says.
    pub fn parse(
        name: &str,
        entry: &Value,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        if name.chars().count() > MAX_NAME
            || !name.contains(|letter: char| letter.is_alphanumeric())
        {
            return Err(ConfigError::Name);
        }
        let fields = Fields {
            entry: entry.as_object().ok_or(ConfigError::Field {
                field: name.to_owned(),
                expected: "an object with a `command` or a `url`",
            })?,
            variables,
        };
        let kind = fields.optional_text("type")?;
        let transport = match kind.as_deref() {
            Some("stdio") => fields.stdio()?,
            Some("http" | "streamable-http" | "streamableHttp") => fields.http()?,
            Some(other) => return Err(ConfigError::Transport(other.to_owned())),
            None if fields.entry.contains_key("url") && !fields.entry.contains_key("command") => {
                fields.http()?
            }
            None => fields.stdio()?,
        };
        Ok(Self {
            name: name.to_owned(),
            transport,
            startup_timeout: fields.milliseconds("startupTimeout")?.unwrap_or(STARTUP),
            call_timeout: fields.milliseconds("timeout")?.unwrap_or(CALL),
            always_load: fields.flag("alwaysLoad")?,
        })
    }

    /// The kind of transport in one word.
    pub fn kind(&self) -> &'static str {
        match &self.transport {
            Transport::Stdio { .. } => "stdio",
            Transport::Http { .. } => "http",
        }
    }
}

/// The fields of an entry.
struct Fields<'a> {
    entry: &'a Map<String, Value>,
    variables: &'a dyn Fn(&str) -> Option<String>,
}

impl Fields<'_> {
    fn stdio(&self) -> Result<Transport, ConfigError> {
        Ok(Transport::Stdio {
            command: self.text("command")?,
            args: self.texts("args")?,
            env: self.map("env")?,
        })
    }

    fn http(&self) -> Result<Transport, ConfigError> {
        let url = self.text("url")?;
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(wrong("url", "an address that begins with http:// or https://"));
        }
        Ok(Transport::Http { url, headers: self.map("headers")? })
    }

    fn text(&self, field: &str) -> Result<String, ConfigError> {
        let text = self.optional_text(field)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| wrong(field, "a text that is not empty"))
    }

    fn optional_text(&self, field: &str) -> Result<Option<String>, ConfigError> {
        match self.entry.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => self.expand(field, text).map(Some),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(wrong(field, "a text"))
            }
        }
    }

    fn texts(&self, field: &str) -> Result<Vec<String>, ConfigError> {
        let Some(value) = self.entry.get(field) else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(|| wrong(field, "a list of texts"))?;
        let text = |item: &Value| {
            let text = item.as_str().ok_or_else(|| wrong(field, "a list of texts"))?;
            self.expand(field, text)
        };
        items.iter().map(text).collect()
    }

    fn map(&self, field: &str) -> Result<BTreeMap<String, String>, ConfigError> {
        const EXPECTED: &str = "an object of texts";
        let Some(value) = self.entry.get(field) else { return Ok(BTreeMap::new()) };
        let items = value.as_object().ok_or_else(|| wrong(field, EXPECTED))?;
        let mut map = BTreeMap::new();
        for (name, value) in items {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    return Err(wrong(field, EXPECTED));
                }
            };
            map.insert(name.clone(), self.expand(&format!("{field}.{name}"), &text)?);
        }
        Ok(map)
    }

    fn flag(&self, field: &str) -> Result<bool, ConfigError> {
        match self.entry.get(field) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| wrong(field, "true or false")),
        }
    }

    fn milliseconds(&self, field: &str) -> Result<Option<Duration>, ConfigError> {
        match self.entry.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if number > 0 => Ok(Some(Duration::from_millis(number))),
                Some(_) | None => Err(wrong(field, "a number of milliseconds above 0")),
            },
        }
    }

    /// Replaces `${NAME}` and `${NAME:-default}`; any other `$` stays as it is.
    fn expand(&self, field: &str, text: &str) -> Result<String, ConfigError> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            let Some((inside, behind)) = after.split_once('}') else {
                expanded.push_str("${");
                rest = after;
                continue;
            };
            let (variable, default) = match inside.split_once(":-") {
                Some((variable, default)) => (variable, Some(default)),
                None => (inside, None),
            };
            let value = (self.variables)(variable).filter(|value| !value.is_empty());
            match value.or_else(|| default.map(str::to_owned)) {
                Some(value) => expanded.push_str(&value),
                None => {
                    return Err(ConfigError::Variable {
                        variable: variable.to_owned(),
                        field: field.to_owned(),
                    });
                }
            }
            rest = behind;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

fn wrong(field: &str, expected: &'static str) -> ConfigError {
    ConfigError::Field { field: field.to_owned(), expected }
}

// Variables and headers hold keys.
impl std::fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdio { command, args, .. } => formatter
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .finish_non_exhaustive(),
            Self::Http { url, .. } => {
                formatter.debug_struct("Http").field("url", url).finish_non_exhaustive()
            }
        }
    }
}

#[cfg(test)]
mod tests;
