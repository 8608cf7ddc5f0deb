//! The command line: verbs and flags.

mod usage;

use crate::bench::{self, Subject};
use crate::release::{self, Level};

pub(crate) use usage::USAGE;
use usage::{BENCH, CI, DIST, FUZZ, LINT, PACKAGE, RELEASE, TEST};

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
        [] => {
            Err("name a crate and `first`, `patch`, `minor` or `major`, or say `--check`"
                .to_owned())
        }
        [name, level] => {
            let level = Level::named(level)
                .ok_or_else(|| format!("`{level}` is not `first`, `patch`, `minor` or `major`"))?;
            options.target = Some((name.to_owned(), level));
            Ok(options)
        }
        [name] => Err(format!("`first`, `patch`, `minor` or `major` is missing behind `{name}`")),
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
        let target = Some(("innerve-bash".to_owned(), Level::First));
        let first = release::Options { target, check: true, ..release::Options::default() };
        assert_eq!(parse_line("release innerve-bash first --check"), Ok(Request::Release(first)));
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
