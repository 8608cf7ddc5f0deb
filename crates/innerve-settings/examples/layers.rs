//! Settings of a person and of a project are loaded; each rule says where it comes from, and what is ignored says why.
//!
//! `cargo run -p innerve-settings --example layers`

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};

use innerve_permission::Behavior;
use innerve_settings::{DiskPaths, Flags, Locations, Settings, Trust, save_rule};

const PROJECT: &str = r#"{
  "permissions": {
    // a project cannot loosen anything by itself
    "allow": ["Bash(make *)"],
    "deny": ["Bash(git push *)"],
    "ask": ["Bash(unclosed"],
  },
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    // A real host asks `Locations` where things are; here all is in a folder that is gone afterwards.
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let locations = Locations {
        home: root.join("home"),
        config_home: root.join("home/.config"),
        state_home: root.join("home/.local/state"),
        managed: root.join("etc"),
        cwd: root.join("home/project"),
    };
    fs::create_dir_all(locations.cwd.join(".git"))?;
    fs::create_dir_all(locations.cwd.join(".innerve"))?;
    fs::write(locations.cwd.join(".innerve/settings.json"), PROJECT)?;
    save_rule(&locations.user_settings(), Behavior::Deny, "Read(~/.ssh/**)")?;

    for trusted in [false, true] {
        if trusted {
            Trust::load(&locations).add(&locations.cwd)?;
        }
        writeln!(out, "{}", if trusted { "trusted:" } else { "not yet trusted:" })?;
        let loaded = Settings::load(&locations, &Flags::default())?;
        let policy = loaded.settings.policy(&locations, &DiskPaths);
        for rule in policy.rules.rules() {
            let origin = rule.origin();
            let file = origin.file.as_deref().unwrap_or(&root);
            let file = file.strip_prefix(&root).unwrap_or(file).display();
            let line = origin.line.unwrap_or_default();
            let behavior = rule.behavior().name();
            writeln!(out, "  {behavior:<5}  {:<18}  {file}:{line}", rule.text())?;
        }
        for warning in loaded.warnings {
            writeln!(
                out,
                "  warning: line {}: {}",
                warning.line.unwrap_or_default(),
                warning.reason
            )?;
        }
    }
    Ok(())
}
