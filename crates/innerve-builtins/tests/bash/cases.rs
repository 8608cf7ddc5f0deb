//! Failures that users of such tools have met, each named after the public thread or changelog that tells of it.

use std::time::Instant;

use innerve_builtins::read::ReadTool;
use innerve_builtins::{FileAccess, host::HostFiles, host::MemoryLedger};

use super::*;

/// What the model sees, and how long it took.
async fn timed(bench: &Bench, command: &str) -> (String, Duration) {
    let started = Instant::now();
    let text = bench.text(command).await;
    (text, started.elapsed())
}

#[tokio::test]
async fn claude_code_2_1_144_a_search_without_a_match_is_an_answer() {
    let bench = Bench::new();
    fs::write(bench.project.join("a.txt"), "text\n").unwrap();
    assert_eq!(bench.text("grep nothing a.txt").await, "no matches found");
}

#[tokio::test]
async fn claude_code_2_1_94_a_character_on_the_border_of_two_reads_stays_whole() {
    let bench = Bench::with(HostProcesses::new(), |options| options.max_output_chars = 100_000);
    let text = bench.text(r"head -c 65535 /dev/zero | tr '\0' a; printf '汉\n'").await;
    assert!(text.ends_with("a汉"), "{}", text.len());
}

#[tokio::test]
async fn pim_agent_7_xum_41_a_child_that_holds_the_pipe_is_not_waited_for() {
    let (text, took) = timed(&Bench::new(), "sleep 81.01 & echo done").await;
    assert_eq!(text, "done");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn opencode_47350_claurst_189_a_detached_child_is_not_waited_for() {
    let (text, took) = timed(&Bench::new(), "setsid sleep 4.02 & echo spawned").await;
    assert_eq!(text, "spawned");
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn opencode_48414_a_child_that_holds_standard_error_is_not_waited_for() {
    let (text, took) = timed(&Bench::new(), "sleep 81.03 </dev/null >/dev/null & echo ok").await;
    assert_eq!(text, "ok");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn claude_code_2_1_212_a_signal_of_its_own_is_no_time_out() {
    let (code, words) = Bench::new().failure("kill -TERM $$").await;
    assert_eq!(code, "tool:failed");
    assert!(words.contains("SIGTERM") && !words.contains("timed out"), "{words}");
    let (_, words) = Bench::new().failure("(exit 143)").await;
    assert!(words.starts_with("Exit code 143"), "{words}");
}

#[tokio::test]
async fn pi_9460_a_command_ends_at_the_default_time() {
    let bench = Bench::with(HostProcesses::new(), |options| {
        options.default_timeout = Duration::from_millis(300);
    });
    let (code, _) = bench.failure("sleep 100000.04").await;
    assert_eq!(code, "tool:timed_out");
    assert_gone("100000.04").await;
    let usual = BashOptions::default();
    assert_eq!(
        (usual.default_timeout, usual.max_timeout),
        (Duration::from_mins(2), Duration::from_mins(10))
    );
}

#[tokio::test]
async fn deepagents_2427_opencode_1964_standard_input_is_empty() {
    let (text, took) = timed(&Bench::new(), "cat; echo after").await;
    assert_eq!(text, "after");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn querymt_557_there_is_no_terminal_to_wait_for() {
    let (text, took) = timed(&Bench::new(), "head -1 /dev/tty 2>/dev/null || echo no-tty").await;
    assert_eq!(text, "no-tty");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn claurst_189_both_streams_are_drained_at_once() {
    let command = "for i in $(seq 20000); do echo errrrrrrrrrr >&2; done; echo end";
    let (text, _) = timed(&Bench::new(), command).await;
    assert!(text.ends_with("end"), "{}", text.len());
}

#[tokio::test]
async fn claude_code_2_1_214_pkill_by_pattern_leaves_the_agent_alive() {
    let (code, words) = Bench::new().failure("pkill -f innerve-test-patter[n] || exit 9").await;
    assert!(code == "tool:failed" && words.starts_with("Exit code 9"), "{words}");
    // Its own shell holds the pattern; this process, which is the agent, goes on and says so.
    let (_, words) = Bench::new().failure("pkill -f innerve-test-pattern").await;
    assert!(words.contains("pkill -f looks at whole command lines"), "{words}");
}

#[tokio::test]
async fn claude_code_2_1_148_broken_start_up_files_break_no_command() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".bashrc", ".bash_profile", ".profile", "env"] {
        fs::write(folder.path().join(name), "exit 127\n").unwrap();
    }
    let (home, env) = (folder.path().to_str().unwrap(), folder.path().join("env"));
    let path = std::env::var("PATH").unwrap();
    let bench = Bench::with_environment(&[
        ("HOME", home),
        ("PATH", &path),
        ("BASH_ENV", env.to_str().unwrap()),
        ("ENV", env.to_str().unwrap()),
        ("BASH_FUNC_ls%%", "() { exit 127; }"),
    ]);
    assert_eq!(bench.text("ls / >/dev/null; echo fine").await, "fine");
}

#[tokio::test]
async fn claude_code_2_1_161_2_1_128_a_failing_command_leaves_its_siblings_alone() {
    let bench = Bench::new();
    let (failed, ok) = tokio::join!(bench.run("sleep 0.1; false"), bench.run("sleep 0.3; echo ok"));
    assert_eq!(failed.unwrap_err().code(), "tool:failed");
    assert_eq!(ok.unwrap().data.stdout.trim(), "ok");
}

#[tokio::test]
async fn bounty_challenge_50131_output_is_cut_between_characters() {
    let text = Bench::new().text("yes '汉字' | head -c 3000000").await;
    assert!(text.chars().count() < 100_000);
}

#[tokio::test]
async fn hive_3486_binary_output_is_shown_with_replacements() {
    let output = Bench::new().run("head -c 4096 /bin/ls").await.unwrap();
    assert_eq!((output.data.exit_code, output.data.bytes), (Some(0), 4096));
    assert!(output.data.stdout.contains('\u{fffd}'));
}

#[tokio::test]
async fn cube_harness_368_the_end_of_a_long_output_is_there() {
    let command = "for i in $(seq 1 200000); do echo line $i; done; echo FINAL SUMMARY";
    assert!(Bench::new().text(command).await.ends_with("FINAL SUMMARY"));
}

#[tokio::test]
async fn crush_3715_what_was_left_out_can_be_read_from_the_file_that_is_named() {
    let bench = Bench::new();
    let output = bench.run("seq 1 1000000").await.unwrap();
    let path = output.data.persisted_output_path.clone().unwrap();
    let access = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()));
    let tool = ReadTool::new(access);
    let input = serde_json::from_value(
        serde_json::json!({ "file_path": path, "offset": 500_000, "limit": 1 }),
    )
    .unwrap();
    let read = tool.call(input, None, bench.context().typed()).await.unwrap();
    assert!(tool.render(&read.data).plain_text().starts_with("500000\t500000\n"));
}
