//! The environment of a command: nothing in it makes bash run or read anything but the command itself.

use std::path::Path;

/// Variables that are taken away. A trailing `*` stands for all that begin so.
const REMOVED: &[&str] = &[
    // Files and code that bash runs by itself (GNU Bash manual, "Bash Startup Files", "Bash Variables").
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "PS0",
    "PS4",
    "BASH_FUNC_*",
    "BASH_LOADABLES_PATH",
    super::startup::END_VARIABLE,
    // Options and modes that change what a text means.
    "SHELLOPTS",
    "BASHOPTS",
    "POSIXLY_CORRECT",
    "BASH_COMPAT",
    "BASH_XTRACEFD",
    "IFS",
    "CDPATH",
    "OLDPWD",
    "GLOBIGNORE",
    "GLOBSORT",
    "EXECIGNORE",
    "FIGNORE",
    // Files and programs that read-only commands would bring in.
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "LESSOPEN",
    "LESSCLOSE",
    "LESS",
    "GIT_EXTERNAL_DIFF",
];

/// Variables that are set, so that nothing waits for a key, pages or draws.
const SET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("LESSSECURE", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // `git status` takes no lock and writes nothing.
    ("GIT_OPTIONAL_LOCKS", "0"),
];

/// The names to remove.
pub(super) fn removed() -> Vec<String> {
    REMOVED.iter().map(|name| (*name).to_owned()).collect()
}

/// The variables to set for a command that starts in `cwd`.
pub(super) fn set(cwd: &Path) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> =
        SET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    // Bash takes it over if it names the directory, so that links in the path stay as they are.
    if let Some(cwd) = cwd.to_str() {
        variables.push(("PWD".to_owned(), cwd.to_owned()));
    }
    variables
}
