//! `cargo xtask fuzz bash`: the differential test of the analyzer, for as long as one likes.

use xshell::{Shell, cmd};

use crate::args::Hunt;
use crate::cargo::plain;
use crate::steps::{Done, Steps};

/// Runs the one test that there is only when it is told how long.
pub(crate) fn bash(shell: &Shell, hunt: Hunt, steps: &mut Steps) {
    let _seconds = shell.push_env("INNERVE_FUZZ_SECONDS", hunt.seconds.to_string());
    let _seed = hunt.seed.map(|seed| shell.push_env("INNERVE_FUZZ_SEED", seed.to_string()));
    steps.run("fuzz: bash", || {
        plain(cmd!(
            shell,
            "cargo test --quiet --package innerve-bash --test oracle -- --exact commands_are_covered_for_as_long_as_asked"
        ))
        .run()?;
        Ok(Done::Passed)
    });
}
