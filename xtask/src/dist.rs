//! `cargo xtask dist`: what a person downloads: the program, completions, the manual page, licences, and checksums.

use std::collections::BTreeSet;
use std::path::Path;

use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;
use crate::steps::{Done, Steps};
use crate::workspace::Workspace;

/// The shells that completions are made for, and the file each looks for.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "innerve.bash"), ("fish", "innerve.fish"), ("zsh", "_innerve")];

/// Builds for the machine it runs on and puts everything into `target/dist`.
pub(crate) fn run(shell: &Shell, workspace: &Workspace, steps: &mut Steps) {
    let mut built = false;
    steps.run("dist: build", || {
        plain(cmd!(
            shell,
            "cargo build --locked --profile dist --package innerve-cli --bin innerve"
        ))
        .run()?;
        built = true;
        Ok(Done::Passed)
    });
    if built {
        steps.run("dist: archive", || archive(shell, workspace));
    }
}

fn archive(shell: &Shell, workspace: &Workspace) -> Result<Done> {
    let program =
        workspace.target.join("dist").join(format!("innerve{}", std::env::consts::EXE_SUFFIX));
    let version = cmd!(shell, "{program} --version").quiet().read()?;
    let version = version.split_whitespace().last().unwrap_or("0").to_owned();
    let name = format!("innerve-{version}-{}", host(shell)?);
    let out = workspace.target.join("dist").join("out");
    let folder = out.join(&name);
    shell.remove_path(&out)?;
    shell.create_dir(&folder)?;
    shell.copy_file(&program, &folder)?;
    for (language, file) in COMPLETIONS {
        let script = cmd!(shell, "{program} completions {language}").quiet().read()?;
        shell.write_file(folder.join("completions").join(file), script + "\n")?;
    }
    let page = cmd!(shell, "{program} completions man").quiet().read()?;
    shell.write_file(folder.join("innerve.1"), page + "\n")?;
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        shell.copy_file(workspace.root.join(file), &folder)?;
    }
    shell.copy_file(workspace.root.join("crates/innerve-cli/CHANGELOG.md"), &folder)?;
    shell.write_file(folder.join("THIRD-PARTY.md"), third_party(&crates(shell)?)?)?;
    let packed = format!("{name}.tar.gz");
    {
        let _there = shell.push_dir(&out);
        cmd!(shell, "tar --create --gzip --file {packed} {name}").run()?;
        let sum = checksum(shell, &packed)?;
        shell.write_file(out.join(format!("{packed}.sha256")), sum)?;
    }
    let size = std::fs::metadata(folder.join(file_name(&program)))?.len();
    println!("{} ({:.1} MB the program)", out.join(&packed).display(), megabytes(size));
    Ok(Done::Passed)
}

#[expect(clippy::cast_precision_loss, reason = "a size that is shown to one digit")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn file_name(path: &Path) -> &std::ffi::OsStr {
    path.file_name().unwrap_or_default()
}

/// The target triple of this machine's compiler.
fn host(shell: &Shell) -> Result<String> {
    let text = cmd!(shell, "rustc --version --verbose").quiet().read()?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say its host".into())
}

fn checksum(shell: &Shell, file: &str) -> Result<String> {
    let sum = cmd!(shell, "sha256sum {file}").quiet().read();
    Ok(sum.or_else(|_| cmd!(shell, "shasum -a 256 {file}").quiet().read())? + "\n")
}

/// Name, version and licence of each crate that is linked into the program.
fn crates(shell: &Shell) -> Result<Vec<String>> {
    let list = plain(cmd!(
        shell,
        "cargo tree --locked --package innerve-cli --edges normal --prefix none --format '{p}|{l}'"
    ))
    .quiet()
    .read()?;
    Ok(list.lines().map(str::to_owned).collect())
}

/// A table of other people's crates; one without a licence stops the archive.
fn third_party(lines: &[String]) -> Result<String> {
    let mut rows = BTreeSet::new();
    for line in lines {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        // Our own have a path behind the version, and a crate that was listed before a `(*)`.
        let words: Vec<&str> = package.split_whitespace().collect();
        let [name, version, ..] = words.as_slice() else { continue };
        if name.starts_with("innerve") {
            continue;
        }
        let licence = licence.trim_end_matches("(*)").trim();
        if licence.is_empty() {
            return Err(format!("{name} {version} names no licence").into());
        }
        rows.insert(format!("| {name} | {} | {licence} |", version.trim_start_matches('v')));
    }
    let rows: Vec<String> = rows.into_iter().collect();
    Ok(format!(
        "# Crates in this program\n\n| crate | version | licence |\n| --- | --- | --- |\n{}\n",
        rows.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_peoples_crates_are_listed_once_with_their_licence() {
        let lines = [
            "innerve-cli v0.1.0 (/p/crates/innerve-cli)|MIT OR Apache-2.0",
            "serde v1.0.2|MIT OR Apache-2.0",
            "anstyle v1.0.0|MIT",
            "serde v1.0.2|MIT OR Apache-2.0 (*)",
            "",
        ]
        .map(str::to_owned);
        let table = third_party(&lines).unwrap();
        assert!(
            table.ends_with(
                "| --- |\n| anstyle | 1.0.0 | MIT |\n| serde | 1.0.2 | MIT OR Apache-2.0 |\n"
            ),
            "{table}"
        );
        assert!(third_party(&["x v1.0.0|".to_owned()]).is_err());
    }
}
