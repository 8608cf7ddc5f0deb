//! Exit codes, signals, time-outs, cancellation.

use std::time::Instant;

use super::*;

#[tokio::test]
async fn exit_codes_and_signals_are_told_in_the_first_line() {
    let bench = Bench::new();
    for (command, expected) in [
        ("false", "Exit code 1"),
        ("exit 42", "Exit code 42"),
        ("echo out; echo err >&2; exit 2", "Exit code 2\nout\nerr"),
        ("kill -TERM $$", "Killed by signal 15 (SIGTERM)"),
        ("echo last words; kill -9 $$", "Killed by signal 9 (SIGKILL)\nlast words"),
        ("(exit 143)", "Exit code 143"),
        ("set -e; false; echo no", "Exit code 1"),
        ("true | false", "Exit code 1"),
    ] {
        let (code, words) = bench.failure(command).await;
        assert_eq!((code, words.as_str()), ("tool:failed", expected), "{command}");
    }
    let (_, words) = bench.failure("no-such-program-at-all").await;
    assert!(words.starts_with("Exit code 127\n") && words.contains("not found"), "{words}");
}

#[tokio::test]
async fn a_search_without_a_match_is_no_failure() {
    let bench = Bench::new();
    fs::write(bench.project.join("f"), "text\n").unwrap();
    fs::write(bench.project.join("g"), "other\n").unwrap();
    for (command, expected) in [
        ("grep nothing f", "no matches found"),
        ("cat f | grep nothing", "no matches found"),
        ("test -f nothing", "condition is false"),
        ("[ 1 = 2 ]", "condition is false"),
    ] {
        let output = bench.run(command).await.unwrap();
        assert_eq!(output.data.return_code_interpretation.as_deref(), Some(expected), "{command}");
        assert_eq!(output.data.exit_code, Some(1));
        assert_eq!(bench.tool.render(&output.data).plain_text(), expected);
    }
    assert!(bench.text("diff f g").await.contains("< text"));
    for command in
        ["pgrep nothing-like-this-runs", "grep nothing f && true; false", "grep x /no/such"]
    {
        assert_eq!(bench.failure(command).await.0, "tool:failed", "{command}");
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_and_its_output_told() {
    let bench = Bench::new();
    let started = Instant::now();
    let error = bench.call(with_timeout("echo partial; sleep 63.01", 300)).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(error.code(), "tool:timed_out");
    assert_eq!(error.message(), "Command timed out after 300ms\npartial");
    assert_gone("63.01").await;
}

#[tokio::test]
async fn a_child_that_ignores_the_end_is_forced_to() {
    let bench = Bench::new();
    let command =
        "trap '' TERM; (trap '' TERM; sleep 63.02; sleep 63.02) & sleep 63.03; sleep 63.03";
    let started = Instant::now();
    let error = bench.call(with_timeout(command, 200)).await.unwrap_err();
    assert_eq!(error.code(), "tool:timed_out");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert_gone("63.02").await;
    assert_gone("63.03").await;
}

#[tokio::test]
async fn only_the_timer_is_a_time_out() {
    let bench = Bench::new();
    let (code, words) = bench.failure("timeout 0.1 sleep 63.04").await;
    assert_eq!((code, words.as_str()), ("tool:failed", "Exit code 124"));
}

#[tokio::test]
async fn nobody_waits_longer_than_the_ceiling() {
    let bench = Bench::with(HostProcesses::new(), |options| {
        options.default_timeout = Duration::from_millis(200);
        options.max_timeout = Duration::from_millis(400);
    });
    for (input, expected) in [
        (command_of("sleep 63.05"), "Command timed out after 200ms"),
        (with_timeout("sleep 63.05", 0), "Command timed out after 200ms"),
        (with_timeout("sleep 63.05", 900_000), "Command timed out after 400ms"),
    ] {
        assert_eq!(bench.call(input).await.unwrap_err().message(), expected);
    }
}

#[tokio::test]
async fn a_cancelled_command_ends_with_its_children() {
    let bench = Bench::new();
    let cancel = async {
        while !is_alive("63.07") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bench.cancellation.cancel();
    };
    let command = "echo begun; sleep 63.06 & sleep 63.07; true";
    let (result, ()) = tokio::join!(bench.run(command), cancel);
    let error = result.unwrap_err();
    assert_eq!(error.code(), "tool:interrupted");
    assert!(
        error.message().contains("interrupted") && error.message().ends_with("begun"),
        "{}",
        error.message()
    );
    assert_gone("63.06").await;
    assert_gone("63.07").await;
}

#[tokio::test]
async fn a_dropped_call_ends_its_command() {
    let bench = Bench::new();
    let gone =
        tokio::time::timeout(Duration::from_millis(300), bench.run("sleep 63.08; true")).await;
    assert!(gone.is_err());
    assert_gone("63.08").await;
}
