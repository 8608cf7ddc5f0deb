//! Commands in an editor's terminals: shown there, and all the same as promised anywhere else.
//!
//! The editor here runs what it is asked to by pipes, with an environment of its own. As in `acp.rs`, a program without
//! the feature `acp` skips the tests.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use innerve_tests::{Innerve, ModelServer, PATIENCE, Reply, Running, Wire, World, reply};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::acp::{answer, is_there, open, request};

/// What an editor makes of a request for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Runs it, and reads what comes.
    Runs,
    /// Runs it, and never reads.
    NeverReads,
    /// Answers with an error.
    Refuses,
    /// Answers, and runs nothing.
    RunsNothing,
    /// Is never asked, since it has no terminals.
    HasNone,
}

struct Shown {
    relay: Child,
    /// What the person sees.
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Shown {
    fn start(params: &Value, does: Does) -> Self {
        let words = |list: &Value| -> Vec<String> {
            let list = list.as_array().cloned().unwrap_or_default();
            list.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        let mut command = Command::new(params["command"].as_str().unwrap());
        command.args(words(&params["args"])).current_dir(params["cwd"].as_str().unwrap());
        command.env_clear().env("OF_THE_EDITOR", "1").env("PATH", "/usr/bin:/bin");
        for variable in params["env"].as_array().unwrap() {
            command.env(variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut relay = command.spawn().unwrap();
        let seen = Arc::<Mutex<Vec<u8>>>::default();
        if does == Does::Runs {
            let (mut output, seen) = (relay.stdout.take().unwrap(), Arc::clone(&seen));
            thread::spawn(move || {
                let mut piece = [0; 8192];
                while let Ok(length @ 1..) = output.read(&mut piece) {
                    seen.lock().unwrap().extend_from_slice(&piece[..length]);
                }
            });
        }
        Self { relay, seen }
    }

    fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.relay.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.relay.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

/// An editor with one session.
struct Editor {
    run: Running,
    input: ChildStdin,
    does: Does,
    session: Value,
    answered: Vec<Value>,
    terminals: HashMap<String, Shown>,
    /// What was asked for with a terminal, in order.
    asked: Vec<(String, Value)>,
    prompts: u64,
}

impl Editor {
    fn open(world: &World, model: &ModelServer, does: Does) -> Self {
        let agent = world.innerve(["acp", "--permission-mode", "bypassPermissions"]);
        Self::open_with(world, agent.env("OF_THE_AGENT", "2").model(model), does)
    }

    fn open_with(world: &World, agent: Innerve, does: Does) -> Self {
        let able = json!({ "terminal": does != Does::HasNone });
        let new = json!({ "cwd": world.work(""), "mcpServers": [] });
        let (run, input) = open(agent, &able, "session/new", &new);
        let opened = run.lines().into_iter().find(|line| line["id"] == 2).unwrap();
        let session = opened["result"]["sessionId"].clone();
        let (answered, terminals, asked) = Default::default();
        Self { run, input, does, session, answered, terminals, asked, prompts: 0 }
    }

    fn say(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).unwrap();
    }

    fn prompt(&mut self) -> u64 {
        self.prompts += 1;
        let id = 100 + self.prompts;
        let prompt =
            json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": "Go on." }] });
        self.say(&request(id, "session/prompt", &prompt));
        id
    }

    fn cancel(&mut self) {
        let session = json!({ "sessionId": self.session });
        let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": session });
        self.say(&format!("{cancel}\n"));
    }

    /// Answers what it is asked, until it is as wanted.
    #[track_caller]
    fn until(&mut self, what: &str, wanted: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !wanted(self) {
            for line in self.run.lines() {
                let is_question = line["method"].is_string() && !line["id"].is_null();
                if is_question && !self.answered.contains(&line["id"]) {
                    self.answered.push(line["id"].clone());
                    self.answer(&line);
                }
            }
            assert!(Instant::now() < deadline, "{what} did not come\n{}", self.run);
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn answer(&mut self, question: &Value) {
        let (method, params) = (question["method"].as_str().unwrap(), &question["params"]);
        self.asked.push((method.to_owned(), params.clone()));
        let id = params["terminalId"].as_str().unwrap_or_default().to_owned();
        let result = match (method, self.does) {
            ("terminal/create", Does::Refuses | Does::HasNone) => {
                let error = json!({ "code": -32_603, "message": "no more terminals" });
                let error = json!({ "jsonrpc": "2.0", "id": question["id"], "error": error });
                return self.say(&format!("{error}\n"));
            }
            ("terminal/create", does) => {
                let id = format!("t{}", self.terminals.len() + 1);
                if does != Does::RunsNothing {
                    self.terminals.insert(id.clone(), Shown::start(params, does));
                }
                json!({ "terminalId": id })
            }
            ("terminal/wait_for_exit", _) => {
                let ended = self.terminals.get_mut(&id).map(|shown| shown.relay.wait().unwrap());
                json!({ "exitCode": ended.and_then(|ended| ended.code()) })
            }
            ("terminal/kill" | "terminal/release", _) => {
                if let Some(shown) = self.terminals.get_mut(&id) {
                    shown.relay.kill().unwrap();
                    shown.relay.wait().unwrap();
                }
                json!({})
            }
            (other, _) => panic!("the agent asked for {other}"),
        };
        self.say(&answer(&question["id"], &result));
    }

    fn updates(&self) -> Vec<Value> {
        let lines = self.run.lines().into_iter();
        lines.map(|line| line["params"]["update"].clone()).filter(Value::is_object).collect()
    }

    fn count(&self, method: &str) -> usize {
        self.asked.iter().filter(|(asked, _)| asked == method).count()
    }

    fn is_answered(&self, id: u64) -> bool {
        self.run.lines().iter().any(|line| line["id"] == id && line["method"].is_null())
    }

    /// One prompt to its end.
    #[track_caller]
    fn work(&mut self) {
        let id = self.prompt();
        self.until("the end of the prompt", |editor| editor.is_answered(id));
    }

    /// Hangs up.
    #[track_caller]
    fn close(self, world: &World) {
        drop(self.input);
        self.run.end().exits(0);
        world.nobody_is_left();
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.relay.kill();
        let _gone = self.relay.wait();
    }
}

/// A world whose model runs these commands, one after the other.
fn world(commands: &[&str]) -> Option<(World, ModelServer)> {
    let replies = commands.iter().map(|command| reply().bash(command));
    world_of(replies.chain([reply().text("Done.")]))
}

/// A world whose model never gets the result of the last of these commands.
fn world_to_the_last(commands: &[&str]) -> Option<(World, ModelServer)> {
    world_of(commands.iter().map(|command| reply().bash(command)))
}

fn world_of(replies: impl IntoIterator<Item = Reply>) -> Option<(World, ModelServer)> {
    let world = World::new();
    if !is_there(&world) {
        return None;
    }
    let model = world.model(Wire::Anthropic, replies);
    Some((world, model))
}

/// The results that the model was given, in order.
fn results(model: &ModelServer) -> Vec<String> {
    model.seen().iter().filter_map(|seen| seen.result_texts().pop()).collect()
}

#[test]
fn a_command_is_shown_in_a_terminal_with_all_that_it_prints_and_the_model_reads_the_same() {
    let script = "printf 'a\\0\\377b\\n'; echo err >&2; seq 20000; pwd; env; exit 7";
    let Some((world, model)) = world(&[script, "echo two"]) else { return };
    let mut editor = Editor::open(&world, &model, Does::Runs);
    editor.work();
    let heard = results(&model);
    assert!(heard[0].starts_with("Exit code 7"), "{}", &heard[0][..300]);
    assert!(heard[0].contains("OF_THE_AGENT=2"), "{}", heard[0]);
    assert!(!heard[0].contains("OF_THE_EDITOR") && !heard[0].contains("INNERVE_RELAY_WORD"));
    assert_eq!(heard[1], "two");
    editor.until("both terminals back", |editor| editor.count("terminal/release") == 2);
    let code = |id: &str, editor: &mut Editor| {
        editor.terminals.get_mut(id).unwrap().relay.wait().unwrap().code()
    };
    assert_eq!([code("t1", &mut editor), code("t2", &mut editor)], [Some(7), Some(0)]);
    let (first, second) = (editor.terminals["t1"].text(), editor.terminals["t2"].text());
    assert_eq!(second, "two\n");
    assert!(first.starts_with("a\0\u{fffd}b\nerr\n1\n2\n"), "{}", &first[..99]);
    let numbers: Vec<u32> = first.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(numbers, (1..=20_000).collect::<Vec<_>>());

    // The terminal comes after its call was told of, and stays in it.
    let contents: Vec<Value> = editor
        .updates()
        .iter()
        .filter(|update| update["sessionUpdate"] == "tool_call_update")
        .map(|update| json!([update["status"], update["content"][0]["terminalId"]]))
        .collect();
    let told = contents.iter().filter(|content| !content[1].is_null());
    let told: Vec<_> = told.cloned().collect();
    let at = |status: Option<&str>, id: &str| json!([status, id]);
    let expected =
        [at(None, "t1"), at(Some("failed"), "t1"), at(None, "t2"), at(Some("completed"), "t2")];
    assert_eq!(told, expected, "{contents:?}");
    // Nothing secret stands in the arguments.
    let create = &editor.asked[0].1;
    assert!(!create.to_string().contains("seq"), "{create}");
    assert_eq!(create["cwd"], world.work("").to_str().unwrap());
    editor.close(&world);
}

#[test]
fn a_command_that_kills_itself_or_cannot_start_is_told_as_anywhere() {
    let commands = ["kill -9 $$", "exec /no/such/program", "printf 'a\\0b' >&2; kill -TERM $$"];
    let mut told = Vec::new();
    for does in [Does::Runs, Does::HasNone] {
        let Some((world, model)) = world(&commands) else { return };
        let mut editor = Editor::open(&world, &model, does);
        editor.work();
        told.push(results(&model));
        editor.close(&world);
    }
    assert_eq!(told[0], told[1]);
    assert!(told[0][0].contains("signal 9") || told[0][0].contains("SIGKILL"), "{told:?}");
}

#[test]
fn a_command_in_a_sandbox_is_shown_and_held() {
    let Some((world, model)) = world(&["echo x > ../outside; echo inside > a.txt; cat a.txt"])
    else {
        return;
    };
    // Landlock, which needs nothing but the kernel.
    let settings = json!({ "sandbox": { "enabled": true, "bwrapPath": "/nonexistent/bwrap" } });
    let agent = world.innerve(["acp", "--permission-mode", "bypassPermissions", "--settings"]);
    let agent = agent.arg(settings.to_string()).model(&model);
    let mut editor = Editor::open_with(&world, agent, Does::Runs);
    editor.work();
    let result = results(&model).remove(0);
    assert!(result.contains("Permission denied") && result.ends_with("inside"), "{result}");
    editor.until("the terminal back", |editor| editor.count("terminal/release") == 1);
    assert_eq!(editor.terminals["t1"].text().trim_end(), result);
    assert!(!world.root().join("outside").exists());
    editor.close(&world);
}

#[test]
fn calls_side_by_side_and_those_of_a_sub_agent_each_have_their_own_terminal() {
    let task = json!({ "description": "a side task", "prompt": "Go.", "subagent_type": "general-purpose" });
    let Some((world, model)) = world_of([
        reply().bash("echo one").bash("echo two"),
        reply().uses("Agent", task),
        reply().bash("echo three"),
        reply().text("The side task is done."),
        reply().text("Done."),
    ]) else {
        return;
    };
    let mut editor = Editor::open(&world, &model, Does::Runs);
    editor.work();
    editor.until("all terminals back", |editor| editor.count("terminal/release") == 3);
    // A call is told of by its command, and shows the terminal in which that ran.
    let updates = editor.updates();
    for word in ["one", "two", "three"] {
        let title = format!("`echo {word}`");
        let call = updates.iter().find(|update| update["title"] == title.as_str()).unwrap();
        let of_call = updates.iter().filter(|update| update["toolCallId"] == call["toolCallId"]);
        let mut shown = of_call.filter_map(|update| update["content"][0]["terminalId"].as_str());
        assert_eq!(editor.terminals[shown.next().unwrap()].text(), format!("{word}\n"));
    }
    editor.close(&world);
}

#[test]
fn the_counts_of_a_flood_are_exact_whether_the_terminal_reads_or_not() {
    for does in [Does::Runs, Does::NeverReads] {
        let Some((world, model)) = world(&["seq 1 500000"]) else { return };
        let mut editor = Editor::open(&world, &model, does);
        editor.work();
        let result = results(&model).remove(0);
        assert!(result.contains("500000 lines") && result.contains("\n500000"), "{result}");
        let path = result.split_whitespace().find(|word| word.starts_with('/')).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 500_000);
        editor.close(&world);
    }
}

#[test]
fn i8_a_flood_takes_little_memory_of_the_relay_though_the_terminal_never_reads() {
    let Some((world, model)) =
        world_to_the_last(&["head -c 100000000 /dev/zero; touch done; sleep 100000.61"])
    else {
        return;
    };
    let mut editor = Editor::open(&world, &model, Does::NeverReads);
    editor.prompt();
    editor.until("the end of the flood", |_| world.has("done"));
    let (relay, agent) = (editor.terminals["t1"].peak_memory(), editor.run.peak_memory());
    assert!(relay < 60_000_000, "the relay: {relay} bytes");
    assert!(agent < 120_000_000, "the agent: {agent} bytes");
    editor.close(&world);
}

#[test]
fn a_prompt_that_is_cancelled_ends_the_whole_group() {
    let Some((world, model)) =
        world_to_the_last(&["sleep 100000.62 & touch ready; sleep 100000.63"])
    else {
        return;
    };
    let mut editor = Editor::open(&world, &model, Does::Runs);
    let id = editor.prompt();
    editor.until("the command", |_| world.has("ready"));
    editor.cancel();
    editor.until("the end of the prompt", |editor| editor.is_answered(id));
    editor.until("the terminal back", |editor| editor.count("terminal/release") == 1);
    let left = world.processes();
    assert!(left.iter().all(|(_, line)| !line.contains("sleep")), "{left:?}");
    editor.close(&world);
}

#[test]
fn nothing_outlives_an_agent_that_is_killed() {
    let Some((world, model)) =
        world_to_the_last(&["sleep 100000.64 & echo on", "touch ready; sleep 100000.65"])
    else {
        return;
    };
    let mut editor = Editor::open(&world, &model, Does::Runs);
    editor.prompt();
    editor.until("the command", |_| world.has("ready"));
    let left = world.processes();
    assert!(left.iter().any(|(_, line)| line.contains("100000.64")), "{left:?}");
    assert!(editor.run.kill());
    let deadline = Instant::now() + PATIENCE;
    for shown in editor.terminals.values_mut() {
        while shown.relay.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the relay does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
    world.nobody_is_left();
}

/// A command may do something before the relay has said that it runs; until then the agent knows of none.
fn until_told() {
    std::thread::sleep(std::time::Duration::from_millis(500));
}

#[test]
fn a_terminal_that_is_ended_or_killed_ends_its_command() {
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::KILL] {
        let command = "sleep 100000.66 & touch ready; sleep 100000.67; echo survived";
        let Some((world, model)) = world(&[command]) else { return };
        let mut editor = Editor::open(&world, &model, Does::Runs);
        let id = editor.prompt();
        editor.until("the command", |_| world.has("ready"));
        until_told();
        // Before: a person cannot stop what must be able to end the command.
        editor.terminals["t1"].signal(Signal::TSTP);
        editor.terminals["t1"].signal(signal);
        editor.until("the end of the prompt", |editor| editor.is_answered(id));
        let result = results(&model).remove(0);
        assert!(result.contains("signal"), "{signal:?}: {result}");
        assert!(!result.contains("survived"), "{signal:?}: {result}");
        editor.until("the terminal back", |editor| editor.count("terminal/release") == 1);
        editor.close(&world);
    }
}

#[test]
fn a_relay_that_does_not_answer_is_ended_through_the_editor() {
    let Some((world, model)) = world_to_the_last(&["touch ready; sleep 100000.69"]) else { return };
    let mut editor = Editor::open(&world, &model, Does::Runs);
    let id = editor.prompt();
    editor.until("the command", |_| world.has("ready"));
    until_told();
    editor.terminals["t1"].signal(Signal::STOP);
    editor.cancel();
    editor.until("the end of the prompt", |editor| editor.is_answered(id));
    assert_eq!(editor.count("terminal/kill"), 1);
    editor.close(&world);
}

#[test]
fn an_editor_that_refuses_is_asked_once_and_the_commands_run_all_the_same() {
    let Some((world, model)) = world(&["echo one; exit 3", "echo two"]) else { return };
    let mut editor = Editor::open(&world, &model, Does::Refuses);
    editor.work();
    assert_eq!(editor.count("terminal/create"), 1);
    assert_eq!(results(&model), ["Exit code 3\none", "two"]);
    editor.run.wait_for_words("commands do not run in the editor's terminals");
    editor.run.wait_for_words("the editor refused: no more terminals");
    editor.close(&world);
}

#[test]
fn a_relay_that_comes_too_late_runs_nothing() {
    let Some((world, model)) = world(&["echo ran >> ledger"]) else { return };
    let mut editor = Editor::open(&world, &model, Does::RunsNothing);
    editor.work();
    assert_eq!(world.read("ledger"), "ran\n");
    editor.until("the terminal back", |editor| editor.count("terminal/release") == 1);
    editor.run.wait_for_words("did not start in it within 5 s");
    let mut late = Shown::start(&editor.asked[0].1, Does::Runs);
    assert_eq!(late.relay.wait().unwrap().code(), Some(1));
    assert_eq!(world.read("ledger"), "ran\n");
    editor.close(&world);
}

#[test]
fn what_is_cancelled_before_its_terminal_is_there_does_not_run() {
    let Some((world, model)) = world_to_the_last(&["echo ran >> ledger"]) else { return };
    let mut editor = Editor::open(&world, &model, Does::RunsNothing);
    let id = editor.prompt();
    editor.until("the terminal", |editor| editor.count("terminal/create") == 1);
    let asked = Instant::now();
    editor.cancel();
    editor.until("the end of the prompt", |editor| editor.is_answered(id));
    assert!(asked.elapsed() < Duration::from_secs(3), "it waits for the terminal");
    editor.until("the terminal back", |editor| editor.count("terminal/release") == 1);
    assert!(!world.has("ledger"));
    editor.close(&world);
}

#[test]
fn what_a_tool_runs_for_itself_is_not_shown() {
    let Some((world, model)) = world_of([
        reply().uses("EnterWorktree", json!({ "name": "side" })),
        reply().uses("ExitWorktree", json!({ "action": "remove" })),
        reply().text("Done."),
    ]) else {
        return;
    };
    for arguments in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "first"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
        assert!(git.current_dir(world.work("")).status().unwrap().success());
    }
    let mut editor = Editor::open(&world, &model, Does::Runs);
    editor.work();
    let heard = results(&model);
    assert!(heard[0].contains("worktrees/side"), "{heard:?}");
    assert_eq!(editor.asked, []);
    editor.close(&world);
}

#[test]
fn an_editor_without_terminals_is_not_asked_for_one() {
    let Some((world, model)) = world(&["echo one"]) else { return };
    let mut editor = Editor::open(&world, &model, Does::HasNone);
    editor.work();
    assert_eq!(results(&model), ["one"]);
    assert_eq!(editor.asked, []);
    editor.close(&world);
}

#[test]
fn what_goes_on_in_the_background_keeps_its_terminal_until_it_ends() {
    let task = json!({ "command": "echo begins; until [ -e stop ]; do sleep 0.05; done; echo ends", "run_in_background": true });
    let Some((world, model)) = world_of([
        reply().uses("Bash", task),
        reply().bash("(sleep 100000.68 &) ; echo left"),
        reply().text("Done."),
        reply().bash("echo again"),
        reply().text("Done."),
    ]) else {
        return;
    };
    let mut editor = Editor::open(&world, &model, Does::Runs);
    editor.work();
    editor.work();
    editor.until("the third terminal back", |editor| editor.count("terminal/release") == 1);
    let released = |editor: &Editor| {
        let of = editor.asked.iter().filter(|(method, _)| method == "terminal/release");
        of.map(|(_, params)| params["terminalId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(released(&editor), ["t3"], "the others are in use");
    let is_left = || world.processes().iter().any(|(_, line)| line.contains("100000.68"));
    assert!(is_left(), "{:?}", world.processes());
    world.write("stop", "");
    // With the last command of the prompt ends what another one has left behind, as it does without an editor.
    editor.until("all terminals back", |editor| editor.count("terminal/release") == 3);
    assert_eq!(editor.terminals["t1"].text(), "begins\nends\n");
    editor.until("the end of what was left behind", |_| !is_left());
    editor.close(&world);
}

#[test]
fn the_relay_is_of_no_use_by_hand() {
    let world = World::new();
    if !is_there(&world) {
        return;
    }
    world.innerve(["editor-terminal", "/nowhere"]).run().exits(2).complains(["innerve acp"]);
    let ended = world.innerve(["editor-terminal", "/nowhere"]).env("INNERVE_RELAY_WORD", "x").run();
    ended.exits(1).complains(["no agent has a command for this terminal"]);
    assert!(!world.innerve(["--help"]).run().stdout().contains("editor-terminal"));
}
