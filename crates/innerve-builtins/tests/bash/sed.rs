//! `sed -i` is shown before it is approved, and what was approved is written.

use innerve_builtins::FileAccess;
use innerve_builtins::host::{HostFiles, MemoryLedger};
use innerve_permission::Preview;

use super::*;

fn bench() -> (Bench, FileAccess) {
    let mut bench = Bench::new();
    let files = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()));
    bench.tool = BashTool::new(
        Arc::new(HostProcesses::new()),
        Arc::new(DiskSpool::new(&bench.spool)),
        Arc::new(HostClock),
        BashOptions::default(),
    )
    .with_files(files.clone());
    fs::write(bench.project.join("f"), "one\ntwo\nthree\n").unwrap();
    (bench, files)
}

async fn preview(bench: &Bench, command: &str) -> Option<Preview> {
    bench.tool.preview(&command_of(command), &bench.context().typed()).await.unwrap()
}

#[tokio::test]
async fn what_is_shown_is_what_the_command_does() {
    for command in [
        "sed -i 's/t\\(.\\)/<\\1>/' f",
        "sed -Ei 's/(o)(n|o)/\\2\\1/;2d' f",
        "sed -n -i '$p' f",
        "sed -i -e '1i\\' -e x f",
        "sed -i '1a new' ./f",
        "sed -i 's/nothing/else/' f",
    ] {
        let (bench, _) = bench();
        let shown = preview(&bench, command).await;
        let path = bench.project.join("f");
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\nthree\n", "a preview changes nothing");
        bench.text(command).await;
        let Some(shown) = shown else {
            assert!(command.contains("-e x"), "{command}");
            continue;
        };
        assert_eq!((shown.path.as_path(), shown.after), (path.as_path(), fs::read(&path).unwrap()));
        assert_eq!(shown.before.unwrap(), b"one\ntwo\nthree\n");
    }
}

#[tokio::test]
async fn what_runs_programs_or_reaches_other_files_is_not_tried() {
    let (bench, _) = bench();
    for command in [
        "sed -i 'e touch ran' f",
        "sed -i 's/one/touch ran/e' f",
        "sed -i 'w ran' f",
        "sed -i 's/one/two/w ran' f",
        "sed -i 'r /etc/hostname' f",
        "sed -i 's/unfinished' f",
        "sed -i 'q5' f",
        "sed -i p nothing",
        "sed -i p .",
    ] {
        assert_eq!(preview(&bench, command).await, None, "{command}");
    }
    std::os::unix::fs::symlink("f", bench.project.join("link")).unwrap();
    assert_eq!(preview(&bench, "sed -i p link").await, None);
    assert!(!bench.project.join("ran").exists());
}

#[tokio::test]
async fn the_approved_bytes_are_written_without_a_shell() {
    let (bench, _) = bench();
    let command = "sed -i s/two/2/ f";
    let mut shown = preview(&bench, command).await.unwrap();
    // Were the command run, this would not come out.
    shown.after = b"as approved\n".to_vec();
    let output = bench.tool.call(command_of(command), Some(shown), bench.context()).await.unwrap();
    let text = bench.tool.render(&output.data).plain_text();
    assert!(text.ends_with("/f` exactly as it was shown and approved."), "{text}");
    assert_eq!(fs::read(bench.project.join("f")).unwrap(), b"as approved\n");
}

#[tokio::test]
async fn fact_78_a_file_that_changed_meanwhile_is_left_alone() {
    let (bench, _) = bench();
    let command = "sed -i s/two/2/ f";
    let shown = preview(&bench, command).await.unwrap();
    fs::write(bench.project.join("f"), "other\n").unwrap();
    let refused = bench.tool.call(command_of(command), Some(shown.clone()), bench.context()).await;
    assert_eq!(refused.unwrap_err().code(), "file:stale");
    assert_eq!(fs::read(bench.project.join("f")).unwrap(), b"other\n");
    // Nor is it written elsewhere, or for another command.
    for command in ["sed -i s/two/2/ g", "rm f"] {
        let refused = bench.tool.call(command_of(command), Some(shown.clone()), bench.context());
        assert_eq!(refused.await.unwrap_err().code(), "tool:invalid");
    }
}
