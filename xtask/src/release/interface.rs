//! What changed for the users of a crate since its last release, and which part of its version that raises.

use xshell::{Shell, cmd};

use super::{Level, Version, changelog, last_tag};
use crate::Result;
use crate::cargo::plain;
use crate::steps::Done;
use crate::workspace::{Kind, Package, Workspace};

/// The public interface may change no more than the level permits, and so may what it is made of.
pub(super) fn check(
    shell: &Shell,
    workspace: &Workspace,
    package: &Package,
    level: Level,
    baseline: Option<&str>,
) -> Result<Done> {
    if !package.library {
        return Ok(Done::Skipped("a program has no interface of Rust items".to_owned()));
    }
    let baseline = match baseline {
        Some(revision) => revision.to_owned(),
        None => match last_tag(shell, package)? {
            Some(tag) => tag,
            None => return Ok(Done::Skipped("never released: nothing to compare with".to_owned())),
        },
    };
    let (name, version) = (&package.name, package.version()?);
    if version_at(shell, &baseline, package)?.is_none() {
        return Err(format!(
            "{name} is not in `{baseline}`; give `--baseline` a commit that has it"
        )
        .into());
    }
    if version.permits(level) == "major" {
        return Ok(Done::Passed);
    }
    let raise = |why: String| -> Result<Done> {
        Err(format!("{why}; release {name} with `{}`", version.breaking()).into())
    };
    if let Some((dependency, before, now)) = broken_below(shell, workspace, package, &baseline)? {
        return raise(format!(
            "{dependency} went from {before} to {now} since {baseline}, which breaks users of {name} too"
        ));
    }
    if changelog::tells_a_break(&shell.read_file(format!("{}/CHANGELOG.md", package.directory()))?)
    {
        return raise(format!("the changelog of {name} tells a break"));
    }
    if cmd!(shell, "cargo semver-checks --version")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .is_err()
    {
        return Err(
            "cargo-semver-checks is not installed (cargo install --locked cargo-semver-checks)"
                .into(),
        );
    }
    let least = [level, Level::Minor, Level::Major].into_iter().try_fold((), |(), level| {
        let kind = version.permits(level);
        let command = cmd!(
            shell,
            "cargo semver-checks --package {name} --baseline-rev {baseline} --release-type {kind}"
        );
        // A major release may change everything: nothing to look at.
        let holds = kind == "major" || plain(command).run().is_ok();
        if holds { Err(level) } else { Ok(()) }
    });
    match least {
        Err(least) if least == level => Ok(Done::Passed),
        Err(least) => Err(format!(
            "{name} changed more since {baseline} than `{level}` permits; release it with `{least}`"
        )
        .into()),
        Ok(()) => Ok(Done::Passed),
    }
}

/// A crate of this workspace that the package is built on and that has broken its users since then, with its versions.
/// Its types may be in the package's own interface, which the comparison of that does not see.
fn broken_below(
    shell: &Shell,
    workspace: &Workspace,
    package: &Package,
    baseline: &str,
) -> Result<Option<(String, Version, Version)>> {
    let edges = package.dependencies.iter().filter(|edge| edge.path && edge.kind == Kind::Normal);
    for edge in edges {
        let Some(below) = workspace.packages.iter().find(|other| other.name == edge.name) else {
            continue;
        };
        let now = below.version()?;
        if let Some(before) = version_at(shell, baseline, below)?
            && !before.admits(now)
        {
            return Ok(Some((below.name.clone(), before, now)));
        }
    }
    Ok(None)
}

/// The version that the package's manifest had in that commit; `None` when it had none.
fn version_at(shell: &Shell, revision: &str, package: &Package) -> Result<Option<Version>> {
    let commit = format!("{revision}^{{commit}}");
    if cmd!(shell, "git rev-parse --verify --quiet {commit}").quiet().ignore_stdout().run().is_err()
    {
        return Err(format!("the baseline `{revision}` is no revision of this repository").into());
    }
    let file = format!("{revision}:{}", package.manifest);
    let Ok(manifest) = cmd!(shell, "git show {file}").quiet().ignore_stderr().read() else {
        return Ok(None);
    };
    let version =
        manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.and_then(|version| version.parse().ok()))
}
