//! The sandbox around shell commands: what settings ask for, what this machine has, and what a command gets of it.

mod paths;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_builtins::bash::Confinement;
use innerve_builtins::sandbox::{Mechanism, SandboxProfile};
use innerve_permission::facts::{Place, from_call};
use innerve_permission::{Layer, PathFacts, Policy, RuleSource, Sandbox, merge};
use innerve_pipeline::PolicySource;
use innerve_tool::port::ProcessRequest;
use innerve_tool::{CallContext, ToolError, code};
use serde_json::Value;

use paths::Paths;

use crate::exit::Failure;

/// How the warning begins that there is no sandbox where one is asked for.
pub(super) const NOT_AVAILABLE: &str = "the sandbox that settings ask for is not available";
/// The verb by which this program restricts itself.
pub(crate) const LAUNCH: &str = "sandbox-exec";
/// A sandbox that works here.
#[derive(Clone)]
pub(super) struct Prepared {
    mechanism: Mechanism,
    /// As permission is decided by it.
    pub(super) sandbox: Sandbox,
    paths: Paths,
    /// innerve's own directories.
    own: Vec<PathBuf>,
}

/// What came of the settings' wish.
pub(super) struct Outcome {
    pub(super) prepared: Option<Prepared>,
    pub(super) warnings: Vec<String>,
}

/// Finds the sandbox that the settings ask for; an error where they want no commands without one and there is none.
pub(super) fn prepare(layers: &[Layer], home: &Path, own: &[PathBuf]) -> Result<Outcome, Failure> {
    let launcher = std::env::current_exe().ok().map(|program| (program, vec![LAUNCH.to_owned()]));
    prepare_by(|bwrap| Mechanism::find(bwrap, launcher), layers, home, own)
}

fn prepare_by(
    find: impl FnOnce(&Path) -> Result<Mechanism, String>,
    layers: &[Layer],
    home: &Path,
    own: &[PathBuf],
) -> Result<Outcome, Failure> {
    let mut outcome = Outcome { prepared: None, warnings: Vec::new() };
    let Some(mut sandbox) = merge(layers).ok().and_then(|merged| merged.sandbox) else {
        return Ok(outcome);
    };
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
            if flags(layers, "/sandbox/network/allowedDomains").next().is_some() {
                outcome.warnings.push(
                    "`sandbox.network.allowedDomains` is not supported: commands in the sandbox have no network; name those \
                     that need it in `sandbox.excludedCommands`"
                        .to_owned(),
                );
            }
            let paths = Paths::of(layers, home);
            let own = own.to_vec();
            outcome.prepared = Some(Prepared { mechanism, sandbox, paths, own });
        }
        Err(why) if is_demanded(layers) => {
            return Err(Failure::new(format!(
                "settings demand a sandbox (sandbox.failIfUnavailable) and there is none: {why}"
            )));
        }
        Err(why) => {
            let text = format!("{NOT_AVAILABLE}, and commands run without it: {why}");
            outcome.warnings.push(text);
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
    pub(super) fn scratch(state: &Path) -> Option<PathBuf> {
        let scratch = state.join("shell");
        let mut folder = std::fs::DirBuilder::new();
        folder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.create(&scratch).ok().map(|()| scratch)
    }

    /// The sandbox for the commands of an agent with this policy.
    pub(super) fn confinement(
        &self,
        policy: Arc<dyn PolicySource>,
        disk: &Arc<dyn PathFacts>,
    ) -> Arc<dyn Confinement> {
        Arc::new(Confined { prepared: self.clone(), policy, disk: Arc::clone(disk) })
    }

    fn profile(&self, policy: &Policy, request: &ProcessRequest) -> SandboxProfile {
        let profile = self.paths.profile(policy, request, &self.own);
        SandboxProfile { network: false, ..profile }
    }
}

/// The sandbox in the hands of one agent.
struct Confined {
    prepared: Prepared,
    policy: Arc<dyn PolicySource>,
    disk: Arc<dyn PathFacts>,
}

impl Confinement for Confined {
    fn confine(
        &self,
        request: ProcessRequest,
        tool: &str,
        call: &Value,
        _context: &CallContext,
    ) -> Result<ProcessRequest, ToolError> {
        let policy = self.policy.current();
        let place = Place { cwd: &policy.cwd, home: &policy.home, disk: self.disk.as_ref() };
        let leaves = from_call(tool, call, place)
            .is_some_and(|facts| self.prepared.sandbox.lets_out(&facts));
        if leaves {
            return Ok(request);
        }
        let profile = self.prepared.profile(&policy, &request);
        self.prepared.mechanism.wrap(&profile, request).map_err(|error| {
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
        prepare_by(|_| find, &layers, Path::new("/home/u"), &[])
    }

    fn none() -> Result<Mechanism, String> {
        Err("nothing works".to_owned())
    }

    #[test]
    fn a_sandbox_that_is_not_there_is_told_once_or_stops_the_start() {
        let wanted = json!({ "sandbox": { "enabled": true } });
        let outcome = prepared(none(), &[(RuleSource::User, wanted)]).ok().unwrap();
        assert!(outcome.prepared.is_none());
        assert_eq!(outcome.warnings.len(), 1);
        assert!(outcome.warnings[0].contains("nothing works"));

        let demanded = json!({ "sandbox": { "enabled": true, "failIfUnavailable": true } });
        let failure = prepared(none(), &[(RuleSource::Project, demanded)]).err().unwrap();
        assert!(failure.message.contains("failIfUnavailable"), "{}", failure.message);

        let outcome = prepared(none(), &[(RuleSource::User, json!({}))]).ok().unwrap();
        assert!(outcome.prepared.is_none() && outcome.warnings.is_empty());
    }

    #[test]
    fn landlock_spares_no_question_and_bubblewrap_does() {
        let wanted = json!({ "sandbox": { "enabled": true } });
        let bubblewrap = prepared(
            Ok(Mechanism::Bubblewrap("bwrap".into())),
            &[(RuleSource::User, wanted.clone())],
        );
        assert!(bubblewrap.ok().unwrap().prepared.unwrap().sandbox.auto_allow);
        let landlock = Mechanism::Landlock("innerve".into(), Vec::new());
        let outcome = prepared(Ok(landlock), &[(RuleSource::User, wanted)]).ok().unwrap();
        assert!(!outcome.prepared.unwrap().sandbox.auto_allow);
        assert!(outcome.warnings[0].contains("Landlock"));
    }
}
