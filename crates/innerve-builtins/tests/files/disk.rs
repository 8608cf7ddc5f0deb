//! The real disk behind the port.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use innerve_builtins::content_hash;
use innerve_builtins::host::HostFiles;
use innerve_tool::port::{FileKind, FileSystem as _, WriteCondition};

use crate::kit::Bench;

#[tokio::test]
async fn a_write_holds_to_its_condition() {
    let bench = Bench::with(&[("a", "old")]);
    let path = bench.path("a");
    let write = |content: &'static str, condition| {
        let path = path.clone();
        async move { HostFiles.write(&path, content.as_bytes(), condition).await }
    };
    let error = write("new", WriteCondition::New).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let error = write("new", WriteCondition::Unchanged(content_hash(b"other"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleNetworkFileHandle);
    assert_eq!(bench.text("a"), "old");
    write("new", WriteCondition::Unchanged(content_hash(b"old"))).await.unwrap();
    assert_eq!(bench.text("a"), "new");
    fs::remove_file(&path).unwrap();
    let error = write("x", WriteCondition::Unchanged(content_hash(b"new"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleNetworkFileHandle);
    assert!(!path.exists());
    assert_eq!(fs::read_dir(bench.root()).unwrap().count(), 0, "no temporary file is left");
}

#[tokio::test]
async fn a_read_only_file_is_not_replaced() {
    let bench = Bench::with(&[("a", "old")]);
    let path = bench.path("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    // Root may write anything, so that there is nothing to refuse.
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let written =
        HostFiles.write(&path, b"new", WriteCondition::Unchanged(content_hash(b"old"))).await;
    assert_eq!(written.is_ok(), is_root);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_file() {
    // A small file system of its own needs a user namespace; where there is none, nothing can be shown.
    let script = "mount -t tmpfs -o size=64k tmpfs \"$0\" && exec sleep 30";
    let bench = Bench::new();
    let mut mounted = Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .arg(bench.root())
        .spawn()
        .unwrap();
    let inside = format!("/proc/{}/root{}", mounted.id(), bench.root().display());
    let inside = std::path::PathBuf::from(inside);
    let is_mounted = || {
        fs::read_to_string(format!("/proc/{}/mounts", mounted.id()))
            .is_ok_and(|mounts| mounts.contains(&*bench.root().to_string_lossy()))
    };
    let mut tries = 0;
    while !is_mounted() && tries < 100 {
        tries += 1;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    if is_mounted() {
        let path = inside.join("a");
        fs::write(&path, "old").unwrap();
        let condition = WriteCondition::Unchanged(content_hash(b"old"));
        let error = HostFiles.write(&path, &vec![7; 1 << 20], condition).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 1, "no temporary file is left");
    }
    mounted.kill().unwrap();
    mounted.wait().unwrap();
}

#[tokio::test]
async fn metadata_follows_links_and_opens_nothing() {
    let bench = Bench::with(&[("a", "123"), ("d/x", "")]);
    std::os::unix::fs::symlink("a", bench.path("link")).unwrap();
    let meta = HostFiles.metadata(&bench.path("link")).await.unwrap();
    assert_eq!((meta.kind, meta.len), (FileKind::File, 3));
    assert_eq!(HostFiles.metadata(&bench.path("d")).await.unwrap().kind, FileKind::Directory);
    let null = std::path::Path::new("/dev/null");
    assert_eq!(HostFiles.metadata(null).await.unwrap().kind, FileKind::Special);
    assert!(HostFiles.open(null).await.is_err());
    let too_small = HostFiles.read(&bench.path("a"), 2).await.unwrap_err();
    assert_eq!(too_small.kind(), ErrorKind::FileTooLarge);
    assert_eq!(HostFiles.read(&bench.path("a"), 3).await.unwrap(), b"123");
}
