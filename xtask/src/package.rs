//! `cargo xtask package`: every crate is packed and built from its packed file, and a program of somebody else uses one of them.

use std::fs;
use std::path::Path;

use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::release::in_order;
use crate::steps::{Done, Steps};
use crate::workspace::{Kind, Package, Workspace};

/// What the program of somebody else takes.
const TAKEN: &str = "innerve-permission";

/// Packs and builds, then compiles the program in `tests/downstream` against the packed files and runs it.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, steps: &mut Steps) {
    let mut packed = false;
    steps.run("package: crates", || {
        let names = in_order(workspace)
            .into_iter()
            .flat_map(|package| ["--package", package.name.as_str()]);
        // What is packed is what is committed or about to be: CI has a clean tree.
        plain(cmd!(shell, "cargo package --allow-dirty --locked {names...}")).run()?;
        packed = true;
        Ok(Done::Passed)
    });
    if packed {
        steps.run("package: downstream", || downstream(shell, workspace));
    }
}

fn downstream(shell: &Shell, workspace: &Workspace) -> Result<Done> {
    let place = shell.create_temp_dir()?;
    let mut manifest = format!(
        "[package]\nname = \"downstream\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nserde_json = \"1\"\n{TAKEN} = \"*\"\n\n[patch.crates-io]\n"
    );
    for package in below(workspace, TAKEN) {
        let archive = format!("{}-{}.crate", package.name, package.version()?);
        let archive = workspace.target.join("package").join(archive);
        let folder = place.path();
        cmd!(shell, "tar --extract --gzip --file {archive} --directory {folder}").run()?;
        let unpacked = folder.join(format!("{}-{}", package.name, package.version()?));
        let path = serde_json::Value::from(unpacked.display().to_string());
        manifest.push_str(&format!("{} = {{ path = {path} }}\n", package.name));
    }
    let project = place.path().join("downstream");
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("Cargo.toml"), manifest)?;
    copy(workspace, "tests/downstream/main.rs", &project.join("src/main.rs"))?;
    copy(workspace, "rust-toolchain.toml", &project.join("rust-toolchain.toml"))?;
    // The versions that the workspace was tested with.
    copy(workspace, "Cargo.lock", &project.join("Cargo.lock"))?;
    let _there = shell.push_dir(&project);
    let _target = shell.push_env("CARGO_TARGET_DIR", workspace.target.join("downstream"));
    plain(cmd!(shell, "cargo run --quiet")).run()?;
    Ok(Done::Passed)
}

fn copy(workspace: &Workspace, from: &str, to: &Path) -> Result {
    fs::copy(workspace.root.join(from), to)?;
    Ok(())
}

/// The package of this name and all of this workspace that it depends on.
fn below<'a>(workspace: &'a Workspace, name: &str) -> Vec<&'a Package> {
    let mut found: Vec<&Package> = Vec::new();
    let mut names = vec![name];
    while let Some(name) = names.pop() {
        let package = workspace.packages.iter().find(|package| package.name == name);
        let Some(package) =
            package.filter(|package| !found.iter().any(|it| it.name == package.name))
        else {
            continue;
        };
        found.push(package);
        let edges = package.dependencies.iter();
        names.extend(
            edges.filter(|edge| edge.path && edge.kind != Kind::Dev).map(|edge| edge.name.as_str()),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_a_package_is_found_once() {
        let workspace = Workspace {
            root: "/p".into(),
            target: "/p/target".into(),
            packages: vec![
                Package::named("a").with("b", Kind::Normal).with("innerve-c", Kind::Normal),
                Package::named("innerve-c").with("innerve-d", Kind::Normal),
                Package::named("innerve-d").with("a", Kind::Dev),
            ],
        };
        let names: Vec<&str> =
            below(&workspace, "a").iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["a", "innerve-c", "innerve-d"]);
    }
}
