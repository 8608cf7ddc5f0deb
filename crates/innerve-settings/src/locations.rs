//! Where settings lie.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::disk::repository;
use crate::load::is_absent;
use crate::{SettingsError, Trust};

/// The directories that settings are looked for in; nothing else is read from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locations {
    /// The user's home.
    pub home: PathBuf,
    /// Where programs keep configuration, `~/.config`.
    pub config_home: PathBuf,
    /// Where programs keep state, `~/.local/state`.
    pub state_home: PathBuf,
    /// Where an administrator keeps managed settings, `/etc`.
    pub managed: PathBuf,
    /// The directory that the session starts in.
    pub cwd: PathBuf,
}

/// One settings file of the user or the project, in innerve's and in Claude Code's own directory.
pub(crate) struct Pair {
    pub(crate) own: PathBuf,
    pub(crate) claude: PathBuf,
}

impl Locations {
    /// The locations that the environment names: `HOME`, `XDG_CONFIG_HOME`, `XDG_STATE_HOME` and the current directory
    /// (XDG Base Directory Specification).
    pub fn from_env() -> Result<Self, SettingsError> {
        let xdg = etcetera::base_strategy::Xdg::new().map_err(|_| SettingsError::NoHome)?;
        let cwd = std::env::current_dir()
            .map_err(|source| SettingsError::NoCurrentDirectory { source })?;
        let home = xdg.home_dir().to_path_buf();
        let state_home = xdg.state_dir().unwrap_or_else(|| home.join(".local/state"));
        Ok(Self {
            config_home: xdg.config_dir(),
            state_home,
            managed: PathBuf::from("/etc"),
            home,
            cwd,
        })
    }

    /// The user's directory of innerve.
    pub fn config_dir(&self) -> PathBuf {
        self.config_home.join("innerve")
    }

    /// The directory of innerve's state: sessions, results, trust.
    pub fn state_dir(&self) -> PathBuf {
        self.state_home.join("innerve")
    }

    /// The user's settings file.
    pub fn user_settings(&self) -> PathBuf {
        self.config_dir().join("settings.json")
    }

    /// The project's shared settings file.
    pub fn project_settings(&self) -> PathBuf {
        self.cwd.join(".innerve/settings.json")
    }

    /// The project's local settings file, to which answers are saved: in a repository that of its main checkout.
    pub fn local_settings(&self) -> PathBuf {
        self.local_root().join(".innerve/settings.local.json")
    }

    /// The directory that trust is about: the main checkout of the repository, or the starting directory outside of one.
    pub fn trust_root(&self) -> PathBuf {
        let root = repository::main_checkout(&self.cwd).unwrap_or_else(|| self.cwd.clone());
        root.canonicalize().unwrap_or(root)
    }

    pub(crate) fn user(&self) -> Pair {
        Pair { own: self.user_settings(), claude: self.home.join(".claude/settings.json") }
    }

    pub(crate) fn project(&self) -> Pair {
        Pair { own: self.project_settings(), claude: self.cwd.join(".claude/settings.json") }
    }

    /// The local files, the one at the root of the repository first; one that was left in the starting directory is read too.
    pub(crate) fn local(&self) -> Vec<Pair> {
        let root = self.local_root();
        let mut directories = vec![root.as_path()];
        if root != self.cwd {
            directories.push(&self.cwd);
        }
        let pair = |directory: &Path| Pair {
            own: directory.join(".innerve/settings.local.json"),
            claude: directory.join(".claude/settings.local.json"),
        };
        directories.into_iter().map(pair).collect()
    }

    /// The managed files of a family, `innerve` or `claude-code`: the last one first, since it wins.
    pub(crate) fn managed_files(&self, family: &str) -> Result<Vec<PathBuf>, SettingsError> {
        let directory = self.managed.join(family);
        let drop_ins = directory.join("managed-settings.d");
        let failed = |source| SettingsError::Read { path: drop_ins.clone(), source };
        let mut files = Vec::new();
        match std::fs::read_dir(&drop_ins) {
            Ok(entries) => {
                for entry in entries {
                    files.push(entry.map_err(failed)?.path());
                }
            }
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(failed(error)),
        }
        files.retain(|path| {
            let hidden =
                path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            !hidden && path.extension().is_some_and(|extension| extension == "json")
        });
        files.sort();
        files.reverse();
        files.push(directory.join("managed-settings.json"));
        Ok(files)
    }

    /// Every file that settings, or what decides about them, are read from; those of a directory that cannot be listed are
    /// left out.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let managed = ["innerve", "claude-code"];
        let mut files: Vec<PathBuf> = managed
            .iter()
            .flat_map(|family| self.managed_files(family).unwrap_or_default())
            .collect();
        let pairs = self.local().into_iter().chain([self.project(), self.user()]);
        files.extend(pairs.flat_map(|pair| [pair.own, pair.claude]));
        files.push(Trust::file(self));
        files
    }

    /// Where the local files lie: at the root of the main checkout if it is a plain one of the user's own.
    fn local_root(&self) -> PathBuf {
        let usable = |root: &PathBuf| {
            *root != self.home
                && same_owner(root, &self.home)
                && same_owner(&root.join(".git"), &self.home)
        };
        repository::main_checkout(&self.cwd).filter(usable).unwrap_or_else(|| self.cwd.clone())
    }
}

/// Whether both belong to the same user.
#[cfg(unix)]
fn same_owner(path: &Path, home: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| path.metadata().ok().map(|metadata| metadata.uid());
    owner(home).is_some() && owner(path) == owner(home)
}

/// Owners are not compared here; the file stays in the starting directory.
#[cfg(not(unix))]
fn same_owner(_path: &Path, _home: &Path) -> bool {
    false
}
