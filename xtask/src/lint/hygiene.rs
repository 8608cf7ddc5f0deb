//! What must never be committed: paths of one machine, private registries, stray files at the top.

use super::{Finding, finding};
use crate::workspace::Source;

/// Directories that exist on a build machine only; spelled in halves so that this file does not find itself.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/fa", "rm/"), concat!("/ro", "ot/")];

/// The only source of packages in the lockfile.
const PUBLIC_INDEX: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

/// Settings of a private registry in a manifest or a cargo configuration.
const REGISTRY_SETTINGS: &[&str] =
    &["[source.", "[registries", "[registry", "replace-with", "sparse+http", "registry ="];

/// Everything that lies at the top.
const TOP: &[&str] = &[
    ".cargo",
    ".ci",
    ".clippy.toml",
    ".config",
    ".editorconfig",
    ".gitattributes",
    ".github",
    ".gitignore",
    ".rustfmt.toml",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "crates",
    "deny.toml",
    "docs",
    "rust-toolchain.toml",
    "tests",
    "xtask",
];

/// Checks every text file.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let path = source.path.as_str();
        let top = path.split('/').next().unwrap_or_default();
        if !TOP.contains(&top) {
            findings.push(finding(
                path,
                1,
                format!("`{top}` does not belong at the top"),
                "move or remove it",
            ));
        }
        for (index, line) in source.text.lines().enumerate() {
            let number = index + 1;
            if MACHINE_PATHS.iter().any(|machine| has_path(line, machine)) {
                findings.push(finding(
                    path,
                    number,
                    "a path of one machine",
                    "use a path that means the same everywhere, such as /home/u or a temporary directory",
                ));
            }
            if path.ends_with("Cargo.lock") && line.starts_with("source = ") && line != PUBLIC_INDEX
            {
                findings.push(finding(
                    path,
                    number,
                    "a package from elsewhere than crates.io",
                    "depend on a published version",
                ));
            }
            if source.has_extension("toml")
                && path != "deny.toml"
                && REGISTRY_SETTINGS.iter().any(|setting| {
                    line.trim_start().starts_with(setting) || line.contains(" registry =")
                })
            {
                findings.push(finding(
                    path,
                    number,
                    "settings of a private registry",
                    "keep them in the configuration of the machine",
                ));
            }
        }
    }
    findings
}

/// Whether the line holds an absolute path that begins with `machine`.
fn has_path(line: &str, machine: &str) -> bool {
    line.match_indices(machine).any(|(start, _)| {
        let before = line.get(..start).and_then(|head| head.chars().next_back());
        !before
            .is_some_and(|character| character.is_alphanumeric() || "_-.~}*/".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::tests::check_lines;

    #[track_caller]
    fn check(path: &str, text: &str, lines: &[usize]) {
        check_lines(super::check, path, text, lines);
    }

    #[test]
    fn absolute_paths_of_a_build_machine_are_found() {
        let text = MACHINE_PATHS.join("x\n");
        check("README.md", &text, &[1, 2, 3]);
    }

    #[test]
    fn a_folder_of_the_same_name_elsewhere_is_free() {
        let folder = MACHINE_PATHS[0];
        for before in ["/home/u", "~", "${HOME}", "a_b"] {
            check("README.md", &format!("cd {before}{folder}x\n"), &[]);
        }
    }

    #[test]
    fn packages_come_from_the_public_index() {
        let text = format!("{PUBLIC_INDEX}\nsource = \"git+https://example.org/x\"\n");
        check("Cargo.lock", &text, &[2]);
        check(
            ".cargo/config.toml",
            "[alias]\nxtask = \"x\"\n[source.crates-io]\nreplace-with = \"m\"\n",
            &[3, 4],
        );
    }

    #[test]
    fn the_top_level_is_closed() {
        check("notes.txt", "", &[1]);
        check("crates/x/notes.txt", "", &[]);
    }
}
