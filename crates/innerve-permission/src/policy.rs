//! The policy of a session and the chain that resolves a call against it.

use std::path::PathBuf;

use crate::{
    CallFacts, Decision, PermissionMode, Reason, ReasonKind, Resolution, Ruleset, Verdict,
};

/// Everything that decides, besides the call itself; cheap to clone.
#[derive(Clone, Debug)]
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
    pub bash_read_scope: Scope,
    /// Whether reads of likely secrets ask.
    pub ask_secret_reads: bool,
    /// Whether every shell allow rule is suspended in mode `auto`.
    pub classify_all_shell: bool,
}

/// How far read-only shell commands may read without a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Anywhere.
    #[default]
    Any,
    /// In the working directories.
    WorkingDirectories,
}

/// What hooks and the tool itself said about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voices {
    /// The combined word of the PreToolUse hooks.
    pub hook: Option<HookVoice>,
    /// The tool's own objection.
    pub objection: Option<Objection>,
}

/// The combined word of the PreToolUse hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookVoice {
    /// Spares the question where nothing stricter speaks.
    Allow,
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
            bash_read_scope: Scope::Any,
            ask_secret_reads: true,
            classify_all_shell: false,
        }
    }
}

/// Resolves a call: a pure function.
pub fn resolve(policy: &Policy, facts: &CallFacts, voices: &Voices) -> Resolution {
    let _ = (policy, voices);
    Resolution {
        verdict: Verdict::Decided(Decision::Deny),
        reason: Reason {
            kind: ReasonKind::Default,
            rule: None,
            source: None,
            file: None,
            line: None,
            code: "default".to_owned(),
            message: format!("nothing allows {}", facts.tool()),
        },
        parts: Vec::new(),
        trace: Vec::new(),
        suggestions: Vec::new(),
    }
}
