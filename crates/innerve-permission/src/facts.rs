//! Facts: what one tool use would do, made by the tool or by [`from_call`], never by the model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::PathFacts;

/// One kind of effect; a superset of the shell analyzer's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EffectSet(pub(crate) u16);

/// What one tool use would do, together with the input that it was read from.
///
/// The input is inside, so that a [`crate::Permit`] holds the very value that was judged. A fresh value is the strictest:
/// unknown effects, permission needed.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFacts {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// What permission the tool needs when no rule speaks.
    pub need: Need,
    /// What it does; a lower bound unless `complete`.
    pub effects: EffectSet,
    /// Whether `effects` are all there are.
    pub complete: bool,
    /// Paths, hosts, agents it touches, beyond those of `parts`.
    pub targets: Vec<Target>,
    /// For shell tools: each simple command. Empty for others, and for a shell command that is opaque.
    pub parts: Vec<Part>,
    /// For shell tools: why the command could not be read, code and sentence.
    pub opaque: Option<(String, String)>,
    /// The whole shell command, for shell tools.
    pub command: Option<String>,
    /// Scalar fields of the input as the model wrote it, for parameter rules.
    pub parameters: BTreeMap<String, String>,
}

/// What permission a tool needs when no rule speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Need {
    /// None in any mode (todo lists, searches among tools).
    Never,
    /// As its effects and targets demand: reads inside the working directories are free.
    ByTargets,
    /// Always, unless something allows it.
    #[default]
    Always,
    /// A person must take part, whatever is allowed.
    Interaction,
}

/// Something that a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Reads a file or directory.
    Read(PathTarget),
    /// Creates or changes a file.
    Write(PathTarget),
    /// Removes a file or directory.
    Delete(PathTarget),
    /// Fetches from a host.
    Host(String),
    /// Starts a sub-agent of this type.
    Agent(String),
}

/// A path as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTarget {
    /// As written.
    pub given: String,
    /// Absolute, `.` and `..` collapsed; `None` if it is not statically known.
    pub path: Option<PathBuf>,
    /// The path that is reached through links; `None` if it is not known.
    pub real: Option<PathBuf>,
}

/// One simple command of a shell call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its words joined by blanks: what rule patterns are matched against.
    pub text: String,
    /// Its words; `None` for one that is not statically known.
    pub argv: Vec<Option<String>>,
    /// Names of the variables assigned before it, and whether each is harmless.
    pub assignments: Vec<(String, bool)>,
    /// The wrappers it was peeled out of, outermost first.
    pub unwrapped_from: Vec<String>,
    /// Whether it only reads (or does nothing).
    pub read_only: bool,
    /// Whether it does nothing of its own.
    pub neutral: bool,
    /// What it does.
    pub effects: EffectSet,
    /// Whether `effects` are all there are.
    pub complete: bool,
    /// What it touches, redirections included.
    pub targets: Vec<Target>,
    /// The directory it runs in, if that is known.
    pub cwd: Option<PathBuf>,
}

impl CallFacts {
    /// The strictest facts: a call of `tool` with this input that may do anything.
    pub fn new(tool: impl Into<String>, input: Value) -> Self {
        Self {
            tool: tool.into(),
            input,
            need: Need::Always,
            effects: EffectSet::default(),
            complete: false,
            targets: Vec::new(),
            parts: Vec::new(),
            opaque: None,
            command: None,
            parameters: BTreeMap::new(),
        }
    }

    /// The tool's canonical name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The input that these facts were read from.
    pub fn input(&self) -> &Value {
        &self.input
    }
}

/// Where a call is made: what turns its words into paths.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The session's current directory, absolute.
    pub cwd: &'a Path,
    /// The user's home directory, absolute.
    pub home: &'a Path,
    /// What the disk says.
    pub disk: &'a dyn PathFacts,
}

impl std::fmt::Debug for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Place")
            .field("cwd", &self.cwd)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

/// Reads the facts of a well-known tool (Bash, Read, Edit, Write, Grep, Glob, Agent, …) from its input.
///
/// `None` for other tools: they state their facts themselves. An input that misses what the tool needs gives the
/// strictest facts.
pub fn from_call(tool: &str, input: &Value, place: Place<'_>) -> Option<CallFacts> {
    let _ = (tool, input, place);
    None
}
