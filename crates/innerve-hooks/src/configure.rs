//! Which hooks count: the layers of settings, who may switch whom off, and the order of their words.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use innerve_permission::{Layer, RuleSource, SettingsWarning};
use serde_json::Value;

use crate::EventName;
use crate::condition::Condition;
use crate::matcher::Matcher;
use crate::settings::{HookEntry, HookSettings};

/// All hooks of a session and what bounds them.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    /// In the order in which their words are combined: what is managed has the last one.
    pub(crate) hooks: Vec<Configured>,
    pub(crate) http: HttpLimits,
    /// What is odd or was left out.
    pub(crate) warnings: Vec<SettingsWarning>,
}

/// One hook with the place it stands in.
#[derive(Debug)]
pub(crate) struct Configured {
    pub(crate) event: EventName,
    pub(crate) matcher: Matcher,
    pub(crate) entry: HookEntry,
    pub(crate) condition: Option<Condition>,
    pub(crate) source: RuleSource,
    /// Whether a hook that runs once has run.
    pub(crate) spent: AtomicBool,
}

/// What HTTP hooks may reach and tell; `None` where settings set no bound.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpLimits {
    /// The patterns of which an address must match one.
    pub(crate) urls: Option<Vec<String>>,
    /// The environment variables that headers may hold.
    pub(crate) variables: Option<BTreeSet<String>>,
}

impl Configured {
    /// Whether the hook runs for this subject of its event.
    pub(crate) fn is_for(&self, subject: &str) -> bool {
        // Hooks that were written for a tool's former name go on.
        let is_renamed = self.event.is_about_a_tool() && subject == "Agent";
        self.matcher.matches(subject) || (is_renamed && self.matcher.matches("Task"))
    }
}

/// Reads the hooks of all layers that count.
pub(crate) fn configure(layers: &[Layer]) -> Configuration {
    let mut configuration = Configuration::default();
    // The layers that win come first, so that they are read last.
    let mut counting = counting(layers, &mut configuration.warnings);
    counting.reverse();
    counting.sort_by_key(|layer| Reverse(layer.source));
    for layer in &counting {
        if let Some(hooks) = layer.value.get("hooks") {
            add(layer, hooks, &mut configuration);
        }
    }
    let warnings = &mut configuration.warnings;
    let variables = list(&counting, "httpHookAllowedEnvVars", warnings);
    configuration.http = HttpLimits {
        urls: list(&counting, "allowedHttpHookUrls", warnings),
        variables: variables.map(|names| names.into_iter().collect()),
    };
    configuration
}

/// The layers whose hooks run (Claude Code, "Settings", hook configuration).
///
/// What a project's files say counts when they are trusted. Settings that are not managed cannot switch off what is.
fn counting<'a>(layers: &'a [Layer], warnings: &mut Vec<SettingsWarning>) -> Vec<&'a Layer> {
    let is_of_project =
        |layer: &Layer| matches!(layer.source, RuleSource::Project | RuleSource::Local);
    let mut counting: Vec<&Layer> =
        layers.iter().filter(|layer| layer.trusted || !is_of_project(layer)).collect();
    counting.sort_by_key(|layer| layer.source);
    let mut switch = None;
    for layer in &counting {
        match layer.value.get("disableAllHooks") {
            None | Some(Value::Null) => {}
            Some(Value::Bool(off)) => {
                switch = switch.or(Some((*off, layer.source)));
            }
            Some(_) => {
                let what = "`disableAllHooks` is neither true nor false and is left out";
                warnings.push(warning(layer, "/disableAllHooks", what.to_owned()));
            }
        }
    }
    let is_managed = |layer: &&Layer| layer.source == RuleSource::Policy;
    let managed_only = counting.iter().filter(|layer| is_managed(layer)).any(|layer| {
        let only = layer.value.get("allowManagedHooksOnly");
        let closed = layer.value.get("strictPluginOnlyCustomization");
        is_set(only) || closes_hooks(closed)
    });
    match switch {
        Some((true, RuleSource::Policy)) => counting.clear(),
        Some((true, _)) => counting.retain(is_managed),
        Some((false, _)) | None if managed_only => counting.retain(is_managed),
        Some((false, _)) | None => {}
    }
    counting
}

/// A flag whose strict side is `true`, so that a value of a wrong type sets it.
fn is_set(value: Option<&Value>) -> bool {
    !matches!(value, None | Some(Value::Null | Value::Bool(false)))
}

/// Whether `strictPluginOnlyCustomization` is about hooks.
fn closes_hooks(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "hooks"),
        other => is_set(other),
    }
}

fn add(layer: &Layer, hooks: &Value, configuration: &mut Configuration) {
    let (settings, skipped) = HookSettings::read(hooks);
    for entry in skipped {
        let pointer = format!("/hooks{}", entry.at);
        let reason = format!("the hook at `{pointer}` is left out: {}", entry.reason);
        configuration.warnings.push(warning(layer, &pointer, reason));
    }
    for event in EventName::ALL {
        for group in settings.groups(event) {
            for entry in &group.entries {
                let condition = entry
                    .condition
                    .as_deref()
                    .map(|text| Condition::parse(text, &layer.root))
                    .transpose();
                let condition = match condition {
                    Ok(condition) => condition,
                    Err(error) => {
                        let reason = format!("a hook of `{event}` is left out: its `if` {error}");
                        configuration.warnings.push(warning(layer, "/hooks", reason));
                        continue;
                    }
                };
                if condition.is_some() && !event.is_about_a_tool() {
                    let reason = format!(
                        "a hook of `{event}` never runs: its `if` is about a tool, and the event is not"
                    );
                    configuration.warnings.push(warning(layer, "/hooks", reason));
                }
                configuration.hooks.push(Configured {
                    event,
                    matcher: group.matcher.clone(),
                    entry: entry.clone(),
                    condition,
                    source: layer.source,
                    spent: AtomicBool::new(false),
                });
            }
        }
    }
}

/// The united lists of all layers that have one; a list of a wrong form holds nothing.
fn list(layers: &[&Layer], key: &str, warnings: &mut Vec<SettingsWarning>) -> Option<Vec<String>> {
    let mut united = None;
    for layer in layers {
        let Some(value) = layer.value.get(key).filter(|value| !value.is_null()) else { continue };
        let united = united.get_or_insert_with(Vec::new);
        let items = value.as_array().map_or(&[][..], Vec::as_slice);
        united.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
        if !value.is_array() || items.iter().any(|item| !item.is_string()) {
            let what = format!("`{key}` is no list of texts; what is none is left out");
            warnings.push(warning(layer, &format!("/{key}"), what));
        }
    }
    united
}

fn warning(layer: &Layer, pointer: &str, reason: String) -> SettingsWarning {
    let line = layer.lines.get(pointer).copied();
    SettingsWarning { source: layer.source, file: layer.file.clone(), line, reason }
}

#[cfg(test)]
mod tests;
