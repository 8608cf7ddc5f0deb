//! What is refused before anything runs, and what the tool says of itself.

use innerve_protocol::ToolResultContent;
use innerve_tool::{ResultLimit, erase};
use serde_json::json;

use super::*;

async fn issue(bench: &Bench, input: BashInput) -> Option<String> {
    let context = bench.context().typed();
    bench.tool.validate(&input, &context).await.err().map(|error| error.message().to_owned())
}

#[tokio::test]
async fn what_cannot_be_a_command_is_refused() {
    let bench = Bench::new();
    for (command, expected) in [("", "empty"), (" \n\t", "empty"), ("echo \0", "NUL")] {
        let words = issue(&bench, command_of(command)).await.unwrap();
        assert!(words.contains(expected), "{words}");
    }
    let longest = format!(": {}", "x".repeat(128 * 1024 - 3));
    assert_eq!(issue(&bench, command_of(&longest)).await, None);
    assert_eq!(bench.text(&longest).await, "", "the longest command runs");
    assert!(
        issue(&bench, command_of(&format!("{longest}x"))).await.unwrap().contains("131072 bytes")
    );
    let input = BashInput { run_in_background: Some(true), ..command_of("ls") };
    assert!(issue(&bench, input).await.unwrap().contains("not available"));
}

#[tokio::test]
async fn waiting_is_for_the_monitor_where_there_is_one() {
    let mut bench = Bench::new();
    assert_eq!(issue(&bench, command_of("sleep 30")).await, None);
    bench.tools = vec!["Bash".to_owned(), "Monitor".to_owned()];
    for command in
        ["sleep 30", "sleep 2", "sleep 1m", "sleep 1 1", "sleep 30; curl x", "sleep 0.1h"]
    {
        let words = issue(&bench, command_of(command)).await.expect(command);
        assert!(words.contains("Monitor") && words.contains("run_in_background"), "{words}");
    }
    for command in
        ["sleep 1", "sleep 1.9", "make; sleep 30", "while :; do sleep 30; done", "echo sleep 30"]
    {
        assert_eq!(issue(&bench, command_of(command)).await, None, "{command}");
    }
}

#[test]
fn unknown_parameters_are_refused_and_text_is_taken_as_meant() {
    let tool = erase(Bench::new().tool).unwrap();
    let issues = tool.parse(json!({"command": "ls", "_simulatedSedEdit": {}})).unwrap_err();
    assert_eq!(issues[0].to_string(), "An unexpected parameter `_simulatedSedEdit` was provided");
    let input = tool
        .parse(json!({"command": "ls", "timeout": "5000", "run_in_background": "false",
                      "dangerouslyDisableSandbox": true, "description": "Lists"}))
        .unwrap();
    assert_eq!(input["timeout"], 5000);
    assert!(tool.parse(json!({"timeout": 1})).is_err());
    assert!(tool.parse(json!({"command": "ls", "timeout": null})).is_ok());
}

#[test]
fn flags_follow_the_analysis() {
    let tool = Bench::new().tool;
    for (command, safe, read_only) in [
        ("git status", true, true),
        ("cat a | head -3", true, true),
        ("echo hi", false, true),
        ("rm -rf x", false, false),
        ("cat a > b", false, false),
        ("$UNKNOWN", false, false),
        ("echo 'unclosed", false, false),
    ] {
        let input = command_of(command);
        assert_eq!(tool.is_concurrency_safe(&input), safe, "{command}");
        assert_eq!(tool.is_read_only(&input), read_only, "{command}");
        assert_eq!(tool.is_destructive(&input), !read_only, "{command}");
        assert_eq!(tool.classifier_input(&input), command);
    }
    let input = BashInput { run_in_background: Some(true), ..command_of("git status") };
    assert!(!tool.is_concurrency_safe(&input));
    assert_eq!(tool.result_limit(), ResultLimit::Chars(30_000));
    assert!(tool.accepts_text_scalars());
}

#[test]
fn the_description_names_the_limits() {
    let words = Bench::new().tool.description();
    for part in ["2m 0s", "600000", "30000", "Standard input is empty"] {
        assert!(words.contains(part), "{part} is missing in {words}");
    }
    assert!(!words.contains("run_in_background"));
}

#[test]
fn output_as_json_uses_the_known_names() {
    let mut output = BashOutput::default();
    output.stdout = "x".to_owned();
    output.exit_code = Some(0);
    assert_eq!(
        serde_json::to_value(&output).unwrap(),
        json!({"stdout": "x", "stderr": "", "is_cut": false, "interrupted": false, "is_image": false, "exit_code": 0,
               "bytes": 0, "lines": 0})
    );
    let tool = Bench::new().tool;
    assert_eq!(tool.render(&output), ToolResultContent::Text("x".to_owned()));
}
