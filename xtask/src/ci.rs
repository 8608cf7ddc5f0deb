//! `cargo xtask ci`: everything a change must pass, in order.

use xshell::{Shell, cmd};

use crate::args::{Mode, Options};
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::{Package, Workspace};
use crate::{lint, package, test};

/// Runs all steps; a failed one does not stop the rest.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, steps: &mut Steps) {
    steps.run("lockfile", || {
        cmd!(shell, "cargo metadata --locked --format-version 1").ignore_stdout().run()?;
        Ok(Done::Passed)
    });
    lint::run(shell, workspace, Mode::Report, steps);
    test::run(shell, workspace, &Options::default(), steps);
    steps.run("docs", || {
        let _flags = shell.push_env("RUSTDOCFLAGS", "-D warnings");
        plain(cmd!(shell, "cargo doc --workspace --no-deps")).run()?;
        Ok(Done::Passed)
    });
    for package in workspace.packages.iter().filter(|package| package.library) {
        for features in alone(package) {
            let name = &package.name;
            steps.run(
                format!("features: {name} {}", features.as_deref().unwrap_or("(none)")),
                || {
                    let chosen = features.iter().flat_map(|feature| ["--features", feature]);
                    plain(cmd!(
                        shell,
                        "cargo clippy -p {name} --no-default-features {chosen...} -- -D warnings"
                    ))
                    .run()?;
                    Ok(Done::Passed)
                },
            );
        }
    }
    package::run(shell, workspace, steps);
    steps.run("deny", || deny(shell));
}

/// Each feature of the package alone, and none; nothing for a package without features.
fn alone(package: &Package) -> Vec<Option<String>> {
    let features: Vec<&String> =
        package.features.iter().filter(|feature| *feature != "default").collect();
    if features.is_empty() {
        return Vec::new();
    }
    std::iter::once(None).chain(features.into_iter().cloned().map(Some)).collect()
}

/// Advisories are left out: their database is a git repository of its own, and a change must not fail because of it.
fn deny(shell: &Shell) -> crate::Result<Done> {
    if cmd!(shell, "cargo deny --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return Ok(Done::Skipped(
            "cargo-deny is not installed (cargo install --locked cargo-deny)".to_owned(),
        ));
    }
    plain(cmd!(shell, "cargo deny check bans licenses sources")).run()?;
    Ok(Done::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_tried_alone_and_none_at_all() {
        let mut package = Package::named("innerve-model");
        assert!(alone(&package).is_empty());
        package.features = ["default", "http", "replay"].map(str::to_owned).to_vec();
        assert_eq!(alone(&package), [None, Some("http".to_owned()), Some("replay".to_owned())]);
    }
}
