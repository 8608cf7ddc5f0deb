//! The order of the tests themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn no_test_file_is_forgotten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e");
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    let declared: BTreeSet<String> = main
        .lines()
        .filter_map(|line| Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned()))
        .collect();
    let files: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned()))
        .filter(|name| name != "main")
        .collect();
    assert_eq!(declared, files, "main.rs names each file once");
}

#[test]
fn the_program_under_test_is_the_one_that_says_its_version() {
    let world = innerve_tests::World::new();
    let ended = world.innerve(["--version"]).run();
    ended.exits(0);
    assert!(ended.stdout().starts_with("innerve "), "{ended}");
}
