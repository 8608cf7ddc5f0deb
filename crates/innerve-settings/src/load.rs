//! Loading: which files there are, in which order they count, and what they say together.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use innerve_permission::{
    Layer, PathFacts, PermissionSettings, Policy, RuleSource, SettingsWarning, merge,
};
use serde_json::Value;

use crate::locations::Pair;
use crate::{Locations, SettingsError, Trust, json};

/// The largest settings file that is read, in bytes.
pub(crate) const MAX_SIZE: u64 = 2 * 1024 * 1024;

/// What the command line says beside the files.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The value of `--settings`: a path, or a JSON object.
    pub settings: Option<String>,
    /// What single flags say, in the form of settings (`{"permissions": {"allow": […]}}`).
    pub inline: Option<Value>,
    /// Whether the workspace counts as trusted for this session, whatever was remembered.
    pub trusted: bool,
}

/// Settings that were loaded, with what was odd.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// What is odd or was left out, each with file and line.
    pub warnings: Vec<SettingsWarning>,
}

/// All settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The layers, those that win first. Other crates read their own keys here.
    pub layers: Vec<Layer>,
    /// The permissions of all layers together.
    pub permissions: PermissionSettings,
    /// Whether what the project's files loosen counts.
    pub trusted: bool,
}

impl Settings {
    /// Loads every settings file that there is, and the flags.
    ///
    /// A file that is broken, and a broken deny rule in one, is an error: without it the rest would allow too much.
    pub fn load(locations: &Locations, flags: &Flags) -> Result<Loaded, SettingsError> {
        let trusted = flags.trusted || Trust::load(locations).covers(&locations.trust_root());
        let mut files = Files { locations, trusted, layers: Vec::new() };
        let managed = files.managed("innerve")?;
        let user = files.read(RuleSource::User, &locations.user().own, &locations.config_dir())?;
        let disables =
            |layer: &Layer| layer.value.get("disableClaudeSettings") == Some(&Value::Bool(true));
        let claude = !managed.iter().chain(&user).any(disables);

        files.layers.extend(managed);
        if claude {
            let managed = files.managed("claude-code")?;
            files.layers.extend(managed);
        }
        files.add_flags(flags)?;
        for pair in locations.local() {
            files.add(RuleSource::Local, &pair, claude)?;
        }
        files.add(RuleSource::Project, &locations.project(), claude)?;
        files.layers.extend(user);
        if claude {
            let file = locations.user().claude;
            let root = locations.home.join(".claude");
            let user = files.read(RuleSource::User, &file, &root)?;
            files.layers.extend(user);
        }
        let layers = files.layers;
        let mut permissions = merge(&layers)?;
        let warnings = std::mem::take(&mut permissions.warnings);
        Ok(Loaded { settings: Self { layers, permissions, trusted }, warnings })
    }

    /// The policy of a session in these locations, links followed on the disk.
    pub fn policy(&self, locations: &Locations, disk: &dyn PathFacts) -> Policy {
        let mut policy = self.permissions.clone().policy(&locations.cwd, &locations.home);
        policy.follow_links(disk);
        policy
    }

    /// The value of the highest layer that sets a key, by its JSON pointer. What a project's files say counts only when
    /// they are trusted.
    pub fn value(&self, pointer: &str) -> Option<&Value> {
        let counts = |layer: &&Layer| {
            self.trusted || !matches!(layer.source, RuleSource::Project | RuleSource::Local)
        };
        self.layers.iter().filter(counts).find_map(|layer| layer.value.pointer(pointer))
    }
}

/// The layers as they are read.
struct Files<'a> {
    locations: &'a Locations,
    trusted: bool,
    layers: Vec<Layer>,
}

impl Files<'_> {
    fn managed(&self, family: &str) -> Result<Vec<Layer>, SettingsError> {
        let mut layers = Vec::new();
        for file in self.locations.managed_files(family)? {
            // No document says where `/p` of a managed rule starts; the session's directory is what users expect.
            layers.extend(self.read(RuleSource::Policy, &file, &self.locations.cwd)?);
        }
        Ok(layers)
    }

    fn add(&mut self, source: RuleSource, pair: &Pair, claude: bool) -> Result<(), SettingsError> {
        let own = self.read(source, &pair.own, &self.locations.cwd)?;
        self.layers.extend(own);
        // In the home directory the project's file is the user's own.
        if claude && pair.claude != self.locations.user().claude {
            let also = self.read(source, &pair.claude, &self.locations.cwd)?;
            self.layers.extend(also);
        }
        Ok(())
    }

    fn add_flags(&mut self, flags: &Flags) -> Result<(), SettingsError> {
        let cwd = &self.locations.cwd;
        if let Some(value) = &flags.inline {
            self.layers.push(Layer::new(RuleSource::Cli, cwd, value.clone()));
        }
        let Some(settings) = &flags.settings else { return Ok(()) };
        if settings.trim_start().starts_with('{') {
            let parsed = json::parse(settings, None)?;
            self.layers.push(Layer {
                lines: parsed.lines,
                ..Layer::new(RuleSource::Cli, cwd, parsed.value)
            });
            return Ok(());
        }
        let file = cwd.join(settings);
        let root = file.parent().unwrap_or(cwd).to_path_buf();
        let layer = self.read(RuleSource::Cli, &file, &root)?.ok_or_else(|| {
            SettingsError::Read { path: file.clone(), source: io::ErrorKind::NotFound.into() }
        })?;
        self.layers.push(layer);
        Ok(())
    }

    fn read(
        &self,
        source: RuleSource,
        file: &Path,
        root: &Path,
    ) -> Result<Option<Layer>, SettingsError> {
        let Some(text) = read_text(file, MAX_SIZE)? else { return Ok(None) };
        let parsed = json::parse(&text, Some(file))?;
        Ok(Some(Layer {
            source,
            root: PathBuf::from(root),
            file: Some(file.to_path_buf()),
            value: parsed.value,
            lines: parsed.lines,
            trusted: self.trusted,
        }))
    }
}

/// The text of a regular file of at most `most` bytes; `None` if there is no such file.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<Option<String>, SettingsError> {
    let failed = |source| SettingsError::Read { path: path.to_path_buf(), source };
    // Looked at before it is opened: opening a pipe would wait for somebody to write.
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !metadata.is_file() {
        return Err(SettingsError::NotRegular { path: path.to_path_buf() });
    }
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(most.saturating_add(1)).read_to_string(&mut text))
        .map_err(failed)?;
    if text.len() as u64 > most {
        return Err(SettingsError::TooLarge { path: path.to_path_buf(), limit: most });
    }
    Ok(Some(text))
}

/// Whether the error says that there is nothing, which for `a/b` is also the case when `a` is a file.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
