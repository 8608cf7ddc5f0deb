//! MCP servers in a session: found, started without waiting, trusted, used like built-in tools, ended with the program.

use std::path::Path;

use innerve_tests::{
    ModelServer, Reply, Terminal, Wire, World, npm_programs, pypi_programs, python_server, reply,
};
use serde_json::{Value, json};

/// The value of `--mcp-config` for test servers in these modes.
fn python(servers: &[(&str, &str)]) -> Option<String> {
    let script = python_server()?;
    let entries = servers.iter().map(|(name, mode)| {
        let mut words = mode.split(' ').map(str::to_owned);
        let args: Vec<String> = std::iter::once(script.clone()).chain(&mut words).collect();
        ((*name).to_owned(), json!({ "command": "python3", "args": args }))
    });
    let entries: serde_json::Map<String, Value> = entries.collect();
    Some(json!({ "mcpServers": entries }).to_string())
}

/// What tells the program to search for tools instead of sending them all.
const SEARCHED: [&str; 2] = ["--tool-search", "on"];

/// A run with a test server in this mode, whose tools may be used, and a model that replies so.
fn run<const N: usize>(
    world: &World,
    wire: Wire,
    (name, mode): (&str, &str),
    flags: [&str; N],
    script: impl IntoIterator<Item = Reply>,
) -> Option<ModelServer> {
    let config = python(&[(name, mode)])?;
    let model = world.model(wire, script);
    let innerve = world.innerve(["run", "go", "--mcp-config", &config]);
    let innerve = innerve.args(["--allow", &format!("mcp__{name}")]).args(flags);
    innerve.model(&model).run().exits(0);
    Some(model)
}

/// Servers that others wrote: two from npm, one from PyPI.
fn real(world: &World) -> Option<String> {
    let (npm, pypi) = (npm_programs()?, pypi_programs()?);
    let path = |folder: &Path, name: &str| folder.join(name).display().to_string();
    Some(
        json!({ "mcpServers": {
            "everything": { "command": path(&npm, "mcp-server-everything") },
            "files": { "command": path(&npm, "mcp-server-filesystem"), "args": [world.work("").display().to_string()] },
            "time": { "command": path(&pypi, "mcp-server-time") },
        } })
        .to_string(),
    )
}

/// The names of the tools in a request, on either wire.
fn tool_names(body: &Value) -> Vec<String> {
    let name = |tool: &Value| {
        tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned)
    };
    body["tools"].as_array().unwrap().iter().filter_map(name).collect()
}

#[test]
fn three_real_servers_serve_one_task() {
    let world = World::new().file("note.txt", "written here\n");
    let Some(config) = real(&world) else { return };
    for wire in Wire::BOTH {
        let model = world.model(
            wire,
            [
                reply().uses("ToolSearch", json!({ "query": "select:mcp__time__convert_time,mcp__files__read_text_file,mcp__everything__get-sum" })),
                reply()
                    .uses("mcp__time__convert_time", json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" }))
                    .uses("mcp__files__read_text_file", json!({ "path": world.work("note.txt").display().to_string() }))
                    .uses("mcp__everything__get-sum", json!({ "a": 20, "b": 22 })),
                reply().text("All three answered."),
            ],
        );
        let ended = world
            .innerve(["run", "ask them", "--tool-search", "on", "--output", "json"])
            .args(["--mcp-config", &config])
            .args(["--allow", "mcp__time", "--allow", "mcp__files", "--allow", "mcp__everything"])
            .model(&model)
            .run();
        ended.exits(0);
        let texts = model.request(2).result_texts();
        assert!(texts[0].contains("21:00"), "{texts:?}");
        assert!(texts[1].contains("written here"), "{texts:?}");
        assert!(texts[2].contains("42"), "{texts:?}");
        assert_eq!(ended.json()["permission_denials"], json!([]));
        world.nobody_is_left();
    }
}

#[test]
fn tools_of_real_servers_are_listed_with_their_state() {
    let world = World::new();
    let Some(config) = real(&world) else { return };
    let ended = world.innerve(["mcp", "list", "--json", "--mcp-config", &config]).run();
    ended.exits(0);
    let listed = ended.json();
    let servers = listed.as_array().unwrap();
    assert_eq!(servers.len(), 3, "{listed}");
    for server in servers {
        assert_eq!(server["state"], "connected", "{server}");
        assert_eq!(server["left_out"], json!([]), "{server}");
        assert!(!server["tools"].as_array().unwrap().is_empty(), "{server}");
    }
    world.nobody_is_left();
}

#[test]
fn a_server_that_never_answers_holds_nobody_up() {
    let world = World::new();
    let Some(config) = python(&[("mute", "silent")]) else { return };
    let model = world.model(Wire::Anthropic, [reply().bash("true"), reply().text("Done.")]);
    world.innerve(["run", "go", "--mcp-config", &config]).model(&model).run().exits(0);
    let first = model.request(0);
    assert!(tool_names(&first.body).iter().all(|name| !name.starts_with("mcp__")));
    assert!(first.last_words().contains("still starting: `mute`"), "{}", first.last_words());
    world.nobody_is_left();
}

#[test]
fn a_search_waits_for_a_server_that_is_still_starting() {
    let world = World::new();
    let script = [
        reply().uses("ToolSearch", json!({ "query": "select:mcp__late__echo" })),
        reply().uses("mcp__late__echo", json!({ "message": "hello" })),
        reply().text("Done."),
    ];
    let Some(model) = run(&world, Wire::Anthropic, ("late", "slow"), [], script) else {
        return;
    };
    assert!(!tool_names(&model.request(0).body).contains(&"mcp__late__echo".to_owned()));
    assert_eq!(model.request(2).result_texts(), ["hello"]);
}

#[test]
fn i12_a_server_that_joins_or_leaves_changes_no_byte_of_the_built_in_tools() {
    let world = World::new();
    let script = [
        reply().uses("ToolSearch", json!({ "query": "mcp__late" })),
        reply().uses("mcp__late__grow", json!({})),
        reply().uses("ToolSearch", json!({ "query": "select:mcp__late__grown" })),
        reply().uses("mcp__late__die", json!({})),
        reply().text("Done."),
    ];
    let Some(model) = run(&world, Wire::Anthropic, ("late", "slow"), [], script) else {
        return;
    };
    let builtins = |index: usize| {
        let raw = model.request(index).raw;
        let tools = raw.split_once("\"tools\":[").unwrap().1;
        let end = tools.find(",{\"name\":\"mcp__").or_else(|| tools.find("]}")).unwrap();
        tools[..end].to_owned()
    };
    let names = |index: usize| tool_names(&model.request(index).body);
    assert!(!names(0).iter().any(|name| name.starts_with("mcp__")), "{:?}", names(0));
    assert!(names(1).contains(&"mcp__late__echo".to_owned()), "{:?}", names(1));
    assert!(names(3).contains(&"mcp__late__grown".to_owned()), "{:?}", names(3));
    let first = names(0).len();
    for index in 1..5 {
        assert_eq!(names(index)[..first], names(0)[..]);
        let (before, after) = (builtins(0), builtins(index));
        assert!(before.starts_with(&after) || after.starts_with(&before), "request {index}");
    }
    assert_eq!(builtins(1), builtins(3));
}

#[test]
fn a_projects_server_is_not_started_before_the_workspace_is_trusted() {
    let Some(script) = python_server() else { return };
    let world = World::new();
    let mark = world.work("started");
    let entry =
        json!({ "command": "python3", "args": [script, "once", mark.display().to_string()] });
    world.write(".mcp.json", json!({ "mcpServers": { "theirs": entry } }).to_string());
    let model = world.model(Wire::Anthropic, [reply().text("Hello.")]);
    let ended = world.innerve(["run", "go"]).model(&model).run();
    ended.exits(0).complains(["`theirs`", "innerve trust"]);
    assert!(!world.has("started"));
    let listed = world.innerve(["mcp", "list", "--json"]).run();
    assert_eq!(listed.json()[0]["state"], "untrusted");
    assert!(!world.has("started"));

    world.innerve(["trust"]).run().exits(0);
    let listed = world.innerve(["mcp", "list", "--json"]).run();
    assert!(world.has("started"));
    assert_eq!(listed.json()[0]["name"], "theirs");
}

#[test]
fn each_server_is_listed_with_its_problem_and_its_mend() {
    let world = World::new();
    let Some(config) = python(&[("good", "bad-schemas"), ("crash", "crash")]) else { return };
    let mut value: Value = serde_json::from_str(&config).unwrap();
    value["mcpServers"]["absent"] = json!({ "command": "no-such-program-here" });
    value["mcpServers"]["old"] = json!({ "type": "sse", "url": "http://127.0.0.1:1" });
    let config = value.to_string();
    let ended = world.innerve(["mcp", "list", "--json", "--mcp-config", &config]).run();
    ended.exits(1);
    let listed = ended.json();
    let told = |name: &str, field: &str| {
        let server =
            listed.as_array().unwrap().iter().find(|server| server["name"] == name).unwrap();
        server[field].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(told("good", "state"), "connected");
    assert_eq!(told("crash", "state"), "failed");
    assert!(told("crash", "problem").contains("the key is missing"), "{listed}");
    assert!(told("absent", "mend").contains("install"), "{listed}");
    assert!(told("old", "problem").contains("`sse`"), "{listed}");
    let ended = world.innerve(["mcp", "list", "--mcp-config", &config]).run();
    let text = ended.stdout();
    assert!(text.contains("mend: install `no-such-program-here`"), "{text}");
    assert!(text.contains("left out: text_schema"), "{text}");
}

#[test]
fn an_unloaded_tool_that_is_called_with_guessed_input_is_answered_with_the_way_to_load_it() {
    let world = World::new();
    let script = [
        reply().uses("ToolSearch", json!({ "query": "select:mcp__s__fail" })),
        reply()
            .uses("mcp__s__large", json!({ "size": "5" }))
            .uses("mcp__s__echo", json!({ "message": "fits by chance" })),
        reply().text("Done."),
    ];
    let Some(model) = run(&world, Wire::Anthropic, ("s", "good"), SEARCHED, script) else {
        return;
    };
    let texts = model.request(2).result_texts();
    assert!(
        texts[0].contains("ToolSearch") && texts[0].contains("select:mcp__s__large"),
        "{texts:?}"
    );
    assert_eq!(texts[1], "fits by chance");
}

#[test]
fn deferred_tools_are_marked_on_the_wire_and_announced_by_name() {
    let world = World::new();
    let script = [
        reply().uses("ToolSearch", json!({ "query": "echo message", "max_results": 1 })),
        reply().text("Done."),
    ];
    let Some(model) = run(&world, Wire::Anthropic, ("s", "good"), SEARCHED, script) else {
        return;
    };
    let body = model.request(1).body;
    for tool in body["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let is_deferred = tool["defer_loading"] == json!(true);
        assert!(is_deferred || !name.starts_with("mcp__"), "{tool}");
        assert!(!is_deferred || !["Bash", "Read", "ToolSearch"].contains(&name), "{tool}");
    }
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let found = &last["content"][0]["content"][0];
    assert_eq!(found["type"], "tool_reference");
    assert_eq!(found["tool_name"], "mcp__s__echo");
    let words = model.request(1).last_words();
    assert!(
        words.contains("[Deferred tools, found with ToolSearch: ")
            && words.contains("mcp__s__wait"),
        "{words}"
    );
}

#[test]
fn a_provider_without_references_gets_what_was_found_in_words_and_as_a_tool() {
    let world = World::new();
    let script = [
        reply().uses("ToolSearch", json!({ "query": "select:mcp__s__echo" })),
        reply().uses("mcp__s__echo", json!({ "message": "x" })),
        reply().text("Done."),
    ];
    let Some(model) = run(&world, Wire::OpenAi, ("s", "good"), SEARCHED, script) else {
        return;
    };
    let (first, second) = (tool_names(&model.request(0).body), tool_names(&model.request(1).body));
    assert!(!first.iter().any(|name| name.starts_with("mcp__")), "{first:?}");
    assert_eq!(second[..first.len()], first[..], "what was sent before stays a prefix");
    assert_eq!(second[first.len()..], ["mcp__s__echo"]);
    let words = &model.request(1).result_texts()[0];
    assert!(words.contains("mcp__s__echo") && words.contains("\"message\""), "{words}");
}

#[test]
fn what_was_found_is_known_after_a_resume() {
    let world = World::new();
    let Some(config) = python(&[("s", "good")]) else { return };
    let flags = ["--mcp-config", &config, "--allow", "mcp__s", "--tool-search", "on"];
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("ToolSearch", json!({ "query": "select:mcp__s__large" })),
            reply().text("Found."),
        ],
    );
    world.innerve(["run", "go"]).args(flags).model(&model).run().exits(0);
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("ToolSearch", json!({ "query": "select:mcp__s__echo" })),
            reply().uses("mcp__s__large", json!({ "size": "many" })),
            reply().text("Done."),
        ],
    );
    world.innerve(["run", "again", "--continue"]).args(flags).model(&model).run().exits(0);
    let words = &model.request(2).result_texts()[0];
    assert!(words.contains("size") && !words.contains("ToolSearch"), "{words}");
}

#[test]
fn a_large_result_is_a_file_and_no_error() {
    let world = World::new();
    let script = [
        reply().uses("ToolSearch", json!({ "query": "select:mcp__s__large" })),
        reply().uses("mcp__s__large", json!({ "size": 300_000 })),
        reply().text("Done."),
    ];
    let Some(model) = run(&world, Wire::Anthropic, ("s", "good"), [], script) else {
        return;
    };
    let result = model.request(2).results().remove(0);
    assert!(!result.failed(), "{result:?}");
    let words = result.content.plain_text();
    let is_file = |word: &&str| word.contains("tool-results");
    let path = words.split_whitespace().find(is_file).unwrap().trim_end_matches(['.', ',', ')']);
    assert_eq!(std::fs::metadata(path).unwrap().len(), 300_000, "{words}");
}

#[test]
fn servers_end_with_the_program_even_if_it_is_killed() {
    let world = World::new();
    let Some(config) = python(&[("s", "stubborn")]) else { return };
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("ToolSearch", json!({ "query": "select:mcp__s__family" })),
            reply().uses("mcp__s__family", json!({})),
            reply().bash("touch ready; sleep 60"),
        ],
    );
    let flags = [
        "--mcp-config",
        &config,
        "--allow",
        "mcp__s",
        "--allow",
        "Bash(touch *)",
        "--allow",
        "Bash(sleep *)",
    ];
    let running = world.innerve(["run", "go"]).args(flags).model(&model).start();
    world.wait_for_file("ready");
    assert!(world.processes().iter().any(|(_, line)| line.contains("server.py")));
    running.kill();
    world.nobody_is_left_within(std::time::Duration::from_secs(8));
}

#[test]
fn a_single_call_reaches_the_tool_of_a_server() {
    let world = World::new();
    let Some(config) = python(&[("s", "good"), ("other", "silent")]) else { return };
    let call = |flags: &[&str]| {
        let mut innerve =
            world.innerve(["call", "mcp__s__echo", r#"{"message":"hi"}"#, "--mcp-config", &config]);
        for flag in flags {
            innerve = innerve.arg(*flag);
        }
        innerve.run()
    };
    call(&[]).exits(4);
    let ended = call(&["--allow", "mcp__s__echo"]);
    ended.exits(0);
    assert_eq!(ended.stdout(), "hi\n");
    world.nobody_is_left();
}

#[test]
fn a_servers_question_is_asked_at_the_terminal() {
    let world = World::new();
    let Some(config) = python(&[("s", "good")]) else { return };
    let mut terminal: Terminal = world
        .innerve(["call", "mcp__s__ask", "{}", "--allow", "mcp__s", "--mcp-config", &config])
        .at_terminal();
    terminal.sees("The MCP server `s` asks: Your name?").enters("1");
    terminal.sees("name").enters("Ada");
    terminal.sees(r#""content": {"name": "Ada"}"#);
    assert_eq!(terminal.ends(), 0);
}
