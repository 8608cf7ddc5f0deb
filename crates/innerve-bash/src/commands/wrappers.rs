//! Programs and builtins that run the command in their own words, or text that they are given.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Examples;
use crate::judge::Options;
use crate::{Class, Effect};

/// How the command inside is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Behind the options and a number of operands.
    Operand(usize),
    /// As for the keyword `time`.
    Time,
    /// As for the builtins `command` and `builtin`.
    Command,
    /// As for `env`.
    Env,
    /// As for `xargs`.
    Xargs,
    /// As for `find`.
    Find,
    /// As for `fd`.
    Fd,
    /// As for `sh -c`.
    Shell,
    /// As for `eval`.
    Eval,
    /// As for `trap` and `exec`.
    Later,
    /// It is not looked for.
    Nowhere,
}

/// A wrapper.
#[derive(Debug)]
pub(crate) struct Wrapper {
    pub(crate) names: &'static [&'static str],
    pub(crate) inside: Inside,
    /// The options that are known, as in the rows of programs.
    pub(crate) options: &'static str,
    /// What the wrapper does itself.
    pub(crate) class: Class,
    pub(crate) effects: &'static [Effect],
    /// Whether the exit code is that of the wrapped command.
    pub(crate) passes_code: bool,
    pub(crate) examples: Examples,
}

impl Wrapper {
    const fn new(names: &'static [&'static str], inside: Inside, options: &'static str) -> Self {
        Self {
            names,
            inside,
            options,
            class: Class::Neutral,
            effects: &[],
            passes_code: true,
            examples: Examples::NONE,
        }
    }

    const fn does(mut self, effects: &'static [Effect]) -> Self {
        self.class = Class::Write;
        self.effects = effects;
        self
    }

    const fn keeps_code(mut self) -> Self {
        self.passes_code = false;
        self
    }

    const fn note(mut self, note: &'static str) -> Self {
        self.examples.note = note;
        self
    }

    const fn examples(
        mut self,
        matching: &'static [&'static str],
        others: &'static [&'static str],
    ) -> Self {
        self.examples.matching = matching;
        self.examples.others = others;
        self
    }
}

/// Options of a shell beside which `-c` still runs just its text; a login shell reads the user's own profile first.
pub(crate) const SHELL_FLAGS: &[u8] = b"celux";

pub(crate) const ROWS: &[Wrapper] = &[
    Wrapper::new(&["time"], Inside::Time, "-p")
        .note("only the keyword, before a plain command")
        .examples(&["time make", "time -p git status"], &["time for x in 1; do ls; done", "time ! ls", "\\time ls"]),
    Wrapper::new(&["timeout", "gtimeout"], Inside::Operand(1), "-fv -ks= --foreground --preserve-status --verbose --kill-after= --signal=")
        .examples(&["timeout 5 make", "timeout -k 1 -s KILL 5s make", "timeout --sig=INT 1m make"], &["timeout $t make", "timeout --frob 5 make"]),
    Wrapper::new(&["nice"], Inside::Operand(0), "-n= --adjustment= -#").examples(&["nice make", "nice -n 19 make", "nice -5 make"], &["nice -x make"]),
    Wrapper::new(&["nohup"], Inside::Operand(0), "").examples(&["nohup make"], &["nohup --frob make"]),
    Wrapper::new(&["stdbuf"], Inside::Operand(0), "-ioe= --input= --output= --error=").examples(&["stdbuf -oL make"], &["stdbuf -x make"]),
    Wrapper::new(&["setsid"], Inside::Operand(0), "-cfw --ctty --fork --wait").does(&[Effect::State]).keeps_code().examples(&["setsid -f make"], &["setsid -x make"]),
    Wrapper::new(&["ionice"], Inside::Operand(0), "-t -cn= --ignore --class= --classdata=").does(&[Effect::State]).examples(&["ionice -c3 make"], &["ionice -p 1"]),
    Wrapper::new(
        &["sudo"],
        Inside::Operand(0),
        "-AbEHkKnPSNB -ugpCDRrtTUh= --askpass --background --preserve-env? --set-home --non-interactive --stdin --user= --group= --prompt= --host= \
         !-s !--shell !-i !--login !-e !--edit !--chroot= !--chdir=",
    )
    .does(&[Effect::Privilege])
    .note("`-s`, `-i` and `-e` start a shell or an editor")
    .examples(&["sudo make install", "sudo -u postgres -n psql"], &["sudo -s", "sudo -e /etc/hosts", "sudo A=1 make"]),
    Wrapper::new(&["doas"], Inside::Operand(0), "-nL -uCa=").does(&[Effect::Privilege]).examples(&["doas -u me make"], &["doas -s"]),
    Wrapper::new(&["command"], Inside::Command, "-pvV").examples(&["command ls", "command -v git", "command -p ls"], &["command -x ls"]),
    Wrapper::new(&["builtin"], Inside::Command, "").examples(&["builtin cd src"], &["builtin -x cd"]),
    Wrapper::new(&["env"], Inside::Env, "-i - -0v -uC= --ignore-environment --null --debug --unset= --chdir= !-S= !--split-string= !--block-signal? !--default-signal? !--ignore-signal?")
        .note("`-S` splits text into words; without a command it prints the environment; variables that change what programs mean")
        .examples(&["env make", "env -i A=1 make", "env LC_ALL=C sort a", "env -u A --uns=B make"], &["env -S 'rm x'", "env --split='rm x'", "env PATH=. make", "env $x"]),
    Wrapper::new(
        &["xargs", "gxargs"],
        Inside::Xargs,
        "-0rtxpo -nPLsIdE= -a=< -iel? --null --no-run-if-empty --verbose --exit --interactive --open-tty --max-args= --max-procs= --max-chars= \
         --delimiter= --arg-file=< --replace? --eof? --max-lines? --process-slot-var= --show-limits",
    )
    .note("the words from the input stand behind the command's own; a program from the input is not known")
    .examples(&["xargs wc -l", "xargs -0 -n1 -P4 grep foo", "xargs -I{} cp {} dst", "xargs"], &["xargs -I{} {}", "xargs --frob ls", "xargs -n 1 -I x ls x", "xargs --process-slot-var=PATH ls"]),
    Wrapper::new(&["find", "gfind"], Inside::Find, "")
        .note("`-delete`, `-fprint`, `-fprint0`, `-fprintf` and `-fls` write; the commands behind `-exec`, `-execdir`, `-ok` and `-okdir` are found")
        .examples(&["find . -name '*.rs' -type f", "find . -name x -exec grep -l y {} +", "find src -mtime -1 -not -path '*/x/*'"], &["find . $x", "find . -exec", "find . -name $x -delete"]),
    Wrapper::new(&["fd", "fdfind"], Inside::Fd, "")
        .note("the command behind `-x` or `-X` is found")
        .examples(&["fd -e rs -x wc -l", "fd -e py -X grep -l foo"], &["fd x -x"]),
    Wrapper::new(&["bash", "sh", "dash"], Inside::Shell, "-c -celux -n")
        .note("text from files or the input is not seen; `sh` and `dash` may read text otherwise than bash does")
        .examples(&["bash -c 'ls | head'", "sh -c 'git status'", "bash -lc ls", "bash -n a.sh", "bash --version"], &["bash a.sh", "bash -c \"$x\"", "bash", "sh -c '[[ a ]]'", "bash -O extglob -c ls", "bash -c +x ls"]),
    Wrapper::new(&["zsh", "ksh", "ash", "fish", "csh", "tcsh", "rbash", "mksh", "pwsh", "nu", "elvish"], Inside::Shell, "")
        .note("reads text otherwise than bash does")
        .examples(&["zsh --version"], &["zsh -c ls", "fish -c ls"]),
    Wrapper::new(&["eval"], Inside::Eval, "").note("what literal text runs is told all the same").examples(&[], &["eval ls", "eval \"$x\""]),
    Wrapper::new(&["trap", "exec"], Inside::Later, "").note("what literal text runs is told all the same").examples(&[], &["trap 'rm x' EXIT", "exec make", "exec > log"]),
    Wrapper::new(&["taskset", "chrt", "flock", "numactl", "cgexec", "fakeroot", "proot", "torsocks", "proxychains"], Inside::Nowhere, "")
        .note("the command inside is not looked for")
        .examples(&[], &["flock lock make", "taskset -c 0 make"]),
];

/// A wrapper with its options compiled.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) row: &'static Wrapper,
    pub(crate) options: Options,
}

static TABLE: LazyLock<HashMap<&'static str, Known>> = LazyLock::new(|| {
    let named = ROWS.iter().flat_map(|row| row.names.iter().map(move |name| (*name, row)));
    named.map(|(name, row)| (name, Known { row, options: Options::new(row.options) })).collect()
});

/// The wrapper of this name.
pub(crate) fn wrapper(name: &str) -> Option<&'static Known> {
    TABLE.get(name)
}
