//! What assigning a variable may change.

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
    "SSH_", "SUDO_", "TERMINFO", "npm_",
];

const MEANING_SUFFIXES: &[&str] = &[
    "ASKPASS", "EDITOR", "FLAGS", "PAGER", "PRELOAD", "WRAPPER", "_COMMAND", "_OPTIONS", "_OPTS",
    "_proxy",
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
