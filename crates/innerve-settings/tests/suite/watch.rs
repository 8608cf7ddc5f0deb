//! Watching settings files: every way in which one can change is told once.

use std::fs;

use innerve_permission::RuleSource;
use innerve_settings::{Flags, Locations, Trust, Watcher};

use crate::World;

fn watcher(world: &World) -> Watcher {
    Watcher::new(&world.locations, &Flags::default())
}

/// Asserts that the change is told, and told once.
#[track_caller]
fn tells(watcher: &mut Watcher, what: &str) {
    assert!(watcher.changed(), "{what} is told");
    assert!(!watcher.changed(), "{what} is told once");
}

#[test]
fn a_file_of_any_scope_that_comes_changes_or_goes_is_told() {
    let world = World::new();
    let mut watcher = watcher(&world);
    assert!(!watcher.changed());
    for (path, source) in [
        ("etc/innerve/managed-settings.json", RuleSource::Policy),
        ("etc/innerve/managed-settings.d/10-team.json", RuleSource::Policy),
        ("etc/claude-code/managed-settings.json", RuleSource::Policy),
        ("home/repo/.innerve/settings.json", RuleSource::Project),
        ("home/repo/.innerve/settings.local.json", RuleSource::Local),
        ("home/repo/.claude/settings.json", RuleSource::Project),
        ("home/repo/.claude/settings.local.json", RuleSource::Local),
        ("home/.config/innerve/settings.json", RuleSource::User),
        ("home/.claude/settings.json", RuleSource::User),
    ] {
        let file = world.write(path, "{}");
        assert_eq!(watcher.changes(), [(source, file.clone())], "{path} is told");
        fs::write(&file, "{ }").unwrap();
        tells(&mut watcher, path);
        fs::remove_file(&file).unwrap();
        tells(&mut watcher, path);
    }
    world.write("home/repo/other.json", "{}");
    world.write("etc/innerve/managed-settings.d/notes.txt", "{}");
    assert!(!watcher.changed(), "other files are not looked at");
}

#[test]
fn a_file_that_is_replaced_by_one_of_the_same_size_is_told() {
    let world = World::new();
    let file = world.write("home/.config/innerve/settings.json", "{\"a\":1}");
    let mut watcher = watcher(&world);
    let other = world.write("home/.config/innerve/new", "{\"a\":2}");
    fs::rename(other, file).unwrap();
    tells(&mut watcher, "a replaced file");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_its_target_is_watched() {
    let world = World::new();
    let target = world.write("home/dotfiles/a.json", "{}");
    let other = world.write("home/dotfiles/b.json", "{}");
    let link = world.path("home/.config/innerve/settings.json");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let mut watcher = watcher(&world);
    fs::write(&target, "{ }").unwrap();
    tells(&mut watcher, "a change of the target");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    tells(&mut watcher, "another target");
    fs::remove_file(&other).unwrap();
    tells(&mut watcher, "a target that is gone");
}

#[test]
fn the_file_of_a_flag_and_the_trust_of_the_workspace_are_watched_too() {
    let world = World::new();
    let named = world.write("home/repo/mine.json", "{}");
    let flags = Flags { settings: Some("mine.json".to_owned()), ..Flags::default() };
    let mut watcher = Watcher::new(&world.locations, &flags);
    fs::write(named, "{ }").unwrap();
    tells(&mut watcher, "the file of a flag");
    Trust::load(&world.locations).add(&world.locations.cwd).unwrap();
    tells(&mut watcher, "trust");
    let flags = Flags { settings: Some("{\"a\": 1}".to_owned()), ..Flags::default() };
    assert!(!Watcher::new(&world.locations, &flags).changed());
}

#[test]
fn a_repository_that_is_made_later_moves_the_local_file() {
    let world = World::new();
    let sub = world.path("home/repo/sub");
    fs::create_dir_all(&sub).unwrap();
    fs::remove_dir(world.path("home/repo/.git")).unwrap();
    let locations = Locations { cwd: sub, ..world.locations.clone() };
    let mut watcher = Watcher::new(&locations, &Flags::default());
    fs::create_dir_all(world.path("home/repo/.git")).unwrap();
    tells(&mut watcher, "the repository");
    world.write("home/repo/.innerve/settings.local.json", "{}");
    tells(&mut watcher, "the local file at its root");
}
