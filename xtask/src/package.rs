//! `cargo xtask package`: every crate is packed and built from its packed file, and a program of somebody else uses one of them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::release::in_order;
use crate::steps::{Done, Steps};
use crate::workspace::{Kind, Package, Workspace};

/// What the program of somebody else takes.
const TAKEN: &str = "innerve-permission";

/// What is in every packed crate.
const PAPERS: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// What is in none.
const FOREIGN: [&str; 2] = ["fuzz/", "target/"];
/// The most that crates.io takes, in bytes (the Cargo book, "Publishing on crates.io").
const LARGEST: u64 = 10 * 1024 * 1024;

/// Packs and builds, then compiles the program in `tests/downstream` against the packed files and runs it.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, steps: &mut Steps) {
    let mut packed = false;
    steps.run("package: crates", || {
        let names = in_order(workspace)
            .into_iter()
            .flat_map(|package| ["--package", package.name.as_str()]);
        let _place = shell.push_env("CARGO_TARGET_DIR", new_place(workspace)?);
        // What is packed is what is committed or about to be: CI has a clean tree.
        plain(cmd!(shell, "cargo package --allow-dirty --locked {names...}")).run()?;
        packed = true;
        // The packed files are what is looked at from here on.
        remove(&packing(workspace).join("debug"))?;
        Ok(Done::Passed)
    });
    if packed {
        steps.run("package: contents", || contents(shell, workspace));
        steps.run("package: downstream", || downstream(shell, workspace));
    }
}

/// Where crates are packed, and built from their packed files.
fn packing(workspace: &Workspace) -> PathBuf {
    workspace.target.join("packing")
}

/// An empty place to pack in; what cargo has unpacked of earlier packings is gone.
///
/// Cargo takes a crate for unchanged as long as its version is: what it has once unpacked of a packed file, and once built of that,
/// would be taken again after the crate has changed, and one crate would be built on an old state of another.
pub(crate) fn new_place(workspace: &Workspace) -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    for registry in home.iter().flat_map(|home| fs::read_dir(home.join("registry/src"))).flatten() {
        let registry = registry?;
        // The folder of a registry is named after its host: those of packed files have none.
        if !registry.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for package in in_order(workspace) {
            let name = format!("{}-{}", package.name, package.version()?);
            remove(&registry.path().join(name))?;
        }
    }
    let place = packing(workspace);
    remove(&place)?;
    Ok(place)
}

fn remove(folder: &Path) -> Result {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()).into())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Every packed file holds what its users look for, and nothing that only this repository needs.
fn contents(shell: &Shell, workspace: &Workspace) -> Result<Done> {
    let mut complaints = Vec::new();
    for package in in_order(workspace) {
        let name = format!("{}-{}", package.name, package.version()?);
        let archive = packing(workspace).join("package").join(format!("{name}.crate"));
        let list = cmd!(shell, "tar --list --gzip --file {archive}").quiet().read()?;
        let inside: Vec<&str> =
            list.lines().filter_map(|line| line.strip_prefix(&name)?.strip_prefix('/')).collect();
        complaints.extend(
            wrong(package, &inside)
                .into_iter()
                .map(|complaint| format!("{name}.crate: {complaint}")),
        );
        if std::fs::metadata(&archive)?.len() > LARGEST {
            complaints
                .push(format!("{name}.crate: more than {LARGEST} bytes, which crates.io refuses"));
        }
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.first() {
        None => Ok(Done::Passed),
        Some(first) => Err(format!("{} complaints, the first: {first}", complaints.len()).into()),
    }
}

/// What is wrong with the files of a packed crate.
fn wrong(package: &Package, inside: &[&str]) -> Vec<String> {
    let missing =
        PAPERS.iter().filter(|paper| !inside.contains(paper)).map(|paper| format!("no {paper}"));
    let example = package.library && !inside.iter().any(|path| path.starts_with("examples/"));
    let foreign = inside
        .iter()
        .filter(|path| FOREIGN.iter().any(|folder| path.starts_with(folder)))
        .map(|path| format!("{path} belongs to this repository only; `exclude` it"));
    missing.chain(example.then(|| "no example".to_owned())).chain(foreign).collect()
}

fn downstream(shell: &Shell, workspace: &Workspace) -> Result<Done> {
    let place = shell.create_temp_dir()?;
    let mut manifest = format!(
        "[package]\nname = \"downstream\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nserde_json = \"1\"\n{TAKEN} = \"*\"\n\n[patch.crates-io]\n"
    );
    for package in below(workspace, TAKEN) {
        let archive = format!("{}-{}.crate", package.name, package.version()?);
        let archive = packing(workspace).join("package").join(archive);
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
    fn a_packed_crate_has_its_papers_and_nothing_foreign() {
        let mut inside = PAPERS.to_vec();
        inside.extend(["src/lib.rs", "examples/one.rs"]);
        assert_eq!(wrong(&Package::named("a"), &inside), Vec::<String>::new());
        let few =
            ["Cargo.toml", "Cargo.lock", "README.md", "CHANGELOG.md", "LICENSE-MIT", "fuzz/a.rs"];
        assert_eq!(
            wrong(&Package::named("a"), &few),
            [
                "no LICENSE-APACHE",
                "no example",
                "fuzz/a.rs belongs to this repository only; `exclude` it"
            ]
        );
        let program = Package { library: false, ..Package::named("a") };
        assert_eq!(wrong(&program, &PAPERS), Vec::<String>::new());
    }

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
