//! A temporary home and workspace that nothing of the machine reaches.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::PATIENCE;
use crate::model::{ModelServer, Reply, Seen, Wire};
use crate::process::Innerve;

/// A home, a workspace and a temporary directory, all gone with the value; so are processes that were left in them.
#[derive(Debug)]
pub struct World {
    root: PathBuf,
    _folder: TempDir,
}

impl World {
    /// An empty world.
    #[expect(clippy::new_without_default, reason = "a world is made on purpose")]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("innerve-world-").tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("the folder is there");
        for name in ["home", "config", "state", "tmp", "work"] {
            fs::create_dir(root.join(name)).expect("the folder is writable");
        }
        Self { root, _folder: folder }
    }

    /// The same with this file in the workspace.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(name, content);
        self
    }

    /// Writes a file of the workspace.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.work(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the workspace is writable");
        fs::write(path, content).expect("the workspace is writable");
    }

    /// The text of a file of the workspace.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.work(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether the workspace has this file.
    pub fn has(&self, name: &str) -> bool {
        self.work(name).exists()
    }

    /// A path in the workspace; the workspace itself for an empty name.
    pub fn work(&self, name: &str) -> PathBuf {
        let work = self.root.join("work");
        if name.is_empty() { work } else { work.join(name) }
    }

    /// The folder that holds everything: `home`, `config`, `state`, `tmp` and `work`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The environment: nothing but what a program needs to live.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let path =
            std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        vec![
            ("PATH", path),
            ("HOME", self.root.join("home").into()),
            ("XDG_CONFIG_HOME", self.root.join("config").into()),
            ("XDG_STATE_HOME", self.root.join("state").into()),
            ("TMPDIR", self.root.join("tmp").into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
            // Tests may run as root, where bypassing permissions needs this.
            ("IS_SANDBOX", "1".into()),
        ]
    }

    /// The program with these arguments, in the workspace, with no model connected.
    pub fn innerve<const N: usize>(&self, arguments: [&str; N]) -> Innerve {
        Innerve::new(self, &arguments)
    }

    /// A model that answers by this script.
    pub fn model(&self, wire: Wire, script: impl IntoIterator<Item = Reply>) -> ModelServer {
        ModelServer::start(wire, script)
    }

    /// A model that answers by a function of what it is asked.
    pub fn model_by(
        &self,
        wire: Wire,
        answer: impl FnMut(&Seen) -> Reply + Send + 'static,
    ) -> ModelServer {
        ModelServer::start_by(wire, answer)
    }

    /// All files below the root with this name, sorted.
    pub fn find(&self, name: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if path.file_name().is_some_and(|file| file == name) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// The commands that run in this world, by their number.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let home = format!("HOME={}", self.root.join("home").display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let folder = entry.path();
            let lives_here =
                fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&self.root));
            let is_at_home = || {
                let environ = fs::read(folder.join("environ")).unwrap_or_default();
                environ.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
            };
            if lives_here || is_at_home() {
                let line = fs::read(folder.join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                // A dead process that nobody has waited for has no command line.
                if !line.is_empty() {
                    found.push((id, line.trim_end().to_owned()));
                }
            }
        }
        found
    }

    /// Waits until the workspace has this file.
    ///
    /// # Panics
    /// When it is not there in time.
    #[track_caller]
    pub fn wait_for_file(&self, name: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.has(name) {
            assert!(Instant::now() < deadline, "{name} was not made");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until no process of this world is left.
    ///
    /// # Panics
    /// When one is still there after three seconds.
    #[track_caller]
    pub fn nobody_is_left(&self) {
        self.nobody_is_left_within(Duration::from_secs(3));
    }

    /// As [`Self::nobody_is_left`], with more or less patience.
    ///
    /// # Panics
    /// When one is still there after this time.
    #[track_caller]
    pub fn nobody_is_left_within(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "processes are left behind: {left:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for (id, _) in self.processes() {
            if let Some(id) = rustix::process::Pid::from_raw(id) {
                // It may have ended by itself.
                let _gone = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
        }
    }
}
