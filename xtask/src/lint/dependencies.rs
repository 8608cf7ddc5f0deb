//! What the lower crates pull in: no runtime, and for the engine a number that must not grow.

use std::collections::BTreeSet;

use xshell::{Shell, cmd};

use super::purity::PURE;
use super::{Finding, finding};
use crate::Result;

/// Features of tokio that bring a runtime, a timer or I/O.
const RUNTIME: &[&str] = &[
    "rt",
    "rt-multi-thread",
    "time",
    "fs",
    "net",
    "process",
    "io-std",
    "io-util",
    "signal",
    "full",
    "test-util",
];

/// The crates that may use tokio's cancellation primitives; those below them do without tokio.
const MAY_CANCEL: &[&str] = &["innerve-tool", "innerve-pipeline"];

/// Most crates that `innerve-permission` may bring, itself included: (arguments of cargo, number).
const BUDGETS: &[(&[&str], usize)] =
    &[(&["--no-default-features"], 20), (&["--no-default-features", "--features", "bash"], 30)];

/// A line of `cargo tree`: a package and the features of it that are on.
type Package<'a> = (&'a str, BTreeSet<&'a str>);

/// Asks cargo for the trees and checks them.
pub(super) fn check(shell: &Shell) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for name in PURE {
        let tree = tree(shell, name, &["--all-features"])?;
        findings.extend(check_runtime(name, &packages(&tree)));
    }
    let engine = "innerve-permission";
    for (arguments, most) in BUDGETS {
        let tree = tree(shell, engine, arguments)?;
        findings.extend(check_budget(engine, arguments, *most, &packages(&tree)));
    }
    Ok(findings)
}

fn tree(shell: &Shell, name: &str, arguments: &[&str]) -> Result<String> {
    let format = "{p}|{f}";
    Ok(cmd!(shell, "cargo tree -p {name} {arguments...} -e normal --prefix none --format {format}")
        .quiet()
        .read()?)
}

/// The packages of a tree, each once.
fn packages(tree: &str) -> BTreeSet<Package<'_>> {
    tree.lines()
        .filter_map(|line| {
            let (package, features) = line.split_once('|')?;
            // `(*)` marks a package whose own dependencies were shown before.
            let features = features.trim_end_matches("(*)").trim();
            let name = package.split_whitespace().next()?;
            Some((name, features.split(',').filter(|feature| !feature.is_empty()).collect()))
        })
        .collect()
}

fn check_runtime(name: &str, packages: &BTreeSet<Package<'_>>) -> Vec<Finding> {
    let manifest = format!("crates/{name}/Cargo.toml");
    let mut findings = Vec::new();
    for (package, features) in packages.iter().filter(|(package, _)| *package == "tokio") {
        if !MAY_CANCEL.contains(&name) {
            let what = format!("`{name}` brings `{package}`");
            findings.push(finding(&manifest, 1, what, "leave async to the crates above"));
        }
        for feature in features.iter().filter(|feature| RUNTIME.contains(feature)) {
            findings.push(finding(
                &manifest,
                1,
                format!("`{name}` brings tokio's `{feature}`"),
                "take time and I/O through ports; only cancellation primitives are free",
            ));
        }
    }
    findings
}

fn check_budget(
    name: &str,
    arguments: &[&str],
    most: usize,
    packages: &BTreeSet<Package<'_>>,
) -> Option<Finding> {
    let count = packages.len();
    (count > most).then(|| {
        finding(
            &format!("crates/{name}/Cargo.toml"),
            1,
            format!("`{name}` brings {count} crates with `{}`, more than {most}", arguments.join(" ")),
            "others take this crate alone: do without, or say in xtask/src/lint/dependencies.rs why not",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "innerve-tool v0.1.0 (/p/crates/innerve-tool)|\n\
                        tokio v1.54.0|bytes,sync,time\n\
                        serde_derive v1.0.0 (proc-macro)|default\n\
                        tokio v1.54.0|bytes,sync,time (*)\n";

    #[test]
    fn a_package_counts_once_and_keeps_its_features() {
        let packages = packages(TREE);
        assert_eq!(packages.len(), 3);
        assert!(packages.contains(&("tokio", BTreeSet::from(["bytes", "sync", "time"]))));
        assert!(packages.contains(&("innerve-tool", BTreeSet::new())));
    }

    #[test]
    fn a_timer_is_found_and_cancellation_is_free() {
        let found = check_runtime("innerve-tool", &packages(TREE));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("`time`"));
    }

    #[test]
    fn the_lowest_crates_do_without_tokio() {
        let found = check_runtime("innerve-bash", &packages("tokio v1|sync\n"));
        assert!(found[0].what.contains("brings `tokio`"));
    }

    #[test]
    fn one_crate_too_many_breaks_the_budget() {
        let packages = packages(TREE);
        assert_eq!(check_budget("x", &[], 3, &packages), None);
        assert!(
            check_budget("x", &["--all"], 2, &packages)
                .is_some_and(|finding| finding.what.contains("3 crates"))
        );
    }
}
