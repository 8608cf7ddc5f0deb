//! Settings on a real disk, with real links.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod disk;
mod load;
mod save;
mod trust;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};

use innerve_settings::Locations;
use tempfile::TempDir;

/// A home, a project that is a repository, and an administrator's directory, all empty.
struct World {
    _directory: TempDir,
    root: PathBuf,
    locations: Locations,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let home = root.join("home");
        let locations = Locations {
            config_home: home.join(".config"),
            state_home: home.join(".local/state"),
            managed: root.join("etc"),
            cwd: home.join("repo"),
            home,
        };
        fs::create_dir_all(locations.cwd.join(".git")).unwrap();
        Self { _directory: directory, root, locations }
    }

    /// Writes a file; a relative path starts at the world's root, `home/repo` being the project.
    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }
}

#[test]
fn every_test_file_is_a_module() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let main = fs::read_to_string(here.join("main.rs")).unwrap();
    for entry in fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name} is not run");
    }
}
