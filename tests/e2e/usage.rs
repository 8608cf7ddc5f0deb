//! Help, bad usage, colours: what holds for every verb.

use innerve_tests::{Wire, World, reply};

/// Every verb, and what it needs to do something; those that not every build has are left out.
const VERBS: [(&str, &[&str]); 12] = [
    ("run", &[]),
    ("check", &["ls"]),
    ("analyze", &["ls"]),
    ("call", &["Glob", r#"{"pattern":"*"}"#]),
    ("tools", &[]),
    ("trust", &["--list"]),
    ("rules", &["list"]),
    ("hook", &[]),
    ("mcp", &["list"]),
    ("sessions", &["list"]),
    ("doctor", &["--offline", "--base-url", "http://127.0.0.1:1", "--model", "m"]),
    ("completions", &["bash"]),
];

#[test]
fn every_verb_that_the_help_lists_is_tested_here() {
    let world = World::new();
    let ended = world.innerve(["--help"]).run();
    ended.exits(0);
    let help = ended.stdout();
    let commands = help.split_once("Commands:").unwrap().1.split_once("\n\n").unwrap().0;
    let listed: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .filter(|verb| *verb != "acp")
        .collect();
    let mut expected: Vec<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
    expected.push("help");
    assert_eq!(listed, expected, "add the new verb to VERBS");
}

#[test]
fn every_verb_has_help_with_an_example() {
    let world = World::new();
    for (verb, _) in VERBS {
        let ended = world.innerve([verb, "--help"]).run();
        ended.exits(0);
        let example = format!("\n  innerve {verb}");
        assert!(ended.stdout().contains("Example"), "{verb}\n{ended}");
        assert!(ended.stdout().contains(&example), "{verb}\n{ended}");
    }
}

#[test]
fn an_unknown_flag_or_verb_exits_2_and_is_named() {
    let world = World::new();
    for (verb, _) in VERBS {
        // To another agent, exit code 2 of a hook means that the call is blocked (Claude Code, hooks reference).
        let code = if verb == "hook" { 1 } else { 2 };
        world.innerve([verb, "--no-such-flag"]).run().exits(code).complains(["--no-such-flag"]);
    }
    world.innerve(["no-such-verb"]).run().exits(2).complains(["no-such-verb"]);
    world.innerve(["run", "x", "--permission-mode", "never"]).run().exits(2).complains(["never"]);
    world.innerve(["run", "x", "--max-turns", "0"]).run().exits(2);
    world.innerve(["run", "x", "--max-cost-usd", "-1"]).run().exits(2);
    world.innerve(["check"]).run().exits(2);
    world.innerve(["analyze"]).run().exits(2);
}

#[test]
fn pipes_get_no_escape_bytes() {
    let world = World::new();
    for (verb, arguments) in VERBS {
        let innerve =
            arguments.iter().fold(world.innerve([verb]), |innerve, word| innerve.arg(word));
        let ended = innerve.run();
        ended.exits(0);
        assert!(
            !ended.stdout().contains('\u{1b}') && !ended.stderr().contains('\u{1b}'),
            "{verb}\n{ended}"
        );
    }
}

#[test]
fn a_terminal_gets_colours_and_none_with_no_color() {
    let world = World::new();
    let escapes = |no_color: bool| {
        let innerve = world.innerve(["check", "ls"]);
        let innerve = if no_color { innerve.env("NO_COLOR", "1") } else { innerve };
        let mut terminal = innerve.at_terminal();
        assert_eq!(terminal.ends(), 0);
        terminal.sees("allow");
        terminal.raw().contains(&0x1b)
    };
    assert!(escapes(false));
    assert!(!escapes(true));

    let mut terminal = world.innerve(["run"]).env("NO_COLOR", "1").at_terminal();
    terminal.sees("This is a tour.");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(terminal.shown().matches("I look at the project first").count(), 1, "{terminal}");
    assert!(!terminal.raw().contains(&0x1b), "{terminal}");
}

#[test]
fn without_a_model_a_task_is_bad_usage_that_says_what_to_set() {
    let world = World::new();
    let ended = world.innerve(["run", "do something"]).run();
    ended.exits(2).complains(["ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "innerve run"]);
    assert_eq!(ended.stdout(), "");
    world.innerve(["run", "--continue"]).run().exits(2);
    world.innerve([]).run().exits(2).complains(["innerve run"]);
}

#[test]
fn with_a_model_no_task_is_bad_usage() {
    let world = World::new();
    for task in [vec!["run"], vec!["run", "  "]] {
        let innerve = world.innerve([]).with_a_key_only();
        let ended = task.into_iter().fold(innerve, |innerve, word| innerve.arg(word)).run();
        ended.exits(2);
    }
}

#[test]
fn a_session_that_is_not_there_is_named() {
    let world = World::new();
    let innerve = |flags: [&str; 2]| world.innerve(["run", "x"]).args(flags).with_a_key_only();
    innerve(["--resume", "no-such-id"]).run().exits(1).complains(["no-such-id"]);
    innerve(["--resume", "../../etc"]).run().exits(1).complains(["../../etc"]);
    let ended = world.innerve(["run", "x", "--continue"]).with_a_key_only().run();
    ended.exits(1).complains(["session"]);
}

#[test]
fn standard_input_that_is_no_text_or_too_much_of_it_is_refused_and_not_cut() {
    let world = World::new();
    let run = |input: Vec<u8>| world.innerve(["run", "x"]).with_a_key_only().input(input).run();
    run(b"\xff\xfe\x00".to_vec()).exits(1).complains(["standard input"]);
    run(vec![b'x'; 10 * 1024 * 1024 + 1]).exits(2).complains(["10 MiB"]);
}

#[test]
fn a_pipe_that_nobody_closes_is_waited_for_with_words_and_never_holds_up_the_tour() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Fine.")]);
    let mut run = world.innerve(["run", "look"]).model(&model).with_open_input().start();
    run.wait_for_words("standard input");
    drop(run.say("late text"));
    run.end().exits(0);
    assert_eq!(model.request(0).last_words(), "look\nlate text");

    let mut tour = world.innerve(["run"]).with_open_input().start();
    tour.wait_for_words("This is a tour.");
    let input = tour.say("");
    tour.end().exits(0);
    drop(input);
}
