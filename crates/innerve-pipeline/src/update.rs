//! Changes of rules, mode and directories that come with an answer, and their form in JSON.

use std::path::PathBuf;

use innerve_permission::{Behavior, PermissionMode, Suggestion};
use serde_json::{Value, json};

/// A change of permissions that a hook attaches to its yes (Claude Code, "Hooks reference", permission updates).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionUpdate {
    /// What changes.
    pub change: PermissionChange,
    /// For how long.
    pub destination: Destination,
}

/// What a [`PermissionUpdate`] changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionChange {
    /// Adds rules.
    AddRules(Behavior, Vec<String>),
    /// Puts rules in the place of all those of that behavior at the destination.
    ReplaceRules(Behavior, Vec<String>),
    /// Takes rules away.
    RemoveRules(Behavior, Vec<String>),
    /// Sets the mode.
    SetMode(PermissionMode),
    /// Adds working directories.
    AddDirectories(Vec<PathBuf>),
    /// Takes working directories away.
    RemoveDirectories(Vec<PathBuf>),
}

/// Where a [`PermissionUpdate`] is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Nowhere: it holds until the session ends.
    Session,
    /// In the project's local settings.
    Local,
    /// In the project's shared settings.
    Project,
    /// In the user's settings.
    User,
}

impl Destination {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Local => "localSettings",
            Self::Project => "projectSettings",
            Self::User => "userSettings",
        }
    }
}

impl PermissionUpdate {
    /// Reads an update as hooks write it; the error says what is wrong.
    pub fn read(value: &Value) -> Result<Self, String> {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        let rules = || {
            let behavior = match text("behavior") {
                "allow" => Behavior::Allow,
                "ask" => Behavior::Ask,
                "deny" => Behavior::Deny,
                other => return Err(format!("`{other}` is no behavior of rules")),
            };
            Ok((behavior, list(value, "rules", rule)?))
        };
        let directories = || list(value, "directories", |path| path.as_str().map(PathBuf::from));
        let change = match kind {
            "addRules" => rules().map(|(behavior, all)| PermissionChange::AddRules(behavior, all)),
            "replaceRules" => {
                rules().map(|(behavior, all)| PermissionChange::ReplaceRules(behavior, all))
            }
            "removeRules" => {
                rules().map(|(behavior, all)| PermissionChange::RemoveRules(behavior, all))
            }
            "setMode" => text("mode")
                .parse()
                .map(PermissionChange::SetMode)
                .map_err(|error: innerve_permission::UnknownMode| error.to_string()),
            "addDirectories" => directories().map(PermissionChange::AddDirectories),
            "removeDirectories" => directories().map(PermissionChange::RemoveDirectories),
            other => Err(format!("`{other}` is no type of permission update")),
        }?;
        let destination = match text("destination") {
            "session" | "cliArg" => Destination::Session,
            "localSettings" => Destination::Local,
            "projectSettings" => Destination::Project,
            "userSettings" => Destination::User,
            other => return Err(format!("`{other}` is no destination of a permission update")),
        };
        Ok(Self { change, destination })
    }
}

/// The suggestions of a question as hooks are told them: one update with all rules that it takes.
pub(crate) fn suggested(suggestions: &[Suggestion]) -> Value {
    if suggestions.is_empty() {
        return json!([]);
    }
    let rule = |suggestion: &Suggestion| {
        let text = suggestion.0.as_str();
        match text.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?))) {
            Some((tool, content)) => json!({ "toolName": tool, "ruleContent": content }),
            None => json!({ "toolName": text }),
        }
    };
    json!([{
        "type": "addRules",
        "rules": suggestions.iter().map(rule).collect::<Vec<Value>>(),
        "behavior": "allow",
        "destination": Destination::Local.name(),
    }])
}

/// A rule as its text.
fn rule(value: &Value) -> Option<String> {
    let tool = value.get("toolName")?.as_str()?;
    match value.get("ruleContent") {
        None | Some(Value::Null) => Some(tool.to_owned()),
        Some(content) => Some(format!("{tool}({})", content.as_str()?)),
    }
}

fn list<T>(
    value: &Value,
    field: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, String> {
    let items = value.get(field).and_then(Value::as_array);
    let items = items.ok_or_else(|| format!("a permission update has no list `{field}`"))?;
    let wrong = || format!("`{field}` of a permission update holds what is none");
    items.iter().map(|item| read(item).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_read_as_it_is_documented() {
        let update = PermissionUpdate::read(&json!({
            "type": "addRules", "behavior": "allow", "destination": "localSettings",
            "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}, {"toolName": "Read"}],
        }));
        let rules = vec!["Bash(npm test *)".to_owned(), "Read".to_owned()];
        let change = PermissionChange::AddRules(Behavior::Allow, rules);
        assert_eq!(update, Ok(PermissionUpdate { change, destination: Destination::Local }));
        let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
        let change = PermissionChange::SetMode(PermissionMode::AcceptEdits);
        assert_eq!(PermissionUpdate::read(&mode).map(|update| update.change), Ok(change));
        for (wrong, part) in [
            (json!({}), "no type"),
            (json!({"type": "setMode", "mode": "yolo", "destination": "session"}), "yolo"),
            (json!({"type": "addDirectories", "destination": "session"}), "directories"),
            (json!({"type": "addDirectories", "directories": ["/a"], "destination": "x"}), "`x`"),
            (json!({"type": "addRules", "behavior": "allow", "rules": [7]}), "rules"),
            (json!({"type": "addRules", "behavior": "all", "rules": []}), "`all`"),
        ] {
            assert!(PermissionUpdate::read(&wrong).unwrap_err().contains(part), "{wrong}");
        }
    }

    #[test]
    fn what_is_suggested_is_an_update_that_reads_back() {
        let suggested = suggested(&[
            Suggestion("Bash(git push *)".to_owned()),
            Suggestion("WebSearch".to_owned()),
        ]);
        let update = PermissionUpdate::read(&suggested[0]).unwrap();
        let rules = vec!["Bash(git push *)".to_owned(), "WebSearch".to_owned()];
        assert_eq!(update.change, PermissionChange::AddRules(Behavior::Allow, rules));
        assert_eq!(super::suggested(&[]), json!([]));
    }
}
