//! `cargo xtask dist`: what a person downloads: the program, completions, the manual page, licences, and a checksum.

mod archive;
mod licences;

use std::fs;
use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::Workspace;

/// The package whose program is packed.
const PACKAGE: &str = "innerve-cli";

/// Builds for the machine it runs on, puts the archive into `target/dist/out`, and tries it as who has downloaded it.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, steps: &mut Steps) {
    let mut built = false;
    steps.run("dist: build", || {
        let sources = registry()?;
        let directories = [(&sources, "crates"), (&workspace.root, "innerve")];
        let renamed = |variable: &str, option: &str| {
            let set = std::env::var(variable).unwrap_or_default();
            shell.push_env(variable, with_renamed(&set, option, &directories))
        };
        let _rust = renamed("RUSTFLAGS", "--remap-path-prefix");
        // Only gcc and clang know it.
        let _c = cfg!(unix).then(|| renamed("CFLAGS", "-ffile-prefix-map"));
        plain(cmd!(shell, "cargo build --locked --profile dist --package {PACKAGE} --bin innerve"))
            .run()?;
        built = true;
        Ok(Done::Passed)
    });
    if !built {
        return;
    }
    let mut packed: Option<PathBuf> = None;
    steps.run("dist: archive", || {
        packed = Some(pack(shell, workspace)?);
        Ok(Done::Passed)
    });
    if let Some(archive) = packed {
        steps.run("dist: try it", || {
            archive::try_out(shell, &archive)?;
            Ok(Done::Passed)
        });
    }
}

/// Where the sources of other people's crates are unpacked.
fn registry() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    Ok(home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src"))
}

/// The flags that are set, and those that keep the directories of whoever builds out of the program.
fn with_renamed(set: &str, option: &str, directories: &[(&PathBuf, &str)]) -> String {
    let mut flags = set.to_owned();
    for (directory, name) in directories {
        flags.push_str(&format!(" {option}={}={name}", directory.display()));
    }
    flags.trim().to_owned()
}

fn pack(shell: &Shell, workspace: &Workspace) -> Result<PathBuf> {
    let program =
        workspace.target.join("dist").join(format!("innerve{}", std::env::consts::EXE_SUFFIX));
    let (compiler, target) = compiler(&cmd!(shell, "rustc --version --verbose").quiet().read()?)?;
    let file = |path: &str| fs::read_to_string(workspace.root.join(path));
    let mit = file("LICENSE-MIT")?;
    // Without its title and our copyright.
    let permission = mit.find("Permission is").and_then(|start| mit.get(start..));
    let permission = permission.ok_or("LICENSE-MIT is not the text of that licence")?;
    let components = licences::components(shell, PACKAGE)?;
    let papers = vec![
        ("README.md", file("README.md")?),
        ("CHANGELOG.md", file("crates/innerve-cli/CHANGELOG.md")?),
        ("LICENSE-APACHE", file("LICENSE-APACHE")?),
        ("THIRD-PARTY.md", licences::paper(&components, permission, &compiler)?),
        ("LICENSE-MIT", mit),
    ];
    // The commit's time, so that the same commit gives the same archive.
    let time = cmd!(shell, "git log -1 --format=%ct").quiet().read()?.trim().parse()?;
    let content = archive::Content { program: &program, target: &target, papers, time };
    let out = workspace.target.join("dist").join("out");
    shell.remove_path(&out)?;
    let archive = archive::pack(shell, &out, &content)?;
    let size = |path: &Path| -> Result<f64> { Ok(megabytes(fs::metadata(path)?.len())) };
    println!(
        "{}: {:.1} MB, of which the program unpacked is {:.1} MB; {} crates of others",
        archive.display(),
        size(&archive)?,
        size(&program)?,
        components.len()
    );
    Ok(archive)
}

/// The name of this machine's compiler with its version, and its target triple.
fn compiler(text: &str) -> Result<(String, String)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    match (field("release: "), field("host: ")) {
        (Some(release), Some(host)) => Ok((format!("Rust {release}"), host.to_owned())),
        (_, _) => Err("rustc does not say its release and host".into()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a size that is shown to one digit")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_says_its_version_and_target() {
        let text = "rustc 1.95.0 (abc 2026-03-21)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n";
        let (compiler, target) = super::compiler(text).unwrap();
        assert_eq!(
            (compiler.as_str(), target.as_str()),
            ("Rust 1.95.0", "x86_64-unknown-linux-gnu")
        );
        assert!(super::compiler("rustc 1.95.0").is_err());
    }

    #[test]
    fn directories_of_the_builder_are_renamed_beside_the_flags_that_are_set() {
        let (home, root) = (PathBuf::from("/h/.cargo/registry/src"), PathBuf::from("/p"));
        assert_eq!(
            with_renamed("-O2", "--remap", &[(&home, "crates"), (&root, "innerve")]),
            "-O2 --remap=/h/.cargo/registry/src=crates --remap=/p=innerve"
        );
        assert_eq!(with_renamed("", "--remap", &[(&root, "p")]), "--remap=/p=p");
    }
}
