//! What keeps the runs in the jail: names of programs that are stubs there, and texts that can do nothing outside.

/// Programs that are stubs, besides `c1` to `c40` and some builtins.
pub(crate) const PROGRAMS: &[&str] = &[
    "awk", "cargo", "cat", "chmod", "cp", "curl", "cut", "diff", "git", "grep", "head", "ls",
    "make", "mkdir", "mv", "node", "npm", "python3", "rg", "rm", "sed", "seq", "sleep", "sort",
    "sudo", "tail", "tar", "tee", "touch", "tr", "uniq", "wc",
];

/// Escapes that spell a slash, ways up, ways round `PATH`, what holds the path of a real program, and job control.
const NEVER: &[&str] = &[
    "\\x2",
    "\\57",
    "\\057",
    "\\u",
    "\\U",
    "2f",
    "2F",
    "PATH",
    "BASH",
    "SHELL",
    "$_",
    "{_",
    "command -p",
    "env -i",
    "env - ",
    "kill",
    "exec -c",
    "enable",
    "builtin",
];

/// Whether `text` can only name files of the jail, and only programs that are stubs.
pub(crate) fn is_harmless(text: &str) -> bool {
    const NULL: &str = "/dev/null";
    let mut rest = text;
    while let Some(place) = rest.find('/') {
        let Some((_, path)) = rest.split_at_checked(place) else { return false };
        let Some(behind) = path.strip_prefix(NULL) else { return false };
        if !behind.is_empty() && !behind.starts_with([' ', '\n', ';', '&', '|', ')']) {
            return false;
        }
        rest = behind;
    }
    let goes_up = text.match_indices("..").any(|(place, _)| {
        let before = text.get(..place).and_then(|before| before.chars().next_back());
        let after = text.get(place + 2..).and_then(|after| after.chars().next());
        let in_range = |side: Option<char>| side.is_some_and(|side| side.is_ascii_alphanumeric());
        !in_range(before) || !in_range(after)
    });
    !goes_up && !text.contains('\0') && !NEVER.iter().any(|part| text.contains(part))
}
