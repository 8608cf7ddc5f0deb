//! `cargo xtask test`: the program is built, then all tests and the doctests run.

use xshell::{Shell, cmd};

use crate::args::{Options, Snapshots};
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::Workspace;

/// The feature of the program that is tested besides what is on by default.
const ACP: &str = "innerve-cli/acp";

/// Runs the three steps.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, options: &Options, steps: &mut Steps) {
    let _snapshots = shell.push_env("INSTA_UPDATE", insta_update(options.snapshots));
    let _program = shell.push_env("INNERVE_BIN", workspace.program());
    // Program and tests in one build, so that both are compiled with the same features and nothing is built twice; with
    // the agent for editors, which is not in the program by default, and the examples, since both have tests as well.
    steps.run("test: build", || {
        plain(cmd!(shell, "cargo build --workspace --bins --tests --examples --features {ACP}"))
            .run()?;
        Ok(Done::Passed)
    });
    steps.run("test: tests", || {
        let filter = &options.filter;
        if has_nextest(shell) {
            let profile = if shell.var_os("CI").is_some() { "ci" } else { "default" };
            plain(cmd!(
                shell,
                "cargo nextest run --workspace --features {ACP} --profile {profile} {filter...}"
            ))
            .run()?;
        } else {
            println!(
                "cargo-nextest is not installed: `cargo test` runs the tests, slower and without a limit of time (cargo install --locked cargo-nextest)"
            );
            plain(cmd!(
                shell,
                "cargo test --no-fail-fast --workspace --features {ACP} --lib --bins --tests {filter...}"
            ))
            .run()?;
        }
        Ok(Done::Passed)
    });
    steps.run("test: doctests", || {
        let filter = &options.filter;
        plain(cmd!(shell, "cargo test --doc --workspace {filter...}")).run()?;
        Ok(Done::Passed)
    });
}

fn has_nextest(shell: &Shell) -> bool {
    cmd!(shell, "cargo nextest --version").quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

fn insta_update(snapshots: Snapshots) -> &'static str {
    match snapshots {
        Snapshots::Verify => "no",
        Snapshots::Update => "always",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_only_written_when_asked() {
        assert_eq!(insta_update(Options::default().snapshots), "no");
        assert_eq!(insta_update(Snapshots::Update), "always");
    }
}
