//! Facts: what one tool use would do, made by the tool or by [`from_call`], never by the model.

mod calls;
mod effects;
mod hosts;
mod shell;
#[cfg(feature = "bash")]
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::paths::{lexical, windows};
use crate::{PathFacts, PathStyle};

pub use calls::{from_call, from_call_or_strict, secrets_among};
pub use effects::{Effect, EffectSet};
pub use hosts::{host as host_of, websocket_host as websocket_host_of};
pub use innerve_bash::is_secret_path;

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
    /// For shell tools: each simple command; for an opaque one those that were found all the same. Empty for others.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with its own name in JSON"
)]
pub struct Part {
    /// Its words joined by blanks: what rule patterns are matched against.
    pub text: String,
    /// Its words; `None` for one that is not statically known.
    pub argv: Vec<Option<String>>,
    /// Whether a word holds an expansion that nothing tells the value of: prefix rules do not cover it.
    pub expands: bool,
    /// Names of the variables assigned before it, and whether each is harmless.
    pub assignments: Vec<(String, bool)>,
    /// The wrappers it was peeled out of, outermost first.
    pub unwrapped_from: Vec<String>,
    /// Whether it only reads (or does nothing), its redirections aside.
    pub read_only: bool,
    /// Whether it does nothing of its own.
    pub neutral: bool,
    /// What it does.
    pub effects: EffectSet,
    /// Whether `effects` are all there are.
    pub complete: bool,
    /// What its operands touch.
    pub targets: Vec<Target>,
    /// How far it reads what lies in the directories among them.
    pub descent: Descent,
    /// What it may change besides: deny and ask rules may speak of that, and then it is asked about.
    pub may_change: Vec<MayChange>,
    /// The files of its redirections: no rule about the command covers these.
    pub redirected: Vec<Target>,
    /// The directory it runs in, if that is known.
    pub cwd: Option<PathBuf>,
    /// Why it is not taken as read-only although its words look so, code and sentence.
    pub concern: Option<(String, String)>,
}

/// What a command changes if a directory is where it may be, or if a file has the name that it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MayChange {
    /// This file.
    File(PathTarget),
    /// What already lies in this directory, or the file of that name: a rule counts that names a place there.
    Beneath(PathTarget),
    /// This file or directory, which lies in one that is changed or removed as a whole.
    Held(PathTarget),
    /// Files of any name in this directory, such as an archive brings: any rule that may match there counts.
    Within(PathTarget),
}

/// How far a command reads what lies in the directories that it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Descent {
    /// Not at all, or names only.
    #[default]
    None,
    /// All but what begins with a dot.
    Visible,
    /// All of it.
    All,
}

impl CallFacts {
    /// The strictest facts: a call of `tool` with this input that may do anything.
    pub fn new(tool: impl Into<String>, input: Value) -> Self {
        let parameters = scalar_fields(&input);
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
            parameters,
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

    /// The effects that no part accounts for.
    pub(crate) fn effects_beyond_parts(&self) -> EffectSet {
        let accounted =
            self.parts.iter().fold(EffectSet::NONE, |all, part| all.union(part.effects));
        self.effects
            .iter()
            .filter(|effect| !accounted.contains(*effect))
            .fold(EffectSet::NONE, EffectSet::with)
    }

    /// States what permission the tool needs when no rule speaks.
    #[must_use]
    pub fn with_need(mut self, need: Need) -> Self {
        self.need = need;
        self
    }

    /// States all effects of the call: there are no others.
    #[must_use]
    pub fn with_effects(mut self, effects: &[Effect]) -> Self {
        self.effects = EffectSet::of(effects);
        self.complete = true;
        self
    }

    /// Adds something that the call touches.
    #[must_use]
    pub fn with_target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    /// Adds a simple command of a shell call.
    #[must_use]
    pub fn with_part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Takes parameter rules' values from the input as the model wrote it, before fields were filled in.
    #[must_use]
    pub fn with_parameters_of(mut self, written: &Value) -> Self {
        self.parameters = scalar_fields(written);
        self
    }
}

/// The scalar fields of an object, as parameter rules compare them.
fn scalar_fields(input: &Value) -> BTreeMap<String, String> {
    let fields = input.as_object().into_iter().flatten().filter_map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((name.clone(), text))
    });
    fields.collect()
}

impl Target {
    /// The path, unless it is no path.
    pub fn path(&self) -> Option<&PathTarget> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::Delete(path) => Some(path),
            Self::Host(_) | Self::Agent(_) => None,
        }
    }
}

impl MayChange {
    /// The file or directory.
    pub fn path(&self) -> &PathTarget {
        match self {
            Self::File(path) | Self::Beneath(path) | Self::Held(path) | Self::Within(path) => path,
        }
    }
}

impl PathTarget {
    /// Finds the path that `given` names at `place`: `~` expanded, made absolute, and followed through links.
    pub fn new(given: &str, place: Place<'_>) -> Self {
        Self::within(given, Some(place.cwd), place)
    }

    /// A path that is not statically known.
    pub fn unknown(given: impl Into<String>) -> Self {
        Self { given: given.into(), path: None, real: None }
    }

    /// What is found at the path as it is named, or else where it really is.
    pub(crate) fn find<T>(&self, at: impl Fn(&Path) -> Option<T>) -> Option<T> {
        let real = self.real.as_deref().filter(|real| self.path.as_deref() != Some(*real));
        self.path.as_deref().and_then(&at).or_else(|| real.and_then(&at))
    }

    /// As [`Self::new`] for a command that runs in `cwd`, if that is known.
    pub(crate) fn within(given: &str, cwd: Option<&Path>, place: Place<'_>) -> Self {
        if place.disk.style() == PathStyle::Windows {
            return Self::on_windows(given, cwd, place);
        }
        let Some(absolute) =
            lexical::expand_tilde(given, place.home).filter(|_| !given.contains('\0')).and_then(
                |path| if path.is_absolute() { Some(path) } else { cwd.map(|cwd| cwd.join(path)) },
            )
        else {
            return Self::unknown(given);
        };
        let path = lexical::collapse(&absolute);
        let real = place.disk.resolve(&path).real;
        // The kernel follows a link before it takes `..`; where that makes a difference, nobody knows which is meant.
        let real = if absolute == path || place.disk.resolve(&absolute).real == real {
            real
        } else {
            None
        };
        let real = real.filter(|real| lexical::collapse(real) == *real);
        Self { given: given.to_owned(), path: Some(path), real }
    }

    /// As [`Self::within`] where paths are written as on Windows; there `..` is taken before links are followed.
    fn on_windows(given: &str, cwd: Option<&Path>, place: Place<'_>) -> Self {
        let slashes =
            if given.starts_with('~') { given.replace('\\', "/") } else { given.to_owned() };
        let path = lexical::expand_tilde(&slashes, place.home)
            .and_then(|expanded| windows::absolute(expanded.to_str()?, cwd));
        let Some(path) = path else { return Self::unknown(given) };
        let real = place.disk.resolve(&windows::native(&path)).real;
        let real = real.and_then(|real| windows::absolute(real.to_str()?, None));
        Self { given: given.to_owned(), path: Some(path), real }
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
