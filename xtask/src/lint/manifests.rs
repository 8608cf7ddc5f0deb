//! What every manifest must say: versions in one place, fields that a registry wants, no dependency unused.

use super::{Finding, finding, line_where, text_at};
use crate::workspace::{Dependency, Kind, Package, Source};

/// The licence of everything here.
const LICENCE: &str = "MIT OR Apache-2.0";

/// What a registry takes of keywords (the Cargo book, "The Manifest Format").
const KEYWORDS: usize = 5;
const KEYWORD_LENGTH: usize = 20;
/// How docs.rs is told what to show.
const DOCS: &str = "[package.metadata.docs.rs]\nall-features = true\n";

/// Dependencies that no source names, each with the reason: (crate, dependency, reason).
const UNNAMED: &[(&str, &str, &str)] = &[];

/// Dependencies whose version stands in the crate's own manifest, each with the reason: (crate, dependency, reason).
const OWN_VERSIONS: &[(&str, &str, &str)] = &[(
    "innerve-permission",
    "serde_json",
    "without `preserve_order`, which a member cannot switch off and which costs those who take the engine alone",
)];

/// Checks all manifests.
pub(super) fn check(packages: &[Package], sources: &[Source]) -> Vec<Finding> {
    packages.iter().flat_map(|package| check_one(package, sources)).collect()
}

fn check_one(package: &Package, sources: &[Source]) -> Vec<Finding> {
    let text = text_at(sources, &package.manifest);
    let mut findings = Vec::new();
    let mut report = |line: usize, what: String, mend: &str| {
        findings.push(finding(&package.manifest, line, what, mend));
    };

    if package.field("license") != Some(LICENCE) {
        report(1, format!("the licence is not `{LICENCE}`"), "write `license.workspace = true`");
    }
    if package.field("rust_version").is_none() {
        report(1, "no `rust-version`".to_owned(), "write `rust-version.workspace = true`");
    }
    if !text.contains("[lints") {
        report(1, "no lints".to_owned(), "add `[lints]` with `workspace = true`");
    }
    let in_crates = package.manifest.starts_with("crates/");
    if in_crates {
        if package.directory().rsplit('/').next() != Some(&package.name) {
            report(
                1,
                format!("`{}` lies in a directory of another name", package.name),
                "rename the directory",
            );
        }
        for field in ["readme", "description", "repository", "keywords", "categories"] {
            if package.published && package.field(field).is_none() {
                report(1, format!("no `{field}`"), "a published crate needs it");
            }
        }
        let keywords: Vec<&str> =
            package.field("keywords").unwrap_or_default().split(',').collect();
        let line = line_where(text, |line| line.starts_with("keywords"));
        if keywords.len() > KEYWORDS || keywords.iter().any(|word| word.len() > KEYWORD_LENGTH) {
            report(
                line,
                "more keywords, or longer ones, than a registry takes".to_owned(),
                "at most five of at most twenty letters",
            );
        }
        let has_own = package.features.iter().any(|feature| feature != "default");
        if package.published && package.library && has_own && !text.contains(DOCS) {
            report(
                1,
                "its documentation would show the default features only".to_owned(),
                "add `[package.metadata.docs.rs]` with `all-features = true`",
            );
        }
    } else if package.published {
        report(1, format!("`{}` could be published", package.name), "write `publish = false`");
    }

    for dependency in &package.dependencies {
        let line = dependency_line(text, dependency);
        if dependency.path
            && dependency.version == "*"
            && dependency.kind != Kind::Dev
            && package.published
        {
            report(
                line,
                format!("`{}` has a path and no version", dependency.name),
                "take it from the workspace, where path and version stand together",
            );
        }
        if !is_named(package, dependency, sources) {
            report(line, format!("`{}` is not used", dependency.name), "remove it");
        }
    }
    for (index, line) in dependency_entries(text) {
        let name = line.split(['=', '.']).next().unwrap_or_default().trim();
        let is_own = OWN_VERSIONS.iter().any(|(of, own, _)| *of == package.name && *own == name);
        if !is_own && !line.contains("workspace = true") {
            report(
                index,
                format!("the version of `{name}` is set here"),
                "set it in [workspace.dependencies] and write `workspace = true`",
            );
        }
    }
    findings
}

/// The entries of the dependency tables, with their lines.
fn dependency_entries(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    manifest.lines().enumerate().filter_map(move |(index, line)| {
        if line.starts_with('[') {
            inside = line.trim_end().ends_with("dependencies]");
            return None;
        }
        (inside && line.contains('=') && !line.starts_with(['#', ' '])).then_some((index + 1, line))
    })
}

fn dependency_line(manifest: &str, dependency: &Dependency) -> usize {
    let name = dependency.name.as_str();
    line_where(manifest, |line| {
        line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    })
}

/// Whether a source that the dependency is for names it.
fn is_named(package: &Package, dependency: &Dependency, sources: &[Source]) -> bool {
    if UNNAMED.iter().any(|(name, of, _)| *name == package.name && *of == dependency.name) {
        return true;
    }
    let directory = package.directory();
    let word = dependency.name.replace('-', "_");
    sources.iter().any(|source| {
        let Some(inside) =
            source.path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'))
        else {
            return false;
        };
        let is_rust = source.has_extension("rs") || inside == "README.md";
        let counts = match dependency.kind {
            // The `tests` member keeps its sources beside its manifest.
            Kind::Normal => inside.starts_with("src/") || directory == "tests",
            Kind::Build => inside == "build.rs",
            Kind::Dev => true,
        };
        is_rust && counts && has_word(&source.text, &word)
    })
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).any(|(start, _)| {
        let before = text.get(..start).and_then(|head| head.chars().next_back());
        let after = text.get(start + word.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[lints]\nworkspace = true\n\n[dependencies]\nserde.workspace = true\n";

    fn whole(name: &str) -> Package {
        let mut package = Package::named(name);
        for (field, value) in [
            ("license", LICENCE),
            ("rust_version", "1"),
            ("readme", "README.md"),
            ("description", "d"),
            ("repository", "r"),
            ("keywords", "k"),
            ("categories", "c"),
        ] {
            package.fields.push((field.to_owned(), value.to_owned()));
        }
        package
    }

    #[track_caller]
    fn check(package: Package, manifest: &str, library: &str, expected: &[&str]) {
        let sources = [
            Source::new(&package.manifest, manifest),
            Source::new(&format!("{}/src/lib.rs", package.directory()), library),
        ];
        let found: Vec<String> =
            super::check(&[package], &sources).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found} does not say {expected}");
        }
    }

    #[test]
    fn a_whole_manifest_passes() {
        check(whole("innerve-x").with("serde", Kind::Normal), GOOD, "use serde::Serialize;", &[]);
    }

    #[test]
    fn missing_fields_are_named() {
        let mut package = Package::named("innerve-x");
        package.published = false;
        check(package, "", "", &["licence", "rust-version", "lints"]);
        check(
            Package::named("innerve-x"),
            GOOD,
            "",
            &[
                "licence",
                "rust-version",
                "`readme`",
                "`description`",
                "`repository`",
                "`keywords`",
                "`categories`",
            ],
        );
    }

    #[test]
    fn keywords_are_few_and_short() {
        for words in ["a,b,c,d,e,f", "a-word-of-more-than-twenty-letters"] {
            let mut package = whole("innerve-x");
            package.fields.retain(|(field, _)| field != "keywords");
            package.fields.push(("keywords".to_owned(), words.to_owned()));
            check(package, GOOD, "use serde::Serialize;", &["more keywords"]);
        }
    }

    #[test]
    fn documentation_shows_all_features() {
        let package = || Package {
            features: vec!["default".to_owned(), "x".to_owned()],
            ..whole("innerve-x")
        };
        check(package(), "[lints]\n", "", &["default features only"]);
        check(package(), &format!("{DOCS}\n[lints]\n"), "", &[]);
    }

    #[test]
    fn directory_and_package_have_the_same_name() {
        let mut package = whole("innerve-x");
        package.manifest = "crates/x/Cargo.toml".to_owned();
        check(package, GOOD, "", &["another name"]);
    }

    #[test]
    fn only_crates_can_be_published() {
        let mut package = whole("xtask");
        package.manifest = "xtask/Cargo.toml".to_owned();
        check(package, GOOD, "", &["publish = false"]);
    }

    #[test]
    fn a_dependency_that_nothing_names_is_found_where_it_stands() {
        let package = whole("innerve-x").with("serde", Kind::Normal);
        check(
            package,
            GOOD,
            "use serde_json::Value; mod preserde;",
            &["Cargo.toml:5: `serde` is not used"],
        );
    }

    #[test]
    fn a_dependency_of_tests_may_be_named_anywhere() {
        let package = whole("innerve-x").with("serde", Kind::Dev);
        check(package, GOOD, "#[cfg(test)] use serde::Serialize;", &[]);
    }

    #[test]
    fn a_path_without_a_version_cannot_be_published() {
        let mut package = whole("innerve-x").with("innerve-y", Kind::Normal);
        package.dependencies[0].version = "*".to_owned();
        let manifest = "[lints]\n[dependencies]\ninnerve-y = { path = \"../y\" }\n";
        check(
            package,
            manifest,
            "innerve_y::z()",
            &["path and no version", "version of `innerve-y`"],
        );
    }

    #[test]
    fn versions_stand_in_the_workspace_only() {
        let package = whole("innerve-x").with("serde", Kind::Normal);
        let manifest =
            "[lints]\n[features]\na = []\n[dev-dependencies]\nserde = { version = \"1\" }\n";
        check(package, manifest, "serde::x", &["Cargo.toml:5: the version of `serde`"]);
        for (name, dependency, reason) in OWN_VERSIONS {
            assert!(!reason.is_empty());
            let package = whole(name).with(dependency, Kind::Normal);
            let manifest = format!("[lints]\n[dependencies]\n{dependency} = \"1\"\n");
            check(package, &manifest, &dependency.replace('-', "_"), &[]);
        }
    }
}
