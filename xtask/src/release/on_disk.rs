//! Releases in a repository on the disk: two small crates, one built on the other.

use xshell::TempDir;

use super::*;

struct Scratch {
    shell: Shell,
    _place: TempDir,
}

impl Scratch {
    fn new() -> Self {
        let shell = Shell::new().unwrap();
        let place = shell.create_temp_dir().unwrap();
        shell.change_dir(place.path());
        // No template: hooks of whoever runs this must not speak up.
        cmd!(shell, "git init --quiet --template=").run().unwrap();
        cmd!(shell, "git config user.name n").run().unwrap();
        cmd!(shell, "git config user.email e@example.com").run().unwrap();
        // Nor is anybody asked for the key that they sign with.
        for what in ["commit.gpgsign", "tag.gpgsign"] {
            cmd!(shell, "git config {what} false").run().unwrap();
        }
        let member = |name: &str, rest: &str| {
            let text = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{rest}"
            );
            shell.write_file(format!("crates/{name}/Cargo.toml"), text).unwrap();
            shell.write_file(format!("crates/{name}/src/lib.rs"), "").unwrap();
            let log = "# Changelog\n\n## [Unreleased]\n\n- Something.\n";
            shell.write_file(format!("crates/{name}/CHANGELOG.md"), log).unwrap();
        };
        member("innerve-low", "");
        member("innerve-high", "[dependencies]\ninnerve-low.workspace = true\n");
        let root = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n\n[workspace.dependencies]\ninnerve-low = { path = \"crates/innerve-low\", version = \"0.1.0\" }\n";
        shell.write_file("Cargo.toml", root).unwrap();
        cmd!(shell, "cargo generate-lockfile --offline --quiet").run().unwrap();
        let scratch = Self { shell, _place: place };
        scratch.commit();
        scratch
    }

    fn commit(&self) {
        let shell = &self.shell;
        cmd!(shell, "git add --all").quiet().run().unwrap();
        cmd!(shell, "git commit --quiet --message change").quiet().run().unwrap();
    }

    /// Adds an entry to the changelog and commits it.
    fn note(&self, name: &str, entry: &str) {
        let path = format!("crates/{name}/CHANGELOG.md");
        let text = self.shell.read_file(&path).unwrap();
        let heading = "## [Unreleased]\n";
        self.shell
            .write_file(&path, text.replacen(heading, &format!("{heading}\n- {entry}\n"), 1))
            .unwrap();
        self.commit();
    }

    /// What one of the steps says of a package; the error as text.
    fn says(
        &self,
        name: &str,
        step: impl FnOnce(&Shell, &Workspace, &Package) -> Result<Done>,
    ) -> String {
        let workspace = Workspace::load(&self.shell).unwrap();
        let package = workspace.packages.iter().find(|package| package.name == name).unwrap();
        match step(&self.shell, &workspace, package) {
            Ok(Done::Passed) => "passed".to_owned(),
            Ok(Done::Skipped(why)) => format!("skipped: {why}"),
            Err(error) => error.to_string(),
        }
    }

    fn next(&self, name: &str, level: Level) -> String {
        self.says(name, |shell, _, package| next(shell, package, level))
    }

    fn changed(&self, name: &str, level: Option<Level>) -> String {
        self.says(name, |shell, _, package| changed(shell, package, level))
    }

    fn interface(&self, name: &str, level: Level, baseline: Option<&str>) -> String {
        self.says(name, |shell, workspace, package| {
            interface::check(shell, workspace, package, level, baseline)
        })
    }

    fn tag(&self, name: &str, level: Level) {
        let said =
            self.says(name, |shell, workspace, package| tag(shell, workspace, package, level));
        assert_eq!(said, "passed");
    }
}

#[test]
fn a_first_release_keeps_the_version_and_later_ones_raise_it_everywhere() {
    let scratch = Scratch::new();
    let refused = scratch.next("innerve-low", Level::Patch);
    assert!(
        refused.contains("`cargo xtask release innerve-low first` releases it as 0.1.0"),
        "{refused}"
    );
    assert_eq!(scratch.next("innerve-low", Level::First), "passed");
    scratch.tag("innerve-low", Level::First);
    let shell = &scratch.shell;
    assert_eq!(cmd!(shell, "git tag").quiet().read().unwrap(), "innerve-low-v0.1.0");
    let log = shell.read_file("crates/innerve-low/CHANGELOG.md").unwrap();
    assert!(log.contains("\n## [0.1.0] - 20"), "{log}");
    let refused = scratch.next("innerve-low", Level::First);
    assert!(refused.contains("released as innerve-low-v0.1.0"), "{refused}");

    scratch.note("innerve-low", "More.");
    scratch.tag("innerve-low", Level::Minor);
    let subject = cmd!(shell, "git log -1 --format=%s").quiet().read().unwrap();
    assert_eq!(subject, "low: release 0.2.0");
    for file in ["Cargo.toml", "Cargo.lock", "crates/innerve-low/Cargo.toml"] {
        assert!(shell.read_file(file).unwrap().contains("version = \"0.2.0\""), "{file}");
    }
    assert!(clean(shell).is_ok());
}

#[test]
fn a_tag_that_is_taken_is_told_before_anything_is_written() {
    let scratch = Scratch::new();
    scratch.tag("innerve-low", Level::First);
    let shell = &scratch.shell;
    // Somebody released from another branch.
    cmd!(shell, "git checkout --quiet -b other").run().unwrap();
    scratch.note("innerve-low", "Else.");
    scratch.tag("innerve-low", Level::Patch);
    cmd!(shell, "git checkout --quiet -").run().unwrap();
    let refused = scratch.next("innerve-low", Level::Patch);
    assert!(refused.starts_with("the tag innerve-low-v0.1.1 is there"), "{refused}");
    assert_eq!(scratch.next("innerve-low", Level::Minor), "passed");
}

#[test]
fn a_release_says_something_and_an_unchanged_crate_needs_not() {
    let scratch = Scratch::new();
    assert_eq!(scratch.changed("innerve-low", None), "passed");
    scratch.tag("innerve-low", Level::First);
    assert_eq!(scratch.changed("innerve-low", None), "skipped: unchanged since innerve-low-v0.1.0");
    let refused = scratch.changed("innerve-low", Some(Level::Patch));
    assert!(refused.contains("no entry under [Unreleased]"), "{refused}");
    scratch.shell.write_file("crates/innerve-low/src/lib.rs", "//! More.\n").unwrap();
    scratch.commit();
    assert!(scratch.changed("innerve-low", None).contains("no entry under [Unreleased]"));
    scratch.note("innerve-low", "More.");
    assert_eq!(scratch.changed("innerve-low", None), "passed");
}

#[test]
fn a_break_below_or_in_the_changelog_asks_for_a_level_that_breaks() {
    let scratch = Scratch::new();
    assert!(scratch.interface("innerve-high", Level::First, None).starts_with("skipped: never"));
    scratch.tag("innerve-low", Level::First);
    scratch.tag("innerve-high", Level::First);
    scratch.note("innerve-low", "**Breaking**: other.");
    let told = scratch.interface("innerve-low", Level::Patch, None);
    assert!(told.contains("tells a break; release innerve-low with `minor`"), "{told}");
    assert_eq!(scratch.interface("innerve-low", Level::Minor, None), "passed");
    scratch.tag("innerve-low", Level::Minor);
    let follows = scratch.interface("innerve-high", Level::Patch, None);
    assert!(
        follows.contains("innerve-low went from 0.1.0 to 0.2.0 since innerve-high-v0.1.0"),
        "{follows}"
    );
    assert_eq!(scratch.interface("innerve-high", Level::Minor, None), "passed");
}

#[test]
fn a_baseline_that_is_not_there_is_named() {
    let scratch = Scratch::new();
    let missing = scratch.interface("innerve-low", Level::Patch, Some("v9"));
    assert_eq!(missing, "the baseline `v9` is no revision of this repository");
    let shell = &scratch.shell;
    cmd!(shell, "git rm -r --quiet --cached crates/innerve-low").run().unwrap();
    cmd!(shell, "git commit --quiet --message without").run().unwrap();
    let missing = scratch.interface("innerve-low", Level::Patch, Some("HEAD"));
    assert!(missing.starts_with("innerve-low is not in `HEAD`"), "{missing}");
}

#[test]
fn an_uncommitted_change_stops_everything() {
    let scratch = Scratch::new();
    assert!(clean(&scratch.shell).is_ok());
    scratch.shell.write_file("new.txt", "").unwrap();
    let error = clean(&scratch.shell).unwrap_err().to_string();
    assert!(error.contains("new.txt"), "{error}");
}
