//! Questions that wait for each other, and those that nobody needs to answer any more.

use innerve_tests::{ModelServer, Terminal, Wire, World, reply};
use serde_json::{Value, json};

/// A world with files outside of the workspace, which are asked about and may be read side by side.
fn outside(world: &World, name: &str) -> String {
    let file = world.root().join("outside").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("{name} of outside\nits second line\n")).unwrap();
    file.display().to_string()
}

/// A model that reads these files of outside, each from a line of its own, in one response.
fn reading(world: &World, names: &[&str]) -> ModelServer {
    let read = |(line, name): (usize, &&str)| json!({ "file_path": outside(world, name), "offset": line + 1 });
    let uses =
        names.iter().enumerate().map(read).fold(reply(), |reply, input| reply.uses("Read", input));
    world.model(Wire::Anthropic, [uses, reply().text("Both read.")])
}

fn count(terminal: &Terminal, words: &str) -> usize {
    terminal.shown().matches(words).count()
}

#[test]
fn questions_of_one_response_are_asked_one_after_the_other_in_order() {
    let world = World::new();
    let model = reading(&world, &["one.txt", "two.txt"]);
    let mut terminal = world.innerve(["run", "read both"]).model(&model).at_terminal();
    terminal.sees("one.txt").sees("[y] yes");
    assert_eq!(count(&terminal, "wants to run"), 1, "{terminal}");
    terminal.enters("y").sees("two.txt").sees("[y] yes").enters("y").sees("Both read.");
    assert_eq!(terminal.ends(), 0);
    let told = model.request(1).result_texts();
    assert!(told[0].contains("one.txt of outside") && told[1].contains("its second line"));
}

#[test]
fn a_yes_for_the_session_answers_the_question_behind_it_which_is_never_shown() {
    let world = World::new();
    let model = reading(&world, &["one.txt", "one.txt"]);
    let mut terminal = world.innerve(["run", "read both"]).model(&model).at_terminal();
    terminal.sees("[s] yes").enters("s").sees("Both read.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(count(&terminal, "wants to run"), 1, "{terminal}");
    assert!(model.request(1).result_texts()[1].contains("its second line"));
}

#[test]
fn settings_that_change_answer_an_open_question() {
    let settings = |world: &World, list: &str, rule: &str| {
        let file = world.root().join("config/innerve/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, json!({ "permissions": { list: [rule] } }).to_string()).unwrap();
    };
    for (list, made) in [("allow", true), ("deny", false)] {
        let world = World::new();
        let model =
            world.model(Wire::Anthropic, [reply().bash("touch made"), reply().text("Done.")]);
        let mut terminal = world.innerve(["run", "make it"]).model(&model).at_terminal();
        terminal.sees("[y] yes");
        settings(&world, list, "Bash(touch *)");
        terminal.sees("needs no answer any more").sees("Done.");
        assert_eq!(terminal.ends(), 0);
        assert_eq!(world.has("made"), made, "{list}: {terminal}");
        assert_eq!(model.request(1).results()[0].failed(), !made);
    }
}

fn sed(world: &World) -> ModelServer {
    let script = [reply().bash("sed -i 's/two/2/' a.txt"), reply().text("Done.")];
    world.model(Wire::Anthropic, script)
}

#[test]
fn i6_the_change_of_a_sed_is_shown_and_its_bytes_are_written() {
    let world = World::new().file("a.txt", "one\ntwo\nthree\n");
    let model = sed(&world);
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.sees("a.txt").sees("-two").sees("+2").sees("[y] yes");
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n", "nothing is written before the answer");
    terminal.enters("y").sees("Done.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(world.read("a.txt"), "one\n2\nthree\n");
}

#[test]
fn i6_a_sed_is_refused_if_the_file_has_changed_since_it_was_shown() {
    let world = World::new().file("a.txt", "one\ntwo\nthree\n");
    let model = sed(&world);
    let mut terminal = world.innerve(["run", "change it"]).model(&model).at_terminal();
    terminal.sees("[y] yes");
    world.write("a.txt", "two\ntwo\ntwo\n");
    terminal.enters("y").sees("Done.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(world.read("a.txt"), "two\ntwo\ntwo\n");
    let told = model.request(1).results().remove(0);
    assert!(told.failed() && told.content.plain_text().contains("changed"), "{told:?}");
}

#[test]
fn a_prompt_tool_that_is_not_there_ends_the_run_at_the_first_question() {
    let world = World::new();
    let flag = ["--permission-prompt-tool", "mcp__desk__approve"];
    // Nothing is asked, so that nothing is missed.
    let model = world.model(Wire::Anthropic, [reply().bash("ls"), reply().text("Done.")]);
    world.innerve(["run", "look"]).args(flag).model(&model).run().exits(0);
    let model = world.model(Wire::Anthropic, [reply().bash("touch made")]);
    let ended = world.innerve(["run", "make it"]).args(flag).model(&model).run();
    ended.exits(1).complains(["mcp__desk__approve", "--permission-prompt-tool"]);
    assert!(!world.has("made"));
    // What is no tool's name is bad usage.
    world.innerve(["run", "x", "--permission-prompt-tool", "a b"]).with_a_key_only().run().exits(2);
}

/// Any tool of the pool can be asked; one that answers in words of its own has decided nothing.
#[test]
fn a_prompt_tool_is_called_in_place_of_a_person_and_its_nonsense_is_a_no() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().bash("touch made"), reply().text("Done.")]);
    let run = world.innerve(["run", "make it", "--permission-prompt-tool", "TodoWrite"]);
    run.model(&model).run().exits(0);
    assert!(!world.has("made"));
    let told: Value = json!(model.request(1).result_texts());
    assert!(told.to_string().contains("TodoWrite"), "{told}");
}

/// An MCP server with one tool, which answers what it is asked about by the command in it, and notes it.
const DESK: &str = r#"
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    method, params = call["method"], call.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "approve", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        asked = params["arguments"]
        with open("asked.jsonl", "a") as notes:
            notes.write(json.dumps(asked) + "\n")
        command = asked["input"].get("command", "")
        if "yes" in command:
            word = {"behavior": "allow"}
        elif "other" in command:
            word = {"behavior": "allow", "updatedInput": {"command": "touch changed"}}
        else:
            word = {"behavior": "deny", "message": "the desk says no"}
        result = {"content": [{"type": "text", "text": json.dumps(word)}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"#;

#[test]
fn a_tool_of_a_server_answers_in_place_of_a_person() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let world = World::new().file("desk.py", DESK);
    let script = world.work("desk.py").display().to_string();
    let server = json!({ "command": "python3", "args": [script] });
    let config = json!({ "mcpServers": { "desk": server } }).to_string();
    let model = world.model(
        Wire::Anthropic,
        [
            reply().bash("touch yes"),
            reply().bash("touch no"),
            reply().bash("touch other"),
            reply().text("Done."),
        ],
    );
    let run = world.innerve(["run", "go", "--permission-prompt-tool", "mcp__desk__approve"]);
    run.args(["--mcp-config", &config]).model(&model).run().exits(0);
    assert!(world.has("yes") && !world.has("no") && !world.has("other") && world.has("changed"));
    let told = model.request(2).result_texts().remove(0);
    assert!(told.contains("the desk says no"), "{told}");
    let asked = world.read("asked.jsonl");
    let first: Value = serde_json::from_str(asked.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["tool_name"], &first["input"]),
        (&json!("Bash"), &json!({ "command": "touch yes" }))
    );
    assert!(first["tool_use_id"].is_string());
    assert_eq!(asked.lines().count(), 3, "what it changed is not asked again");
}
