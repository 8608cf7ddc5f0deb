//! Exit codes and the words of failures.

use innerve_tool::port::{OutputSink as _, OutputSpool, SpoolFile, StdStream};

use super::*;
use crate::bash::capture::Capture;

#[track_caller]
fn check(command: &str, expected: Option<&str>) {
    assert_eq!(benign(command), expected, "{command}");
}

#[test]
fn exit_code_1_of_a_search_or_comparison_is_no_failure() {
    check("grep nothing file", Some("no matches found"));
    check("cd src && rg -n nothing", Some("no matches found"));
    check("cat file | egrep x", Some("no matches found"));
    check("fgrep x file", Some("no matches found"));
    check("find /proc -name x", Some("some directories were inaccessible"));
    check("diff a b", Some("files differ"));
    check("test -f x", Some("condition is false"));
    check("[ -f x ]", Some("condition is false"));
    check("git diff --exit-code", Some("files differ"));
    check("git -C sub grep word", Some("no matches found"));
    check("/usr/bin/grep x f", Some("no matches found"));
}

#[test]
fn exit_code_1_of_anything_else_is_a_failure() {
    check("pgrep nothing", None);
    check("grep x f | wc -l", None);
    check("grep x f && make", None);
    check("git status", None);
    check("git", None);
    check("false", None);
    check("grep 'unclosed", None);
    check("", None);
}

#[test]
fn durations_are_spoken() {
    for (milliseconds, expected) in
        [(120_000, "2m 0s"), (61_000, "1m 1s"), (30_000, "30s"), (1_500, "1500ms"), (50, "50ms")]
    {
        assert_eq!(spoken(Duration::from_millis(milliseconds)), expected);
    }
}

struct NoSpool;

impl OutputSpool for NoSpool {
    fn create(&self, _id: &innerve_protocol::ToolUseId) -> std::io::Result<Box<dyn SpoolFile>> {
        Err(std::io::Error::other("none"))
    }
}

fn failure_of(output: &str, notes: &[String]) -> String {
    let capture = Capture::new(std::sync::Arc::new(NoSpool), "id".into(), 30_000);
    capture.write(StdStream::Out, output.as_bytes());
    let captured = capture.finish().unwrap();
    failure("Exit code 2", &captured.text, captured.counts, notes)
}

#[test]
fn a_short_failure_is_told_in_full() {
    assert_eq!(failure_of("", &[]), "Exit code 2");
    assert_eq!(failure_of("no such file\n", &[]), "Exit code 2\nno such file");
    assert_eq!(failure_of("a\n", &["note".to_owned()]), "Exit code 2\na\nnote");
}

#[test]
fn a_long_failure_keeps_its_ends_within_its_limit() {
    for characters in ["x", "汉"] {
        for length in [9_980, 9_989, 10_000, 20_000, 45_000, 200_000] {
            let output = format!("BEGIN{}END", characters.repeat(length));
            let words = failure_of(&output, &["a note".to_owned()]);
            assert!(words.chars().count() <= MAX_FAILURE, "{length}");
            assert!(words.contains("BEGIN") && words.contains("END\na note"), "{length}");
            if length >= 10_000 {
                assert!(words.contains(" characters truncated] ..."), "{length}");
                assert!(words.contains(&format!("{} bytes, 1 lines", output.len())), "{length}");
            }
        }
    }
}
