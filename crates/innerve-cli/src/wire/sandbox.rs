//! The sandbox around shell commands: what settings ask for, what this machine has, and what a command gets of it.

mod credentials;
mod injection;
mod network;
mod paths;
mod sockets;
mod workplace;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_builtins::bash::{Confined, Confinement, Lease};
use innerve_builtins::sandbox::{Launcher, Mechanism};
use innerve_permission::facts::{Place, from_call};
use innerve_permission::{Layer, PathFacts, Policy, RuleSource, Ruleset, Sandbox, merge};
use innerve_pipeline::PolicySource;
use innerve_tool::port::ProcessRequest;
use innerve_tool::{CallContext, ToolError, code};
use serde_json::Value;

use credentials::Credentials;
use injection::Injection;
use network::Reach;
use paths::{Access, Paths, RulePaths, Watch};
use workplace::Workplace;

use crate::exit::{Failure, Lack};

/// The verb by which this program restricts itself.
pub(crate) const LAUNCH: &str = "sandbox-exec";

/// A sandbox that works here.
#[derive(Clone)]
pub(super) struct Prepared {
    mechanism: Mechanism,
    /// As permission is decided by it.
    pub(super) sandbox: Sandbox,
    paths: Paths,
    credentials: Credentials,
    reach: Reach,
    workplace: Workplace,
    /// innerve's own directories.
    own: Vec<PathBuf>,
}

/// What came of the settings' wish.
pub(super) struct Outcome {
    pub(super) prepared: Option<Prepared>,
    pub(super) warnings: Vec<String>,
    /// That there is no sandbox where one is asked for; among the warnings as well.
    pub(super) unavailable: Option<String>,
}

/// Finds the sandbox that the settings ask for; an error where they want no commands without one and there is none.
///
/// `config` and `state` are innerve's own directories.
pub(super) fn prepare(
    layers: &[Layer],
    home: &Path,
    config: &Path,
    state: &Path,
) -> Result<Outcome, Failure> {
    let launcher = std::env::current_exe()
        .ok()
        .map(|program| Launcher { program, args: vec![LAUNCH.to_owned()] });
    prepare_by(|bwrap| Mechanism::find(bwrap, launcher), layers, home, [config, state])
}

fn prepare_by(
    find: impl FnOnce(&Path) -> Result<Mechanism, String>,
    layers: &[Layer],
    home: &Path,
    own: [&Path; 2],
) -> Result<Outcome, Failure> {
    let mut outcome = Outcome { prepared: None, warnings: Vec::new(), unavailable: None };
    // What is odd about them was told when they were read.
    let Ok(merged) = merge(layers) else { return Ok(outcome) };
    let Some(mut sandbox) = merged.sandbox else { return Ok(outcome) };
    // A program that the project names would be run outside of everything.
    let bwrap = layers
        .iter()
        .filter(|layer| !is_of_project(layer))
        .find_map(|layer| layer.value.pointer("/sandbox/bwrapPath").and_then(Value::as_str));
    match find(Path::new(bwrap.unwrap_or("bwrap"))) {
        Ok(mechanism) => {
            if !mechanism.holds_exceptions() && sandbox.auto_allow {
                // It cannot keep a command from changing `.git/hooks`, which would run outside of it.
                sandbox.auto_allow = false;
                outcome.warnings.push(format!(
                    "commands run in a sandbox of {}, which cannot protect files inside the working directories: they are \
                     asked about all the same; install bubblewrap for `autoAllowBashIfSandboxed`",
                    mechanism.name()
                ));
            }
            let [_, state] = own;
            let workplace = Workplace::below(state);
            let (mut reach, warnings) = Reach::of(layers, merged.network, home, state);
            outcome.warnings.extend(warnings);
            if !mechanism.supports_proxies() && !reach.is_closed() {
                outcome.warnings.push(format!(
                    "commands in a sandbox of {} make no TCP connection, whatever `sandbox.network` says, and UDP is not held: \
                     install bubblewrap, or name those that need the network in `sandbox.excludedCommands`",
                    mechanism.name()
                ));
            }
            let paths = Paths::of(layers, home);
            outcome.warnings.extend_from_slice(paths.warnings());
            if paths.are_open() && sandbox.auto_allow {
                sandbox.auto_allow = false;
                outcome.warnings.push(
                    "commands in the sandbox change any file (sandbox.filesystem.disabled), and are asked about all the same"
                        .to_owned(),
                );
            }
            let (credentials, warnings) = Credentials::of(layers, home, workplace.clone());
            outcome.warnings.extend(warnings);
            if mechanism.supports_proxies() {
                let (injection, warnings) = Injection::of(layers, credentials.masked(), &workplace);
                outcome.warnings.extend(warnings);
                if let Some(injection) = injection {
                    reach = reach.with_injection(injection);
                }
            }
            let own = own.map(Path::to_owned).to_vec();
            outcome.prepared =
                Some(Prepared { mechanism, sandbox, paths, credentials, reach, workplace, own });
        }
        Err(why) if is_demanded(layers) => {
            let text = format!(
                "settings demand a sandbox (sandbox.failIfUnavailable) and there is none: {why}"
            );
            return Err(Failure::lacking(Lack::Sandbox, text));
        }
        Err(why) => {
            let text = format!(
                "the sandbox that settings ask for is not available, and commands run without it: {why}"
            );
            outcome.warnings.push(text.clone());
            outcome.unavailable = Some(text);
        }
    }
    Ok(outcome)
}

fn is_of_project(layer: &Layer) -> bool {
    matches!(layer.source, RuleSource::Project | RuleSource::Local)
}

/// The entries of a list in all layers.
fn flags<'a>(layers: &'a [Layer], pointer: &'a str) -> impl Iterator<Item = (&'a Layer, &'a str)> {
    layers.iter().flat_map(move |layer| {
        let list = layer.value.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(move |entry| entry.as_str().map(|entry| (layer, entry)))
    })
}

/// Whether any layer says so: nobody below takes it back, and what is no flag counts as said.
fn is_demanded(layers: &[Layer]) -> bool {
    layers.iter().any(|layer| {
        let value = layer.value.pointer("/sandbox/failIfUnavailable");
        value.is_some_and(|value| !matches!(value, Value::Bool(false) | Value::Null))
    })
}

impl Prepared {
    /// The name of what makes it.
    pub(super) fn name(&self) -> &'static str {
        self.mechanism.name()
    }

    /// Where the shell's own files are made: not among the temporary files that commands may change, since commands
    /// outside of the sandbox read them too.
    pub(super) fn scratch(&self) -> Option<PathBuf> {
        self.workplace.folder("shell").ok()
    }

    /// The sandbox for the commands of an agent with this policy.
    pub(super) fn confinement(
        &self,
        policy: Arc<dyn PolicySource>,
        disk: &Arc<dyn PathFacts>,
    ) -> Arc<dyn Confinement> {
        let disk = Arc::clone(disk);
        Arc::new(AgentSandbox { prepared: self.clone(), policy, disk, rules: RulePaths::default() })
    }

    /// What rules and settings keep from commands, in words; `None` if that is nothing.
    pub(super) fn keeps(&self, policy: &Policy) -> Option<String> {
        let kept = [self.paths.words(policy), self.credentials.words()];
        let kept: Vec<String> = kept.into_iter().flatten().collect();
        (!kept.is_empty()).then(|| kept.join("; "))
    }

    /// What hosts commands reach, in words; `None` if they reach none.
    pub(super) fn reach(&self, rules: &Ruleset) -> Option<String> {
        self.reach.words(rules).filter(|_| self.mechanism.supports_proxies())
    }

    /// What to start in place of `request`.
    fn confine(
        &self,
        policy: &Arc<Policy>,
        mut request: ProcessRequest,
        rules: &RulePaths,
        disk: &dyn PathFacts,
    ) -> io::Result<Confined> {
        let Access { mut profile, notes, watch } = self
            .paths
            .access(policy, &request, &self.own, rules, disk)
            .map_err(io::Error::other)?;
        self.credentials.keep_from(&mut profile, &mut request)?;
        let lease = if self.mechanism.supports_proxies() {
            let proxy = self.reach.grant(&mut profile, &policy.rules)?;
            if proxy.is_some() {
                request.env.extend(self.reach.variables());
            }
            proxy
        } else {
            self.reach.withhold(&mut profile);
            None
        };
        let request = self.mechanism.wrap(&profile, request)?;
        let lease = lease.map(|proxy| Box::new(proxy) as Box<dyn Lease>);
        let lease: Box<dyn Lease> = Box::new(Told { notes, watch, lease });
        Ok(Confined { request, lease: Some(lease) })
    }
}

/// The sandbox in the hands of one agent.
struct AgentSandbox {
    prepared: Prepared,
    policy: Arc<dyn PolicySource>,
    disk: Arc<dyn PathFacts>,
    rules: RulePaths,
}

/// What there is to tell of a command's sandbox, beside what else that needs.
#[derive(Debug)]
struct Told {
    /// What could not be held.
    notes: Vec<String>,
    watch: Watch,
    lease: Option<Box<dyn Lease>>,
}

impl Lease for Told {
    fn notes(&self) -> Vec<String> {
        let others = self.lease.iter().flat_map(|lease| lease.notes());
        self.notes.iter().cloned().chain(self.watch.notes()).chain(others).collect()
    }
}

impl Confinement for AgentSandbox {
    fn confine(
        &self,
        request: ProcessRequest,
        tool: &str,
        call: &Value,
        _context: &CallContext,
    ) -> Result<Confined, ToolError> {
        let policy = self.policy.current();
        let place = Place { cwd: &policy.cwd, home: &policy.home, disk: self.disk.as_ref() };
        let leaves = from_call(tool, call, place)
            .is_some_and(|facts| self.prepared.sandbox.lets_out(&facts));
        if leaves {
            return Ok(request.into());
        }
        let disk = self.disk.as_ref();
        self.prepared.confine(&policy, request, &self.rules, disk).map_err(|error| {
            ToolError::new(
                code::IO,
                format!("the command was not run, since its sandbox cannot be made: {error}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prepared(
        find: Result<Mechanism, String>,
        settings: &[(RuleSource, Value)],
    ) -> Result<Outcome, Failure> {
        let layers: Vec<Layer> = settings
            .iter()
            .map(|(source, value)| Layer::new(*source, "/repo", value.clone()))
            .collect();
        let own = [Path::new("/home/u/.config"), Path::new("/home/u/.state")];
        prepare_by(|_| find, &layers, Path::new("/home/u"), own)
    }

    fn none() -> Result<Mechanism, String> {
        Err("nothing works".to_owned())
    }

    #[test]
    fn a_sandbox_that_is_not_there_is_told_once_or_stops_the_start() {
        let wanted = json!({ "sandbox": { "enabled": true } });
        let outcome = prepared(none(), &[(RuleSource::User, wanted)]).ok().unwrap();
        assert!(outcome.prepared.is_none());
        assert_eq!(outcome.warnings, outcome.unavailable.into_iter().collect::<Vec<_>>());
        assert_eq!(outcome.warnings.len(), 1);
        assert!(outcome.warnings[0].contains("nothing works"));

        let demanded = json!({ "sandbox": { "enabled": true, "failIfUnavailable": true } });
        let failure = prepared(none(), &[(RuleSource::Project, demanded)]).err().unwrap();
        assert!(failure.message.contains("failIfUnavailable"), "{}", failure.message);
        assert_eq!(failure.lack, Some(Lack::Sandbox));

        let outcome = prepared(none(), &[(RuleSource::User, json!({}))]).ok().unwrap();
        assert!(outcome.prepared.is_none() && outcome.warnings.is_empty());
        assert_eq!(outcome.unavailable, None);
    }

    #[test]
    fn landlock_spares_no_question_and_bubblewrap_does() {
        let wanted = json!({ "sandbox": { "enabled": true } });
        let bubblewrap = prepared(
            Ok(Mechanism::Bubblewrap("bwrap".into(), None)),
            &[(RuleSource::User, wanted.clone())],
        );
        assert!(bubblewrap.ok().unwrap().prepared.unwrap().sandbox.auto_allow);
        let landlock =
            Mechanism::Landlock(Launcher { program: "innerve".into(), args: Vec::new() });
        let outcome = prepared(Ok(landlock), &[(RuleSource::User, wanted)]).ok().unwrap();
        assert!(!outcome.prepared.unwrap().sandbox.auto_allow);
        assert!(outcome.warnings[0].contains("Landlock"));
    }
}
