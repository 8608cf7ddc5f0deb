//! The workspace as data: packages from `cargo metadata`, files from git.

use std::path::{Path, PathBuf};

use serde_json::Value;
use xshell::{Shell, cmd};

use crate::Result;
use crate::release::Version;

/// The workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The directory of the root manifest.
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
    /// The member packages, by name.
    pub(crate) packages: Vec<Package>,
}

/// A member package.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its manifest, from the root, with `/`.
    pub(crate) manifest: String,
    /// Whether it may be published.
    pub(crate) published: bool,
    /// Whether it has a library target.
    pub(crate) library: bool,
    /// `version`, `license`, `readme`, `description`, `repository` and `rust_version`, and the words of `keywords` and
    /// `categories` with commas between them, where present.
    pub(crate) fields: Vec<(String, String)>,
    /// The names of its features.
    pub(crate) features: Vec<String>,
    /// What it depends on directly.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A direct dependency.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// The package depended on.
    pub(crate) name: String,
    /// Normal, build or dev.
    pub(crate) kind: Kind,
    /// The version asked for.
    pub(crate) version: String,
    /// Whether it is a path of this workspace.
    pub(crate) path: bool,
    /// Whether its default features are wanted.
    pub(crate) default_features: bool,
    /// The features asked for.
    pub(crate) features: Vec<String>,
}

/// What a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The library or program.
    Normal,
    /// A build script.
    Build,
    /// Tests, examples, benches.
    Dev,
}

/// A text file of the project.
#[derive(Debug)]
pub(crate) struct Source {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// The content.
    pub(crate) text: String,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load(shell: &Shell) -> Result<Self> {
        let text = cmd!(shell, "cargo metadata --no-deps --format-version 1").quiet().read()?;
        Self::from_metadata(&serde_json::from_str(&text)?)
    }

    fn from_metadata(metadata: &Value) -> Result<Self> {
        let root = PathBuf::from(text_of(metadata, "workspace_root"));
        let mut packages = Vec::new();
        for package in items(metadata, "packages") {
            packages.push(Package::from_metadata(package, &root)?);
        }
        packages.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Self { target: PathBuf::from(text_of(metadata, "target_directory")), root, packages })
    }

    /// Where `cargo build` puts the program.
    pub(crate) fn program(&self) -> PathBuf {
        self.target.join("debug").join(format!("innerve{}", std::env::consts::EXE_SUFFIX))
    }

    /// Where `cargo build --release` puts the program.
    pub(crate) fn release_program(&self) -> PathBuf {
        self.target.join("release").join(format!("innerve{}", std::env::consts::EXE_SUFFIX))
    }

    /// The text files that git tracks or would track; binary files are left out.
    pub(crate) fn sources(&self, shell: &Shell) -> Result<Vec<Source>> {
        let list =
            cmd!(shell, "git ls-files -z --cached --others --exclude-standard").quiet().read()?;
        let mut paths: Vec<&str> = list.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut sources = Vec::new();
        for path in paths {
            let full = self.root.join(path);
            // A file that was deleted but not yet committed is still listed.
            if full.is_file()
                && let Ok(text) = String::from_utf8(std::fs::read(full)?)
            {
                sources.push(Source { path: path.to_owned(), text });
            }
        }
        Ok(sources)
    }
}

impl Package {
    fn from_metadata(package: &Value, root: &Path) -> Result<Self> {
        let manifest = PathBuf::from(text_of(package, "manifest_path"));
        let manifest = manifest.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let targets = items(package, "targets");
        let single = ["version", "license", "readme", "description", "repository", "rust_version"]
            .into_iter()
            .filter_map(|field| Some((field.to_owned(), package[field].as_str()?.to_owned())));
        let several = ["keywords", "categories"]
            .into_iter()
            .map(|field| (field.to_owned(), texts(package, field).join(",")))
            .filter(|(_, words)| !words.is_empty());
        let fields = single.chain(several).collect();
        Ok(Self {
            name: text_of(package, "name"),
            manifest,
            // `null` means every registry, `[]` none.
            published: package["publish"].is_null(),
            library: targets
                .iter()
                .any(|target| texts(target, "kind").iter().any(|kind| kind == "lib")),
            fields,
            features: package["features"]
                .as_object()
                .map(|map| map.keys().cloned().collect())
                .unwrap_or_default(),
            dependencies: items(package, "dependencies")
                .iter()
                .map(Dependency::from_metadata)
                .collect(),
        })
    }

    /// The directory of the manifest, from the root.
    pub(crate) fn directory(&self) -> &str {
        self.manifest.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// Its version.
    pub(crate) fn version(&self) -> Result<Version> {
        Ok(self.field("version").unwrap_or_default().parse()?)
    }

    /// A field of the manifest.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

impl Dependency {
    fn from_metadata(dependency: &Value) -> Self {
        Self {
            name: text_of(dependency, "name"),
            kind: match dependency["kind"].as_str() {
                Some("dev") => Kind::Dev,
                Some("build") => Kind::Build,
                _ => Kind::Normal,
            },
            version: text_of(dependency, "req"),
            path: dependency["path"].is_string(),
            default_features: dependency["uses_default_features"].as_bool().unwrap_or(true),
            features: texts(dependency, "features"),
        }
    }
}

fn text_of(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    items(value, field).iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

impl Source {
    /// Whether the file's name ends in `.` and this.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, own)| own == extension)
    }
}

#[cfg(test)]
impl Package {
    /// A published library of that name, in its usual place, with nothing else.
    pub(crate) fn named(name: &str) -> Self {
        let manifest = format!("crates/{name}/Cargo.toml");
        Self { name: name.to_owned(), manifest, published: true, library: true, ..Self::default() }
    }

    /// The same with one more dependency.
    pub(crate) fn with(mut self, name: &str, kind: Kind) -> Self {
        self.dependencies.push(Dependency {
            name: name.to_owned(),
            kind,
            version: "^0.1.0".to_owned(),
            path: name.starts_with("innerve"),
            default_features: true,
            features: Vec::new(),
        });
        self
    }
}

#[cfg(test)]
impl Source {
    /// A file.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read() {
        let metadata = serde_json::json!({
            "workspace_root": "/p", "target_directory": "/p/target",
            "packages": [{
                "name": "b", "manifest_path": "/p/crates/b/Cargo.toml", "publish": null, "license": "MIT", "readme": null,
                "keywords": ["x", "y"], "categories": [],
                "targets": [{"kind": ["lib"]}, {"kind": ["test"]}],
                "features": {"default": ["x"], "x": []},
                "dependencies": [
                    {"name": "a", "kind": null, "req": "^1", "path": "/p/crates/a", "uses_default_features": false, "features": ["y"]},
                    {"name": "t", "kind": "dev", "req": "*", "uses_default_features": true, "features": []},
                ],
            }, {"name": "a", "manifest_path": "/p/a/Cargo.toml", "publish": [], "targets": [{"kind": ["bin"]}]}],
        });
        let workspace = Workspace::from_metadata(&metadata).unwrap();
        assert!(workspace.program().starts_with("/p/target/debug"));
        let [a, b] = workspace.packages.as_slice() else { panic!("two packages") };
        assert_eq!((a.name.as_str(), a.published, a.library), ("a", false, false));
        assert_eq!((b.directory(), b.published, b.library), ("crates/b", true, true));
        assert_eq!((b.field("license"), b.field("readme")), (Some("MIT"), None));
        assert_eq!((b.field("keywords"), b.field("categories")), (Some("x,y"), None));
        assert_eq!(b.features, ["default", "x"]);
        let [normal, dev] = b.dependencies.as_slice() else { panic!("two dependencies") };
        assert_eq!(
            (normal.kind, normal.path, normal.default_features),
            (Kind::Normal, true, false)
        );
        assert_eq!((dev.kind, dev.path, dev.version.as_str()), (Kind::Dev, false, "*"));
    }
}
