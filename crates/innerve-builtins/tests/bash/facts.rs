//! What the tool for commands promises, one promise per test; the numbers are those of the specification of the tools.

use super::*;

#[tokio::test]
async fn fact_72_a_cd_out_of_the_project_is_taken_back_with_a_note() {
    let mut bench = Bench::new();
    let output = bench.run("cd /tmp; pwd").await.unwrap();
    assert!(output.data.stderr.contains("Shell cwd was reset to"), "{}", output.data.stderr);
    if let Some(directory) = moved_to(&output) {
        bench.cwd = directory.to_owned();
    }
    assert_eq!(bench.text("pwd").await, bench.project.display().to_string());
}

#[tokio::test]
async fn fact_73_a_variable_does_not_last() {
    let bench = Bench::new();
    bench.run("export X=1").await.unwrap();
    assert_eq!(bench.text("echo \"[$X]\"").await, "[]");
}

#[tokio::test]
async fn fact_74_nobody_gets_more_than_ten_minutes() {
    // The same rule with a ceiling that a test can wait for.
    let bench = Bench::with(HostProcesses::new(), |options| {
        options.default_timeout = Duration::from_millis(100);
        options.max_timeout = Duration::from_millis(300);
    });
    let error = bench.call(with_timeout("sleep 82.01", 900_000)).await.unwrap_err();
    assert_eq!(error.message(), "Command timed out after 300ms");
    assert_eq!(BashOptions::default().max_timeout, Duration::from_mins(10));
}

#[tokio::test]
async fn fact_75_grep_may_find_nothing_and_pgrep_may_not() {
    let bench = Bench::new();
    fs::write(bench.project.join("f"), "text\n").unwrap();
    assert!(bench.run("grep nothing f").await.is_ok());
    assert!(bench.run("pgrep nothing-of-this-name").await.is_err());
}

#[tokio::test]
async fn fact_76_a_lone_sleep_is_for_the_monitor() {
    let mut bench = Bench::new();
    bench.tools = vec!["Bash".to_owned(), "Monitor".to_owned()];
    let context = bench.context().typed();
    assert!(bench.tool.validate(&command_of("sleep 30"), &context).await.is_err());
    assert!(bench.tool.validate(&command_of("sleep 1"), &context).await.is_ok());
    assert_eq!(bench.text("sleep 1; echo awake").await, "awake");
}

#[tokio::test]
async fn fact_77_a_picture_on_standard_output_is_an_image() {
    let output =
        Bench::new().run(r"printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1'").await.unwrap();
    assert!(output.data.is_image);
    assert_eq!(output.data.image.unwrap().media_type, "image/png");
}
