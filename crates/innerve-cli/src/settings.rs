//! Finds the settings of a directory: files and flags, merged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_agent::RuleSaver;
use innerve_permission::{Layer, NoDisk, PathFacts, PermissionSettings, RuleSource, merge};
use serde_json::json;

use crate::args::PolicyArguments;
use crate::exit::Failure;

/// What was found.
pub(crate) struct Found {
    pub(crate) merged: PermissionSettings,
    /// Beyond those of the merged settings.
    pub(crate) warnings: Vec<String>,
    pub(crate) home: PathBuf,
    /// The user's own folder of innerve.
    pub(crate) config: PathBuf,
    /// Where sessions are kept.
    pub(crate) state: PathBuf,
    pub(crate) disk: Arc<dyn PathFacts>,
    pub(crate) saver: Option<Arc<dyn RuleSaver>>,
}

/// The settings files and flags that count in `cwd`.
pub(crate) fn find(cwd: &Path, arguments: &PolicyArguments) -> Result<Found, Failure> {
    let flags = Layer::new(RuleSource::Cli, cwd, flags(arguments));
    with_layers(&[flags])
}

/// No settings at all.
pub(crate) fn none(_cwd: &Path) -> Result<Found, Failure> {
    with_layers(&[])
}

fn with_layers(layers: &[Layer]) -> Result<Found, Failure> {
    let merged = merge(layers).map_err(|error| Failure::usage(error.to_string()))?;
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/".into()));
    Ok(Found {
        merged,
        warnings: Vec::new(),
        config: home.join(".config/innerve"),
        state: home.join(".local/state/innerve"),
        home,
        disk: Arc::new(NoDisk),
        saver: None,
    })
}

fn flags(arguments: &PolicyArguments) -> serde_json::Value {
    json!({ "permissions": {
        "allow": arguments.allow, "ask": arguments.ask, "deny": arguments.deny,
        "additionalDirectories": arguments.add_dir,
    } })
}
