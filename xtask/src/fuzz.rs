//! `cargo xtask fuzz bash`: the differential test of the analyzer, for as long as one likes. `fuzz kill`: runs that are killed.

use xshell::{Shell, cmd};

use crate::args::{Hunt, Kills};
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

/// Runs the harness that kills the program, as often as one likes.
pub(crate) fn kill(shell: &Shell, kills: Kills, steps: &mut Steps) {
    let _kills = shell.push_env("INNERVE_KILLS", kills.kills.to_string());
    let _seed = kills.seed.map(|seed| shell.push_env("INNERVE_KILL_SEED", seed.to_string()));
    steps.run("fuzz: kill", || {
        plain(cmd!(
            shell,
            "cargo test --quiet --package innerve-tests --test e2e -- --nocapture kills::"
        ))
        .run()?;
        Ok(Done::Passed)
    });
}
