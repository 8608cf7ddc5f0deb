//! Finds the settings of a directory: files and flags, merged.

use std::path::Path;
use std::sync::Arc;

use innerve_agent::{AgentTypes, RuleSaver};
use innerve_permission::{Behavior, Layer, PathFacts, Policy, RuleSource, SettingsWarning};
use innerve_settings::{
    DiskPaths, Flags, Loaded, Locations, Settings, SettingsError, Watcher, save_local_rule,
};
use serde_json::json;

use crate::agents;
use crate::args::PolicyArguments;
use crate::exit::Failure;

/// What was found.
pub(crate) struct Found {
    pub(crate) policy: Policy,
    /// All layers, for what else they hold.
    pub(crate) layers: Vec<Layer>,
    /// The types of sub-agent.
    pub(crate) agents: AgentTypes,
    pub(crate) warnings: Vec<SettingsWarning>,
    pub(crate) locations: Locations,
    pub(crate) disk: Arc<dyn PathFacts>,
    pub(crate) saver: Option<Arc<dyn RuleSaver>>,
    /// Tells when the files have changed; `None` where none count.
    pub(crate) watcher: Option<Watcher>,
    /// Whether the workspace is trusted.
    pub(crate) trusted: bool,
    /// Whether settings forbid `bypassPermissions`.
    pub(crate) bypass_disabled: bool,
    /// Whether settings forbid `auto`.
    pub(crate) auto_disabled: bool,
}

/// The settings files and flags that count in `cwd`.
pub(crate) fn find(cwd: &Path, arguments: &PolicyArguments) -> Result<Found, Failure> {
    let locations = locations(cwd)?;
    // Made before the files are read, so that no change is missed.
    let watcher = Watcher::new(&locations, &flags(arguments, false));
    let loaded =
        load(&locations, arguments, false).map_err(|error| Failure::usage(error.to_string()))?;
    let disk = Arc::new(DiskPaths);
    let saver = ToLocalSettings { locations: locations.clone(), trusted: loaded.settings.trusted };
    let (agents, odd) =
        agents::collect(&locations, &loaded.settings.layers, loaded.settings.trusted);
    Ok(Found {
        watcher: Some(watcher),
        agents,
        trusted: loaded.settings.trusted,
        bypass_disabled: loaded.settings.permissions.bypass_disabled,
        auto_disabled: loaded.settings.permissions.auto_disabled,
        policy: loaded.settings.policy(&locations, disk.as_ref()),
        layers: loaded.settings.layers,
        warnings: loaded.warnings.into_iter().chain(odd).collect(),
        locations,
        disk,
        saver: (!loaded.settings.permissions.managed_rules_only)
            .then(|| Arc::new(saver) as Arc<dyn RuleSaver>),
    })
}

/// The settings files and flags as they are; `trusted` takes the workspace as trusted whatever was remembered.
pub(crate) fn load(
    locations: &Locations,
    arguments: &PolicyArguments,
    trusted: bool,
) -> Result<Loaded, SettingsError> {
    Settings::load(locations, &flags(arguments, trusted))
}

fn flags(arguments: &PolicyArguments, trusted: bool) -> Flags {
    let inline = json!({ "permissions": {
        "allow": arguments.allow, "ask": arguments.ask, "deny": arguments.deny,
        "additionalDirectories": arguments.add_dir,
    } });
    Flags { settings: arguments.settings.clone(), inline: Some(inline), trusted }
}

/// Whether a file of the project holds what only counts in a trusted workspace.
pub(crate) fn loosens(layer: &Layer) -> bool {
    matches!(layer.source, RuleSource::Project | RuleSource::Local)
        && [
            "/permissions/allow",
            "/permissions/additionalDirectories",
            "/permissions/defaultMode",
            "/hooks",
            "/env",
            "/mcpServers",
        ]
        .iter()
        .any(|pointer| layer.value.pointer(pointer).is_some())
}

/// No settings at all.
pub(crate) fn none(cwd: &Path) -> Result<Found, Failure> {
    let locations = locations(cwd)?;
    let disk = Arc::new(DiskPaths);
    let mut policy = Policy::new(&locations.cwd, &locations.home);
    policy.follow_links(disk.as_ref());
    Ok(Found {
        policy,
        layers: Vec::new(),
        agents: AgentTypes::default(),
        warnings: Vec::new(),
        locations,
        disk,
        saver: None,
        watcher: None,
        trusted: false,
        bypass_disabled: false,
        auto_disabled: false,
    })
}

/// Where settings and state lie for a directory.
pub(crate) fn locations(cwd: &Path) -> Result<Locations, Failure> {
    let locations = Locations::from_env().map_err(|error| Failure::new(error.to_string()))?;
    Ok(Locations { cwd: cwd.to_path_buf(), ..locations })
}

/// Saves what a person allowed for good into the project's local settings.
struct ToLocalSettings {
    locations: Locations,
    trusted: bool,
}

impl RuleSaver for ToLocalSettings {
    fn save(&self, rule: &str) -> Result<(), String> {
        save_local_rule(&self.locations, Behavior::Allow, rule)
            .map_err(|error| error.to_string())?;
        if self.trusted {
            return Ok(());
        }
        let file = self.locations.local_settings();
        let file = file.display();
        Err(format!(
            "it is saved in {file}, which counts in later sessions once you run `innerve trust` here"
        ))
    }
}
