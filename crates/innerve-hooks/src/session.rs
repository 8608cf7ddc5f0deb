//! What all hooks of a session share: directories, environment, transcript, and who is told that they run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innerve_permission::RuleSource;

use crate::EventName;

/// The names under which commands find the project's directory.
const PROJECT_DIR: &[&str] = &["CLAUDE_PROJECT_DIR", "INNERVE_PROJECT_DIR"];

/// What all hooks of a session share. Cheap to make, and free of anything that was not given.
#[derive(Clone)]
pub struct HookSession {
    /// The directory that the session started in, absolute; it stays when the session moves elsewhere.
    pub project_dir: PathBuf,
    /// The user's home, absolute.
    pub home: PathBuf,
    /// The log of the conversation, if there is one.
    pub transcript_path: Option<PathBuf>,
    /// The environment variables that commands inherit and that HTTP headers may name.
    pub environment: BTreeMap<OsString, OsString>,
    /// Whether a hook may put a call off.
    pub deferral: Deferral,
}

/// Whether the decision `defer` of a hook counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Deferral {
    /// No: somebody is there to be asked. A person is told of it.
    #[default]
    Ignored,
    /// Yes: the run ends, and its caller goes on from there later.
    Honoured,
}

/// One run of a hook, as who watches is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookRun<'a> {
    /// The event.
    pub event: EventName,
    /// The kind of settings that hold the hook.
    pub source: RuleSource,
    /// The hook in a few words: its command, address or question.
    pub label: &'a str,
    /// What its settings want a person to see while it runs.
    pub status_message: Option<&'a str>,
}

/// Watches hooks run, for a spinner or for spans.
pub trait HookObserver: Send + Sync {
    /// A hook begins.
    fn started(&self, run: &HookRun<'_>);

    /// A hook has ended or was sent to the background; it took `elapsed`.
    fn ended(&self, run: &HookRun<'_>, elapsed: Duration);
}

impl HookSession {
    /// A session in `project_dir` without a transcript, where nobody may put calls off.
    pub fn new(
        project_dir: impl Into<PathBuf>,
        home: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        Self {
            project_dir: project_dir.into(),
            home: home.into(),
            transcript_path: None,
            environment: environment.into_iter().collect(),
            deferral: Deferral::default(),
        }
    }

    /// The environment of a command.
    pub(crate) fn command_environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment = self.environment.clone();
        for name in PROJECT_DIR {
            environment.insert((*name).into(), self.project_dir.clone().into());
        }
        environment
    }

    /// The first directory that is there: the session's, the project's, the home.
    pub(crate) fn directory(&self, cwd: &Path) -> PathBuf {
        let places = [cwd, &self.project_dir, &self.home];
        let found = places.into_iter().find(|place| place.is_dir());
        found.unwrap_or(Path::new("/")).to_path_buf()
    }

    /// The text with `${CLAUDE_PROJECT_DIR}` filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        let directory = self.project_dir.to_string_lossy();
        PROJECT_DIR
            .iter()
            .fold(text.to_owned(), |text, name| text.replace(&format!("${{{name}}}"), &directory))
    }

    /// The text with `${CLAUDE_PROJECT_DIR}` written as `PowerShell` names environment variables.
    pub(crate) fn for_powershell(text: &str) -> String {
        PROJECT_DIR.iter().fold(text.to_owned(), |text, name| {
            text.replace(&format!("${{{name}}}"), &format!("${{env:{name}}}"))
        })
    }

    /// An environment variable that is text.
    #[cfg(feature = "http")]
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(std::ffi::OsStr::new(name))?.to_str()
    }
}

// The environment may hold secrets.
impl fmt::Debug for HookSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HookSession")
            .field("project_dir", &self.project_dir)
            .field("deferral", &self.deferral)
            .finish_non_exhaustive()
    }
}
