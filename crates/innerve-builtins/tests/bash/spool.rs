//! Files that output goes to.

use std::os::unix::fs::PermissionsExt as _;

use innerve_tool::port::OutputSpool as _;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn files_are_private_and_keep_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("deep/spool");
    let spool = DiskSpool::new(&directory);
    let mut file = spool.create(&"toolu_1".into()).unwrap();
    file.write(b"one ");
    file.write(b"two");
    assert_eq!(file.counts(), (7, 7));
    let path = file.path();
    file.keep().unwrap();
    assert_eq!(path, directory.join("toolu_1.txt"));
    assert_eq!(fs::read(&path).unwrap(), b"one two");
    assert_eq!((mode(&directory), mode(&path)), (0o700, 0o600));
}

#[test]
fn a_discarded_file_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let file = DiskSpool::new(folder.path()).create(&"a".into()).unwrap();
    let path = file.path();
    assert!(path.exists());
    file.discard();
    assert!(!path.exists());
}

#[test]
fn bytes_beyond_the_cap_are_counted_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = DiskSpool::new(folder.path()).with_cap(10).create(&"a".into()).unwrap();
    for _ in 0..4 {
        file.write(b"1234");
    }
    assert_eq!(file.counts(), (16, 10));
    let path = file.path();
    file.keep().unwrap();
    assert_eq!(fs::read(path).unwrap(), b"1234123412");
}

#[test]
fn no_id_leaves_the_directory_or_meets_another() {
    let folder = tempfile::tempdir().unwrap();
    let spool = DiskSpool::new(folder.path());
    let long = "x".repeat(300);
    let mut paths = Vec::new();
    for id in ["../escape", "..", "", "a/b", "a_b", "a\0b", "a b", &long, "a/b"] {
        let file = spool.create(&id.into()).unwrap();
        assert_eq!(file.path().parent(), Some(folder.path()), "{id:?}");
        paths.push(file.path());
        file.keep().unwrap();
    }
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 9, "{paths:?}");
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("not-a-directory");
    fs::write(&blocked, "").unwrap();
    assert!(DiskSpool::new(blocked).create(&"a".into()).is_err());
}

#[tokio::test]
async fn output_that_cannot_be_kept_is_told() {
    let bench = Bench::new();
    fs::write(&bench.spool, "in the way").unwrap();
    let output = bench.run("seq 100000").await.unwrap();
    assert_eq!(output.spooled, None);
    assert!(
        output.data.stderr.starts_with("The full output could not be kept: "),
        "{}",
        output.data.stderr
    );
    assert!(output.data.stdout.contains("Its last lines:\n"));
}
