//! Saving a rule: one entry more, and every other byte of the file as it was.

use std::path::Path;

use innerve_permission::{Behavior, Origin, Rule, RuleError, RuleSource};
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::Value;

use crate::disk::repository;
use crate::load::{MAX_SIZE, read_text};
use crate::write::Exclusive;
use crate::{Locations, SettingsError, json};

/// What saving did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The rule was added.
    Added,
    /// The rule stood there already; the file was not touched.
    Present,
}

/// Adds a rule to a settings file, which is created if need be.
///
/// Comments, order and layout stay. A text that is no rule is refused, and so is a file that is not valid: it is left as
/// it was.
pub fn save_rule(file: &Path, behavior: Behavior, rule: &str) -> Result<Saved, SettingsError> {
    let origin = Origin::inline(RuleSource::Local, "/");
    let rule = Rule::parse(rule, behavior, origin)?;
    if rule.text().contains(['\n', '\r']) {
        let problem = "has more than one line; save it by hand if it is meant".to_owned();
        return Err(RuleError::Malformed { rule: rule.text().to_owned(), problem }.into());
    }
    let exclusive = Exclusive::wait(file)?;
    let text = read_text(file, MAX_SIZE)?.unwrap_or_default();
    let parsed = json::parse(&text, Some(file))?;
    let pointer = format!("/permissions/{}", behavior.name());
    let syntax =
        |problem: String| SettingsError::Syntax { place: file.display().to_string(), problem };
    if let Some(list) = parsed.value.pointer(&pointer) {
        let entries = list.as_array().ok_or_else(|| syntax(format!("`{pointer}` is no list")))?;
        if entries.iter().any(|entry| entry.as_str().map(str::trim) == Some(rule.text())) {
            return Ok(Saved::Present);
        }
    }
    if parsed.value.get("permissions").is_some_and(|permissions| !permissions.is_object()) {
        return Err(syntax("`/permissions` is no object".to_owned()));
    }
    let content = with_entry(&text, behavior, rule.text()).map_err(syntax)?;
    // What is written must say what was meant, whatever the file looked like.
    let expected = json::parse(&content, Some(file))?;
    let stands = expected.value.pointer(&pointer).and_then(Value::as_array);
    let is_last =
        stands.and_then(|entries| entries.last()).and_then(Value::as_str) == Some(rule.text());
    if !is_last {
        return Err(syntax("the rule could not be added".to_owned()));
    }
    exclusive.replace(&content)?;
    Ok(Saved::Added)
}

/// Adds a rule to the project's local settings file, and keeps git from offering that file when it is new.
///
/// The repository's own `info/exclude` is written to, and not the user's global excludes: it is about this repository
/// alone, is never committed, and needs no look at where the user's configuration keeps the others.
pub fn save_local_rule(
    locations: &Locations,
    behavior: Behavior,
    rule: &str,
) -> Result<Saved, SettingsError> {
    let file = locations.local_settings();
    let is_new = !file.exists();
    let saved = save_rule(&file, behavior, rule)?;
    if is_new && let Some(directory) = file.parent() {
        repository::exclude(directory, LOCAL_PATTERN)
            .map_err(|source| SettingsError::NotExcluded { path: file.clone(), source })?;
    }
    Ok(saved)
}

/// The local settings file as git's excludes name it.
const LOCAL_PATTERN: &str = "**/.innerve/settings.local.json";

fn with_entry(text: &str, behavior: Behavior, rule: &str) -> Result<String, String> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", text),
    };
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &json::options()).map_err(|error| error.to_string())?;
    let object = root.object_value_or_create().ok_or("it is no object")?;
    let permissions =
        object.object_value_or_create("permissions").ok_or("`/permissions` is no object")?;
    let list = permissions
        .array_value_or_create(behavior.name())
        .ok_or_else(|| format!("`/permissions/{}` is no list", behavior.name()))?;
    let is_new = list.elements().is_empty();
    if is_new {
        list.ensure_multiline();
    }
    list.append(CstInputValue::String(rule.to_owned()));
    Ok(format!("{mark}{root}"))
}
