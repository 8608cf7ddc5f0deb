//! Layers of settings as values: how their permissions are merged into one policy.
//!
//! Reading files is not done here; who holds settings as JSON values, from wherever, gets the same policy out of them.

mod network;
mod sandbox;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::paths::{lexical, windows};
use crate::{
    Behavior, NetworkPolicy, Origin, PermissionMode, Policy, ReadScope, Rule, RuleError,
    RuleSource, Ruleset, Sandbox,
};

/// The settings of one source.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Where they come from; decides precedence and what they may say.
    pub source: RuleSource,
    /// The directory that `/p` patterns and relative directories start at.
    pub root: PathBuf,
    /// The file they were read from.
    pub file: Option<PathBuf>,
    /// The settings.
    pub value: Value,
    /// The lines, from 1, of values by their JSON pointer, such as `/permissions/deny/0`.
    pub lines: BTreeMap<String, u32>,
    /// Whether the workspace is trusted: what a project's files loosen counts only then.
    pub trusted: bool,
}

/// The permissions of all layers together.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with its own name in JSON"
)]
pub struct PermissionSettings {
    /// All rules that count.
    pub rules: Ruleset,
    /// The mode to start in.
    pub default_mode: PermissionMode,
    /// Whether settings forbid `bypassPermissions`.
    pub bypass_disabled: bool,
    /// Whether settings forbid `auto`.
    pub auto_disabled: bool,
    /// Whether only managed allow rules count, so that nobody is offered to save one.
    pub managed_rules_only: bool,
    /// Working directories besides the one the session starts in; `~` is not expanded yet.
    pub additional_directories: Vec<PathBuf>,
    /// How far read-only shell commands may read.
    pub bash_read_scope: ReadScope,
    /// Whether reads of likely secrets are let through.
    pub allow_secret_reads: bool,
    /// Whether mode `auto` suspends every shell allow rule.
    pub classify_all_shell: bool,
    /// The sandbox that is wanted around shell commands. A host that really has one puts it into its [`Policy`].
    pub sandbox: Option<Sandbox>,
    /// Which hosts commands in it reach, as settings say; rules have their say by [`NetworkPolicy::with_rules`].
    pub network: NetworkPolicy,
    /// What is odd or was left out.
    pub warnings: Vec<SettingsWarning>,
}

/// Something in the settings that is odd, or that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsWarning {
    /// The source.
    pub source: RuleSource,
    /// The file.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// What is wrong and what became of it.
    pub reason: String,
}

/// Merges layers: lists are united, the highest source that sets a scalar wins, and deny and ask rules of every source count.
///
/// Entries that are broken are left out with a warning. A broken *deny* rule is an error: without it the settings would
/// allow what they were written to forbid.
pub fn merge(layers: &[Layer]) -> Result<PermissionSettings, RuleError> {
    let mut ordered: Vec<&Layer> = layers.iter().collect();
    ordered.sort_by_key(|layer| layer.source);
    let mut merged = PermissionSettings {
        managed_rules_only: ordered.iter().any(|layer| {
            layer.source == RuleSource::Policy && layer.flag("/allowManagedPermissionRulesOnly")
        }),
        ..PermissionSettings::default()
    };
    for layer in &ordered {
        layer.add_rules(&mut merged)?;
        layer.add_directories(&mut merged);
        merged.bypass_disabled |= layer.disables("/permissions/disableBypassPermissionsMode");
        merged.auto_disabled |=
            layer.disables("/disableAutoMode") || layer.disables("/permissions/disableAutoMode");
        merged.classify_all_shell |=
            !layer.is_of_project() && layer.flag("/autoMode/classifyAllShell");
    }
    merged.default_mode = mode(&ordered, &mut merged.warnings);
    let reads_anywhere =
        chosen(&ordered, "/permissions/bashReadScope", "any", "workdirs", &mut merged.warnings);
    if reads_anywhere == Some(false) {
        merged.bash_read_scope = ReadScope::WorkingDirectories;
    }
    merged.allow_secret_reads =
        chosen(&ordered, "/permissions/secretReads", "allow", "ask", &mut merged.warnings)
            .unwrap_or(false);
    merged.sandbox = sandbox::of(&ordered, &mut merged.warnings);
    merged.network = network::of(&ordered, &mut merged.warnings);
    if merged.bypass_disabled && merged.default_mode == PermissionMode::BypassPermissions
        || merged.auto_disabled && merged.default_mode == PermissionMode::Auto
    {
        merged.default_mode = PermissionMode::Default;
    }
    Ok(merged)
}

impl PermissionSettings {
    /// The policy of a session that starts in `cwd`: the strictest in all that settings do not say.
    pub fn policy(self, cwd: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Policy {
        let mut policy = Policy::new(cwd, home);
        policy.additional_directories = self
            .additional_directories
            .iter()
            .filter_map(|directory| lexical::expand_tilde(directory.to_str()?, &policy.home))
            .map(|directory| lexical::collapse(&directory))
            .collect();
        policy.rules = self.rules;
        policy.mode = self.default_mode;
        policy.bypass_available = self.default_mode == PermissionMode::BypassPermissions;
        policy.bash_read_scope = self.bash_read_scope;
        policy.ask_secret_reads = !self.allow_secret_reads;
        policy.classify_all_shell = self.classify_all_shell;
        policy
    }
}

impl Layer {
    /// A layer without a file.
    pub fn new(source: RuleSource, root: impl Into<PathBuf>, value: Value) -> Self {
        Self { source, root: root.into(), file: None, value, lines: BTreeMap::new(), trusted: true }
    }

    /// The line of the value at a JSON pointer.
    fn line(&self, pointer: &str) -> Option<u32> {
        self.lines.get(pointer).copied()
    }

    fn warning(&self, pointer: &str, reason: impl Into<String>) -> SettingsWarning {
        SettingsWarning {
            source: self.source,
            file: self.file.clone(),
            line: self.line(pointer),
            reason: reason.into(),
        }
    }

    /// That a setting waits for trust.
    fn until_trusted(&self, pointer: &str) -> SettingsWarning {
        let why = format!(
            "`{}` is ignored until the workspace is trusted (`innerve trust`)",
            setting(pointer)
        );
        self.warning(pointer, why)
    }

    /// Whether a project's files say it, so that it may loosen nothing before the workspace is trusted.
    fn is_of_project(&self) -> bool {
        matches!(self.source, RuleSource::Project | RuleSource::Local)
    }

    fn may_loosen(&self) -> bool {
        self.trusted || !self.is_of_project()
    }

    /// A flag whose strict side is `true`, so that a value of a wrong type sets it.
    fn flag(&self, pointer: &str) -> bool {
        match self.value.pointer(pointer) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(set)) => *set,
            Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => true,
        }
    }

    fn disables(&self, pointer: &str) -> bool {
        self.value.pointer(pointer).and_then(Value::as_str) == Some("disable")
    }

    fn add_rules(&self, merged: &mut PermissionSettings) -> Result<(), RuleError> {
        for behavior in [Behavior::Deny, Behavior::Ask, Behavior::Allow] {
            let pointer = format!("/permissions/{}", behavior.name());
            let entries = match self.value.pointer(&pointer) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(entries)) => entries,
                Some(_) => {
                    self.broken(behavior, &pointer, "is no list of rules".to_owned(), merged)?;
                    continue;
                }
            };
            if behavior == Behavior::Allow && !self.rules_may_allow(&pointer, entries, merged) {
                continue;
            }
            for (index, entry) in entries.iter().enumerate() {
                let pointer = format!("{pointer}/{index}");
                let Some(text) = entry.as_str() else {
                    self.broken(
                        behavior,
                        &pointer,
                        format!("holds `{entry}`, which is no text"),
                        merged,
                    )?;
                    continue;
                };
                let origin = Origin {
                    source: self.source,
                    root: self.root.clone(),
                    file: self.file.clone(),
                    line: self.line(&pointer),
                };
                match Rule::parse(text, behavior, origin) {
                    Ok(rule) => {
                        if let Some(remark) = rule.remark() {
                            merged
                                .warnings
                                .push(self.warning(&pointer, format!("rule `{rule}` {remark}")));
                        }
                        merged.rules.push(rule);
                    }
                    Err(error) => self.broken(behavior, &pointer, error.to_string(), merged)?,
                }
            }
        }
        Ok(())
    }

    /// Whether the allow rules of this layer count.
    fn rules_may_allow(
        &self,
        pointer: &str,
        entries: &[Value],
        merged: &mut PermissionSettings,
    ) -> bool {
        if entries.is_empty() {
            return false;
        }
        if merged.managed_rules_only && self.source != RuleSource::Policy {
            merged
                .warnings
                .push(self.warning(pointer, "allow rules are ignored: only managed ones count"));
            return false;
        }
        if !self.may_loosen() {
            let why = "allow rules are ignored until the workspace is trusted (`innerve trust`)";
            merged.warnings.push(self.warning(pointer, why));
            return false;
        }
        true
    }

    fn broken(
        &self,
        behavior: Behavior,
        pointer: &str,
        problem: String,
        merged: &mut PermissionSettings,
    ) -> Result<(), RuleError> {
        if behavior != Behavior::Deny {
            merged
                .warnings
                .push(self.warning(pointer, format!("`{pointer}` is left out: {problem}")));
            return Ok(());
        }
        let file = self
            .file
            .as_ref()
            .map_or_else(|| self.source.name().to_owned(), |file| file.display().to_string());
        let place = match self.line(pointer) {
            Some(line) => format!("{file}:{line}"),
            None => file,
        };
        Err(RuleError::BrokenDeny { place, problem })
    }

    fn add_directories(&self, merged: &mut PermissionSettings) {
        let pointer = "/permissions/additionalDirectories";
        let entries = match self.value.pointer(pointer) {
            None | Some(Value::Null) => return,
            Some(Value::Array(entries)) => entries,
            Some(_) => {
                merged
                    .warnings
                    .push(self.warning(pointer, format!("`{pointer}` is left out: it is no list")));
                return;
            }
        };
        if entries.is_empty() {
            return;
        }
        if !self.may_loosen() {
            let why = "additional directories are ignored until the workspace is trusted (`innerve trust`)";
            merged.warnings.push(self.warning(pointer, why));
            return;
        }
        for (index, entry) in entries.iter().enumerate() {
            match entry.as_str().filter(|text| !text.is_empty()) {
                Some(text) if text.starts_with('~') || windows::drive_prefix(text).is_some() => {
                    merged.additional_directories.push(PathBuf::from(text));
                }
                Some(text) => merged.additional_directories.push(self.root.join(Path::new(text))),
                None => {
                    let pointer = format!("{pointer}/{index}");
                    merged.warnings.push(
                        self.warning(&pointer, format!("`{pointer}` is left out: it is no path")),
                    );
                }
            }
        }
    }
}

/// The mode to start in.
fn mode(ordered: &[&Layer], warnings: &mut Vec<SettingsWarning>) -> PermissionMode {
    let pointer = "/permissions/defaultMode";
    for layer in ordered {
        let Some(value) = layer.value.pointer(pointer).filter(|value| !value.is_null()) else {
            continue;
        };
        // Doubt about the mode is the default mode, not what a lower source says.
        let mode: PermissionMode = match value.as_str().unwrap_or_default().parse() {
            Ok(mode) => mode,
            Err(error) => {
                warnings.push(layer.warning(pointer, error.to_string()));
                return PermissionMode::Default;
            }
        };
        let loosens = match mode {
            PermissionMode::Default
            | PermissionMode::Plan
            | PermissionMode::DontAsk
            | PermissionMode::Bubble => false,
            PermissionMode::AcceptEdits
            | PermissionMode::Auto
            | PermissionMode::BypassPermissions => true,
        };
        if mode == PermissionMode::Auto && layer.is_of_project() {
            warnings.push(layer.warning(pointer, "mode auto cannot be chosen by a project"));
            return PermissionMode::Default;
        }
        if loosens && !layer.may_loosen() {
            let why =
                format!("mode {mode} is ignored until the workspace is trusted (`innerve trust`)");
            warnings.push(layer.warning(pointer, why));
            return PermissionMode::Default;
        }
        return mode;
    }
    PermissionMode::Default
}

/// Whether the highest source that sets the text chooses `loose`; `None` when nobody sets it.
fn chosen(
    ordered: &[&Layer],
    pointer: &str,
    loose: &str,
    strict: &str,
    warnings: &mut Vec<SettingsWarning>,
) -> Option<bool> {
    for layer in ordered {
        let Some(value) = layer.value.pointer(pointer).filter(|value| !value.is_null()) else {
            continue;
        };
        let text = value.as_str();
        if text == Some(strict) {
            return Some(false);
        }
        if text != Some(loose) {
            let why = format!("`{pointer}` is `{loose}` or `{strict}`; `{strict}` is taken");
            warnings.push(layer.warning(pointer, why));
            return Some(false);
        }
        if layer.may_loosen() {
            return Some(true);
        }
        let why = format!("`{loose}` is ignored until the workspace is trusted (`innerve trust`)");
        warnings.push(layer.warning(pointer, why));
    }
    None
}

/// The name of a setting, as people write it.
fn setting(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

#[cfg(test)]
mod tests;
