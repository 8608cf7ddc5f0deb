//! What settings say of a sandbox around shell commands.

use serde_json::Value;

use super::{Layer, SettingsWarning, setting};
use crate::{Behavior, Origin, Rule, Sandbox};

/// The settings of a sandbox by the object that holds them (settings reference of Claude Code, "Sandbox settings").
const KNOWN: &[(&str, &[&str])] = &[
    (
        "/sandbox",
        &[
            "enabled",
            "failIfUnavailable",
            "autoAllowBashIfSandboxed",
            "excludedCommands",
            "allowUnsandboxedCommands",
            "filesystem",
            "network",
            "credentials",
            "bwrapPath",
            // What follows says nothing to a sandbox of Linux.
            "ignoreViolations",
            "enableWeakerNestedSandbox",
            "enableWeakerNetworkIsolation",
            "allowAppleEvents",
            "ripgrep",
            "socatPath",
        ],
    ),
    (
        "/sandbox/filesystem",
        &[
            "allowWrite",
            "denyWrite",
            "allowRead",
            "denyRead",
            "disabled",
            "allowManagedReadPathsOnly",
        ],
    ),
    (
        "/sandbox/network",
        &[
            "allowedDomains",
            "deniedDomains",
            "allowManagedDomainsOnly",
            "allowUnixSockets",
            "allowAllUnixSockets",
            "allowLocalBinding",
            "allowMachLookup",
            "httpProxyPort",
            "socksProxyPort",
            "strictAllowlist",
            "tlsTerminate",
        ],
    ),
    ("/sandbox/credentials", &["files", "envVars", "allowPlaintextInject", "awsPairs", "sigv4"]),
];

/// The sandbox that the settings ask for; `None` when they ask for none.
pub(super) fn of(ordered: &[&Layer], warnings: &mut Vec<SettingsWarning>) -> Option<Sandbox> {
    for layer in ordered {
        name_unknown(layer, warnings);
    }
    // Without a sandbox, and outside of it, there are more questions and fewer bounds: neither side is the strict one.
    let both = [true, false];
    let enabled = highest(ordered, "/sandbox/enabled", &both, false, warnings).unwrap_or(false);
    let auto_allow =
        highest(ordered, "/sandbox/autoAllowBashIfSandboxed", &[true], false, warnings)
            .unwrap_or(true);
    let may_leave = highest(ordered, "/sandbox/allowUnsandboxedCommands", &both, true, warnings)
        .unwrap_or(true);
    let excluded = ordered.iter().flat_map(|layer| excluded(layer, warnings)).collect();
    enabled.then_some(Sandbox { auto_allow, may_leave, excluded })
}

/// Names what nobody reads: a lost setting of a sandbox is one that somebody relies on.
fn name_unknown(layer: &Layer, warnings: &mut Vec<SettingsWarning>) {
    for (pointer, known) in KNOWN {
        let Some(value) = layer.value.pointer(pointer).filter(|value| !value.is_null()) else {
            continue;
        };
        let setting = setting(pointer);
        let Some(object) = value.as_object() else {
            let why = format!("`{setting}` is no object, and has no effect");
            warnings.push(layer.warning(pointer, why));
            continue;
        };
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let why = format!("`{setting}.{key}` is no known setting, and has no effect");
            warnings.push(layer.warning(&format!("{pointer}/{key}"), why));
        }
    }
}

/// The value of the highest layer that sets the flag and may: `loose` ones wait for trust, anything but a flag is `strict`.
fn highest(
    ordered: &[&Layer],
    pointer: &str,
    loose: &[bool],
    strict: bool,
    warnings: &mut Vec<SettingsWarning>,
) -> Option<bool> {
    for layer in ordered {
        let Some(value) = layer.value.pointer(pointer).filter(|value| !value.is_null()) else {
            continue;
        };
        let flag = value.as_bool();
        if loose.contains(&flag.unwrap_or(strict)) && !layer.may_loosen() {
            warnings.push(layer.until_trusted(pointer));
            continue;
        }
        if flag.is_none() {
            let why =
                format!("`{}` is neither true nor false; `{strict}` is taken", setting(pointer));
            warnings.push(layer.warning(pointer, why));
        }
        return Some(flag.unwrap_or(strict));
    }
    None
}

/// The commands that run outside, as ask rules; one that is no pattern stands for all of them.
fn excluded(layer: &Layer, warnings: &mut Vec<SettingsWarning>) -> Vec<Rule> {
    let pointer = "/sandbox/excludedCommands";
    let patterns = match layer.value.pointer(pointer) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(patterns)) => patterns.iter().map(Value::as_str).collect(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![None],
    };
    if !patterns.is_empty() && !layer.may_loosen() {
        // A project would have its commands run without the sandbox that the person wants around them.
        warnings.push(layer.until_trusted(pointer));
        return Vec::new();
    }
    let parse = |pattern: &str| {
        let origin = Origin {
            source: layer.source,
            root: layer.root.clone(),
            file: layer.file.clone(),
            line: layer.line(pointer),
        };
        Rule::parse(&format!("Bash({pattern})"), Behavior::Ask, origin)
    };
    let rules = patterns.into_iter().filter_map(|pattern| match pattern.map(parse) {
        Some(Ok(rule)) if !rule.is_blanket() => Some(rule),
        Some(_) | None => {
            let why = format!(
                "`{}` holds what is no pattern; every command counts as excluded",
                setting(pointer)
            );
            warnings.push(layer.warning(pointer, why));
            parse("**").ok()
        }
    });
    rules.collect()
}
