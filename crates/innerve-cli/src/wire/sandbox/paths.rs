//! What commands in the sandbox may read and change: what settings say, and what permission rules say.

mod deciding;
mod git;
mod lists;
mod rules;
mod search;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_builtins::bash::END_VARIABLE;
use innerve_builtins::sandbox::SandboxProfile;
use innerve_permission::{Layer, PathFacts, PathScopes, Policy, RuleSource};
use innerve_tool::port::ProcessRequest;
use serde_json::Value;

use super::is_of_project;
use deciding::Deciding;
pub(super) use deciding::Watch;
use lists::Oddities;
pub(super) use rules::RulePaths;

/// What holds secrets, below the home directory.
const SECRETS: &[&str] =
    &[".ssh", ".aws", ".gnupg", ".kube/config", ".config/gh", ".netrc", ".git-credentials"];

/// What settings say of paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    write: Vec<PathBuf>,
    deny_write: Vec<PathBuf>,
    read: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
    /// Whether files are not isolated at all.
    disabled: bool,
    /// What should deny something and cannot be held.
    broken: Vec<String>,
    warnings: Vec<String>,
}

/// What one command may do with files.
#[derive(Debug, Default)]
pub(super) struct Access {
    /// Without the network.
    pub(super) profile: SandboxProfile,
    /// What could not be held, as sentences without a dot.
    pub(super) notes: Vec<String>,
    /// What is looked for when it has ended.
    pub(super) watch: Watch,
}

impl Paths {
    pub(super) fn of(layers: &[Layer], home: &Path) -> Self {
        let mut warnings = Vec::new();
        let disabled = is_disabled(layers, &mut warnings);
        let managed_reads = only_managed_reads(layers, &mut warnings);
        let mut odd = Oddities::default();
        let loosening = || layers.iter().filter(|layer| layer.trusted || !is_of_project(layer));
        let reading =
            loosening().filter(|layer| !managed_reads || layer.source == RuleSource::Policy);
        let write = odd.read(loosening(), "allowWrite", home, false);
        let read = odd.read(reading, "allowRead", home, false);
        let deny_write = odd.read(layers.iter(), "denyWrite", home, true);
        let deny_read = odd.read(layers.iter(), "denyRead", home, true);
        let Oddities { warnings: left_out, broken } = odd;
        warnings.extend(left_out);
        warnings
            .extend(broken.iter().map(|what| format!("no command runs in the sandbox: {what}")));
        Self { write, deny_write, read, deny_read, disabled, broken, warnings }
    }

    /// What is odd about the settings.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether files are not isolated at all, so that commands must be asked about as outside.
    pub(super) fn are_open(&self) -> bool {
        self.disabled
    }

    /// What deny rules and settings keep from commands, in words; `None` if that is nothing.
    pub(super) fn words(&self, policy: &Policy) -> Option<String> {
        if self.disabled {
            return Some("no file, since sandbox.filesystem.disabled is true".to_owned());
        }
        let words = |rules: PathScopes, settings: &[PathBuf], kind: &str| {
            let PathScopes { places, directories, patterns } = rules;
            let places = places.len() + directories.len() + settings.len();
            let patterns: usize = patterns.iter().map(|patterns| patterns.rules().len()).sum();
            match (places, patterns) {
                (0, 0) => None,
                (places, 0) => Some(format!("{kind}: {places} by name")),
                (0, patterns) => Some(format!("{kind}: {patterns} by pattern")),
                (places, patterns) => {
                    Some(format!("{kind}: {places} by name, {patterns} by pattern"))
                }
            }
        };
        let kept = [
            words(policy.unreadable(), &self.deny_read, "places hidden"),
            words(policy.unchangeable(), &self.deny_write, "places unchangeable"),
        ];
        let kept: Vec<String> = kept.into_iter().flatten().collect();
        (!kept.is_empty()).then(|| kept.join("; "))
    }

    /// What a command of an agent with this policy may do with files. An error says why it must not run.
    pub(super) fn access(
        &self,
        policy: &Arc<Policy>,
        request: &ProcessRequest,
        own: &[PathBuf],
        rules: &RulePaths,
        disk: &dyn PathFacts,
    ) -> Result<Access, String> {
        if self.disabled {
            let write = vec![PathBuf::from("/")];
            let profile = SandboxProfile { write, ..SandboxProfile::default() };
            return Ok(Access { profile, ..Access::default() });
        }
        if let Some(what) = self.broken.first() {
            return Err(what.clone());
        }
        let by_rules = rules.now(policy)?;
        let real = |path: &Path| disk.resolve(path).real.unwrap_or_else(|| path.to_path_buf());
        let denied: Vec<PathBuf> =
            self.deny_write.iter().chain(&by_rules.deny_write).map(|path| real(path)).collect();
        let is_denied = |path: &Path| {
            let path = real(path);
            denied.iter().any(|denied| path.starts_with(denied))
        };
        let mut write = vec![policy.original_cwd.clone()];
        write.extend(policy.additional_directories.iter().cloned());
        // By its name alone: where a link leads a command may have chosen.
        let is_chosen = |path: &Path| self.write.iter().any(|chosen| chosen == path);
        let mut deciding = Deciding::default();
        for root in &write {
            deciding.add_root(root, is_chosen);
        }
        // A worktree below `.innerve` is a place to work in.
        if !write.contains(&policy.cwd) {
            deciding.add_present(&policy.cwd, is_chosen);
        }
        write.push(policy.cwd.clone());
        write.push(std::env::temp_dir());
        write.extend(self.write.iter().cloned());
        // Where all of the home directory may be changed, what configures the person's shell and tools stays.
        let home = real(&policy.home);
        let is_root = policy.working_directories().any(|root| root == policy.home);
        if !is_root && write.iter().any(|place| home.starts_with(real(place))) {
            deciding.add_present(&policy.home, is_chosen);
        }
        let mut deny_write = own.to_vec();
        deny_write.extend(deciding.kept.iter().cloned());
        let unchangeable: Vec<PathBuf> = deny_write.iter().map(|path| real(path)).collect();
        let decides = |path: &Path| unchangeable.iter().any(|kept| path.starts_with(kept));
        let nested = Nested::new(&write, &real);
        write.retain(|path| match nested.lies(path) {
            Lies::Apart => true,
            Lies::Within(place) => decides(&place),
            Lies::BehindLinks => false,
        });
        // What an allow rule of `Edit` names is a place to work in, unless the home directory lies in it: there is what
        // decides about everything else.
        for path in by_rules.write {
            let real = real(&path);
            if nested.lies(&path) == Lies::Apart && !home.starts_with(&real) && !decides(&real) {
                deciding.add_present(&path, is_chosen);
                write.push(path);
            }
        }
        let Deciding { kept, watch } = deciding;
        deny_write.extend(kept);
        write.retain(|path| !is_denied(path));
        deny_write.extend(self.deny_write.iter().cloned());
        deny_write.extend(by_rules.deny_write);
        let mut deny_read = self.deny_read.clone();
        if policy.ask_secret_reads {
            deny_read.extend(SECRETS.iter().map(|name| policy.home.join(name)));
        }
        deny_read.retain(|path| !self.read.contains(path));
        // No setting takes back what a rule denies.
        let hidden: Vec<PathBuf> = by_rules.deny_read.iter().map(|path| real(path)).collect();
        let mut allow_read = self.read.clone();
        allow_read.retain(|path| {
            let is_chosen = nested.lies(path) != Lies::BehindLinks;
            let path = real(path);
            is_chosen && !hidden.iter().any(|hidden| path.starts_with(hidden))
        });
        deny_read.extend(by_rules.deny_read);
        // What the shell reads first is read by commands outside, too.
        allow_read.extend(folder_named(request, "BASH_ENV"));
        // Of the folders in which commands say where they ended it reaches its own alone.
        let own = folder_named(request, END_VARIABLE);
        write.extend(own.clone());
        allow_read.extend(own);
        let profile = SandboxProfile {
            write,
            deny_write,
            deny_read,
            allow_read,
            ..SandboxProfile::default()
        };
        Ok(Access { profile, notes: by_rules.notes, watch })
    }
}

/// The folder of the file that a variable of the command names.
fn folder_named(request: &ProcessRequest, variable: &str) -> Option<PathBuf> {
    let (_, value) = request.env.iter().find(|(name, _)| name == variable)?;
    Path::new(value).parent().map(Path::to_owned)
}

/// Places that lie within others that commands may change.
///
/// They may be changed already; and a command may have put a link in the place of one, which the next command would have
/// opened.
struct Nested<'a> {
    /// The places as given and as they really are, each with where it really is.
    known: HashMap<PathBuf, PathBuf>,
    real: &'a dyn Fn(&Path) -> PathBuf,
}

/// How a place lies to others.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Lies {
    /// In none of them.
    Apart,
    /// In one of them, here.
    Within(PathBuf),
    /// In one of them by its name, and links lead to where it is.
    BehindLinks,
}

impl<'a> Nested<'a> {
    fn new(places: &[PathBuf], real: &'a dyn Fn(&Path) -> PathBuf) -> Self {
        let mut known = HashMap::new();
        for place in places {
            let real = real(place);
            known.insert(real.clone(), real.clone());
            known.insert(place.clone(), real);
        }
        Self { known, real }
    }

    fn lies(&self, path: &Path) -> Lies {
        let above =
            path.ancestors().skip(1).find_map(|above| Some((above, self.known.get(above)?)));
        let Some((above, real)) = above else { return Lies::Apart };
        let straight = path.strip_prefix(above).map(|rest| real.join(rest)).unwrap_or_default();
        if (self.real)(path) == straight { Lies::Within(straight) } else { Lies::BehindLinks }
    }
}

/// A path of settings: `~` is the home directory, and what is relative starts at the directory of the settings.
pub(super) fn located(layer: &Layer, entry: &str, home: &Path) -> PathBuf {
    match entry.strip_prefix("~/") {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None if entry == "~" => home.to_owned(),
        None => layer.root.join(entry),
    }
}

/// Whether a layer above a project's files opens all files; the highest that says anything counts.
fn is_disabled(layers: &[Layer], warnings: &mut Vec<String>) -> bool {
    let pointer = "/sandbox/filesystem/disabled";
    let mut ordered: Vec<(&Layer, &Value)> = layers
        .iter()
        .filter_map(|layer| layer.value.pointer(pointer).map(|value| (layer, value)))
        .filter(|(_, value)| !value.is_null())
        .collect();
    ordered.sort_by_key(|(layer, _)| layer.source);
    let mut disabled = None;
    for (layer, value) in ordered {
        if is_of_project(layer) {
            if value != &Value::Bool(false) {
                warnings.push(
                    "`sandbox.filesystem.disabled` is ignored in the files of a project".to_owned(),
                );
            }
            continue;
        }
        if !value.is_boolean() {
            warnings.push(
                "`sandbox.filesystem.disabled` is neither true nor false; `false` is taken"
                    .to_owned(),
            );
        }
        disabled.get_or_insert(value == &Value::Bool(true));
    }
    disabled.unwrap_or(false)
}

/// Whether only managed settings make exceptions from what is not readable.
fn only_managed_reads(layers: &[Layer], warnings: &mut Vec<String>) -> bool {
    let mut only = false;
    for layer in layers {
        let value = layer.value.pointer("/sandbox/filesystem/allowManagedReadPathsOnly");
        let Some(value) = value.filter(|value| !value.is_null()) else { continue };
        if layer.source == RuleSource::Policy {
            only |= value != &Value::Bool(false);
        } else {
            warnings.push(
                "`sandbox.filesystem.allowManagedReadPathsOnly` counts in managed settings only"
                    .to_owned(),
            );
        }
    }
    only
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_project_may_write_counts_only_when_it_is_trusted() {
        let lists = json!({ "sandbox": { "filesystem": { "allowWrite": ["~/x", "/y", "z"], "denyRead": ["~/.k"] } } });
        let mut layer = Layer::new(RuleSource::Project, "/repo", lists);
        layer.trusted = false;
        let paths = Paths::of(std::slice::from_ref(&layer), Path::new("/home/u"));
        assert!(paths.write.is_empty());
        assert_eq!(paths.deny_read, [Path::new("/home/u/.k")]);
        layer.trusted = true;
        let paths = Paths::of(&[layer], Path::new("/home/u"));
        assert_eq!(paths.write, [Path::new("/home/u/x"), Path::new("/y"), Path::new("/repo/z")]);
    }

    #[test]
    fn files_are_open_only_where_the_person_or_the_managed_settings_say_so() {
        let layer = |source, value: &Value| {
            Layer::new(
                source,
                "/repo",
                json!({ "sandbox": { "filesystem": { "disabled": value } } }),
            )
        };
        let check = |layers: &[(RuleSource, Value)], disabled: bool, warned: usize| {
            let layers: Vec<Layer> =
                layers.iter().map(|(source, value)| layer(*source, value)).collect();
            let paths = Paths::of(&layers, Path::new("/home/u"));
            assert_eq!((paths.disabled, paths.warnings.len()), (disabled, warned), "{layers:?}");
        };
        check(&[], false, 0);
        check(&[(RuleSource::User, json!(true))], true, 0);
        check(&[(RuleSource::Cli, json!(true))], true, 0);
        check(&[(RuleSource::Policy, json!(true))], true, 0);
        check(&[(RuleSource::Project, json!(true))], false, 1);
        check(&[(RuleSource::Local, json!("yes"))], false, 1);
        check(&[(RuleSource::User, json!("yes"))], false, 1);
        check(&[(RuleSource::User, json!(true)), (RuleSource::Policy, json!(false))], false, 0);
        check(&[(RuleSource::User, json!(null)), (RuleSource::Project, json!(false))], false, 0);
    }

    #[test]
    fn managed_settings_can_be_the_only_ones_that_except() {
        let layer = |source, only: Value| {
            let lists = json!({ "allowRead": ["/x"], "allowManagedReadPathsOnly": only });
            Layer::new(source, "/repo", json!({ "sandbox": { "filesystem": lists } }))
        };
        let read = |layers: &[Layer]| {
            let paths = Paths::of(layers, Path::new("/home/u"));
            (paths.read.len(), paths.warnings.len())
        };
        let user = || layer(RuleSource::User, json!(null));
        assert_eq!(read(&[layer(RuleSource::Policy, json!(null)), user()]), (2, 0));
        assert_eq!(read(&[layer(RuleSource::Policy, json!(true)), user()]), (1, 0));
        assert_eq!(read(&[layer(RuleSource::Policy, json!("no")), user()]), (1, 0));
        assert_eq!(read(&[layer(RuleSource::User, json!(true))]), (1, 1));
    }
}
