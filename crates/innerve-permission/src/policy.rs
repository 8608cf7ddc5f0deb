//! The policy of a session, and the voices that speak about one call.

use std::path::{Path, PathBuf};

use crate::paths::windows;
use crate::{PathFacts, PathStyle, PermissionMode, Place, Ruleset};

/// Everything that decides, besides the call itself; cheap to clone.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with its own name in JSON"
)]
pub struct Policy {
    /// All rules of all sources.
    pub rules: Ruleset,
    /// The mode.
    pub mode: PermissionMode,
    /// Whether `bypassPermissions` may be entered in this session.
    pub bypass_available: bool,
    /// Whether nobody can be asked: a final ask becomes a deny.
    pub headless: bool,
    /// Whether a classifier can be asked.
    pub classifier_available: bool,
    /// The current directory, absolute.
    pub cwd: PathBuf,
    /// The directory the session started in, absolute.
    pub original_cwd: PathBuf,
    /// The user's home, absolute.
    pub home: PathBuf,
    /// Working directories besides `original_cwd`, absolute.
    pub additional_directories: Vec<PathBuf>,
    /// Whether read-only shell commands may read outside the working directories.
    pub bash_read_scope: ReadScope,
    /// Whether reads of likely secrets ask.
    pub ask_secret_reads: bool,
    /// Whether every shell allow rule is suspended in mode `auto`.
    pub classify_all_shell: bool,
    /// The file that a plan is written to: the only one that mode `plan` lets be changed.
    pub plan_file: Option<PathBuf>,
    /// The sandbox that the host really runs shell commands in; what settings say of one does not make it.
    pub sandbox: Option<Sandbox>,
    /// How paths are written and compared.
    pub path_style: PathStyle,
    /// Directories of the policy that are reached through links or spelled differently, each with the place it really
    /// is; made by [`Policy::follow_links`].
    pub links: Vec<(PathBuf, PathBuf)>,
}

/// A sandbox around shell commands, as far as it decides what is asked.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Whether what runs in it needs no question.
    pub auto_allow: bool,
    /// Whether a call may ask to run outside of it (`dangerouslyDisableSandbox`).
    pub may_leave: bool,
    /// Commands that run outside of it, as ask rules about `Bash`.
    pub excluded: Ruleset,
}

/// How far read-only shell commands may read without a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadScope {
    /// Anywhere.
    #[default]
    Any,
    /// In the working directories.
    WorkingDirectories,
}

/// What hooks and the tool itself said about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voices {
    /// The combined word of the `PreToolUse` hooks.
    pub hook: Option<HookVoice>,
    /// The tool's own objection.
    pub objection: Option<Objection>,
}

/// The combined word of the `PreToolUse` hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookVoice {
    /// Spares the question where nothing stricter speaks.
    Allow,
    /// As `Allow`, and the hook has filled in what a person would have answered (`AskUserQuestion`, `ExitPlanMode`).
    Answer,
    /// At least ask.
    Ask(String),
    /// Deny.
    Deny(String),
    /// End the turn without an answer.
    Defer,
}

/// A tool's own objection to a call; it has no way to say yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// At least ask, with a sentence that says why.
    Ask(String),
    /// Deny, with a sentence that says why.
    Deny(String),
}

impl Policy {
    /// The strictest useful policy: no rules, mode `default`, nobody to ask.
    pub fn new(cwd: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            rules: Ruleset::default(),
            mode: PermissionMode::Default,
            bypass_available: false,
            headless: true,
            classifier_available: false,
            original_cwd: cwd.clone(),
            cwd,
            home: home.into(),
            additional_directories: Vec::new(),
            bash_read_scope: ReadScope::Any,
            ask_secret_reads: true,
            classify_all_shell: false,
            plan_file: None,
            sandbox: None,
            path_style: PathStyle::HOST,
            links: Vec::new(),
        }
    }

    /// Asks the disk where the policy's directories and the paths of its deny and ask rules lead through links, and how
    /// paths are written there.
    ///
    /// To be called when rules or directories have changed. Without it a rule or directory that is a link covers less
    /// than it seems to.
    pub fn follow_links(&mut self, disk: &dyn PathFacts) {
        self.path_style = disk.style();
        let roots = self.rules.rules().iter().map(|rule| rule.origin().root.as_path());
        let directories = [self.cwd.as_path(), &self.original_cwd, &self.home];
        let mut links = Vec::new();
        let others = self.additional_directories.iter().map(PathBuf::as_path);
        let plans = self.plan_file.as_deref().and_then(Path::parent);
        let others = others.chain(plans).chain(roots);
        for directory in directories.into_iter().chain(others) {
            let spellings = [Some(directory.to_path_buf()), disk.resolve(directory).real];
            for real in spellings.into_iter().flatten().filter_map(|path| self.spelling(&path)) {
                let link = (directory.to_path_buf(), real);
                if link.0 != link.1 && !links.contains(&link) {
                    links.push(link);
                }
            }
        }
        self.links = links;
        self.rules.follow_links(Place { cwd: &self.cwd, home: &self.home, disk });
    }

    /// The working directories: the one the session started in and the additional ones.
    pub fn working_directories(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.original_cwd.as_path())
            .chain(self.additional_directories.iter().map(PathBuf::as_path))
    }

    /// The names of directories and files whose change is asked about wherever they are (permission modes, protected paths).
    ///
    /// Whoever lets commands run unseen has to keep them.
    pub fn protected_names() -> impl Iterator<Item = &'static str> {
        crate::resolve::protected_names()
    }

    /// The path as it is compared.
    fn spelling(&self, path: &Path) -> Option<PathBuf> {
        match self.path_style {
            PathStyle::Posix => Some(path.to_path_buf()),
            PathStyle::Windows => windows::absolute(path.to_str()?, None),
        }
    }

    /// The ways to write a directory of the policy: as given, and with links resolved.
    pub(crate) fn spellings<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a Path> {
        let real = self.links.iter().filter(move |(given, _)| given == directory);
        std::iter::once(directory).chain(real.map(|(_, real)| real.as_path()))
    }
}
