//! Credentials that commands in the sandbox do not see: files and variables that are not there for them, and such as show a
//! placeholder.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use innerve_agent::random_id;
use innerve_builtins::sandbox::SandboxProfile;
use innerve_permission::Layer;
use innerve_tool::port::ProcessRequest;
use serde_json::Value;
use tempfile::NamedTempFile;

use super::is_of_project;
use super::paths::located;
use super::workplace::Workplace;

/// What stands at the beginning of every placeholder.
const PLACEHOLDER: &str = "innerve-masked-";
/// Of a file that holds a credential so much is read at most, in bytes.
const MAX_VALUE: u64 = 64 * 1024;

/// What settings say of credentials.
#[derive(Clone, Debug, Default)]
pub(super) struct Credentials {
    files: BTreeMap<PathBuf, Mode>,
    variables: BTreeMap<String, Mode>,
    /// What is bound over files; gone with the program.
    stand_ins: Arc<Mutex<BTreeMap<PathBuf, NamedTempFile>>>,
    workplace: Workplace,
}

/// What a command sees of a credential; of two words about one the stricter counts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing.
    Deny,
    /// A placeholder, of a credential that these hosts may have.
    Mask { placeholder: String, hosts: Vec<String> },
}

/// A credential that commands know by a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Masked {
    pub(super) placeholder: String,
    pub(super) value: String,
    /// The hosts that may have it, as settings write them.
    pub(super) hosts: Vec<String>,
}

impl Credentials {
    /// What the layers say, and what of it is odd. Placeholders of files are kept in `workplace`.
    pub(super) fn of(layers: &[Layer], home: &Path, workplace: Workplace) -> (Self, Vec<String>) {
        let mut credentials = Self { workplace, ..Self::default() };
        let mut warnings = Vec::new();
        for layer in layers {
            let Some(value) = layer.value.pointer("/sandbox/credentials") else { continue };
            for entry in entries(value.get("files")) {
                if let Some((path, mode)) = read(layer, entry, "files", "path", &mut warnings) {
                    add(&mut credentials.files, located(layer, path, home), mode);
                }
            }
            for entry in entries(value.get("envVars")) {
                if let Some((name, mode)) = read(layer, entry, "envVars", "name", &mut warnings) {
                    add(&mut credentials.variables, name.to_owned(), mode);
                }
            }
        }
        (credentials, warnings)
    }

    /// Keeps the credentials from one command.
    pub(super) fn keep_from(
        &self,
        profile: &mut SandboxProfile,
        request: &mut ProcessRequest,
    ) -> io::Result<()> {
        for (path, mode) in &self.files {
            match mode {
                // What a placeholder stands for is one file.
                Mode::Mask { placeholder, .. } if path.is_file() => {
                    profile.replace.push((path.clone(), self.stand_in(path, placeholder)?));
                }
                Mode::Mask { .. } | Mode::Deny => profile.deny_read.push(path.clone()),
            }
        }
        for (name, mode) in &self.variables {
            if let Mode::Mask { placeholder, .. } = mode
                && std::env::var_os(name).is_some()
                && !request.env.iter().any(|(set, _)| set == name)
            {
                request.env.push((name.clone(), placeholder.clone()));
            }
            request.env_remove.push(name.clone());
        }
        Ok(())
    }

    /// The masked credentials that are there now.
    pub(super) fn masked(&self) -> Vec<Masked> {
        let files = self.files.iter().map(|(path, mode)| (mode, file_value(path)));
        let variables = self.variables.iter().map(|(name, mode)| (mode, std::env::var(name).ok()));
        let masked = files.chain(variables).filter_map(|(mode, value)| match mode {
            Mode::Deny => None,
            Mode::Mask { placeholder, hosts } => Some(Masked {
                placeholder: placeholder.clone(),
                value: value.filter(|value| !value.trim().is_empty())?,
                hosts: hosts.clone(),
            }),
        });
        masked.collect()
    }

    /// What is kept back, in words; `None` if nothing is.
    pub(super) fn words(&self) -> Option<String> {
        let count = |masks: bool| {
            let modes = self.files.values().chain(self.variables.values());
            modes.filter(|mode| matches!(mode, Mode::Mask { .. }) == masks).count()
        };
        match (count(false), count(true)) {
            (0, 0) => None,
            (denied, 0) => Some(format!("credentials hidden: {denied}")),
            (0, masked) => Some(format!("credentials masked: {masked}")),
            (denied, masked) => Some(format!("credentials hidden: {denied}, masked: {masked}")),
        }
    }

    /// The file that is shown in place of one.
    fn stand_in(&self, path: &Path, placeholder: &str) -> io::Result<PathBuf> {
        let mut stand_ins = self.stand_ins.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have tidied up in the meantime.
        if let Some(file) = stand_ins.get(path).filter(|file| file.path().is_file()) {
            return Ok(file.path().to_owned());
        }
        let mut file = NamedTempFile::new_in(self.workplace.folder("masked")?)?;
        file.write_all(placeholder.as_bytes())?;
        let shown = file.path().to_owned();
        stand_ins.insert(path.to_owned(), file);
        Ok(shown)
    }
}

/// The entries of a list; what is no list is taken for its only entry, so that nothing is lost.
fn entries(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    let (entries, lone) = match list {
        None | Some(Value::Null) => (None, None),
        Some(Value::Array(entries)) => (Some(entries), None),
        Some(entry) => (None, Some(entry)),
    };
    entries.into_iter().flatten().chain(lone)
}

/// What an entry names, and what is to be done; what is not clear is `deny`.
fn read<'a>(
    layer: &Layer,
    entry: &'a Value,
    list: &str,
    key: &str,
    warnings: &mut Vec<String>,
) -> Option<(&'a str, Mode)> {
    let named = entry.get(key).and_then(Value::as_str).or_else(|| entry.as_str());
    let is_unusable = |name: &str| {
        name.trim().is_empty() || name.contains('\0') || key == "name" && name.contains('=')
    };
    let named = named.filter(|name| !is_unusable(name));
    let file = place(layer);
    let Some(named) = named else {
        warnings.push(format!(
            "an entry of `sandbox.credentials.{list}` in {file} is left out: it has no usable `{key}`"
        ));
        return None;
    };
    let mode = match entry.get("mode").and_then(Value::as_str) {
        Some("deny") => Mode::Deny,
        Some("mask") if is_of_project(layer) => {
            warnings.push(format!(
                "`{named}` of `sandbox.credentials.{list}` in {file} counts as `deny`: a project's files cannot mask a \
                 credential"
            ));
            Mode::Deny
        }
        Some("mask") => Mode::Mask {
            placeholder: format!("{PLACEHOLDER}{}", random_id()),
            hosts: entries(entry.get("injectHosts"))
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        },
        Some(_) | None => {
            warnings.push(format!(
                "`{named}` of `sandbox.credentials.{list}` in {file} counts as `deny`: its `mode` is neither `deny` nor `mask`"
            ));
            Mode::Deny
        }
    };
    Some((named, mode))
}

/// The stricter word of two; of two placeholders that of the higher layer, which comes first.
fn add<K: Ord>(known: &mut BTreeMap<K, Mode>, key: K, mode: Mode) {
    let is_denied = mode == Mode::Deny;
    let entry = known.entry(key).or_insert(mode);
    if is_denied {
        *entry = Mode::Deny;
    }
}

fn place(layer: &Layer) -> String {
    match &layer.file {
        Some(file) => file.display().to_string(),
        None => format!("the settings of `{}`", layer.source.name()),
    }
}

fn file_value(path: &Path) -> Option<String> {
    use io::Read as _;

    // No FIFO is waited for.
    if !path.is_file() {
        return None;
    }
    let mut value = String::new();
    std::fs::File::open(path).ok()?.take(MAX_VALUE).read_to_string(&mut value).ok()?;
    Some(value)
}

#[cfg(test)]
mod tests {
    use innerve_permission::RuleSource;
    use serde_json::json;

    use super::*;

    fn credentials(settings: &[(RuleSource, Value)]) -> (Credentials, Vec<String>) {
        let layers: Vec<Layer> = settings
            .iter()
            .map(|(source, value)| {
                Layer::new(*source, "/repo", json!({ "sandbox": { "credentials": value } }))
            })
            .collect();
        Credentials::of(&layers, Path::new("/home/u"), Workplace::below(Path::new("/state")))
    }

    /// What becomes of one entry about a file and one about a variable, and how many warnings there are.
    #[track_caller]
    fn check(source: RuleSource, entry: &Value, expected: Option<&str>, warned: usize) {
        let mut variable = entry.clone();
        if let Some(path) = variable.as_object_mut().and_then(|entry| entry.remove("path")) {
            variable["name"] = path;
        }
        let settings = json!({ "files": [entry], "envVars": [variable] });
        let (credentials, warnings) = credentials(&[(source, settings)]);
        let word = |mode: &Mode| match mode {
            Mode::Deny => "deny",
            Mode::Mask { .. } => "mask",
        };
        assert_eq!(credentials.files.values().next().map(word), expected, "file {entry}");
        assert_eq!(credentials.variables.values().next().map(word), expected, "variable {entry}");
        assert_eq!(warnings.len(), 2 * warned, "{entry}: {warnings:?}");
    }

    #[test]
    fn what_is_not_clear_is_denied_and_what_is_not_named_is_told() {
        let user = RuleSource::User;
        check(user, &json!({ "path": "T", "mode": "deny" }), Some("deny"), 0);
        check(user, &json!({ "path": "T", "mode": "mask" }), Some("mask"), 0);
        check(RuleSource::Policy, &json!({ "path": "T", "mode": "mask" }), Some("mask"), 0);
        check(RuleSource::Cli, &json!({ "path": "T", "mode": "mask" }), Some("mask"), 0);
        check(RuleSource::Project, &json!({ "path": "T", "mode": "mask" }), Some("deny"), 1);
        check(RuleSource::Local, &json!({ "path": "T", "mode": "mask" }), Some("deny"), 1);
        check(RuleSource::Project, &json!({ "path": "T", "mode": "deny" }), Some("deny"), 0);
        for broken in [json!({ "path": "T" }), json!({ "path": "T", "mode": "Mask" }), json!("T")] {
            check(RuleSource::Policy, &broken, Some("deny"), 1);
            check(user, &broken, Some("deny"), 1);
        }
        check(user, &json!({ "path": "T", "mode": 1 }), Some("deny"), 1);
        for nameless in [json!({ "mode": "deny" }), json!({ "path": "" }), json!({ "path": 7 })] {
            check(user, &nameless, None, 1);
        }
        check(user, &json!(null), None, 1);
    }

    #[test]
    fn no_list_is_a_list_of_one_and_no_object_is_nothing() {
        let (one, warnings) = credentials(&[(
            RuleSource::User,
            json!({ "files": "~/.k", "envVars": { "name": "A", "mode": "deny" } }),
        )]);
        assert_eq!((one.files.len(), one.variables.len(), warnings.len()), (1, 1, 1));
        assert!(one.files.contains_key(Path::new("/home/u/.k")));
        // What is no object was told when the settings were read.
        let (none, warnings) = credentials(&[(RuleSource::User, json!("all of them"))]);
        assert!(none.words().is_none() && warnings.is_empty());
    }

    #[test]
    fn deny_beats_mask_whoever_says_it() {
        let mask =
            json!({ "envVars": [{ "name": "T", "mode": "mask", "injectHosts": ["a.example"] }] });
        let deny = json!({ "envVars": [{ "name": "T", "mode": "deny" }] });
        for pair in [
            [(RuleSource::Policy, mask.clone()), (RuleSource::Project, deny.clone())],
            [(RuleSource::Policy, deny), (RuleSource::User, mask.clone())],
        ] {
            assert_eq!(credentials(&pair).0.variables["T"], Mode::Deny);
        }
        let (twice, _) =
            credentials(&[(RuleSource::Policy, mask.clone()), (RuleSource::User, mask)]);
        assert!(
            matches!(&twice.variables["T"], Mode::Mask { hosts, .. } if *hosts == ["a.example"])
        );
    }

    #[test]
    fn a_command_gets_placeholders_and_no_values() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "the value\n").unwrap();
        let entries = json!({
            "files": [
                { "path": file, "mode": "mask", "injectHosts": ["a.example"] },
                { "path": folder.path().join("gone"), "mode": "mask" },
                { "path": "~/d", "mode": "deny" },
            ],
            // Of these the tests' own environment has the first.
            "envVars": [{ "name": "PATH", "mode": "mask" }, { "name": "INNERVE_TEST_NONE", "mode": "mask" }],
        });
        let layer =
            Layer::new(RuleSource::User, "/repo", json!({ "sandbox": { "credentials": entries } }));
        let (credentials, _) =
            Credentials::of(&[layer], Path::new("/home/u"), Workplace::below(folder.path()));
        let mut profile = SandboxProfile::default();
        let mut request = ProcessRequest {
            program: "/bin/true".into(),
            args: Vec::new(),
            cwd: "/".into(),
            env: Vec::new(),
            env_remove: Vec::new(),
            tool_use: None,
        };
        credentials.keep_from(&mut profile, &mut request).unwrap();
        let [(replaced, shown)] = profile.replace.as_slice() else { panic!("{profile:?}") };
        assert_eq!(replaced, &file);
        let placeholder = std::fs::read_to_string(shown).unwrap();
        assert!(placeholder.starts_with(PLACEHOLDER) && placeholder.len() > PLACEHOLDER.len() + 15);
        assert_eq!(profile.deny_read, [Path::new("/home/u/d"), &folder.path().join("gone")]);
        assert_eq!(request.env.len(), 1);
        assert_eq!(request.env_remove, ["INNERVE_TEST_NONE", "PATH"]);
        let mut again = SandboxProfile::default();
        credentials.keep_from(&mut again, &mut request).unwrap();
        assert_eq!(again.replace, profile.replace, "one placeholder for the whole session");
        let masked = credentials.masked();
        let token = masked.iter().find(|masked| masked.placeholder == placeholder).unwrap();
        assert_eq!(
            (token.value.as_str(), token.hosts.as_slice()),
            ("the value\n", &["a.example".to_owned()][..])
        );
    }
}
