//! A home, a project and the program in them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary home and project; the project is no git repository.
pub(crate) struct World {
    root: PathBuf,
    _folder: TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("innerve-verbs-").tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home", "config", "state", "work"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        Self { root, _folder: folder }
    }

    /// A file below the root: `work/…`, `home/…`, `config/…` or `state/…`.
    pub(crate) fn write(&self, name: &str, content: &str) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// The project's own settings.
    pub(crate) fn project(&self, content: &str) -> &Self {
        self.write("work/.innerve/settings.json", content)
    }

    /// The user's settings.
    pub(crate) fn user(&self, content: &str) -> &Self {
        self.write("config/innerve/settings.json", content)
    }

    pub(crate) fn trust(&self) -> &Self {
        let ended = self.innerve(&["trust"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn work(&self) -> String {
        self.path("work").to_str().unwrap().to_owned()
    }

    pub(crate) fn innerve(&self, arguments: &[&str]) -> Ended {
        self.run(arguments, "", &self.path("work"), &[])
    }

    pub(crate) fn run(
        &self,
        arguments: &[&str],
        input: &str,
        cwd: &Path,
        variables: &[(&str, &str)],
    ) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_innerve"));
        command
            .args(arguments)
            .current_dir(cwd)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read its input closes the pipe: that is no failure of the test.
        let _closed = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// What was printed as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Whether the text stands in what was printed.
    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(
            self.stdout.contains(text),
            "`{text}` is not said: {}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}
