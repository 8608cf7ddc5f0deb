//! Which MCP servers there are: named by settings, `.mcp.json` and flags, and whether each may be started.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use innerve_mcp::{ConfigError, ServerConfig, Transport};
use innerve_permission::{Layer, RuleSource};
use innerve_settings::Document;
use serde_json::Value;

use crate::args::McpArguments;
use crate::exit::Failure;

/// The largest file of servers that is read, in bytes.
const MAX_FILE: u64 = 2 * 1024 * 1024;

/// A server that some file or flag names.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// Where it is named.
    pub(crate) origin: String,
    pub(crate) outcome: Result<ServerConfig, Hindrance>,
}

/// Why a server is not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// A project's file names it, and the workspace is not trusted.
    Untrusted,
    /// Settings switch it off.
    Off(&'static str),
    /// Its entry cannot be used.
    Broken(ConfigError),
    /// The file that names it cannot be used.
    File(String),
}

impl Hindrance {
    /// The state of the server in one word.
    pub(crate) fn state(&self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Off(_) => "off",
            Self::Broken(_) | Self::File(_) => "failed",
        }
    }

    /// What would mend it.
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::Untrusted => "look at what it starts, then run: innerve trust".to_owned(),
            Self::Off(setting) => format!("take it out of `{setting}` if you want it"),
            Self::Broken(_) | Self::File(_) => "mend the entry".to_owned(),
        }
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => {
                formatter.write_str("a project's file names it, and this workspace is not trusted")
            }
            Self::Off(setting) => write!(formatter, "switched off by `{setting}`"),
            Self::Broken(error) => write!(formatter, "{error}"),
            Self::File(problem) => formatter.write_str(problem),
        }
    }
}

/// All servers, each name once: what stands higher wins, as with settings.
pub(crate) fn find(
    layers: &[Layer],
    cwd: &Path,
    trusted: bool,
    arguments: &McpArguments,
) -> Result<Vec<Listed>, Failure> {
    let mut finder = Finder { listed: Vec::new(), layers };
    for config in &arguments.mcp_config {
        let (value, origin) = flag(config, cwd)?;
        finder.add(&value, &origin, true);
    }
    if !arguments.strict_mcp_config {
        let is_project =
            |layer: &Layer| matches!(layer.source, RuleSource::Project | RuleSource::Local);
        let (above, below): (Vec<&Layer>, Vec<&Layer>) =
            layers.iter().partition(|layer| layer.source != RuleSource::User);
        for layer in above {
            finder.layer(layer, !is_project(layer) || layer.trusted);
        }
        finder.project_file(&cwd.join(".mcp.json"), trusted);
        for layer in below {
            finder.layer(layer, true);
        }
    }
    finder.listed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(finder.listed)
}

/// A value of `--mcp-config`: JSON, or the path of a file.
fn flag(text: &str, cwd: &Path) -> Result<(Value, String), Failure> {
    let (value, origin) = if text.trim_start().starts_with('{') {
        let value = serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("--mcp-config is no JSON: {error}")))?;
        (value, "--mcp-config".to_owned())
    } else {
        let path = cwd.join(text);
        let document = Document::read(&path, MAX_FILE)
            .map_err(|error| Failure::usage(format!("--mcp-config: {error}")))?;
        (document.value, path.display().to_string())
    };
    if value.get("mcpServers").and_then(Value::as_object).is_none() {
        return Err(Failure::usage(format!(
            "{origin} has no object `mcpServers`; write {{\"mcpServers\": {{\"NAME\": {{\"command\": …}}}}}}"
        )));
    }
    Ok((value, origin))
}

struct Finder<'a> {
    listed: Vec<Listed>,
    layers: &'a [Layer],
}

impl Finder<'_> {
    fn layer(&mut self, layer: &Layer, counts: bool) {
        let origin = match &layer.file {
            Some(file) => file.display().to_string(),
            None => format!("{} settings", layer.source.name()),
        };
        self.add(&layer.value, &origin, counts);
    }

    fn project_file(&mut self, path: &Path, trusted: bool) {
        if !path.exists() {
            return;
        }
        let origin = path.display().to_string();
        match Document::read(path, MAX_FILE) {
            Ok(document) => self.add(&document.value, &origin, trusted),
            Err(error) => self.listed.push(Listed {
                name: ".mcp.json".to_owned(),
                origin,
                outcome: Err(Hindrance::File(error.to_string())),
            }),
        }
    }

    fn add(&mut self, value: &Value, origin: &str, counts: bool) {
        let known: BTreeSet<String> =
            self.listed.iter().map(|listed| listed.name.clone()).collect();
        for (name, entry) in
            value.get("mcpServers").and_then(Value::as_object).into_iter().flatten()
        {
            if known.contains(name) {
                continue;
            }
            let variables = |variable: &str| std::env::var(variable).ok();
            let config = ServerConfig::parse(name, entry, &variables).map_err(Hindrance::Broken);
            let outcome = if counts {
                config.and_then(|config| match self.switched_off(&config) {
                    Some(setting) => Err(Hindrance::Off(setting)),
                    None => Ok(config),
                })
            } else {
                Err(Hindrance::Untrusted)
            };
            self.listed.push(Listed { name: name.clone(), origin: origin.to_owned(), outcome });
        }
    }

    /// The setting that keeps a server from being started: any file may switch one off, managed settings may name all
    /// that are fine.
    fn switched_off(&self, config: &ServerConfig) -> Option<&'static str> {
        // What is broken here names nothing, so that nothing is allowed by mistake.
        let entries = |layer: &Layer, key: &str| {
            layer.value.get(key).map(|value| value.as_array().cloned().unwrap_or_default())
        };
        for key in ["deniedMcpServers", "disabledMcpjsonServers"] {
            let mut all = self.layers.iter().filter_map(|layer| entries(layer, key)).flatten();
            if all.any(|entry| covers(&entry, config)) {
                return Some(if key == "deniedMcpServers" {
                    "deniedMcpServers"
                } else {
                    "disabledMcpjsonServers"
                });
            }
        }
        let managed = self.layers.iter().filter(|layer| layer.source == RuleSource::Policy);
        let allowed: Vec<Vec<Value>> =
            managed.filter_map(|layer| entries(layer, "allowedMcpServers")).collect();
        let is_allowed =
            allowed.is_empty() || allowed.iter().flatten().any(|entry| covers(entry, config));
        (!is_allowed).then_some("allowedMcpServers")
    }
}

/// Whether an entry of a list of servers means this one: by name, by command or by address (with `*`).
fn covers(entry: &Value, config: &ServerConfig) -> bool {
    if let Some(name) = entry.as_str().or_else(|| entry.get("serverName")?.as_str()) {
        return name == config.name;
    }
    match &config.transport {
        Transport::Stdio { command, args, .. } => {
            let wanted = entry.get("serverCommand").and_then(Value::as_array);
            let words = std::iter::once(command).chain(args);
            wanted.is_some_and(|wanted| {
                wanted.iter().map(Value::as_str).eq(words.map(|word| Some(word.as_str())))
            })
        }
        Transport::Http { url, .. } => {
            entry.get("serverUrl").and_then(Value::as_str).is_some_and(|pattern| fits(pattern, url))
        }
    }
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn layer(source: RuleSource, trusted: bool, value: Value) -> Layer {
        Layer { trusted, ..Layer::new(source, Path::new("/w"), value) }
    }

    #[track_caller]
    fn check(layers: &[Layer], expected: &[(&str, &str)]) {
        let listed =
            find(layers, Path::new("/nonexistent"), false, &McpArguments::default()).unwrap();
        let told: Vec<(String, String)> = listed
            .into_iter()
            .map(|listed| {
                let outcome = match listed.outcome {
                    Ok(config) => config.kind().to_owned(),
                    Err(hindrance) => hindrance.to_string(),
                };
                (listed.name, outcome)
            })
            .collect();
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for ((name, outcome), (wanted, words)) in told.iter().zip(expected) {
            assert!(name == wanted && outcome.contains(words), "{told:?}");
        }
    }

    fn servers(names: &[&str]) -> Value {
        let entries = names.iter().map(|name| ((*name).to_owned(), json!({ "command": "x" })));
        json!({ "mcpServers": entries.collect::<serde_json::Map<_, _>>() })
    }

    #[test]
    fn a_projects_server_needs_trust_and_a_users_does_not() {
        check(
            &[
                layer(RuleSource::Local, false, servers(&["local"])),
                layer(RuleSource::Project, false, servers(&["project"])),
                layer(RuleSource::User, false, servers(&["user"])),
            ],
            &[("local", "not trusted"), ("project", "not trusted"), ("user", "stdio")],
        );
        check(&[layer(RuleSource::Project, true, servers(&["project"]))], &[("project", "stdio")]);
    }

    #[test]
    fn anybody_may_switch_a_server_off_and_managed_settings_may_name_all_that_are_fine() {
        let off = json!({ "deniedMcpServers": [{ "serverName": "a" }] });
        check(
            &[
                layer(RuleSource::Project, false, off),
                layer(RuleSource::User, false, servers(&["a", "b"])),
            ],
            &[("a", "deniedMcpServers"), ("b", "stdio")],
        );
        let only =
            json!({ "allowedMcpServers": [{ "serverCommand": ["y"] }, { "serverName": "b" }] });
        check(
            &[
                layer(RuleSource::Policy, false, only),
                layer(RuleSource::User, false, servers(&["a", "b"])),
            ],
            &[("a", "allowedMcpServers"), ("b", "stdio")],
        );
        let broken = json!({ "allowedMcpServers": true });
        check(
            &[
                layer(RuleSource::Policy, false, broken),
                layer(RuleSource::User, false, servers(&["a"])),
            ],
            &[("a", "allowedMcpServers")],
        );
    }

    #[test]
    fn a_broken_entry_is_told_and_the_others_stay() {
        let value = json!({ "mcpServers": { "bad": { "type": "sse", "url": "http://x" }, "good": { "command": "x" } } });
        check(&[layer(RuleSource::User, false, value)], &[("bad", "`sse`"), ("good", "stdio")]);
    }

    #[test]
    fn an_address_fits_a_pattern_as_a_whole() {
        assert!(fits("https://*.corp.example/*", "https://a.corp.example/mcp"));
        assert!(!fits("https://*.corp.example/*", "https://evil.example/?.corp.example"));
        assert!(fits("https://h/mcp", "https://h/mcp") && !fits("https://h/mcp", "https://h/mcp2"));
    }
}
