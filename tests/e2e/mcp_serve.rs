//! innerve as an MCP server: driven by the SDK's own client and by the official inspector's command line.

use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use innerve_tests::{PATIENCE, World, npm_programs, program};
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, Implementation, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService, serve_client};
use rmcp::{ErrorData, RoleClient};
use serde_json::{Value, json};

/// The inspector on `innerve mcp serve` in this world.
fn inspect(world: &World, serve: &[&str], arguments: &[&str]) -> Option<Output> {
    let inspector = npm_programs()?.join("mcp-inspector");
    let output = Command::new(inspector)
        .arg("--cli")
        .arg(program())
        .args(["mcp", "serve"])
        .args(serve)
        .args(arguments)
        .current_dir(world.work(""))
        .env_clear()
        .envs(world.environment())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Some(output)
}

#[track_caller]
fn json_of(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?} {said}"))
}

#[test]
fn the_inspector_lists_the_tools_and_calls_one() {
    let world = World::new().file("note.txt", "written here\n");
    let Some(listed) = inspect(&world, &[], &["--method", "tools/list"]) else { return };
    let listed = json_of(&listed);
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for name in ["Bash", "Edit", "Glob", "Grep", "Read", "Write"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"Agent") && !names.contains(&"AskUserQuestion"), "{names:?}");

    let path = format!("file_path={}", world.work("note.txt").display());
    let call = ["--method", "tools/call", "--tool-name", "Read", "--tool-arg", &path];
    let read = json_of(&inspect(&world, &[], &call).unwrap());
    assert!(read["content"][0]["text"].as_str().unwrap().contains("written here"), "{read}");

    let call =
        ["--method", "tools/call", "--tool-name", "Bash", "--tool-arg", "command=touch made"];
    let refused = json_of(&inspect(&world, &[], &call).unwrap());
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(!world.has("made"));
    inspect(&world, &["--allow", "Bash(touch *)"], &call).unwrap();
    assert!(world.has("made"));
}

/// A client, with or without a person who can be asked.
#[derive(Clone, Default)]
struct Client {
    /// What the person decides; without it there is none.
    decides: Option<&'static str>,
    asked: Arc<Mutex<Vec<String>>>,
    progress: Arc<Mutex<usize>>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.decides {
            Some(_) => json!({ "elicitation": { "form": {} } }),
            None => json!({}),
        };
        ClientConfig::new(
            serde_json::from_value(capabilities).unwrap(),
            Implementation::new("test", "1"),
        )
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(&request).unwrap();
        self.asked.lock().unwrap().push(request["message"].as_str().unwrap().to_owned());
        let decision = json!({ "decision": self.decides });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(decision))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        *self.progress.lock().unwrap() += 1;
    }
}

/// A client of a server in a world.
struct Session {
    client: RunningService<RoleClient, Client>,
    child: tokio::process::Child,
}

impl Session {
    async fn begin(world: &World, client: &Client, arguments: &[&str]) -> Self {
        let mut child = tokio::process::Command::new(program())
            .args(["mcp", "serve"])
            .args(arguments)
            .current_dir(world.work(""))
            .env_clear()
            .envs(world.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = serve_client(client.clone(), pipes).await.unwrap();
        Self { client, child }
    }

    async fn call(&self, tool: &'static str, input: Value) -> CallToolResult {
        let params =
            CallToolRequestParams::new(tool).with_arguments(input.as_object().unwrap().clone());
        tokio::time::timeout(PATIENCE, self.client.call_tool(params)).await.unwrap().unwrap()
    }

    async fn bash(&self, command: &str) -> (bool, String) {
        let result = self.call("Bash", json!({ "command": command })).await;
        (result.is_error == Some(true), text(&result))
    }

    /// The client leaves; the server ends by itself.
    async fn end(mut self) {
        let _closed = self.client.cancel().await;
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        assert!(ended.success(), "{ended}");
    }
}

fn text(result: &CallToolResult) -> String {
    let value = serde_json::to_value(&result.content).unwrap();
    value.as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_the_sdks_client_run_under_the_users_rules() {
    let world = World::new().file("keep.txt", "kept\n");
    let flags = ["--allow", "Bash(touch *)", "--deny", "Bash(rm *)", "--allow", "Bash(rm *)"];
    let session = Session::begin(&world, &Client::default(), &flags).await;
    let tools = session.client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "Read"));
    assert!(!session.bash("touch made.txt").await.0);
    assert!(world.has("made.txt"));
    let (is_error, words) = session.bash("rm keep.txt").await;
    assert!(is_error && words.contains("Bash(rm *)") && world.has("keep.txt"), "{words}");
    session.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_about_reaches_the_person_at_the_client() {
    let world = World::new();
    let client = Client { decides: Some("Allow once"), ..Client::default() };
    let session = Session::begin(&world, &client, &[]).await;
    assert!(!session.bash("touch one.txt").await.0);
    assert!(world.has("one.txt"));
    session.bash("touch two.txt").await;
    let asked = client.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("touch one.txt") && asked[0].contains("Bash"), "{asked:?}");
    session.end().await;

    let client = Client { decides: Some("Allow for this session"), ..Client::default() };
    let session = Session::begin(&world, &client, &[]).await;
    session.bash("touch three.txt").await;
    session.bash("touch four.txt").await;
    assert!(world.has("three.txt") && world.has("four.txt"));
    assert_eq!(client.asked.lock().unwrap().len(), 1);
    session.end().await;

    let client = Client { decides: Some("Deny"), ..Client::default() };
    let session = Session::begin(&world, &client, &[]).await;
    assert!(session.bash("touch five.txt").await.0);
    assert!(!world.has("five.txt"));
    session.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_client_cannot_ask_the_refusal_says_how_to_allow() {
    let world = World::new();
    let session = Session::begin(&world, &Client::default(), &[]).await;
    let (is_error, words) = session.bash("touch made.txt").await;
    assert!(is_error && words.contains("--allow 'Bash(touch *)'"), "{words}");
    assert!(!world.has("made.txt"));
    session.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_read_before_they_are_edited_and_a_directory_lasts() {
    let world = World::new().file("a.txt", "one\n").file("sub/b.txt", "here\n");
    let flags = ["--permission-mode", "acceptEdits"];
    let session = Session::begin(&world, &Client::default(), &flags).await;
    let path = world.work("a.txt").display().to_string();
    let edit = json!({ "file_path": path, "old_string": "one", "new_string": "two" });
    let unread = session.call("Edit", edit.clone()).await;
    assert_eq!(unread.is_error, Some(true), "{unread:?}");
    session.call("Read", json!({ "file_path": path })).await;
    session.call("Edit", edit).await;
    assert_eq!(world.read("a.txt"), "two\n");
    session.bash("cd sub").await;
    assert_eq!(session.bash("cat b.txt").await, (false, "here".to_owned()));
    session.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_its_command() {
    let world = World::new();
    let session = Session::begin(&world, &Client::default(), &["--allow", "Bash(tail *)"]).await;
    let input = json!({ "command": "tail -f /dev/null" });
    let params =
        CallToolRequestParams::new("Bash").with_arguments(input.as_object().unwrap().clone());
    let follows = || world.processes().iter().any(|(_, line)| line == "tail -f /dev/null");
    {
        let call = session.client.call_tool(params);
        tokio::pin!(call);
        let deadline = Instant::now() + PATIENCE;
        while !follows() {
            assert!(Instant::now() < deadline, "it did not start");
            let running = tokio::time::timeout(Duration::from_millis(20), &mut call).await;
            assert!(running.is_err(), "it ended: {running:?}");
        }
    }
    let deadline = Instant::now() + PATIENCE;
    while follows() {
        assert!(Instant::now() < deadline, "it still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    session.end().await;
    world.nobody_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_and_odd_input_are_told_and_end_nothing() {
    let world = World::new();
    let session = Session::begin(&world, &Client::default(), &[]).await;
    let unknown = session.client.call_tool(CallToolRequestParams::new("Bsh")).await.unwrap_err();
    assert!(unknown.to_string().contains("did you mean Bash"), "{unknown}");
    let odd = session.call("Read", json!({ "path": 7 })).await;
    assert!(odd.is_error == Some(true) && text(&odd).contains("file_path"), "{odd:?}");
    assert_eq!(session.bash("echo fine").await.1, "fine");
    session.end().await;
}
