//! Trusted workspaces.

use std::fs;

use innerve_settings::Trust;

use crate::World;

#[test]
fn trust_is_remembered_and_taken_back() {
    let world = World::new();
    let root = world.locations.trust_root();
    let mut trust = Trust::load(&world.locations);
    assert!(!trust.covers(&root));
    trust.add(&root).unwrap();
    trust.add(&root).unwrap();
    assert!(Trust::load(&world.locations).covers(&root));
    assert_eq!(trust.roots().len(), 1);
    // What lies beneath a trusted root is not trusted by that: it may be another repository.
    assert!(!trust.covers(&root.join("vendor")));
    trust.remove(&root).unwrap();
    assert!(!Trust::load(&world.locations).covers(&root));
}

#[test]
fn what_another_process_trusted_is_kept() {
    let world = World::new();
    let (mut one, mut two) = (Trust::load(&world.locations), Trust::load(&world.locations));
    let other = world.path("home/other");
    fs::create_dir_all(&other).unwrap();
    one.add(&world.locations.trust_root()).unwrap();
    two.add(&other).unwrap();
    assert_eq!(Trust::load(&world.locations).roots().len(), 2);
}

#[test]
fn workspaces_that_are_trusted_at_the_same_time_are_all_kept() {
    let world = World::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let world = &world;
            scope.spawn(move || {
                let root = world.path(format!("home/p{number}"));
                fs::create_dir_all(&root).unwrap();
                Trust::load(&world.locations).add(&root).unwrap();
            });
        }
    });
    assert_eq!(Trust::load(&world.locations).roots().len(), 8);
}

#[test]
fn the_home_and_what_is_above_it_are_never_trusted_for_good() {
    let world = World::new();
    let mut trust = Trust::load(&world.locations);
    for wide in [world.locations.home.as_path(), &world.root, "/".as_ref()] {
        assert_eq!(trust.add(wide).unwrap_err().code(), "settings_too_wide");
    }
}

#[test]
fn a_broken_trust_file_trusts_nothing_and_is_not_overwritten() {
    let world = World::new();
    let file = world.write("home/.local/state/innerve/trust.json", "{ nonsense");
    let mut trust = Trust::load(&world.locations);
    let root = world.locations.trust_root();
    assert!(!trust.covers(&root));
    assert_eq!(trust.add(&root).unwrap_err().code(), "settings_read");
    assert_eq!(fs::read_to_string(file).unwrap(), "{ nonsense");
}

#[cfg(unix)]
#[test]
fn the_trust_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    Trust::load(&world.locations).add(&world.locations.trust_root()).unwrap();
    let mode = |path: std::path::PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.locations.state_dir().join("trust.json")), 0o600);
    assert_eq!(mode(world.locations.state_dir()), 0o700);
}

#[cfg(unix)]
#[test]
fn a_workspace_reached_through_a_link_is_the_one_it_leads_to() {
    let mut world = World::new();
    Trust::load(&world.locations).add(&world.locations.trust_root()).unwrap();
    std::os::unix::fs::symlink(&world.locations.cwd, world.path("link")).unwrap();
    world.locations.cwd = world.path("link");
    assert!(Trust::load(&world.locations).covers(&world.locations.trust_root()));
}
