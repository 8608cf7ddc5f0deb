//! The licences of other people's crates in the program: a table, and every text that asks to be passed on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;
use crate::cargo::plain;

/// Files of a package with these beginnings are passed on, in capitals and without regard to what follows.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "UNLICENSE", "COPYING", "COPYRIGHT", "NOTICE"];
/// Endings that belong to code about licences, not to a licence.
const NOT_TEXT: [&str; 4] = ["rs", "html", "yml", "py"];
/// Folders whose content is not compiled into anything.
const NOT_COMPILED: [&str; 5] = [".github", "tests", "benches", "examples", "fuzz"];
/// How deep such files are looked for: vendored code keeps its own beside it.
const DEPTH: usize = 5;

/// A crate that is linked into the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) version: String,
    /// As its manifest says it.
    pub(super) licence: String,
    pub(super) repository: String,
    /// The texts in its package.
    pub(super) texts: Vec<String>,
}

/// All crates that a program of this package holds, as it is built by default for this machine; our own left out.
pub(super) fn components(shell: &Shell, package: &str) -> Result<Vec<Component>> {
    let list = plain(cmd!(
        shell,
        "cargo tree --locked --package {package} --edges normal,no-proc-macro --prefix none --format '{p}'"
    ))
    .quiet()
    .read()?;
    let metadata = cmd!(shell, "cargo metadata --locked --format-version 1").quiet().read()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata
        .get("packages")
        .and_then(Value::as_array)
        .ok_or("cargo metadata lists no packages")?;
    let text =
        |package: &Value, field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for (name, version) in others(&list) {
        let package = packages
            .iter()
            .find(|package| package["name"] == *name && package["version"] == *version)
            .ok_or_else(|| format!("cargo metadata does not know {name} {version}"))?;
        let manifest = text(package, "manifest_path");
        let directory = Path::new(&manifest).parent().ok_or("a manifest without a directory")?;
        let mut texts = Vec::new();
        collect(directory, DEPTH, &mut texts)?;
        found.push(Component {
            name,
            version,
            licence: text(package, "license"),
            repository: text(package, "repository"),
            texts,
        });
    }
    Ok(found)
}

/// The crates of `cargo tree` that are not ours, each once.
fn others(list: &str) -> BTreeSet<(String, String)> {
    list.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
            let ours = words.next().is_some_and(|word| word.starts_with("(/"));
            (!ours && !name.starts_with("innerve")).then(|| (name.to_owned(), version.to_owned()))
        })
        .collect()
}

fn collect(directory: &Path, depth: usize, texts: &mut Vec<String>) -> Result {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type()?.is_dir() {
            if depth > 0 && !NOT_COMPILED.contains(&name.as_str()) {
                collect(&path, depth - 1, texts)?;
            }
        } else if is_licence(&name) {
            texts.push(String::from_utf8_lossy(&fs::read(path)?).into_owned());
        }
    }
    Ok(())
}

fn is_licence(name: &str) -> bool {
    let (upper, extension) = (name.to_uppercase(), name.rsplit_once('.').map(|(_, it)| it));
    NAMES.iter().any(|beginning| upper.starts_with(beginning))
        && !extension.is_some_and(|extension| NOT_TEXT.contains(&extension))
}

/// The paper that goes with the program. `mit` is the text of that licence, from its second paragraph on, for packages
/// that name it and hold no text; `compiler` has its library in every program.
pub(super) fn paper(components: &[Component], mit: &str, compiler: &str) -> Result<String> {
    let mut rows = String::new();
    let mut users: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for component in components {
        let Component { name, version, licence, .. } = component;
        if licence.is_empty() {
            return Err(format!("{name} {version} names no licence").into());
        }
        let _ = writeln!(rows, "| {name} | {version} | {licence} |");
        for text in texts(component, components, mit)? {
            // Texts that differ in blanks and line ends only are one.
            let key = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (_, names) = users.entry(key).or_insert_with(|| (text, Vec::new()));
            let user = format!("{name} {version}");
            if !names.contains(&user) {
                names.push(user);
            }
        }
    }
    let mut paper = format!(
        "# What others wrote in this program\n\nThe library of {compiler}, under MIT OR Apache-2.0 \
         (LICENSE-APACHE has the text of the latter), and these crates:\n\n\
         | crate | version | licence |\n| --- | --- | --- |\n{rows}\n# Texts\n"
    );
    let mut texts: Vec<(String, Vec<String>)> = users.into_values().collect();
    texts.sort_by(|(_, left), (_, right)| left.cmp(right));
    for (text, names) in texts {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        // More tildes than any text has in a row, so that none can end the block.
        let _ = write!(
            paper,
            "\n## {}\n\n~~~~~~~~\n{}\n~~~~~~~~\n",
            names.join(", "),
            lines.join("\n").trim()
        );
    }
    Ok(paper)
}

/// A component's texts; without any, those of another package of its repository, else the one that it names.
fn texts(component: &Component, all: &[Component], mit: &str) -> Result<Vec<String>> {
    if !component.texts.is_empty() {
        return Ok(component.texts.clone());
    }
    let sibling = all.iter().find(|other| {
        let same = other.repository == component.repository && other.licence == component.licence;
        same && !other.repository.is_empty() && !other.texts.is_empty()
    });
    let Component { name, version, licence, repository, .. } = component;
    match sibling {
        Some(sibling) => Ok(sibling.texts.clone()),
        None if licence.split([' ', '/']).any(|word| word == "MIT") => Ok(vec![format!(
            "MIT License\n\nCopyright (c) the authors of {name} ({repository})\n\n{mit}"
        )]),
        None => Err(format!(
            "{name} {version} is under {licence}, and its package holds no text of it; say in dist/licences.rs where the text is"
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str, licence: &str, repository: &str, texts: &[&str]) -> Component {
        Component {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.to_owned(),
            repository: repository.to_owned(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    fn paper_of(components: &[Component]) -> Result<String> {
        paper(components, "Permission is …", "rustc 1.0.0")
    }

    #[test]
    fn other_peoples_crates_are_listed_once() {
        let list = "innerve-cli v0.1.0 (/p/crates/innerve-cli)\nserde v1.0.2\nanstyle v1.0.0\nserde v1.0.2 (*)\n\n";
        let names: Vec<String> = others(list).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["anstyle", "serde"]);
    }

    #[test]
    fn licences_and_notices_are_told_from_code_about_them() {
        for name in [
            "LICENSE",
            "LICENSE-MIT",
            "license.txt",
            "COPYING",
            "NOTICE",
            "UNLICENSE",
            "Licence.md",
        ] {
            assert!(is_licence(name), "{name}");
        }
        for name in ["licenses.rs", "README.md", "MY-LICENSE", "license.html", "copyrights.yml"] {
            assert!(!is_licence(name), "{name}");
        }
    }

    #[test]
    fn a_text_that_several_share_stands_there_once_with_all_of_them() {
        let paper = paper_of(&[
            component("a", "MIT", "", &["Copyright A\n\nPermission"]),
            component("b", "MIT", "", &["Copyright  A\r\nPermission\n", "NOTICE of b"]),
        ])
        .unwrap();
        assert!(paper.contains("| a | 1.0.0 | MIT |\n| b | 1.0.0 | MIT |\n"), "{paper}");
        assert!(paper.contains("## a 1.0.0, b 1.0.0\n\n~~~~~~~~\nCopyright A"), "{paper}");
        assert!(paper.contains("## b 1.0.0\n\n~~~~~~~~\nNOTICE of b\n"), "{paper}");
        assert_eq!(paper.matches("Permission").count(), 1, "{paper}");
        assert!(paper.contains("The library of rustc 1.0.0"), "{paper}");
    }

    #[test]
    fn a_package_without_a_text_gets_that_of_its_repository_or_of_the_licence_it_names() {
        let whole = component("a", "MIT", "r", &["Copyright A"]);
        let paper = paper_of(&[whole, component("b", "MIT", "r", &[])]).unwrap();
        assert!(paper.contains("## a 1.0.0, b 1.0.0\n\n~~~~~~~~\nCopyright A\n"), "{paper}");
        let paper = paper_of(&[component("c", "MIT OR Apache-2.0", "r2", &[])]).unwrap();
        assert!(
            paper.contains("Copyright (c) the authors of c (r2)\n\nPermission is …"),
            "{paper}"
        );
    }

    #[test]
    fn a_package_of_which_no_text_is_to_be_had_stops_the_archive() {
        let error = paper_of(&[component("d", "BSD-3-Clause", "r", &[])]).unwrap_err();
        assert!(error.to_string().contains("d 1.0.0 is under BSD-3-Clause"), "{error}");
        assert!(paper_of(&[component("e", "", "r", &["text"])]).is_err());
    }
}
