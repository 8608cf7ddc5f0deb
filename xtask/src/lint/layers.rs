//! Who may import whom: the architecture of the workspace as a table.

use std::collections::BTreeSet;

use super::{Finding, finding, line_where, text_at};
use crate::workspace::{Kind, Package, Source};

/// One crate and its place.
pub(super) struct Layer {
    /// The crate.
    pub(super) name: &'static str,
    /// The crates it may import directly; what those may import is allowed too.
    may_import: &'static [&'static str],
}

/// The crates in dependency order: none imports one that stands below it.
pub(super) const LAYERS: &[Layer] = &[
    Layer { name: "innerve-protocol", may_import: &[] },
    Layer { name: "innerve-bash", may_import: &[] },
    Layer { name: "innerve-permission", may_import: &["innerve-bash"] },
    Layer { name: "innerve-budget", may_import: &["innerve-protocol"] },
    Layer { name: "innerve-tool", may_import: &["innerve-protocol", "innerve-permission"] },
    Layer { name: "innerve-pipeline", may_import: &["innerve-tool", "innerve-budget"] },
    Layer { name: "innerve-settings", may_import: &["innerve-permission"] },
    Layer { name: "innerve-hooks", may_import: &["innerve-pipeline"] },
    Layer { name: "innerve-builtins", may_import: &["innerve-tool", "innerve-bash"] },
    Layer { name: "innerve-model", may_import: &["innerve-protocol"] },
    Layer { name: "innerve-mcp", may_import: &["innerve-pipeline"] },
    Layer { name: "innerve-agent", may_import: &["innerve-pipeline", "innerve-model"] },
    Layer { name: "innerve-acp", may_import: &["innerve-agent"] },
    Layer {
        name: "innerve",
        may_import: &[
            "innerve-settings",
            "innerve-hooks",
            "innerve-builtins",
            "innerve-mcp",
            "innerve-acp",
        ],
    },
    Layer { name: "innerve-cli", may_import: &["innerve"] },
];

/// Imports that are never right, whatever the table says and whatever they are for.
const NEVER: &[(&str, &str)] = &[
    ("innerve-builtins", "innerve-pipeline"),
    ("innerve-pipeline", "innerve-builtins"),
    ("innerve-builtins", "innerve-agent"),
    ("innerve-agent", "innerve-builtins"),
    ("innerve-permission", "innerve-tool"),
];

/// The program; no library may know it.
const PROGRAM: &str = "innerve-cli";

/// Imports of a port only: default features off and none asked for, so that no provider comes along.
const PORT_ONLY: &[(&str, &str)] = &[("innerve-agent", "innerve-model")];

/// Checks every direct dependency of the workspace on itself.
pub(super) fn check(packages: &[Package], sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let manifest = text_at(sources, &package.manifest);
        let own = LAYERS.iter().find(|layer| layer.name == package.name);
        if own.is_none() && package.manifest.starts_with("crates/") {
            findings.push(finding(
                &package.manifest,
                line_where(manifest, |line| line.starts_with("name")),
                format!("`{}` has no place in the layer table", package.name),
                "add a row to LAYERS in xtask/src/lint/layers.rs",
            ));
        }
        let allowed = own.map(closure);
        for dependency in packages_of_ours(package) {
            let name = dependency.name.as_str();
            let pair = (package.name.as_str(), name);
            let line = line_where(manifest, |line| {
                line.starts_with(name) && !line.starts_with(&format!("{name}-"))
            });
            let mut report = |what: String, mend: &str| {
                findings.push(finding(&package.manifest, line, what, mend));
            };
            if name == PROGRAM || NEVER.contains(&pair) {
                report(
                    format!("`{}` must never import `{name}`", package.name),
                    "declare a port in the lower crate and implement it above both",
                );
                continue;
            }
            if package.name == "xtask" {
                report(
                    format!("xtask imports `{name}`"),
                    "keep the automation free of the crates it checks: run the program instead",
                );
            }
            let checked = dependency.kind != Kind::Dev;
            if checked && allowed.as_ref().is_some_and(|allowed| !allowed.contains(name)) {
                report(
                    format!("`{}` may not import `{name}`", package.name),
                    "see the layer table in ARCHITECTURE.md: move the code, or cut the edge by a port",
                );
            }
            if checked
                && PORT_ONLY.contains(&pair)
                && (dependency.default_features || !dependency.features.is_empty())
            {
                report(
                    format!("`{}` may import `{name}` for its port only", package.name),
                    "ask for no features and switch the default ones off",
                );
            }
        }
    }
    findings
}

fn packages_of_ours(package: &Package) -> impl Iterator<Item = &crate::workspace::Dependency> {
    package.dependencies.iter().filter(|dependency| {
        dependency.path && LAYERS.iter().any(|layer| layer.name == dependency.name)
    })
}

/// Everything that a crate may import: what its row names and what those may import.
fn closure(layer: &Layer) -> BTreeSet<&'static str> {
    let mut allowed = BTreeSet::new();
    let mut open: Vec<&str> = layer.may_import.to_vec();
    while let Some(name) = open.pop() {
        if allowed.insert(name)
            && let Some(next) = LAYERS.iter().find(|layer| layer.name == name)
        {
            open.extend(next.may_import);
        }
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(package: Package) -> Vec<String> {
        check(&[package], &[]).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_table_is_in_dependency_order_and_knows_every_name_it_uses() {
        for (index, layer) in LAYERS.iter().enumerate() {
            for name in layer.may_import {
                let place = LAYERS.iter().position(|other| other.name == *name);
                assert!(place.is_some_and(|place| place < index), "{} imports {name}", layer.name);
            }
            for (from, to) in NEVER {
                assert!(
                    *from != layer.name || !closure(layer).contains(to),
                    "{from} → {to} is allowed by the table"
                );
            }
        }
    }

    #[test]
    fn what_an_allowed_import_may_import_is_allowed_too() {
        let package = Package::named("innerve-pipeline")
            .with("innerve-tool", Kind::Normal)
            .with("innerve-bash", Kind::Normal)
            .with("innerve-protocol", Kind::Normal);
        assert_eq!(complaints(package), Vec::<String>::new());
    }

    #[test]
    fn an_upward_import_is_found_and_its_line_named() {
        let package = Package::named("innerve-budget").with("innerve-tool", Kind::Normal);
        let manifest = "[dependencies]\ninnerve-tool-kit = 1\ninnerve-tool.workspace = true\n";
        let found = check(&[package], &[Source::new("crates/innerve-budget/Cargo.toml", manifest)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 3);
        assert!(found[0].what.contains("may not import `innerve-tool`"));
    }

    #[test]
    fn never_pairs_and_the_program_are_refused_even_for_tests() {
        for (from, to) in
            NEVER.iter().chain(&[("innerve-agent", PROGRAM), ("innerve-tests", PROGRAM)])
        {
            let package = Package::named(from).with(to, Kind::Dev);
            let found = check(&[package], &[]);
            assert!(
                found.iter().any(|finding| finding.what.contains("must never import")),
                "{from} → {to}"
            );
        }
    }

    #[test]
    fn a_test_may_import_a_sibling_that_the_library_may_not() {
        let package = Package::named("innerve-settings").with("innerve-protocol", Kind::Dev);
        assert_eq!(complaints(package), Vec::<String>::new());
    }

    #[test]
    fn the_loop_takes_the_model_port_without_a_provider() {
        let mut package = Package::named("innerve-agent").with("innerve-model", Kind::Normal);
        assert_eq!(complaints(package).len(), 1);
        package = Package::named("innerve-agent").with("innerve-model", Kind::Normal);
        package.dependencies[0].default_features = false;
        assert_eq!(complaints(package), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert!(complaints(Package::named("innerve-extra"))[0].contains("no place"));
    }

    #[test]
    fn the_automation_imports_none_of_ours() {
        let package = Package::named("xtask").with("innerve-bash", Kind::Normal);
        assert!(complaints(package).iter().any(|what| what.contains("xtask imports")));
    }
}
