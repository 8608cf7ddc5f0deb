//! The command line: verbs, flags and the usage text.

use crate::bench::{self, Subject};
use crate::release::{self, Level};

/// What `cargo xtask` alone, `--help` and every misuse print.
pub(crate) const USAGE: &str = "\
Automation of the innerve workspace.

Usage: cargo xtask <VERB> [ARGUMENTS]

Verbs:
  ci                      everything a change must pass: lint, test, docs, features one by one, licences
  lint [--fix]            format, clippy with warnings denied, and the workspace's own rules
  test [FILTER] [--update]
                          builds the program, runs all tests, then the doctests
  fuzz bash --seconds N [--seed S]
                          random commands: the analyzer's word against what bash does
  bench [SUBJECT]… [--json FILE] [--against REV]
                          what innerve costs, each figure with its bound
  package                 packs every crate, builds it from the packed file, and has another program use one
  release [CRATE LEVEL] [--check] [--baseline REV]
                          what must hold before a crate is published; then its commit and tag
  dist                    an archive with the program, completions, manual page and licences, and its checksum

Every verb prints one line per step, goes on after a failed step, and exits 1 when one failed, 2 on bad usage.
`cargo xtask VERB --help` says more.

Examples:
  cargo xtask ci
  cargo xtask lint --fix
  cargo xtask test deny_is_final";

const CI: &str = "\
Runs what a change must pass, step by step, and ends with a table of the steps and their times.

Usage: cargo xtask ci

Steps: the lockfile is current; `lint`; `test`; documentation with warnings denied; every feature of every library
alone, and none; `package`; bans, licences and sources by cargo-deny where that is installed.

Example:
  CI=1 cargo xtask ci     with the `ci` profile of .config/nextest.toml";

const LINT: &str = "\
Checks format, clippy with warnings denied, and the workspace's own rules; lists every finding.

Usage: cargo xtask lint [--fix]

  --fix   lets rustfmt and clippy mend what they can first

A finding reads `path:line: what; how to mend`.

Examples:
  cargo xtask lint
  cargo xtask lint --fix";

const TEST: &str = "\
Builds the program, runs all tests (cargo-nextest where installed, else `cargo test`), then the doctests.

Usage: cargo xtask test [FILTER] [--update]

  FILTER     only tests whose name contains this text
  --update   rewrites the snapshots that differ instead of failing (look at the diff before you commit)

The end-to-end tests find the program through the environment variable INNERVE_BIN, which this verb sets to
`<target>/debug/innerve`; without it they build the program themselves.

Examples:
  cargo xtask test
  cargo xtask test deny_is_final
  cargo xtask test tour --update";

const FUZZ: &str = "\
bash: draws random commands, has real bash run them among stub programs, and compares what it ran and wrote with the
analysis. Stops at the first command of which the analyzer misses something, made as short as possible. Needs bash 5.2.

kill: starts the built program against a scripted model, kills it by `kill -9` at random moments and resumes it. Stops
when a finished result is lost, something is run twice without a word, or a request is not valid.

Usage: cargo xtask fuzz bash --seconds N [--seed S]
       cargo xtask fuzz kill --kills N [--seed S]

  --seconds N   how long
  --kills N     how often
  --seed S      a number that gives the same commands or moments again; without it, one of this moment

Examples:
  cargo xtask fuzz bash --seconds 600
  cargo xtask fuzz bash --seconds 60 --seed 20260
  cargo xtask fuzz kill --kills 200";

const BENCH: &str = "\
Measures, in release mode, on a machine that should do nothing else; fails when a figure is over its bound.

Usage: cargo xtask bench [SUBJECT]… [--json FILE] [--against REV]

  SUBJECT         one of those below; all without one
  --json FILE     writes the figures to a file too
  --against REV   measures this revision as well and prints both side by side

Subjects:
  analyze   the shell analyzer beside the bare parse of the same text, how its time grows, its median over the corpus of
            everyday commands, and `innerve analyze` as a process
  bash      a Bash call that does nothing beyond the shell itself; the memory that 1 GB of output takes
  check     facts and decision for calls of every kind under 10 rules and under 1,000, in turn
  grep      the Grep tool beside ripgrep on a tree of 20,000 files, with warm and, for root, cold caches; what
            `innerve call` takes besides searching is measured in an empty directory and left out; rg must be installed
  loop      `innerve run` against a model that asks for a tool 1,000 times: start to first request, the time of a turn and
            the memory, early and late
  pipeline  a call that does nothing through the fourteen steps, beyond its tool
  read      Read of a small file, and of line 10 million of 1 GB with the memory that takes

Examples:
  cargo xtask bench
  cargo xtask bench analyze check
  cargo xtask bench grep --against HEAD~10";

const RELEASE: &str = "\
Checks that a crate can be published, raises its version, closes its changelog, commits and tags `CRATE-vX.Y.Z`.

Usage: cargo xtask release [CRATE LEVEL] [--check] [--baseline REV]

  CRATE LEVEL      the crate, and the part of its version to raise: patch, minor or major; below 1.0 what breaks users
                   raises the minor part
  --check          only checks; without CRATE it checks all crates, as if for a release of mends
  --baseline REV   what the public interface is compared with; default: the crate's last tag

Checks: nothing is uncommitted; the changelog has entries under [Unreleased]; the public interface changed no more than
LEVEL permits (cargo-semver-checks, where there is an earlier release); the crates pack, and build from their packed
files, in the order in which they would be published. Nothing is uploaded: the last step prints the commands for that.

Examples:
  cargo xtask release --check
  cargo xtask release innerve-bash minor --check
  cargo xtask release innerve-bash minor";

const PACKAGE: &str = "\
Packs every crate that is published and builds it from the packed file, each against the packed files of those below it;
then compiles the program in tests/downstream, outside of the workspace, against the packed permission engine, and runs it.

Usage: cargo xtask package

Example:
  cargo xtask package";

const DIST: &str = "\
Builds the program for this machine, optimized and stripped, and packs it into target/dist/out.

Usage: cargo xtask dist

The archive `innerve-VERSION-TARGET.tar.gz` holds the program, completions for bash, fish and zsh, the manual page, the
changelog, the licences, and a table of all crates in the program with theirs; beside it stands its SHA-256 checksum.

Example:
  cargo xtask dist";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Print this text.
    Help(&'static str),
    /// `ci`.
    Ci,
    /// `lint`.
    Lint(Mode),
    /// `test`.
    Test(Options),
    /// `fuzz bash`.
    FuzzBash(Hunt),
    /// `fuzz kill`.
    FuzzKill(Kills),
    /// `bench`.
    Bench(bench::Options),
    /// `dist`.
    Dist,
    /// `package`.
    Package,
    /// `release`.
    Release(release::Options),
}

/// Whether `lint` may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Only report.
    Report,
    /// Let rustfmt and clippy mend first.
    Fix,
}

/// The arguments of `test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Only tests whose name contains this.
    pub(crate) filter: Option<String>,
    /// What happens to a snapshot that differs.
    pub(crate) snapshots: Snapshots,
}

/// The arguments of `fuzz kill`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kills {
    /// How often.
    pub(crate) kills: u64,
    /// The moments.
    pub(crate) seed: Option<u64>,
}

/// The arguments of `fuzz bash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hunt {
    /// How long, in seconds.
    pub(crate) seconds: u64,
    /// What the commands are drawn from, if not from this moment.
    pub(crate) seed: Option<u64>,
}

/// What happens to a snapshot that differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Snapshots {
    /// The test fails.
    #[default]
    Verify,
    /// The snapshot is rewritten.
    Update,
}

/// Reads the words after `cargo xtask`; the error is what to tell the person.
pub(crate) fn parse(words: &[String]) -> Result<Request, String> {
    let mut words = words.iter().map(String::as_str);
    let Some(verb) = words.next() else {
        return Err("a verb is missing".to_owned());
    };
    let rest: Vec<&str> = words.collect();
    let wants_help = rest.iter().any(|word| matches!(*word, "--help" | "-h"));
    match verb {
        "--help" | "-h" | "help" => Ok(Request::Help(USAGE)),
        "ci" if wants_help => Ok(Request::Help(CI)),
        "lint" if wants_help => Ok(Request::Help(LINT)),
        "test" if wants_help => Ok(Request::Help(TEST)),
        "fuzz" if wants_help => Ok(Request::Help(FUZZ)),
        "bench" if wants_help => Ok(Request::Help(BENCH)),
        "package" if wants_help => Ok(Request::Help(PACKAGE)),
        "dist" if wants_help => Ok(Request::Help(DIST)),
        "release" if wants_help => Ok(Request::Help(RELEASE)),
        "ci" => match rest.first() {
            None => Ok(Request::Ci),
            Some(word) => Err(unexpected(word, "ci")),
        },
        "lint" => match rest.as_slice() {
            [] => Ok(Request::Lint(Mode::Report)),
            ["--fix"] => Ok(Request::Lint(Mode::Fix)),
            words => Err(unexpected(
                words.iter().find(|word| **word != "--fix").unwrap_or(&"--fix"),
                "lint",
            )),
        },
        "test" => test_options(&rest).map(Request::Test),
        "fuzz" => fuzz(&rest),
        "bench" => bench_options(&rest).map(Request::Bench),
        "package" => match rest.first() {
            None => Ok(Request::Package),
            Some(word) => Err(unexpected(word, "package")),
        },
        "dist" => match rest.first() {
            None => Ok(Request::Dist),
            Some(word) => Err(unexpected(word, "dist")),
        },
        "release" => release_options(&rest).map(Request::Release),
        other => Err(format!("`{other}` is not a verb")),
    }
}

fn test_options(words: &[&str]) -> Result<Options, String> {
    let mut options = Options::default();
    for word in words {
        match *word {
            "--update" => options.snapshots = Snapshots::Update,
            flag if flag.starts_with('-') => return Err(unexpected(flag, "test")),
            filter if options.filter.is_none() => options.filter = Some(filter.to_owned()),
            second => return Err(unexpected(second, "test")),
        }
    }
    Ok(options)
}

fn bench_options(words: &[&str]) -> Result<bench::Options, String> {
    let mut options = bench::Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("a word is missing behind `{word}`"));
        match *word {
            "--json" => options.json = Some(value()?.into()),
            "--against" => options.against = Some((*value()?).to_owned()),
            name => {
                let subject = Subject::named(name).ok_or_else(|| {
                    let names = Subject::ALL.map(Subject::name).join(", ");
                    format!("`{name}` cannot be measured; what can: {names}")
                })?;
                options.subjects.push(subject);
            }
        }
    }
    Ok(options)
}

fn release_options(words: &[&str]) -> Result<release::Options, String> {
    let mut options = release::Options::default();
    let mut plain = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--check" => options.check = true,
            "--baseline" => {
                let revision = words.next().ok_or("a revision is missing behind `--baseline`")?;
                options.baseline = Some((*revision).to_owned());
            }
            flag if flag.starts_with('-') => return Err(unexpected(flag, "release")),
            word => plain.push(word),
        }
    }
    match *plain {
        [] if options.check => Ok(options),
        [] => Err("name a crate and `patch`, `minor` or `major`, or say `--check`".to_owned()),
        [name, level] => {
            let level = Level::named(level)
                .ok_or_else(|| format!("`{level}` is not `patch`, `minor` or `major`"))?;
            options.target = Some((name.to_owned(), level));
            Ok(options)
        }
        [name] => Err(format!("`patch`, `minor` or `major` is missing behind `{name}`")),
        [_, _, third, ..] => Err(unexpected(third, "release")),
    }
}

fn fuzz(words: &[&str]) -> Result<Request, String> {
    match words.split_first() {
        Some((&"bash", flags)) => {
            let (seconds, seed) = numbers("bash", "--seconds", flags)?;
            Ok(Request::FuzzBash(Hunt { seconds, seed }))
        }
        Some((&"kill", flags)) => {
            let (kills, seed) = numbers("kill", "--kills", flags)?;
            Ok(Request::FuzzKill(Kills { kills, seed }))
        }
        Some(_) | None => Err("`bash` and `kill` are what can be fuzzed".to_owned()),
    }
}

/// The number behind a flag that must be there, and the seed.
fn numbers(verb: &str, needed: &str, flags: &[&str]) -> Result<(u64, Option<u64>), String> {
    let number = |flag: &str, value: &str| {
        value.parse().map_err(|_| format!("`{value}` behind `{flag}` is not a number"))
    };
    let (mut count, mut seed) = (None, None);
    for pair in flags.chunks(2) {
        match pair {
            [flag, value] if *flag == needed => count = Some(number(needed, value)?),
            ["--seed", value] => seed = Some(number("--seed", value)?),
            [flag] if *flag == needed || *flag == "--seed" => {
                return Err(format!("a number is missing behind `{flag}`"));
            }
            words => {
                let word = words.first().unwrap_or(&"fuzz");
                return Err(unexpected(word, &format!("fuzz {verb}")));
            }
        }
    }
    Ok((count.ok_or_else(|| format!("`{needed} N` is missing"))?, seed))
}

fn unexpected(word: &str, verb: &str) -> String {
    format!("`{word}` is not expected after `{verb}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Request, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn verbs_and_flags_are_read() {
        assert_eq!(parse_line("ci"), Ok(Request::Ci));
        assert_eq!(parse_line("lint"), Ok(Request::Lint(Mode::Report)));
        assert_eq!(parse_line("lint --fix"), Ok(Request::Lint(Mode::Fix)));
        assert_eq!(parse_line("test"), Ok(Request::Test(Options::default())));
        let hunt = Hunt { seconds: 60, seed: Some(7) };
        assert_eq!(parse_line("fuzz bash --seconds 60 --seed 7"), Ok(Request::FuzzBash(hunt)));
        assert_eq!(parse_line("bench"), Ok(Request::Bench(bench::Options::default())));
        let some = bench::Options {
            subjects: vec![Subject::Grep, Subject::Check],
            json: Some("out.json".into()),
            against: Some("HEAD~1".to_owned()),
        };
        assert_eq!(
            parse_line("bench grep check --json out.json --against HEAD~1"),
            Ok(Request::Bench(some))
        );
        let check = release::Options { check: true, ..release::Options::default() };
        assert_eq!(parse_line("release --check"), Ok(Request::Release(check)));
        let target = Some(("innerve-bash".to_owned(), Level::Minor));
        let release = release::Options { target, ..release::Options::default() };
        assert_eq!(parse_line("release innerve-bash minor"), Ok(Request::Release(release)));
        let both = Options { filter: Some("tour".to_owned()), snapshots: Snapshots::Update };
        assert_eq!(parse_line("test --update tour"), Ok(Request::Test(both)));
    }

    #[test]
    fn help_is_given_for_the_program_and_for_each_verb() {
        for (line, text) in [
            ("--help", USAGE),
            ("help", USAGE),
            ("ci -h", CI),
            ("lint --help", LINT),
            ("test --help", TEST),
            ("fuzz --help", FUZZ),
            ("bench --help", BENCH),
            ("release --help", RELEASE),
            ("dist -h", DIST),
            ("package --help", PACKAGE),
        ] {
            assert_eq!(parse_line(line), Ok(Request::Help(text)), "{line}");
            assert!(text.contains("Example"), "{line} shows an example");
        }
    }

    #[test]
    fn every_subject_is_in_the_help_of_bench() {
        for subject in Subject::ALL {
            assert!(BENCH.contains(&format!("\n  {} ", subject.name())), "{}", subject.name());
        }
    }

    #[test]
    fn misuse_names_the_word_that_is_wrong() {
        for (line, word) in [
            ("", "missing"),
            ("measure", "`measure`"),
            ("bench grep twice", "`twice`"),
            ("bench analyze --fast", "`--fast`"),
            ("bench --json", "`--json`"),
            ("ci fast", "`fast`"),
            ("lint --fix --hard", "`--hard`"),
            ("lint --fix --fix", "`--fix`"),
            ("test --slow", "`--slow`"),
            ("test one two", "`two`"),
            ("dist now", "`now`"),
            ("package all", "`all`"),
            ("release", "`--check`"),
            ("release innerve-bash", "`innerve-bash`"),
            ("release innerve-bash huge", "`huge`"),
            ("release innerve-bash minor now", "`now`"),
            ("release --baseline", "`--baseline`"),
            ("release --force", "`--force`"),
            ("fuzz", "`bash`"),
            ("fuzz zsh --seconds 1", "`bash`"),
            ("fuzz bash", "`--seconds N`"),
            ("fuzz bash --seconds soon", "`soon`"),
            ("fuzz bash --seconds", "`--seconds`"),
            ("fuzz bash --hours 1", "`--hours`"),
            ("fuzz kill", "`--kills N`"),
            ("fuzz kill --seconds 1", "`--seconds`"),
        ] {
            let complaint = parse_line(line).expect_err(line);
            assert!(complaint.contains(word), "{line}: {complaint}");
        }
    }
}
