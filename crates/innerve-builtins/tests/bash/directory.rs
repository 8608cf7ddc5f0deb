//! Where the shell is, and where it goes.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[tokio::test]
async fn a_change_of_directory_inside_the_project_lasts() {
    let mut bench = Bench::new();
    fs::create_dir_all(bench.project.join("sub/deep")).unwrap();
    let sub = bench.project.join("sub");
    for command in
        ["cd sub", "cd sub; true", "cd sub && exit 0", "pushd sub >/dev/null", "cd sub/deep; cd .."]
    {
        let output = bench.run(command).await.unwrap();
        assert_eq!(moved_to(&output), Some(sub.as_path()), "{command}");
        assert_eq!(bench.tool.render(&output.data).plain_text(), "");
    }
    bench.cwd = sub;
    assert_eq!(bench.text("pwd").await, bench.cwd.to_str().unwrap());
    let output = bench.run("cd ..").await.unwrap();
    assert_eq!(moved_to(&output), Some(bench.project.as_path()));
}

#[tokio::test]
async fn what_does_not_move_the_shell_changes_nothing() {
    let bench = Bench::new();
    fs::create_dir(bench.project.join("sub")).unwrap();
    for command in [
        "true",
        "(cd sub)",
        "cd sub; cd ..",
        "cd . && true",
        "cd sub | cat",
        // The price of the trap: these do not tell where they end.
        "cd sub; exec true",
        "trap 'true' EXIT; cd sub",
    ] {
        let output = bench.run(command).await.unwrap();
        assert_eq!(moved_to(&output), None, "{command}");
        assert_eq!(output.data.stderr, "", "{command}");
    }
}

#[tokio::test]
async fn leaving_the_working_directories_leads_back_to_the_project() {
    let mut bench = Bench::new();
    let note = format!("Shell cwd was reset to {}", bench.project.display());
    let output = bench.run("cd /usr; pwd").await.unwrap();
    assert_eq!(moved_to(&output), None);
    assert_eq!(bench.tool.render(&output.data).plain_text(), format!("/usr\n{note}"));

    fs::create_dir(bench.project.join("sub")).unwrap();
    bench.cwd = bench.project.join("sub");
    let output = bench.run("cd /usr").await.unwrap();
    assert_eq!(moved_to(&output), Some(bench.project.as_path()));

    symlink("/usr", bench.project.join("link")).unwrap();
    let output = bench.run("cd ../link").await.unwrap();
    assert_eq!(moved_to(&output), Some(bench.project.as_path()), "a link leads out");
}

#[tokio::test]
async fn an_additional_directory_is_a_working_directory() {
    let mut bench = Bench::new();
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join("sub")).unwrap();
    let other = other.path().canonicalize().unwrap();
    bench.additional.push(other.clone());
    let output = bench.run(&format!("cd {}/sub", other.display())).await.unwrap();
    assert_eq!(moved_to(&output), Some(other.join("sub").as_path()));
}

#[tokio::test]
async fn a_project_that_is_named_through_a_link_keeps_its_name() {
    let mut bench = Bench::new();
    let link = bench.spool.with_file_name("link");
    symlink(&bench.project, &link).unwrap();
    fs::create_dir(bench.project.join("sub")).unwrap();
    bench.project = link.clone();
    bench.cwd = link.clone();
    assert_eq!(bench.text("pwd").await, link.to_str().unwrap());
    let output = bench.run("cd sub").await.unwrap();
    assert_eq!(moved_to(&output), Some(link.join("sub").as_path()));
}

#[tokio::test]
async fn a_sub_agent_never_moves() {
    let mut bench = Bench::new();
    bench.agent = Some("agent");
    fs::create_dir(bench.project.join("sub")).unwrap();
    for command in ["cd sub", "cd /usr"] {
        let output = bench.run(command).await.unwrap();
        assert_eq!(moved_to(&output), None);
        assert_eq!(output.data.stderr, "");
    }
    assert_eq!(bench.text("pwd").await, bench.project.to_str().unwrap());
}

#[tokio::test]
async fn odd_shells_still_tell_where_they_end() {
    let bench = Bench::new();
    let sub = bench.project.join("sub dir\nwith 'quotes'");
    fs::create_dir(&sub).unwrap();
    for prefix in [
        "set -C",
        "set -eu",
        "umask 777",
        "exec >/dev/null 2>&1",
        "pwd() { echo /usr; }",
        "set -o posix",
        "trap '' TERM",
        "exec 3>&-",
        "alias pwd=false",
    ] {
        let output = bench.run(&format!("{prefix}\ncd sub*")).await.unwrap();
        assert_eq!(moved_to(&output), Some(sub.as_path()), "{prefix}");
        assert_eq!(output.data.stdout, "", "{prefix}");
    }
    let text = bench.text("set -x\ncd sub*").await;
    assert_eq!(text.lines().count(), 1 + 1, "only the traced cd, whose name has two lines: {text}");
}

#[tokio::test]
async fn a_command_that_fails_has_moved_all_the_same() {
    let bench = Bench::new();
    let sub = bench.project.join("sub");
    fs::create_dir(&sub).unwrap();
    let error = bench.run("cd sub; false").await.unwrap_err();
    assert_eq!(error.message(), "Exit code 1");
    assert_eq!(error.changes(), [SessionChange::SetCwd(sub)]);
    let error = bench.run("cd /usr; false").await.unwrap_err();
    let reset = format!("Exit code 1\nShell cwd was reset to {}", bench.project.display());
    assert_eq!(error.message(), reset);
}

#[tokio::test]
async fn a_lost_directory_leads_back_to_the_project() {
    let mut bench = Bench::new();
    bench.cwd = bench.project.join("gone");
    let project = bench.project.clone();
    let output = bench.run("pwd").await.unwrap();
    assert_eq!(moved_to(&output), Some(project.as_path()));
    let text = bench.tool.render(&output.data).plain_text();
    assert!(text.starts_with(project.to_str().unwrap()), "{text}");
    assert!(text.contains("no longer exists. Shell cwd was reset to"), "{text}");
}

#[tokio::test]
async fn what_was_meant_for_a_lost_directory_does_not_hit_the_project() {
    let mut bench = Bench::new();
    fs::write(bench.project.join("precious"), "").unwrap();
    bench.cwd = bench.project.join("gone");
    let output = bench.run("rm -r *").await.unwrap();
    assert!(bench.project.join("precious").exists());
    assert_eq!(moved_to(&output), Some(bench.project.as_path()));
    assert!(output.data.stderr.contains("was not run"), "{}", output.data.stderr);
    bench.agent = Some("agent");
    let (code, _) = bench.failure("rm -r *").await;
    assert_eq!(code, "tool:not_found");
    assert!(bench.project.join("precious").exists());
}

#[tokio::test]
async fn a_directory_that_vanishes_under_the_command_does_no_harm() {
    let mut bench = Bench::new();
    bench.cwd = bench.project.join("short");
    fs::create_dir(&bench.cwd).unwrap();
    let output = bench.run("rmdir ../short; echo ok").await.unwrap();
    assert_eq!(bench.tool.render(&output.data).plain_text(), "ok");
}

#[tokio::test]
async fn a_lost_project_is_an_error() {
    let bench = Bench::new();
    fs::remove_dir(&bench.project).unwrap();
    let (code, words) = bench.failure("ls").await;
    assert_eq!(code, "tool:not_found");
    assert!(words.contains(bench.project.to_str().unwrap()), "{words}");
}

#[tokio::test]
async fn without_a_scratch_folder_commands_run_and_the_shell_stays() {
    let bench = Bench::with(HostProcesses::new(), |options| {
        options.scratch = "/no/such/folder".into();
    });
    fs::create_dir(bench.project.join("sub")).unwrap();
    let output = bench.run("cd sub; pwd").await.unwrap();
    assert_eq!(moved_to(&output), None);
}

#[tokio::test]
async fn nothing_is_left_in_the_scratch_folder() {
    let bench = Bench::new();
    fs::create_dir(bench.project.join("sub")).unwrap();
    let scratch = bench.spool.with_file_name("scratch");
    for _ in 0..3 {
        bench.text("cd sub").await;
    }
    let folder = fs::read_dir(&scratch).unwrap().next().unwrap().unwrap().path();
    let names: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["start"]);
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    fs::remove_dir_all(&folder).unwrap();
    let output = bench.run("cd sub").await.unwrap();
    assert!(moved_to(&output).is_some(), "a folder that was tidied away is made again");
    drop(bench.tool);
    assert_eq!(fs::read_dir(scratch).unwrap().count(), 0);
}

/// What a command finds out about the file by which it tells where it ended.
const END: &str = "e=$(tr '\\0' '\\n' </proc/$$/environ | sed -n 's/^INNERVE_END_FILE=//p'); trap - EXIT; test -n \"$e\" || exit 9";

#[tokio::test]
async fn what_a_command_puts_in_place_of_the_file_that_tells_its_end_is_neither_read_nor_waited_for()
 {
    let bench = Bench::new();
    fs::create_dir(bench.project.join("sub")).unwrap();
    let sub = bench.project.join("sub");
    fs::write(bench.project.join("told"), format!("{}\n", sub.display())).unwrap();
    for trick in [
        "mkfifo $e",
        "ln -s /dev/zero $e",
        "ln -s \"$PWD/told\" $e",
        "mkdir -p $e/deep",
        "rm -r ${e%/*}",
    ] {
        let output = bench.run(&format!("{END}; {trick} && echo done")).await.unwrap();
        assert_eq!(bench.tool.render(&output.data).plain_text(), "done", "{trick}");
        assert_eq!(moved_to(&output), None, "{trick}");
    }
    let output = bench.run("cd sub").await.unwrap();
    assert_eq!(moved_to(&output), Some(sub.as_path()), "the next command tells where it ends");
}
