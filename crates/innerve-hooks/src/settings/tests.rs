//! Tests of reading the `hooks` object.

use serde_json::json;

use super::*;

/// The action of the only entry of an event that takes all types.
#[track_caller]
fn only(entry: &Value) -> HookEntry {
    let (settings, skipped) = HookSettings::read(&json!({"PreToolUse": [{"hooks": [entry]}]}));
    assert_eq!(skipped, []);
    matching(&settings, EventName::PreToolUse, "Bash").next().expect("one entry").clone()
}

/// The hooks whose matcher takes that subject.
fn matching<'a>(
    settings: &'a HookSettings,
    event: EventName,
    subject: &'a str,
) -> impl Iterator<Item = &'a HookEntry> {
    let groups = settings.groups(event).iter();
    groups.filter(|group| group.matcher.matches(subject)).flat_map(|group| &group.entries)
}

/// The places and codes of what is left out.
fn skipped(hooks: &Value) -> Vec<(String, &'static str)> {
    HookSettings::read(hooks)
        .1
        .into_iter()
        .map(|skipped| (skipped.at, skipped.reason.code()))
        .collect()
}

#[test]
fn each_type_of_action_is_read_with_its_defaults() {
    let entry = only(&json!({"type": "command", "command": "./check.sh"}));
    let command = CommandAction {
        command: "./check.sh".to_owned(),
        args: None,
        shell: None,
        in_background: false,
        wakes: false,
    };
    assert_eq!(entry.action, Action::Command(command));
    assert_eq!(
        (entry.condition, entry.timeout, entry.status_message, entry.once),
        (None, None, None, false)
    );

    let http = only(
        &json!({"type": "http", "url": "http://localhost/x", "headers": {"a": "$T"}, "allowedEnvVars": ["T"]}),
    );
    let Action::Http(http) = http.action else { panic!("{http:?}") };
    assert_eq!(
        (http.headers["a"].as_str(), http.allowed_env_vars.as_slice()),
        ("$T", &["T".to_owned()][..])
    );

    let tool = only(
        &json!({"type": "mcp_tool", "server": "s", "tool": "t", "input": {"file": "${tool_input.path}"}}),
    );
    let Action::McpTool(tool) = tool.action else { panic!("{tool:?}") };
    assert_eq!(tool.input["file"], "${tool_input.path}");

    let prompt = only(&json!({"type": "prompt", "prompt": "fine?", "continueOnBlock": true}));
    let expected =
        PromptAction { prompt: "fine?".to_owned(), model: None, continue_on_block: true };
    assert_eq!(prompt.action, Action::Prompt(expected));

    let agent = only(&json!({"type": "agent", "prompt": "fine?", "model": "small"}));
    let expected = AgentAction { prompt: "fine?".to_owned(), model: Some("small".to_owned()) };
    assert_eq!(agent.action, Action::Agent(expected));
}

#[test]
fn shared_fields_are_read_and_unknown_ones_are_left_alone() {
    let entry = only(&json!({
        "type": "command", "command": "x", "args": [], "shell": "powershell", "async": true, "asyncRewake": true,
        "if": "Bash(git *)", "timeout": 0.5, "statusMessage": "checking", "once": true, "comment": "ours",
    }));
    let Action::Command(command) = &entry.action else { panic!("{entry:?}") };
    assert_eq!((command.args.as_deref(), command.shell), (Some(&[][..]), Some(Shell::Powershell)));
    assert!(command.in_background && command.wakes && entry.once);
    assert_eq!(entry.condition.as_deref(), Some("Bash(git *)"));
    assert_eq!(entry.timeout_at(EventName::PreToolUse), Duration::from_millis(500));
    assert_eq!(entry.status_message.as_deref(), Some("checking"));
}

#[test]
fn hooks_are_found_by_event_and_subject_in_the_order_of_the_file() {
    let command = |name: &str| json!({"type": "command", "command": name});
    let (settings, skipped) = HookSettings::read(&json!({
        "PreToolUse": [
            {"matcher": "Edit|Write", "hooks": [command("a"), command("b")]},
            {"matcher": "Bash", "hooks": [command("c")]},
            {"hooks": [command("d")]},
        ],
        "Stop": [{"matcher": "ignored", "hooks": [command("e")]}],
    }));
    assert_eq!(skipped, []);
    let found = |event, subject| -> Vec<String> {
        matching(&settings, event, subject)
            .map(|entry| {
                let Action::Command(command) = &entry.action else { panic!("{entry:?}") };
                command.command.clone()
            })
            .collect()
    };
    assert_eq!(found(EventName::PreToolUse, "Edit"), ["a", "b", "d"]);
    assert_eq!(found(EventName::PreToolUse, "Bash"), ["c", "d"]);
    assert_eq!(found(EventName::Stop, ""), ["e"]);
    assert!(found(EventName::SessionStart, "startup").is_empty());
}

#[test]
fn a_broken_entry_costs_only_itself() {
    let good = json!({"type": "command", "command": "x"});
    let hooks = json!({
        "PreToolUse": [
            {"matcher": 7, "hooks": [good]},
            {"matcher": "(", "hooks": [good]},
            {"matcher": "Bash"},
            {"hooks": [
                good,
                {"type": "command"},
                {"type": "shell", "command": "x"},
                {"type": "command", "command": "x", "timeout": 0},
                {"type": "command", "command": "x", "timeout": -1},
                "x",
            ]},
        ],
        "SessionStart": [{"hooks": [{"type": "prompt", "prompt": "x"}, good]}],
        "Stop": {"hooks": []},
        "on/start": [],
    });
    assert_eq!(
        skipped(&hooks),
        [
            ("/PreToolUse/0", "hooks.shape"),
            ("/PreToolUse/1", "hooks.matcher"),
            ("/PreToolUse/2", "hooks.shape"),
            ("/PreToolUse/3/hooks/1", "hooks.field"),
            ("/PreToolUse/3/hooks/2", "hooks.unknown_action"),
            ("/PreToolUse/3/hooks/3", "hooks.timeout"),
            ("/PreToolUse/3/hooks/4", "hooks.timeout"),
            ("/PreToolUse/3/hooks/5", "hooks.field"),
            ("/SessionStart/0/hooks/0", "hooks.wrong_action"),
            ("/Stop", "hooks.shape"),
            ("/on~1start", "hooks.unknown_event"),
        ]
        .map(|(at, code)| (at.to_owned(), code))
    );
    let (settings, _) = HookSettings::read(&hooks);
    assert_eq!(matching(&settings, EventName::PreToolUse, "Bash").count(), 1);
    assert_eq!(matching(&settings, EventName::SessionStart, "startup").count(), 1);
}

#[test]
fn hooks_that_are_no_object_are_reported_as_a_whole() {
    assert_eq!(skipped(&json!([])), [(String::new(), "hooks.shape")]);
    assert_eq!(skipped(&json!({})), []);
}

#[test]
fn the_end_of_a_session_waits_for_its_longest_hook_and_never_more_than_a_minute() {
    let end = |timeouts: &[u64]| {
        let hooks: Vec<Value> = timeouts
            .iter()
            .map(|seconds| json!({"type": "command", "command": "x", "timeout": seconds}))
            .collect();
        let (settings, _) = HookSettings::read(&json!({"SessionEnd": [{"hooks": hooks}]}));
        session_end_limit(matching(&settings, EventName::SessionEnd, "")).as_millis()
    };
    assert_eq!(end(&[]), 1_500);
    assert_eq!(end(&[1]), 1_500);
    assert_eq!(end(&[3, 20]), 20_000);
    assert_eq!(end(&[3, 200]), 60_000);
}

#[test]
fn an_action_is_written_as_it_is_read() {
    let written = json!({"command": "x", "args": ["a"], "async": true, "asyncRewake": false});
    let action: CommandAction = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(action).unwrap(), written);
}
