//! What `--help` prints, for the program and for each verb.

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
  fuzz kill --kills N [--seed S]
                          sessions that are killed at random moments and resumed
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

pub(crate) const CI: &str = "\
Runs what a change must pass, step by step, and ends with a table of the steps and their times.

Usage: cargo xtask ci

Steps: the lockfile is current; `lint`; `test`; documentation with warnings denied; every feature of every library
alone, and none; `package`; bans, licences and sources by cargo-deny where that is installed.

Example:
  CI=1 cargo xtask ci     with the `ci` profile of .config/nextest.toml";

pub(crate) const LINT: &str = "\
Checks format, clippy with warnings denied, and the workspace's own rules; lists every finding.

Usage: cargo xtask lint [--fix]

  --fix   lets rustfmt and clippy mend what they can first

A finding reads `path:line: what; how to mend`.

Examples:
  cargo xtask lint
  cargo xtask lint --fix";

pub(crate) const TEST: &str = "\
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

pub(crate) const FUZZ: &str = "\
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

pub(crate) const BENCH: &str = "\
Measures, in release mode, on a machine that should do nothing else; fails when a figure is over its bound.

Usage: cargo xtask bench [SUBJECT]… [--json FILE] [--against REV]

  SUBJECT         one of those below; all without one
  --json FILE     writes the figures to a file too
  --against REV   lets today's measuring measure this revision as well, and prints both side by side

Each figure is a median of so many runs; ± is how far off it may be, in 95 of 100 cases. A figure is marked noisy when its
bound lies within that, or, without a bound, when it is more than a quarter of the value.

Subjects:
  analyze   the shell analyzer beside the bare parse of the same text, how its time grows, its median over the corpus of
            everyday commands, and `innerve analyze` as a process
  bash      a Bash call that does nothing, beyond the shell itself
  check     facts and decision for calls of every kind under 10 rules and under 1,000, in turn
  edit      Edit of a small file, of 1 MB and of a large one beside reading, writing and flushing the same bytes; edits of
            one file at once beside the same one after the other
  flood     a command that writes 1 GB: its time, and the memory it takes
  grep      the Grep tool beside ripgrep on a tree of 20,000 files, with warm and, for root, cold caches; what
            `innerve call` takes besides searching is measured in an empty directory and left out; rg must be installed
  loop      `innerve run` against a model that asks for a tool 1,000 times: the time of a turn, early and late; eight calls
            in one slow response beside the slowest of them
  memory    what `innerve run` holds after 100, 300 and 1,000 turns
  peers     innerve beside those of codex, gemini, opencode and pi that are on the PATH, each driven against the same
            model that plays a script: start, a turn, memory, a flood, a child left behind, commands at once
  pipeline  a call that does nothing through the fourteen steps, beyond its tool
  read      Read of a small file, and of line 10 million of 1 GB with the memory that takes
  start-up  from the start of `innerve run` to its first request, and how large that is

Examples:
  cargo xtask bench
  cargo xtask bench analyze check
  cargo xtask bench grep --against HEAD~10";

pub(crate) const RELEASE: &str = "\
Checks that a crate can be published, raises its version, closes its changelog, commits and tags `CRATE-vX.Y.Z`.

Usage: cargo xtask release [CRATE LEVEL] [--check] [--baseline REV]

  CRATE LEVEL      the crate, and the part of its version to raise: patch, minor or major (below 1.0 what breaks users
                   raises the minor part); or `first`, when it was never released: then the version stays
  --check          only checks; without CRATE it checks all crates, as if for a release of mends
  --baseline REV   what the public interface is compared with; default: the crate's last tag

Checks: nothing is uncommitted; the tag is free; the changelog has entries under [Unreleased]; the public interface
(cargo-semver-checks), the crates below and the changelog show no more than LEVEL permits, else the message names the level
that does; the crate and all that it is built on pack, and build from their packed files, in the order in which they would
be published (a dry run). Nothing is uploaded: the last step prints the commands for that, and which crates must follow.

Examples:
  cargo xtask release --check
  cargo xtask release innerve-bash minor --check
  cargo xtask release innerve-bash first
  cargo xtask release innerve-bash minor";

pub(crate) const PACKAGE: &str = "\
Packs every crate that is published and builds it from the packed file, each against the packed files of those below it;
then compiles the program in tests/downstream, outside of the workspace, against the packed permission engine, and runs it.

Usage: cargo xtask package

Example:
  cargo xtask package";

pub(crate) const DIST: &str = "\
Builds the program for this machine, optimized and stripped, and packs it into target/dist/out.

Usage: cargo xtask dist

The archive `innerve-VERSION-TARGET.tar.gz` holds the program, completions for bash, fish and zsh, the manual page, the
README, the changelog, the licences, and a table of all crates in the program with theirs; beside it stands its SHA-256 checksum.

Example:
  cargo xtask dist";
