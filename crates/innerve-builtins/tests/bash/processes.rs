//! Children, pipes, groups, environment.

use std::time::Instant;

use innerve_tool::port::{ExitStatus, OutputSink, ProcessRequest, ProcessRunner as _, StdStream};

use super::*;

const PROMPT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_child_that_holds_the_pipes_is_not_waited_for() {
    let bench = Bench::new();
    for (command, expected, child) in [
        ("sleep 61.01 & echo done", "done", "61.01"),
        ("setsid sleep 61.02 & echo spawned", "spawned", "61.02"),
        ("sleep 61.03 </dev/null >/dev/null & echo ok", "ok", "61.03"),
        ("(sleep 61.04; echo late) & echo first", "first", "61.04"),
    ] {
        let started = Instant::now();
        assert_eq!(bench.text(command).await, expected, "{command}");
        assert!(started.elapsed() < PROMPT, "{command} took {:?}", started.elapsed());
        std::process::Command::new("pkill")
            .args(["-f", "-x", &format!("sleep {child}")])
            .status()
            .unwrap();
    }
}

#[tokio::test]
async fn what_a_finished_command_leaves_running_goes_on() {
    let bench = Bench::new();
    let command =
        "(for i in $(seq 200); do echo line $i; sleep 0.01; done; touch finished) & echo started";
    assert!(bench.text(command).await.starts_with("started"));
    for _ in 0..500 {
        if bench.project.join("finished").exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the child did not finish: it was killed, or its pipe was closed");
}

#[tokio::test]
async fn a_child_that_floods_the_pipe_for_ever_is_not_waited_for() {
    let bench = Bench::new();
    let started = Instant::now();
    // In the output its number would stand in the middle of the flood.
    let _flood = bench.text("yes innerve-flood & echo $! > flood").await;
    assert!(started.elapsed() < PROMPT);
    let id = std::fs::read_to_string(bench.project.join("flood")).unwrap();
    std::process::Command::new("kill").arg(id.trim()).status().unwrap();
}

#[tokio::test]
async fn standard_input_is_empty() {
    let bench = Bench::new();
    assert_eq!(bench.text("cat; echo after").await, "after");
}

#[tokio::test]
async fn there_is_no_terminal_to_read_from() {
    let bench = Bench::new();
    let text = bench.text("head -1 /dev/tty || echo no-tty").await;
    assert!(text.lines().any(|line| line == "no-tty"), "{text}");
}

#[tokio::test]
async fn both_streams_come_in_the_order_in_which_they_were_written() {
    let bench = Bench::new();
    let command = "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done";
    let expected: Vec<String> = (1..=5).map(|i| format!("out {i}\nerr {i}")).collect();
    assert_eq!(bench.text(command).await, expected.join("\n"));
    let command = "for i in $(seq 20000); do echo errrrrrrrrrr >&2; done; echo end";
    let output = bench.run(command).await.unwrap();
    assert_eq!(output.data.lines, 20_001);
    assert!(bench.tool.render(&output.data).plain_text().ends_with("\nend"));
}

#[tokio::test]
async fn both_pipes_are_drained_at_once() {
    for command in [
        "yes err | head -c 300000 >&2; yes out | head -c 300000",
        "yes out | head -c 300000; yes err | head -c 300000 >&2",
        "{ yes out | head -c 300000; } & { yes err | head -c 300000 >&2; } & wait",
        "exec 2>&-; yes out | head -c 600000",
    ] {
        let sink = Arc::new(Bytes::default());
        let mut process = HostProcesses::new()
            .spawn(request(command), Arc::<Bytes>::clone(&sink) as _)
            .await
            .unwrap();
        assert_eq!(process.wait().await.unwrap(), ExitStatus::Code(0));
        assert_eq!(sink.0.lock().unwrap().len(), 600_000, "{command}");
    }
}

#[tokio::test]
async fn nothing_that_changes_the_meaning_of_a_command_is_inherited() {
    let folder = tempfile::tempdir().unwrap();
    let start = folder.path().join("start.sh");
    fs::write(&start, "echo from BASH_ENV\nls() { echo hijacked; }\n").unwrap();
    let start = start.to_str().unwrap();
    let bench = Bench::with_environment(&[
        ("PATH", "/usr/bin:.:/bin::relative"),
        ("HOME", "/root"),
        ("BASH_ENV", start),
        ("ENV", start),
        ("SHELLOPTS", "noexec:xtrace"),
        ("BASHOPTS", "extglob"),
        ("PS4", "$(echo ps4)"),
        ("PROMPT_COMMAND", "echo prompt"),
        ("CDPATH", "/usr"),
        ("GLOBIGNORE", "*"),
        ("POSIXLY_CORRECT", "1"),
        ("IFS", "x"),
        ("RIPGREP_CONFIG_PATH", start),
        ("BASH_FUNC_echo%%", "() { builtin echo hijacked; }"),
        ("BASH_FUNC_ls%%", "() {  builtin echo hijacked; }"),
        ("KEPT", "yes"),
    ]);
    fs::write(bench.project.join("file"), "").unwrap();
    assert_eq!(bench.text("ls; echo *").await, "file\nfile");
    let text = bench.text("env").await;
    for line in text.lines() {
        let name = line.split('=').next().unwrap();
        assert!(
            !name.starts_with("BASH_FUNC_")
                && ![
                    "BASH_ENV",
                    "ENV",
                    "SHELLOPTS",
                    "BASHOPTS",
                    "PS4",
                    "PROMPT_COMMAND",
                    "CDPATH",
                    "GLOBIGNORE",
                    "POSIXLY_CORRECT",
                    "IFS",
                    "RIPGREP_CONFIG_PATH",
                ]
                .contains(&name),
            "{line}"
        );
    }
    for line in [
        "KEPT=yes",
        "PATH=/usr/bin:/bin",
        "TERM=dumb",
        "PAGER=cat",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        "LESSSECURE=1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in {text}");
    }
}

#[tokio::test]
async fn variables_do_not_last() {
    let bench = Bench::new();
    bench.text("export INNERVE_X=1").await;
    assert_eq!(bench.text("echo \"<$INNERVE_X>\"").await, "<>");
}

#[tokio::test]
async fn the_command_is_the_whole_text_that_bash_is_given() {
    let bench = Bench::new();
    let command = "printf '%s|' \"$BASH_EXECUTION_STRING\" \"$0\" \"$#\" \"$LINENO\" \"${BASH_ENV-none}${INNERVE_END_FILE-none}\"";
    assert_eq!(
        bench.text(command).await,
        format!("{command}|bash|0|1|nonenone|").replace("bash|0", &format!("{}|0", shell()))
    );
    let script = "cat <<'X'\n$a `b` \\c\nX\n# comment\necho \"two\nlines\" \\\n  joined";
    assert_eq!(bench.text(script).await, "$a `b` \\c\ntwo\nlines joined");
    let (_, words) = bench.failure("echo \"unclosed").await;
    assert!(words.contains("-c: line 1:"), "{words}");
}

fn shell() -> String {
    BashOptions::default().shell.display().to_string()
}

#[tokio::test]
async fn many_commands_run_at_once_and_fail_alone() {
    let bench = Bench::new();
    let (failed, first, second) =
        tokio::join!(bench.run("false"), bench.text("sleep 0.2; echo one"), bench.text("echo two"));
    assert_eq!(failed.unwrap_err().code(), "tool:failed");
    assert_eq!((first.as_str(), second.as_str()), ("one", "two"));
}

/// Keeps everything.
#[derive(Default)]
struct Bytes(Mutex<Vec<u8>>);

impl OutputSink for Bytes {
    fn write(&self, _stream: StdStream, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }
}

fn request(command: &str) -> ProcessRequest {
    ProcessRequest {
        program: BashOptions::default().shell,
        args: vec!["-c".to_owned(), command.to_owned()],
        cwd: "/".into(),
        env: Vec::new(),
        env_remove: Vec::new(),
        tool_use: None,
    }
}

#[tokio::test]
async fn dropping_a_running_process_ends_its_group() {
    let sink = Arc::new(Bytes::default());
    let process = HostProcesses::new()
        .spawn(request("sleep 62.01 & sleep 62.02; true"), Arc::<Bytes>::clone(&sink) as _)
        .await
        .unwrap();
    while !is_alive("62.02") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(process);
    assert_gone("62.01").await;
    assert_gone("62.02").await;
}

#[tokio::test]
async fn a_killed_group_is_asked_first() {
    let sink = Arc::new(Bytes::default());
    let mut process = HostProcesses::new()
        .spawn(
            request("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.02; done"),
            Arc::<Bytes>::clone(&sink) as _,
        )
        .await
        .unwrap();
    while !sink.0.lock().unwrap().starts_with(b"ready") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    process.kill().await.unwrap();
    assert!(sink.0.lock().unwrap().ends_with(b"asked\n"));
    assert_eq!(process.wait().await.unwrap(), ExitStatus::Code(7));
}

#[tokio::test]
async fn a_group_that_ignores_the_question_is_forced() {
    let sink = Arc::new(Bytes::default());
    let mut process = HostProcesses::new()
        .spawn(
            request("trap '' TERM; (trap '' TERM; sleep 62.03) & echo ready; sleep 62.04; true"),
            Arc::<Bytes>::clone(&sink) as _,
        )
        .await
        .unwrap();
    while !(is_alive("62.03") && is_alive("62.04")) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    process.kill().await.unwrap();
    assert!(!is_alive("62.03") && !is_alive("62.04"));
    assert_eq!(process.wait().await.unwrap(), ExitStatus::Signal(9));
}

#[tokio::test]
async fn children_that_left_the_group_are_ended_too() {
    for (command, how) in [
        ("setsid sleep 62.05 & sleep 62.06; true", "killed"),
        ("set -m; sleep 62.05 & sleep 62.06; true", "killed"),
        ("setsid sleep 62.05 & sleep 62.06; true", "dropped"),
        ("setsid sh -c 'trap \"\" TERM; sleep 62.05; true' & sleep 62.06; true", "killed"),
    ] {
        let mut process =
            HostProcesses::new().spawn(request(command), Arc::new(Bytes::default())).await.unwrap();
        while !(is_alive("62.05") && is_alive("62.06")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if how == "killed" {
            process.kill().await.unwrap();
        } else {
            drop(process);
        }
        assert_gone("62.05").await;
        assert_gone("62.06").await;
    }
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error() {
    let request = ProcessRequest { program: "/no/such/program".into(), ..request("") };
    let error =
        HostProcesses::new().spawn(request, Arc::new(Bytes::default())).await.err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
