//! What no prefix rule covers: programs that run whatever their words say.

use super::call::base_name;
use crate::Part;
use crate::rule::CommandSpec;

/// Programs that run other programs or code given as words.
const RUNNERS: &[&str] = &[
    "watch", "setsid", "ionice", "flock", "env", "xargs", "sudo", "doas", "nohup", "sh", "bash",
    "zsh", "dash", "ksh", "fish", "eval", "exec", "su", "runuser", "parallel",
];

/// Interpreters, with the options that take code from the command line.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c"]),
    ("python2", &["-c"]),
    ("python3", &["-c"]),
    ("node", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("nodejs", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("tsx", &["-e", "--eval", "-p", "--print"]),
    ("ts-node", &["-e", "--eval", "-p", "-pe", "--print"]),
    ("deno", &["eval"]),
    ("bun", &["-e", "--eval"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("osascript", &["-e"]),
    ("Rscript", &["-e"]),
    ("julia", &["-e", "--eval", "-E"]),
];

/// Beginnings of commands that run what a project or a registry holds.
const PROJECT_RUNNERS: &[&str] = &[
    "npm run",
    "npm exec",
    "npx",
    "yarn",
    "pnpm run",
    "pnpm exec",
    "pnpm dlx",
    "bun run",
    "bunx",
    "uv run",
    "uvx",
    "poetry run",
    "pipx run",
    "cargo run",
    "go run",
    "deno run",
    "make",
    "just",
    "docker run",
    "docker exec",
    "devbox run",
    "mise exec",
    "direnv exec",
    "bundle exec",
];

/// Options of `find` that run, remove or write.
const FIND_ACTIONS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];

/// Whether a rule with a star never covers this command; an exact one may.
pub(super) fn by_prefix(part: &Part) -> bool {
    let Some(program) = part.argv.first().and_then(Option::as_deref).map(base_name) else {
        return true;
    };
    let has =
        |words: &[&str]| part.argv.iter().flatten().any(|word| words.contains(&word.as_str()));
    if RUNNERS.contains(&program) {
        return true;
    }
    if program == "find" {
        return has(FIND_ACTIONS);
    }
    let Some((_, options)) =
        INTERPRETERS.iter().find(|(name, _)| *name == program || is_version_of(program, name))
    else {
        return false;
    };
    let mut words = part.argv.iter().skip(1).flatten();
    let takes_code = words.clone().any(|word| {
        options
            .iter()
            .any(|option| word == option || (is_short(option) && is_cluster_with(word, option)))
    });
    // Without a file to run it reads code from its input.
    takes_code || !words.any(|word| !word.starts_with('-'))
}

/// Whether the program runs code that it is given.
pub(super) fn is_interpreter(program: &str) -> bool {
    let program = base_name(program);
    INTERPRETERS.iter().any(|(name, _)| *name == program || is_version_of(program, name))
}

fn is_short(option: &str) -> bool {
    option.len() == 2
}

/// `-ne` and `-ecode` hold `-e`.
fn is_cluster_with(word: &str, option: &str) -> bool {
    let (Some(cluster), Some(letter)) = (word.strip_prefix('-'), option.chars().nth(1)) else {
        return false;
    };
    !cluster.starts_with('-')
        && cluster.chars().take_while(char::is_ascii_alphabetic).any(|c| c == letter)
}

/// Whether mode `auto` suspends the rule: it would run anything.
pub(super) fn in_auto(spec: &CommandSpec) -> bool {
    if spec.is_exact() {
        return false;
    }
    let prefix = spec.pattern.prefix();
    let word = base_name(prefix.split(' ').next().unwrap_or_default());
    let runs = |name: &str| {
        // `python*` also stands for `python3`.
        word == name || (!prefix.contains(' ') && name.starts_with(word))
    };
    word.is_empty()
        || RUNNERS.iter().any(|name| runs(name))
        || INTERPRETERS.iter().any(|(name, _)| runs(name) || is_version_of(word, name))
        || PROJECT_RUNNERS
            .iter()
            .any(|runner| prefix.starts_with(runner) || runner.starts_with(prefix))
}

/// `python3.12` is a version of `python`.
fn is_version_of(word: &str, name: &str) -> bool {
    word.strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}
