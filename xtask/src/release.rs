//! `cargo xtask release`: what must hold before a crate is published, and the commit and tag that publish it.
//!
//! Nothing is uploaded from here: after the tag the verb prints the `cargo publish` commands in their order.

mod changelog;
mod interface;
mod version;

use std::fs;

use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::package::new_place;
use crate::steps::{Done, Steps};
use crate::workspace::{Kind, Package, Workspace};

pub(crate) use version::{Level, Version};

/// The arguments of `release`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The crate and the part of its version to raise; without it only checks can be made, of all crates.
    pub(crate) target: Option<(String, Level)>,
    /// Look, and change nothing.
    pub(crate) check: bool,
    /// What the public interface is compared with, in place of the crate's last tag.
    pub(crate) baseline: Option<String>,
}

/// Checks, and unless that is all that was asked for, raises the version, closes the changelog, commits and tags.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, options: &Options, steps: &mut Steps) {
    let order = in_order(workspace);
    let chosen: Vec<&Package> = match &options.target {
        Some((name, _)) => order.iter().copied().filter(|package| package.name == *name).collect(),
        None => order.clone(),
    };
    if let (Some((name, _)), true) = (&options.target, chosen.is_empty()) {
        let names: Vec<&str> = order.iter().map(|package| package.name.as_str()).collect();
        return steps.run("release", || {
            Err(format!("`{name}` is not published; what is: {}", names.join(", ")).into())
        });
    }
    steps.run("release: clean tree", || clean(shell));
    if steps.has_failed() {
        // All that follows would speak of files that are in no commit.
        return;
    }
    for package in &chosen {
        let name = &package.name;
        let level = options.target.as_ref().map(|(_, level)| *level);
        if let Some(level) = level {
            steps.run(format!("release: {name}: version"), || next(shell, package, level));
        }
        steps.run(format!("release: {name}: changelog"), || changed(shell, package, level));
        steps.run(format!("release: {name}: public interface"), || {
            let level = level.unwrap_or(Level::Patch);
            interface::check(shell, workspace, package, level, options.baseline.as_deref())
        });
    }
    steps.run("release: packages", || packages(shell, workspace, &chosen));
    let Some((_, level)) = options.target.as_ref().filter(|_| !options.check) else { return };
    if steps.has_failed() {
        return steps.run("release: commit and tag", || {
            Ok(Done::Skipped("a step before it failed".to_owned()))
        });
    }
    for package in &chosen {
        steps.run("release: commit and tag", || tag(shell, workspace, package, *level));
    }
}

/// The published packages, each behind those that it depends on.
pub(crate) fn in_order(workspace: &Workspace) -> Vec<&Package> {
    let mut left: Vec<&Package> =
        workspace.packages.iter().filter(|package| package.published).collect();
    let mut order: Vec<&Package> = Vec::new();
    while !left.is_empty() {
        let (ready, waiting): (Vec<&Package>, Vec<&Package>) =
            left.iter().copied().partition(|package| {
                package.dependencies.iter().filter(|edge| edge.kind != Kind::Dev).all(|edge| {
                    !left.iter().any(|other| other.name == edge.name && other.name != package.name)
                })
            });
        if ready.is_empty() {
            // Cargo refuses cycles, so this is never reached with a workspace that builds.
            order.extend(waiting);
            break;
        }
        order.extend(ready);
        left = waiting;
    }
    order
}

fn clean(shell: &Shell) -> Result<Done> {
    let changes = cmd!(shell, "git status --porcelain").quiet().read()?;
    match changes.lines().next() {
        None => Ok(Done::Passed),
        Some(first) => Err(format!("uncommitted changes, first `{first}`; commit them").into()),
    }
}

/// The level fits what was released before, and the version is not taken.
fn next(shell: &Shell, package: &Package, level: Level) -> Result<Done> {
    let (name, last) = (&package.name, last_tag(shell, package)?);
    match (last, level) {
        (None, Level::First) | (Some(_), Level::Patch | Level::Minor | Level::Major) => {}
        (None, _) => {
            return Err(format!(
                "{name} was never released: no tag `{name}-v*`; `cargo xtask release {name} first` releases it as {}",
                package.version()?
            )
            .into());
        }
        (Some(tag), Level::First) => {
            return Err(
                format!("{name} was released as {tag}; say `patch`, `minor` or `major`").into()
            );
        }
    }
    let tag = tag_of(package, level)?;
    if !cmd!(shell, "git tag --list {tag}").quiet().read()?.is_empty() {
        return Err(format!(
            "the tag {tag} is there, on a commit that this one does not descend from; merge that, or remove the tag if it was never pushed"
        )
        .into());
    }
    Ok(Done::Passed)
}

/// The tag of the release that is made.
fn tag_of(package: &Package, level: Level) -> Result<String> {
    Ok(format!("{}-v{}", package.name, package.version()?.raised(level)))
}

/// A crate that is released, or changed since its last release, says so in its changelog.
fn changed(shell: &Shell, package: &Package, released: Option<Level>) -> Result<Done> {
    let directory = package.directory();
    let text = shell.read_file(format!("{directory}/CHANGELOG.md"))?;
    let entries = changelog::entries(&text)?;
    if let (None, Some(tag)) = (released, last_tag(shell, package)?) {
        let changes =
            cmd!(shell, "git diff --name-only {tag} HEAD -- {directory}").quiet().read()?;
        if changes.is_empty() {
            return Ok(Done::Skipped(format!("unchanged since {tag}")));
        }
    }
    if entries.is_empty() {
        return Err(format!(
            "{directory}/CHANGELOG.md has no entry under [Unreleased]; say there what changed for users"
        )
        .into());
    }
    Ok(Done::Passed)
}

/// Packs the crates and what they are built on, in order, and builds each from its packed file, on those before it.
fn packages(shell: &Shell, workspace: &Workspace, chosen: &[&Package]) -> Result<Done> {
    let all: Vec<&Package> = in_order(workspace)
        .into_iter()
        .filter(|package| {
            chosen.iter().any(|one| needed(workspace, one).iter().any(|it| it.name == package.name))
        })
        .collect();
    let names = all.iter().flat_map(|package| ["--package", package.name.as_str()]);
    let _place = shell.push_env("CARGO_TARGET_DIR", new_place(workspace)?);
    plain(cmd!(shell, "cargo publish --dry-run --locked {names...}")).run()?;
    Ok(Done::Passed)
}

fn tag(shell: &Shell, workspace: &Workspace, package: &Package, level: Level) -> Result<Done> {
    let (name, directory, tag) = (&package.name, package.directory(), tag_of(package, level)?);
    let (old, new) = (package.version()?, package.version()?.raised(level));
    let date = cmd!(shell, "date -u +%Y-%m-%d").quiet().read()?;
    let log = format!("{directory}/CHANGELOG.md");
    shell.write_file(
        &log,
        changelog::close(&shell.read_file(&log)?, &new.to_string(), date.trim())?,
    )?;
    if new != old {
        replace_once(
            &workspace.root.join(&package.manifest),
            &format!("\nversion = \"{old}\"\n"),
            &format!("\nversion = \"{new}\"\n"),
        )?;
        if package.library {
            replace_once(
                &workspace.root.join("Cargo.toml"),
                &format!("path = \"{directory}\", version = \"{old}\""),
                &format!("path = \"{directory}\", version = \"{new}\""),
            )?;
        }
        plain(cmd!(shell, "cargo update --workspace --offline")).run()?;
    }
    let short = name.trim_start_matches("innerve-");
    let (subject, message) = (format!("{short}: release {new}"), format!("{name} {new}"));
    cmd!(shell, "git commit --quiet --all --message {subject}").run()?;
    cmd!(shell, "git tag --annotate {tag} --message {message}").run()?;
    println!(
        "Tagged {tag}. To publish it, and before it whatever it needs that is newer than what is published:\n"
    );
    for package in needed(workspace, package) {
        println!("  cargo publish --package {}", package.name);
    }
    println!("  git push --follow-tags");
    let above = above(workspace, package);
    if level != Level::First && !old.admits(new) && !above.is_empty() {
        println!(
            "\nThis breaks users, and these are built on it; release them next, in this order:\n"
        );
        for package in above {
            let level = match last_tag(shell, package)? {
                None => Level::First,
                Some(_) if package.library => package.version()?.breaking(),
                Some(_) => Level::Patch,
            };
            println!("  cargo xtask release {} {level}", package.name);
        }
    }
    Ok(Done::Passed)
}

/// The published packages that are built on this one, directly or not, in order.
fn above<'a>(workspace: &'a Workspace, package: &Package) -> Vec<&'a Package> {
    let is_above = |other: &&Package| {
        other.name != package.name
            && needed(workspace, other).iter().any(|it| it.name == package.name)
    };
    in_order(workspace).into_iter().filter(is_above).collect()
}

/// The package and all of this workspace that it depends on, in order.
fn needed<'a>(workspace: &'a Workspace, package: &Package) -> Vec<&'a Package> {
    let order = in_order(workspace);
    let mut names = vec![package.name.as_str()];
    // From the last to the first: whoever needs a package stands behind it.
    for other in order.iter().rev() {
        if names.contains(&other.name.as_str()) {
            names.extend(
                other
                    .dependencies
                    .iter()
                    .filter(|edge| edge.path && edge.kind != Kind::Dev)
                    .map(|edge| edge.name.as_str()),
            );
        }
    }
    order.into_iter().filter(|package| names.contains(&package.name.as_str())).collect()
}

/// The newest tag of the crate's releases that HEAD descends from.
fn last_tag(shell: &Shell, package: &Package) -> Result<Option<String>> {
    let pattern = format!("{}-v*", package.name);
    let tags = cmd!(shell, "git tag --list {pattern} --merged HEAD").quiet().read()?;
    let prefix = format!("{}-v", package.name);
    let newest = tags
        .lines()
        .filter_map(|tag| Some((tag.strip_prefix(&prefix)?.parse::<Version>().ok()?, tag)))
        .max_by_key(|(version, _)| *version);
    Ok(newest.map(|(_, tag)| tag.to_owned()))
}

fn replace_once(path: &std::path::Path, old: &str, new: &str) -> Result {
    let text = fs::read_to_string(path)?;
    if text.matches(old).count() != 1 {
        return Err(format!("{}: `{}` should stand there once", path.display(), old.trim()).into());
    }
    fs::write(path, text.replacen(old, new, 1))?;
    Ok(())
}

#[cfg(test)]
mod on_disk;

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        Workspace {
            root: "/p".into(),
            target: "/p/target".into(),
            packages: vec![
                Package::named("innerve-agent").with("innerve-tool", Kind::Normal),
                Package::named("innerve-bash").with("innerve-tool", Kind::Dev),
                Package::named("innerve-permission").with("innerve-bash", Kind::Normal),
                Package::named("innerve-tool").with("innerve-permission", Kind::Normal),
                Package { published: false, ..Package::named("innerve-tests") },
            ],
        }
    }

    fn names(packages: &[&Package]) -> Vec<String> {
        packages.iter().map(|package| package.name.clone()).collect()
    }

    #[test]
    fn what_is_depended_on_comes_first() {
        assert_eq!(
            names(&in_order(&workspace())),
            ["innerve-bash", "innerve-permission", "innerve-tool", "innerve-agent"]
        );
    }

    #[test]
    fn who_is_built_on_a_crate_follows_its_break() {
        let workspace = workspace();
        let bash = workspace.packages.iter().find(|package| package.name == "innerve-bash");
        assert_eq!(
            names(&above(&workspace, bash.unwrap())),
            ["innerve-permission", "innerve-tool", "innerve-agent"]
        );
    }

    #[test]
    fn a_release_needs_what_stands_below_it() {
        let workspace = workspace();
        let tool = workspace.packages.iter().find(|package| package.name == "innerve-tool");
        assert_eq!(
            names(&needed(&workspace, tool.unwrap())),
            ["innerve-bash", "innerve-permission", "innerve-tool"]
        );
    }
}
