//! The forms of a simple command that deny and ask rules are tested on: each way to reach the same program.

use super::call::base_name;
use crate::Part;
use crate::rule::pattern::Piece;

/// Programs that run the rest of their words as a command. For deny and ask rules they are transparent, whatever their
/// options.
const LAUNCHERS: &[&str] = &[
    "builtin",
    "busybox",
    "bwrap",
    "caffeinate",
    "cgexec",
    "chronic",
    "chroot",
    "chrt",
    "command",
    "dbus-run-session",
    "doas",
    "dumb-init",
    "eatmydata",
    "entr",
    "env",
    "exec",
    "fakeroot",
    "faketime",
    "firejail",
    "flock",
    "gdb",
    "gtime",
    "gtimeout",
    "hyperfine",
    "i386",
    "ionice",
    "linux32",
    "linux64",
    "ltrace",
    "nice",
    "nix-shell",
    "nocorrect",
    "noglob",
    "nohup",
    "nsenter",
    "openvt",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "run0",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "tini",
    "tmux",
    "torsocks",
    "toybox",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "x86_64",
    "xargs",
    "xvfb-run",
];

/// So many places inside a launcher's words are tried.
const MAX_STARTS: usize = 64;

/// A way to read a part: its words, with `None` for what is not known.
pub(super) type Form<'a> = Vec<Option<&'a str>>;

/// All forms of the part: as written, by base name, without global options of git, and what a launcher would run.
pub(super) fn forms(part: &Part) -> Vec<Form<'_>> {
    let written: Form<'_> = if part.argv.is_empty() && !part.text.is_empty() {
        part.text.split(' ').map(Some).collect()
    } else {
        part.argv.iter().map(Option::as_deref).collect()
    };
    let mut forms = Vec::new();
    add(&mut forms, written.clone());
    for command in run_by_git(&written) {
        add(&mut forms, command);
    }
    if written.first().copied().flatten().is_some_and(|name| LAUNCHERS.contains(&base_name(name))) {
        let starts = written.iter().enumerate().skip(1).filter(|(_, word)| {
            word.is_some_and(|word| {
                !word.starts_with('-') && !word.is_empty() && !is_assignment(word)
            })
        });
        let starts: Vec<usize> = starts.map(|(index, _)| index).take(MAX_STARTS).collect();
        for start in starts {
            add(&mut forms, written.iter().skip(start).copied().collect());
            // Several launchers hand a whole text to a shell: `script -c 'rm x'`.
            let text = written.get(start).copied().flatten().unwrap_or_default();
            if text.contains(char::is_whitespace) {
                for command in commands_of(text) {
                    add(&mut forms, command);
                }
            }
        }
    }
    forms
}

/// The commands that git is told to run: by `bisect run`, `submodule foreach`, `rebase --exec` and by an alias that is
/// given with `-c`.
fn run_by_git<'a>(form: &Form<'a>) -> Vec<Form<'a>> {
    if form.first().copied().flatten().map(base_name) != Some("git") {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut rebases = false;
    for (index, word) in form.iter().enumerate() {
        let Some(word) = word else { continue };
        let before = index.checked_sub(1).and_then(|before| form.get(before)).copied().flatten();
        rebases |= *word == "rebase";
        let text = match (before, *word) {
            (Some("bisect"), "run") | (Some("submodule"), "foreach") => {
                let words = form.iter().skip(index + 1).copied();
                let words = words.skip_while(|word| word.is_some_and(|word| word.starts_with('-')));
                let words: Form<'_> = words.collect();
                let texts = words.iter().copied().flatten();
                let texts = texts.filter(|text| text.contains(char::is_whitespace));
                found.extend(texts.flat_map(commands_of));
                found.push(words);
                None
            }
            (Some("-x" | "--exec"), text) if rebases => Some(text),
            (_, word) if rebases && word.starts_with("--exec=") => word.strip_prefix("--exec="),
            (_, word) if word.contains("alias.") => word.split_once("=!").map(|(_, text)| text),
            _ => None,
        };
        found.extend(text.into_iter().flat_map(commands_of));
    }
    found
}

/// The simple commands of a text that is given to a shell, roughly.
fn commands_of(text: &str) -> impl Iterator<Item = Form<'_>> {
    let commands = text.split([';', '|', '&', '\n', '(', ')']);
    let commands = commands.map(|command| command.split_whitespace().map(Some).collect());
    commands.filter(|words: &Form<'_>| !words.is_empty())
}

fn add<'a>(forms: &mut Vec<Form<'a>>, form: Form<'a>) {
    let Some(Some(program)) = form.first().copied() else {
        forms.push(form);
        return;
    };
    let based: Form<'a> =
        std::iter::once(Some(base_name(program))).chain(form.iter().skip(1).copied()).collect();
    if base_name(program) == "git"
        && let Some(plain) = without_git_options(&based)
    {
        forms.push(plain);
    }
    if based != form {
        forms.push(based);
    }
    forms.push(form);
}

/// `git -C dir --no-pager log` as `git log`; `None` when there are no global options.
fn without_git_options<'a>(form: &Form<'a>) -> Option<Form<'a>> {
    let mut words = form.iter().copied().skip(1).peekable();
    let mut removed = false;
    while let Some(Some(word)) = words.peek().copied()
        && word.starts_with('-')
    {
        removed = true;
        words.next();
        let takes_value = matches!(
            word,
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--namespace"
                | "--super-prefix"
                | "--config-env"
                | "--exec-path"
        );
        if takes_value {
            words.next();
        }
    }
    removed.then(|| std::iter::once(Some("git")).chain(words).collect())
}

/// The text of a form; a word that is not known stands as a character that only a star matches.
pub(super) fn text(form: &Form<'_>) -> String {
    form.iter().map(|word| word.unwrap_or("\0")).collect::<Vec<_>>().join(" ")
}

/// The form as pieces with holes.
pub(super) fn pieces<'a>(form: &Form<'a>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for (index, word) in form.iter().enumerate() {
        match word {
            Some(word) => {
                if index > 0 {
                    pieces.push(Piece::Text(" "));
                }
                pieces.push(Piece::Text(word));
            }
            // No words at all are possible too: the blank belongs to the hole.
            None => pieces.push(Piece::Hole),
        }
    }
    pieces
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
