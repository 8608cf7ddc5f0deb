//! What assigning a variable may change, and what the variables of a text are known to hold.

mod sockets;

pub(crate) use sockets::is_socket;

use crate::directory::Directory;
use crate::judge::names_secret;
use crate::{DynamicWord, Word, WordPart};

/// How much an assignment to a name may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableKind {
    /// Known to change no program's doing: `NO_COLOR`, `LC_ALL`, or a lower-case name of the shell's own.
    Inert,
    /// Not known: some program may read it.
    Plain,
    /// Changes what later text or any program means: `PATH`, `IFS`, `LD_PRELOAD`, `GIT_DIR`.
    Meaning,
    /// The shell evaluates what is assigned: `RANDOM`, `OPTIND`.
    Evaluated,
}

const INERT: &[&str] = &[
    "CGO_ENABLED",
    "CI",
    "CLICOLOR",
    "COLORTERM",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "GOARCH",
    "GOOS",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

const EVALUATED: &[&str] = &[
    "BASHPID",
    "BASH_ARGC",
    "BASH_ARGV",
    "COMP_CWORD",
    "COMP_POINT",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "MAPFILE",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "PIPESTATUS",
    "PPID",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "UID",
];

const MEANING: &[&str] = &[
    "ALL_PROXY",
    "BROWSER",
    "CDPATH",
    "CHILD_MAX",
    "COPROC",
    "EMACS",
    "ENV",
    "EXECIGNORE",
    "FCEDIT",
    "FIGNORE",
    "FPATH",
    "FTP_PROXY",
    "FUNCNEST",
    "GLOBIGNORE",
    "GCONV_PATH",
    "HOME",
    "HOSTFILE",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "IGNOREEOF",
    "INPUTRC",
    "INSIDE_EMACS",
    "JAVA_TOOL_OPTIONS",
    "LOCPATH",
    "MAKEFLAGS",
    "MFLAGS",
    "NLSPATH",
    "NO_PROXY",
    "OLDPWD",
    "PATH",
    "POSIXLY_CORRECT",
    "POSIX_PEDANTIC",
    "PROMPT_COMMAND",
    "PROMPT_DIRTRIM",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PWD",
    "RIPGREP_CONFIG_PATH",
    "SHELL",
    "SHELLOPTS",
    "TIMEFORMAT",
    "TMOUT",
    "TMPDIR",
    "VISUAL",
    "ZDOTDIR",
    "auto_resume",
    "histchars",
    "MALLOC_CONF",
    "OPENSSL_CONF",
    "TAR_OPTIONS",
    "UNZIP",
    "ZIPOPT",
    "GZIP",
    "XZ_OPT",
    "XZ_DEFAULTS",
];

const MEANING_PREFIXES: &[&str] = &[
    "BASH", "CARGO_", "COMP", "DOCKER_", "DYLD_", "GIT_", "GLIBC_", "HIST", "KUBE", "LD_", "LESS",
    "MAIL", "MALLOC_", "NODE_", "NPM_", "PERL", "PYTHON", "READLINE", "RUBY", "RUSTC", "RUSTDOC",
    "SSH_", "SUDO_", "TERMINFO", "bun_", "npm_", "pnpm_", "yarn_",
];

const MEANING_SUFFIXES: &[&str] = &[
    "ASKPASS", "EDITOR", "FLAGS", "PAGER", "PRELOAD", "WRAPPER", "_COMMAND", "_OPTIONS", "_OPTS",
    "_proxy",
];

/// What the names of variables begin with that reading programs look for their configuration in, and that an environment often
/// holds.
const ENVIRONMENT_PREFIXES: &[&str] = &[
    "AWK",
    "BAT_",
    "CONDA_",
    "GEM_",
    "GH_",
    "GO",
    "GREP_",
    "GROFF",
    "JAVA_",
    "LS_",
    "MAN",
    "PHP",
    "PIP_",
    "RIPGREP_",
    "RUSTUP_",
    "SYSTEMD_",
    "UV_",
    "VIRTUAL_ENV",
    "XDG_",
];

/// What assigning `name` may change.
pub(crate) fn kind(name: &str) -> VariableKind {
    if INERT.contains(&name) || name.starts_with("LC_") {
        VariableKind::Inert
    } else if EVALUATED.contains(&name) {
        VariableKind::Evaluated
    } else if MEANING.contains(&name)
        || MEANING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || MEANING_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
    {
        VariableKind::Meaning
    } else if name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    {
        VariableKind::Inert
    } else {
        VariableKind::Plain
    }
}

/// Whether `name` could be a variable.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// How well the value of a variable is known, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nature {
    /// It may be anything, an option as well.
    Wild,
    /// It does not start with a dash.
    Tame,
    /// It is one plain word that is no option, quoted or not.
    Plain,
}

/// What the variables of a text are known to hold, whichever of their assignments came last.
///
/// A variable may also be unset, because its assignment was not reached or ran in a subshell, and then it is empty; its
/// value in the environment of the text is taken to be no option.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    natures: Vec<(String, Nature)>,
    secret_paths: Vec<String>,
    /// Variables that may hold the path of a socket, or its beginning.
    sockets: Vec<String>,
    /// Whether it was asked what a variable leads to, so that a later assignment may take back the answer.
    asked: bool,
    taken_back: bool,
}

impl Values {
    /// Notes that `name` may hold `value`.
    pub(crate) fn assign(&mut self, name: &str, value: &Word, directory: &Directory) {
        if names_secret(value, directory) && !self.secret_paths.iter().any(|known| known == name) {
            self.secret_paths.push(name.to_owned());
            self.taken_back |= self.asked;
        }
        self.note_socket(name, self.may_begin_socket(value));
        let nature = match value {
            Word::Literal(text) if text.is_empty() || text.starts_with('-') => Nature::Wild,
            Word::Literal(text) if text.bytes().all(is_plain) => Nature::Plain,
            Word::Literal(_) => Nature::Tame,
            Word::Dynamic(dynamic) if self.is_operand(dynamic) => Nature::Tame,
            Word::Dynamic(_) => Nature::Wild,
        };
        self.note(name, nature);
    }

    /// Notes that `name` may hold anything.
    pub(crate) fn forget(&mut self, name: &str) {
        self.note_socket(name, true);
        self.note(name, Nature::Wild);
    }

    /// Notes that what variables lead to was asked for.
    pub(crate) fn note_question(&mut self) {
        self.asked = true;
    }

    fn note(&mut self, name: &str, nature: Nature) {
        match self.natures.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if *known > nature => {
                *known = nature;
                self.taken_back = true;
            }
            Some(_) => {}
            None => self.natures.push((name.to_owned(), nature)),
        }
    }

    /// How well the value of a part of a word is known.
    fn nature(&self, part: &WordPart) -> Nature {
        match part {
            WordPart::Variable(name) if is_directory(name) => Nature::Tame,
            WordPart::Variable(name) => {
                let known = self.natures.iter().find(|(known, _)| known == name);
                known.map_or(Nature::Wild, |(_, nature)| *nature)
            }
            // Numbers of processes, arguments and exit codes.
            WordPart::Other(raw) if matches!(raw.as_str(), "$$" | "$!" | "$#" | "$?") => {
                Nature::Plain
            }
            WordPart::Literal(_) | WordPart::Tilde(_) | WordPart::Glob(_) | WordPart::Other(_) => {
                Nature::Wild
            }
        }
    }

    /// When a later assignment took back what was believed of a variable before: what to start a second reading with.
    pub(crate) fn corrected(&self) -> Option<Self> {
        self.taken_back.then(|| Self { taken_back: false, ..self.clone() })
    }

    /// Whether a word is certain not to be an option.
    pub(crate) fn is_operand(&self, word: &DynamicWord) -> bool {
        match word.parts.as_slice() {
            [WordPart::Literal(text), ..] => !text.starts_with('-'),
            [WordPart::Tilde(_), ..] => true,
            [first, rest @ ..] => {
                let follows = match rest.first() {
                    None => true,
                    Some(WordPart::Literal(text)) => !text.starts_with('-'),
                    // The first part may be empty, but for these.
                    Some(_) => matches!(first, WordPart::Variable(name) if is_directory(name)),
                };
                follows && self.nature(first) >= Nature::Tame
            }
            [] => false,
        }
    }

    /// Whether a word is certain to be at most one.
    pub(crate) fn is_single(&self, word: &DynamicWord) -> bool {
        let plain = |part: &WordPart| {
            matches!(part, WordPart::Literal(_)) || self.nature(part) == Nature::Plain
        };
        word.one_word || word.parts.iter().all(plain)
    }

    /// Whether a word is certain to be exactly one.
    pub(crate) fn is_one(word: &DynamicWord) -> bool {
        word.one_word || matches!(word.raw.as_str(), "$$" | "$#" | "$?")
    }

    /// Whether a word is a pattern that is certain to become no option, however many files it names.
    pub(crate) fn is_prefixed_pattern(word: &DynamicWord) -> bool {
        let [WordPart::Literal(prefix), rest @ ..] = word.parts.as_slice() else { return false };
        !prefix.starts_with('-')
            && rest.iter().all(|part| matches!(part, WordPart::Literal(_) | WordPart::Glob(_)))
    }

    /// Whether a word holds a variable that was given the path of a secret.
    pub(crate) fn leads_to_secret(&self, word: &Word) -> bool {
        match word {
            Word::Literal(_) => false,
            Word::Dynamic(dynamic) => dynamic.parts.iter().any(|part| match part {
                WordPart::Variable(name) => self.secret_paths.contains(name),
                WordPart::Literal(_)
                | WordPart::Tilde(_)
                | WordPart::Glob(_)
                | WordPart::Other(_) => false,
            }),
        }
    }
}

/// Whether programs are known to read a variable of this name, which may be exported already.
pub(crate) fn is_read_by_programs(name: &str) -> bool {
    ENVIRONMENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Variables that hold a path from the root.
fn is_directory(name: &str) -> bool {
    matches!(name, "HOME" | "PWD")
}

/// Whether bash leaves the byte alone in a word that is not quoted.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'/' | b'-' | b':' | b'@' | b'+' | b',' | b'%')
}
