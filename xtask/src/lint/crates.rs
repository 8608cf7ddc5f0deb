//! What every crate must have beside its code: a README, a changelog, the licences, an example, a line in `crates/README.md`.

use super::layers::LAYERS;
use super::{Finding, finding, text_at};
use crate::workspace::{Package, Source};

/// The list of all crates.
const INDEX: &str = "crates/README.md";

/// A README with fewer lines than this says nothing.
const README_LINES: usize = 8;

/// Each crate carries their texts into its package, as links to those of the root.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Checks the papers of every crate.
pub(super) fn check(packages: &[Package], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.manifest.starts_with("crates/")) {
        let directory = package.directory();
        let readme = format!("{directory}/README.md");
        let lines =
            text_at(sources, &readme).lines().filter(|line| !line.trim().is_empty()).count();
        if lines < README_LINES {
            findings.push(finding(
                &readme,
                1,
                format!("the README has {lines} lines of text"),
                "say what the crate is, name its principal type, say what it does not do, show an example that compiles",
            ));
        }
        let changelog = format!("{directory}/CHANGELOG.md");
        if package.published && !text_at(sources, &changelog).contains("## [Unreleased]") {
            findings.push(finding(
                &changelog,
                1,
                "no changelog with a section `## [Unreleased]`",
                "write one in the form of Keep a Changelog",
            ));
        }
        for licence in LICENCES.iter().filter(|_| package.published) {
            let path = format!("{directory}/{licence}");
            let text = text_at(sources, &path);
            if text.is_empty() || text != text_at(sources, licence) {
                findings.push(finding(
                    &path,
                    1,
                    "not the text of the licence in the root",
                    format!("ln -s ../../{licence} {path}"),
                ));
            }
        }
        let examples = format!("{directory}/examples/");
        let is_example =
            |source: &Source| source.path.starts_with(&examples) && source.has_extension("rs");
        if package.published && package.library && !sources.iter().any(is_example) {
            findings.push(finding(
                &package.manifest,
                1,
                "no example",
                "add a program in `examples/` that shows what the crate is for",
            ));
        }
    }
    findings.extend(check_index(packages, text_at(sources, INDEX)));
    findings
}

/// One row per crate, in dependency order.
fn check_index(packages: &[Package], index: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed: Vec<(usize, &str)> = index
        .lines()
        .enumerate()
        .filter_map(|(number, line)| {
            Some((number + 1, line.strip_prefix("| [`")?.split('`').next()?))
        })
        .collect();
    for package in packages.iter().filter(|package| package.manifest.starts_with("crates/")) {
        let rows = listed.iter().filter(|(_, name)| *name == package.name).count();
        if rows != 1 {
            let what = format!("`{}` has {rows} rows", package.name);
            findings.push(finding(
                INDEX,
                1,
                what,
                "give each crate one row that starts with its name and link",
            ));
        }
    }
    for (line, name) in &listed {
        if !packages.iter().any(|package| package.name == *name) {
            findings.push(finding(
                INDEX,
                *line,
                format!("`{name}` is no crate of the workspace"),
                "remove the row",
            ));
        }
    }
    let place = |name: &str| LAYERS.iter().position(|layer| layer.name == name);
    for (&(_, before), &(line, name)) in listed.iter().zip(listed.iter().skip(1)) {
        if place(name) < place(before) {
            findings.push(finding(
                INDEX,
                line,
                format!("`{name}` stands after `{before}`"),
                "keep the order of the layer table: no crate imports one that stands below it",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(names: &[&str], files: &[(&str, &str)]) -> Vec<String> {
        let packages: Vec<Package> = names.iter().map(|name| Package::named(name)).collect();
        let sources: Vec<Source> =
            files.iter().map(|(path, text)| Source::new(path, text)).collect();
        check(&packages, &sources).iter().map(ToString::to_string).collect()
    }

    const README: &str = "1\n2\n3\n4\n5\n6\n7\n8\n";

    #[test]
    fn a_crate_with_all_its_papers_passes() {
        let files = [
            ("crates/innerve-bash/README.md", README),
            ("crates/innerve-bash/CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"),
            ("crates/innerve-bash/LICENSE-MIT", "Permission"),
            ("crates/innerve-bash/LICENSE-APACHE", "Version 2.0"),
            ("crates/innerve-bash/examples/one.rs", "fn main() {}"),
            ("LICENSE-MIT", "Permission"),
            ("LICENSE-APACHE", "Version 2.0"),
            (INDEX, "| crate |\n|---|\n| [`innerve-bash`](innerve-bash) | reads bash |\n"),
        ];
        assert_eq!(complaints(&["innerve-bash"], &files), Vec::<String>::new());
    }

    #[test]
    fn each_missing_paper_is_named() {
        let found =
            complaints(&["innerve-bash"], &[("crates/innerve-bash/README.md", "# innerve-bash\n")]);
        assert_eq!(found.len(), 6, "{found:#?}");
        assert!(found[0].starts_with("crates/innerve-bash/README.md:1: the README has 1 lines"));
        assert!(found[1].starts_with("crates/innerve-bash/CHANGELOG.md:1: no changelog"));
        assert!(found[2].ends_with("; ln -s ../../LICENSE-MIT crates/innerve-bash/LICENSE-MIT"));
        assert!(found[3].starts_with("crates/innerve-bash/LICENSE-APACHE:1: not the text"));
        assert!(found[4].starts_with("crates/innerve-bash/Cargo.toml:1: no example"));
        assert!(found[5].starts_with("crates/README.md:1: `innerve-bash` has 0 rows"));
    }

    #[test]
    fn rows_follow_the_layers_and_name_real_crates() {
        let packages = ["innerve-tool", "innerve-bash"].map(Package::named);
        let index = "| [`innerve-tool`](innerve-tool) |\n| [`innerve-bash`](innerve-bash) |\n| [`innerve-x`](x) |\n";
        let found = check_index(&packages, index);
        assert!(
            found
                .iter()
                .any(|finding| finding.line == 2 && finding.what.contains("after `innerve-tool`"))
        );
        assert!(found.iter().any(|finding| finding.line == 3 && finding.what.contains("no crate")));
    }
}
