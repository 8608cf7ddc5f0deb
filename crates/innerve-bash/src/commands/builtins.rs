//! The builtins of bash that are no wrappers.

use super::Examples;

/// How a builtin is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Without an effect outside the shell, whatever its words.
    Inert,
    /// By a rule of its own.
    Rule,
    /// It changes processes or limits.
    State,
    /// It changes what later text means, or runs text that is not seen.
    Refused,
}

/// A builtin.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) judged: Judged,
    /// Whether a program of this name does the same, so that wrappers may start it.
    pub(crate) is_program: bool,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "read by the tests and the printed page only")
    )]
    pub(crate) examples: Examples,
}

const fn row(
    name: &'static str,
    judged: Judged,
    note: &'static str,
    matching: &'static [&'static str],
    others: &'static [&'static str],
) -> Builtin {
    Builtin { name, judged, is_program: false, examples: Examples { note, matching, others } }
}

const fn inert(name: &'static str, matching: &'static [&'static str]) -> Builtin {
    row(name, Judged::Inert, "", matching, &[])
}

const fn refused(name: &'static str, others: &'static [&'static str]) -> Builtin {
    row(name, Judged::Refused, "", &[], others)
}

impl Builtin {
    const fn and_program(mut self) -> Self {
        self.is_program = true;
        self
    }
}

pub(crate) const ROWS: &[Builtin] = &[
    inert(":", &[": anything", ":"]),
    inert("true", &["true"]).and_program(),
    inert("false", &["false"]).and_program(),
    inert("echo", &["echo -e \"a\\tb\" $x", "echo"]).and_program(),
    inert("pwd", &["pwd -P"]).and_program(),
    inert("exit", &["exit 1"]),
    inert("return", &["return 0"]),
    inert("break", &["break 2"]),
    inert("continue", &["continue"]),
    inert("shift", &["shift 2"]),
    inert("times", &["times"]),
    inert("dirs", &["dirs -v"]),
    inert("caller", &["caller 0"]),
    inert("help", &["help test"]),
    row(
        "printf",
        Judged::Rule,
        "`-v` and `%n` assign",
        &["printf '%s\\n' \"$x\"", "printf -- '-%s' a", "printf \"a $x\\n\""],
        &[
            "printf -v x a",
            "printf \"$x\"",
            "printf \"$x: \"",
            "printf 'a%n' PATH",
            "printf \"a$x\" PATH",
            "printf \"a$x\" \"$y\"",
        ],
    )
    .and_program(),
    row(
        "[",
        Judged::Rule,
        "forms that may evaluate their operands: `-v`, `-R`, `-a`, `-o`, words that may be several",
        &["[ -f a ]", "[ \"$x\" = y ]", "[ ! -d \"$d\" ]", "[ \"$n\" -gt 3 ]", "[ $# -lt 1 ]"],
        &["[ -v x ]", "[ $x ]", "[ \"$a\" \"$b\" ]", "[ a -o b ]"],
    )
    .and_program(),
    row(
        "test",
        Judged::Rule,
        "as `[`",
        &["test -f a", "test \"$x\" = y"],
        &["test -v x", "test $x"],
    )
    .and_program(),
    row(
        "cd",
        Judged::Rule,
        "later paths are joined to where it leads",
        &["cd src", "cd \"$d\"", "cd -"],
        &[],
    ),
    row("pushd", Judged::Rule, "later paths are not known", &["pushd src"], &[]),
    row("popd", Judged::Rule, "later paths are not known", &["popd"], &[]),
    row(
        "read",
        Judged::Rule,
        "names that are not plain lower-case ones",
        &["read -r line", "read -rp 'ok? ' answer", "read -n 1 x"],
        &["read PATH", "read \"$x\"", "read 'a[0]'", "read -a x"],
    ),
    row(
        "set",
        Judged::Rule,
        "options other than `-e`, `-u`, `-x` and `-o pipefail`; without words it prints variables",
        &["set -euo pipefail", "set -x", "set -- a b"],
        &["set", "set -k", "set -o posix", "set -a"],
    ),
    row("type", Judged::Rule, "", &["type -a git"], &[]),
    row(
        "wait",
        Judged::Rule,
        "`-p` assigns",
        &["wait", "wait 12", "wait $!", "wait %1"],
        &["wait -p x", "wait \"$x\""],
    ),
    row(
        "umask",
        Judged::Rule,
        "with a mask it changes what is created",
        &["umask", "umask -S"],
        &["umask 022", "umask -- -w"],
    ),
    row(
        "ulimit",
        Judged::Rule,
        "with a limit it changes it",
        &["ulimit -n", "ulimit -a", "ulimit -Sn"],
        &["ulimit -n 100", "ulimit -c unlimited", "ulimit -n100", "ulimit -Scunlimited"],
    ),
    row(
        "kill",
        Judged::Rule,
        "`-l` lists and `-0` looks; everything else sends a signal",
        &["kill -l", "kill -0 12", "kill -0 \"$pid\""],
        &["kill 12", "kill -9 12", "kill -0 $x"],
    )
    .and_program(),
    row(
        "jobs",
        Judged::Rule,
        "`-x` runs a command",
        &["jobs", "jobs -l"],
        &["jobs -x rm a", "jobs $x"],
    ),
    row(
        "export",
        Judged::Rule,
        "variables that change what programs mean; without words it prints variables",
        &["export x=1", "export LANG=C"],
        &["export PATH=.", "export -p", "export \"$x\"", "export", "export LD_PRELOAD=x"],
    ),
    row("disown", Judged::State, "", &["disown %1"], &[]),
    row("bg", Judged::State, "", &["bg"], &[]),
    row("fg", Judged::State, "", &["fg %1"], &[]),
    row("let", Judged::Refused, "evaluates its words", &[], &["let x=1"]),
    refused(".", &[". venv/bin/activate"]),
    refused("source", &["source venv/bin/activate"]),
    refused("alias", &["alias ls=rm"]),
    refused("unalias", &["unalias ls"]),
    refused("bind", &["bind -x '\"a\": ls'"]),
    refused("compgen", &["compgen -C ls"]),
    refused("complete", &["complete -C ls x"]),
    refused("compopt", &["compopt -o default"]),
    refused("declare", &["declare -i x", "declare x=1"]),
    refused("typeset", &["typeset x=1"]),
    refused("local", &["local x=1"]),
    refused("readonly", &["readonly x=1"]),
    refused("enable", &["enable -n echo"]),
    refused("fc", &["fc -s"]),
    refused("getopts", &["getopts ab x"]),
    refused("hash", &["hash -p /tmp/x ls"]),
    refused("history", &["history -c"]),
    refused("logout", &["logout"]),
    refused("mapfile", &["mapfile -t lines"]),
    refused("readarray", &["readarray lines"]),
    refused("shopt", &["shopt -s extglob"]),
    refused("suspend", &["suspend"]),
    refused("unset", &["unset x"]),
    refused("coproc", &["coproc ls"]),
];

/// The builtin of this name.
pub(crate) fn builtin(name: &str) -> Option<&'static Builtin> {
    ROWS.iter().find(|builtin| builtin.name == name)
}
