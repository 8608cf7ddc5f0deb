//! Trust: which workspaces may loosen something through their own files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::write::Exclusive;
use crate::{Locations, SettingsError, json as jsonc};

/// The trusted workspaces, kept in `trust.json` in the state directory.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
    home: PathBuf,
    roots: Vec<PathBuf>,
}

impl Trust {
    /// Reads the file; without one nothing is trusted.
    ///
    /// A file that cannot be read trusts nothing either, but is an error when something is to be written.
    pub fn load(locations: &Locations) -> Self {
        let file = Self::file(locations);
        let roots = read(&file).unwrap_or_default();
        Self { file, home: locations.home.clone(), roots }
    }

    /// Where it is kept.
    pub(crate) fn file(locations: &Locations) -> PathBuf {
        locations.state_dir().join("trust.json")
    }

    /// Whether the workspace with this root is trusted.
    pub fn covers(&self, root: &Path) -> bool {
        self.roots.iter().any(|trusted| trusted == root)
    }

    /// The trusted workspaces.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Trusts a workspace from now on. The root of the file system and the home are never trusted for good.
    pub fn add(&mut self, root: &Path) -> Result<(), SettingsError> {
        let root = root
            .canonicalize()
            .map_err(|source| SettingsError::Read { path: root.to_path_buf(), source })?;
        let home = self.home.canonicalize().unwrap_or_else(|_| self.home.clone());
        if home.starts_with(&root) {
            return Err(SettingsError::TooWide { path: root });
        }
        self.change(|roots| {
            if !roots.contains(&root) {
                roots.push(root);
            }
        })
    }

    /// Trusts a workspace no longer.
    pub fn remove(&mut self, root: &Path) -> Result<(), SettingsError> {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        self.change(|roots| roots.retain(|trusted| trusted != root && *trusted != real))
    }

    /// Reads again, changes and writes, so that what another process added is kept.
    fn change(&mut self, change: impl FnOnce(&mut Vec<PathBuf>)) -> Result<(), SettingsError> {
        let exclusive = Exclusive::wait(&self.file)?;
        let mut roots = read(&self.file)
            .map_err(|source| SettingsError::Read { path: self.file.clone(), source })?;
        change(&mut roots);
        roots.sort();
        let texts: Vec<String> =
            roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        exclusive.replace(&format!("{:#}\n", json!({ "version": 1, "roots": texts })))?;
        self.roots = roots;
        Ok(())
    }
}

fn read(file: &Path) -> io::Result<Vec<PathBuf>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let parsed = jsonc::parse(&text, Some(file)).map_err(io::Error::other)?;
    let roots = parsed.value.get("roots").and_then(Value::as_array);
    Ok(roots.into_iter().flatten().filter_map(Value::as_str).map(PathBuf::from).collect())
}
