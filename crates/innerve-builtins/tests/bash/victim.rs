//! What a program leaves running does not outlive it, however it ends.

use std::process::{Command, Stdio};

use super::*;

/// As [`assert_gone`], for what has to be forced.
async fn assert_gone_later(argument: &str) {
    for _ in 0..60 {
        if !is_alive(argument) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("still running: {argument}");
}

async fn until_alive(argument: &str) {
    for _ in 0..1_000 {
        if is_alive(argument) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never ran: {argument}");
}

#[tokio::test]
async fn what_a_finished_command_left_ends_with_the_runner() {
    let bench = Bench::new();
    bench.text("sleep 65.01 & sleep 65.02 </dev/null >/dev/null 2>&1 & echo done").await;
    // Groups of their own, in the same session.
    bench.text("set -m; sleep 65.03 & echo done").await;
    // It is asked first and does not listen.
    bench.text("(trap '' TERM; sleep 65.04; sleep 65.05) & echo done").await;
    for argument in ["65.01", "65.02", "65.03", "65.04"] {
        until_alive(argument).await;
    }
    // Longer than it takes to look after what was left.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    drop(bench);
    for argument in ["65.01", "65.02", "65.03"] {
        assert_gone(argument).await;
    }
    assert_gone_later("65.04").await;
    assert_gone("65.05").await;
}

#[tokio::test]
async fn what_is_left_is_asked_to_end_before_it_is_forced() {
    let bench = Bench::new();
    let note = bench.project.parent().unwrap().join("asked");
    let command = format!(
        "(trap 'echo asked >{}; exit' TERM; echo ready; while :; do sleep 0.05; done) & sleep 0.2",
        note.display()
    );
    assert!(bench.text(&command).await.starts_with("ready"));
    let Bench { _folder: folder, tool, .. } = bench;
    drop(tool);
    for _ in 0..100 {
        if note.exists() {
            return drop(folder);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it was not asked");
}

#[tokio::test]
async fn what_made_a_session_of_its_own_is_left_alone() {
    let bench = Bench::new();
    bench.text("setsid sleep 65.06 </dev/null >/dev/null 2>&1 & sleep 0.1; echo done").await;
    until_alive("65.06").await;
    drop(bench);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(is_alive("65.06"));
    Command::new("pkill").args(["-f", "-x", "sleep 65.06"]).status().unwrap();
}

#[tokio::test]
async fn a_watchdog_that_was_ended_is_replaced() {
    let bench = Bench::new();
    bench.text("sleep 65.07 & echo done").await;
    let own = std::process::id().to_string();
    let watchdogs = || -> Vec<String> {
        let found = Command::new("pgrep").args(["-f", "innerve-watchdog$"]).output().unwrap();
        let ids = String::from_utf8(found.stdout).unwrap();
        ids.lines().filter(|id| *id != own).map(str::to_owned).collect()
    };
    // Other tests have theirs; one that is ended is replaced there too.
    for id in watchdogs() {
        let pipe = fs::read_link(format!("/proc/{id}/fd/0")).unwrap_or_default();
        let own = fs::read_dir("/proc/self/fd").unwrap().flatten();
        if own.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|own| own == pipe) {
            Command::new("kill").args(["-9", &id]).status().unwrap();
            // What is told to one that is about to end is lost.
            while fs::read_dir(format!("/proc/{id}/fd")).is_ok_and(|fds| fds.count() > 0) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
    bench.text("sleep 65.08 & echo done").await;
    drop(bench);
    assert_gone("65.07").await;
    assert_gone("65.08").await;
}

/// Names whoever is to be killed, so that what one run of the test left does not fail the next.
const VICTIM: &str = "INNERVE_VICTIM";

/// Is run, and killed, by the test below; does nothing when it is run for itself.
#[tokio::test]
async fn victim() {
    let Ok(victim) = std::env::var(VICTIM) else { return };
    let bench = Bench::new();
    let left =
        format!("sleep 65.11{victim} & sleep 65.12{victim} </dev/null >/dev/null 2>&1 & echo done");
    bench.text(&left).await;
    bench.text(&format!("sleep 65.13{victim} & wait; true")).await;
}

#[tokio::test]
async fn a_program_that_is_killed_leaves_nothing_running() {
    let victim = std::process::id();
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim::victim", "--nocapture"])
        .env(VICTIM, victim.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let arguments = ["65.11", "65.12", "65.13"].map(|number| format!("{number}{victim}"));
    for argument in &arguments {
        until_alive(argument).await;
    }
    // SIGKILL
    program.kill().unwrap();
    program.wait().unwrap();
    for argument in &arguments {
        assert_gone_later(argument).await;
    }
}

#[tokio::test]
async fn a_pattern_that_matches_its_own_shell_is_explained() {
    let bench = Bench::new();
    let (_, words) = bench.failure("pkill -f innerve-test-pattern; echo after").await;
    assert!(words.starts_with("Killed by signal 15 (SIGTERM): pkill -f looks at whole"), "{words}");
    // The advice works.
    bench.text("sleep 65.14 & echo started").await;
    until_alive("65.14").await;
    let text = bench.text("pkill -f '[6]5.14'; echo after").await;
    assert!(text.ends_with("after"), "{text}");
    assert_gone("65.14").await;
    let (_, words) = bench.failure("kill -TERM $$").await;
    assert_eq!(words, "Killed by signal 15 (SIGTERM)");
}

/// Is run by the test below, and killed by its own first command.
#[tokio::test]
async fn victim_of_its_own_command() {
    let Ok(victim) = std::env::var(VICTIM) else { return };
    let command = format!("kill -9 $PPID; exec sleep 65.14{victim}");
    Bench::new().text(&command).await;
}

#[tokio::test]
async fn a_program_that_is_killed_by_its_first_command_leaves_nothing_running() {
    let victim = std::process::id();
    for round in 0..20 {
        let name = format!("{victim}{round:02}");
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "victim::victim_of_its_own_command", "--nocapture"])
            .env(VICTIM, &name)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!ended.success(), "it was killed");
        assert_gone_later(&format!("65.14{name}")).await;
    }
}
