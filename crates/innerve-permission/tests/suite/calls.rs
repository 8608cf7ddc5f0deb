//! Calls of tools other than the shell: paths, hosts, agents, modes.

use innerve_permission::{
    CallFacts, Decision, HookVoice, Need, NoDisk, Objection, PathTarget, Place, Verdict, facts,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::{CWD, HOME, word, world};

#[track_caller]
fn table(rules: &str, mode: &str, lines: &[(&str, &str)]) {
    world(rules).mode(mode).check_all(lines);
}

#[test]
fn paths_are_matched_from_their_anchor() {
    table(
        "deny Read(.env)",
        "default",
        &[
            ("Read /repo/a/b/.env", "deny"),
            ("Read /other/.env", "ask"),
            ("Read .env.example", "allow"),
        ],
    );
    table("deny Read(//**/.env)", "default", &[("Read /other/.env", "deny")]);
    table(
        "allow Edit(/src/**)",
        "default",
        &[
            ("Edit /repo/src/a.ts", "allow"),
            ("Edit /src/a.ts", "ask"),
            ("Edit /repo/vendor/pkg/src/l.js", "ask"),
        ],
    );
    table(
        "allow Edit(src/**)",
        "default",
        &[("Edit vendor/pkg/src/lib.js", "ask"), ("Edit src/lib.js", "allow")],
    );
    table(
        "deny Edit(src/**)",
        "acceptEdits",
        &[("Edit vendor/pkg/src/lib.js", "deny"), ("Edit other.js", "allow")],
    );
    table("allow Edit(**/src/**)", "default", &[("Edit vendor/pkg/src/lib.js", "allow")]);
    table("allow Edit(src/**/*)", "default", &[("Edit src/a.txt", "allow"), ("Edit a.txt", "ask")]);
    table(
        "user deny Read(/secrets/**)",
        "default",
        &[("Read /repo/secrets/k", "allow"), ("Read ~/.claude/secrets/k", "deny")],
    );
    table("allow Edit(//tmp/scratch.txt)", "default", &[("Write /tmp/scratch.txt", "allow")]);
    table(
        "deny Read(secrets-*/config.json)",
        "default",
        &[("Read secrets-a/config.json", "deny"), ("Read x/secrets-a/config.json", "allow")],
    );
    table("deny Read(**/.env.*)", "default", &[("Read .env.example", "deny")]);
    table("deny Read(*.pem)", "default", &[("Read a/k.pem", "deny")]);
    table(
        "deny Read(./s.txt)",
        "acceptEdits",
        &[("Edit s.txt", "deny"), ("Write s.txt", "deny"), ("Read a/s.txt", "allow")],
    );
}

#[test]
fn families_of_tools_share_their_rules() {
    table(
        "deny Write(docs/**)",
        "acceptEdits",
        &[("Write docs/a.md", "deny"), ("Edit docs/a.md", "deny")],
    );
    table(
        "deny Edit(docs/**)",
        "acceptEdits",
        &[
            ("Write docs/a.md", "deny"),
            ("NotebookEdit docs/n.ipynb", "deny"),
            ("MultiEdit docs/a.md", "deny"),
        ],
    );
    table(
        "deny Read(/nb/**)",
        "acceptEdits",
        &[("NotebookEdit nb/a.ipynb", "allow"), ("Grep nb", "deny"), ("Glob nb/x", "deny")],
    );
    table(
        "allow Edit(//data/d/**)",
        "default",
        &[("Read /data/d/x", "allow"), ("Glob /data/d", "allow"), ("Write /data/d", "ask")],
    );
    table("allow Edit", "default", &[("Write /etc/x", "allow"), ("NotebookEdit n.ipynb", "allow")]);
    table("deny Edit", "bypassPermissions", &[("Write x", "deny")]);
    table("allow Edit; deny Edit(src/**)", "default", &[("Edit vendor/x/src/a.txt", "deny")]);
}

#[test]
fn links_are_seen_from_both_ends() {
    table(
        "allow Read(./project/**); deny Read(~/.ssh/**)",
        "default",
        &[("Read project/key", "deny")],
    );
    table("allow Read(./project/**)", "default", &[("Read project/x", "ask")]);
    table("", "acceptEdits", &[("Write outbox/new.txt", "ask"), ("Write inbox/new.txt", "allow")]);
    // A deny on a link covers what the link leads to.
    table(
        "deny Read(~/.zshrc)",
        "default",
        &[("Read ~/dotfiles/zshrc", "deny"), ("Read ~/.zshrc", "deny")],
    );
}

#[test]
fn a_directory_reached_through_a_link_is_a_working_directory() {
    let mut linked = world("allow Edit(/src/**); deny Read(/private/**)");
    linked.disk.links.insert(CWD.into(), "/data/repo".into());
    linked.check("Read a", "ask");
    linked.policy.follow_links(&linked.disk);
    for (call, expected) in [
        ("Read a", "allow"),
        ("Read /data/repo/a", "allow"),
        ("Edit src/x", "allow"),
        ("Read /data/repo/private/x", "deny"),
        ("Read /data/other", "ask"),
    ] {
        linked.check(call, expected);
    }
}

#[test]
fn hosts_are_matched_by_label() {
    table(
        "allow WebFetch(domain:example.com)",
        "default",
        &[
            ("WebFetch https://example.com/a", "allow"),
            ("WebFetch https://api.example.com", "ask"),
            ("WebFetch https://example.com@evil.org/", "ask"),
            ("WebFetch https://example.com\\@evil.org/", "ask"),
        ],
    );
    table(
        "allow WebFetch(domain:*.example.com)",
        "default",
        &[
            ("WebFetch https://a.b.example.com", "allow"),
            ("WebFetch https://example.com", "ask"),
            ("WebFetch https://evilexample.com", "ask"),
        ],
    );
    table(
        "deny WebFetch(domain:example.*)",
        "bypassPermissions",
        &[
            ("WebFetch https://example.org", "deny"),
            ("WebFetch https://example.evil.com", "allow"),
            ("WebFetch https://ex%61mple.org", "ask"),
        ],
    );
    table(
        "deny WebFetch(domain:Example.COM.)",
        "default",
        &[("WebFetch https://example.com./", "deny")],
    );
    table(
        "allow Fetch(domain:example.com)",
        "default",
        &[("WebFetch https://example.com", "allow")],
    );
    table(
        "",
        "auto",
        &[("WebFetch https://example.com", "classify"), (r#"WebSearch {"query":"x"}"#, "classify")],
    );
}

#[test]
fn agents_skills_and_parameters() {
    for rule in ["deny Agent(Explore)", "deny Task(Explore)"] {
        table(
            rule,
            "default",
            &[("Agent Explore", "deny"), ("Task Explore", "deny"), ("Agent Plan", "allow")],
        );
    }
    table(
        "deny Agent(model:opus)",
        "default",
        &[
            (r#"Agent {"subagent_type":"x","model":"opus"}"#, "deny"),
            (r#"Agent {"subagent_type":"x"}"#, "allow"),
            (r#"Agent {"subagent_type":"x","model":"claude-opus-4-8"}"#, "allow"),
        ],
    );
    table(
        "deny Agent(isolation:*)",
        "default",
        &[(r#"Agent {"isolation":"worktree"}"#, "deny"), ("Agent {}", "allow")],
    );
    table("", "auto", &[("Agent Explore", "classify")]);
    table("allow Agent", "auto", &[("Agent Explore", "classify")]);
    table(
        "allow Skill(review-pr *); deny Skill(deploy *)",
        "default",
        &[
            (r#"Skill {"skill":"review-pr","args":"12"}"#, "allow"),
            (r#"Skill {"skill":"deploy","args":"prod"}"#, "deny"),
            (r#"Skill {"skill":"other"}"#, "ask"),
        ],
    );
}

#[test]
fn mcp_tools_ask_unless_a_rule_names_them() {
    table(
        "allow mcp__github__get_*",
        "default",
        &[("mcp__github__get_issue", "allow"), ("mcp__github__create_issue", "ask")],
    );
    table(
        "allow mcp__puppeteer",
        "default",
        &[("mcp__puppeteer__puppeteer_navigate", "allow"), ("mcp__puppeteer2__x", "ask")],
    );
    table("deny mcp__github", "bypassPermissions", &[("mcp__github__get_issue", "deny")]);
    table("deny mcp__*", "default", &[("mcp__github__get_issue", "deny"), ("Read a", "allow")]);
    table("", "bypassPermissions", &[("mcp__a__b", "allow")]);
    table("", "auto", &[("mcp__a__b", "classify")]);
}

/// The call of Monitor that watches this URL.
fn stream(url: &str) -> String {
    format!("Monitor {}", serde_json::json!({ "ws": { "url": url }, "description": "d" }))
}

#[test]
fn a_stream_is_asked_about_as_a_page_is_and_no_rule_about_commands_allows_it() {
    let (feed, other) = (stream("wss://feed.example/x"), stream("ws://other.example"));
    let unclear = stream("ws://127.1/");
    let both = r#"Monitor {"ws":{"url":"wss://feed.example"},"command":"true"}"#;
    let asked = [feed.as_str(), &other, &unclear, both];
    for (rules, mode, expected) in [
        ("", "default", ["ask"; 4]),
        ("", "acceptEdits", ["ask"; 4]),
        ("", "plan", ["ask"; 4]),
        ("", "auto", ["classify"; 4]),
        ("", "dontAsk", ["deny"; 4]),
        ("", "bypassPermissions", ["allow"; 4]),
        ("allow WebFetch(domain:feed.example)", "default", ["allow", "ask", "ask", "ask"]),
        ("allow WebFetch", "default", ["allow", "allow", "ask", "ask"]),
        ("allow Bash(*)", "default", ["ask", "ask", "allow", "allow"]),
        ("allow Monitor", "default", ["allow"; 4]),
        ("deny Bash", "bypassPermissions", ["deny"; 4]),
        ("deny WebFetch", "bypassPermissions", ["deny"; 4]),
        (
            "deny WebFetch(domain:feed.example)",
            "bypassPermissions",
            ["deny", "allow", "ask", "ask"],
        ),
        (
            "ask WebFetch(domain:feed.example); allow Monitor",
            "default",
            ["ask", "allow", "ask", "ask"],
        ),
    ] {
        let cases: Vec<_> = asked.into_iter().zip(expected).collect();
        table(rules, mode, &cases);
    }
}

#[test]
fn modes_decide_what_no_rule_decides() {
    table(
        "",
        "default",
        &[
            ("Edit a", "ask"),
            ("Read a", "allow"),
            ("Read /etc/hosts", "ask"),
            ("Grep /etc", "ask"),
            ("Glob sub", "allow"),
        ],
    );
    table(
        "",
        "acceptEdits",
        &[("Edit /repo/a", "allow"), ("Edit /etc/hosts", "ask"), ("Read /etc/hosts", "ask")],
    );
    table(
        "allow Edit(/src/**)",
        "plan",
        &[("Edit src/a", "ask"), ("Read a", "allow"), ("Read /etc/hosts", "ask")],
    );
    table(
        "",
        "auto",
        &[("Edit /repo/a", "allow"), ("Read /etc/hosts", "allow"), ("Edit /etc/hosts", "classify")],
    );
    table("", "dontAsk", &[("Edit a", "deny"), ("Read a", "allow"), ("Agent x", "allow")]);
    table("", "bypassPermissions", &[("Edit /etc/hosts", "allow"), ("Read /etc/hosts", "allow")]);
    for mode in ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"] {
        table(
            "",
            mode,
            &[("TodoWrite", "allow"), ("ToolSearch", "allow"), ("EnterPlanMode", "allow")],
        );
    }
    let mut open = world("").mode("plan");
    open.policy.bypass_available = true;
    open.check("Edit a", "allow");
}

#[test]
#[cfg(feature = "bash")]
fn plan_writes_no_output_of_what_only_reads() {
    for (rules, call) in [
        ("allow Edit(/out)", "$ ls > out"),
        ("allow Edit", "$ cat a | grep b > out"),
        ("allow Bash(make)", "$ ls && make"),
        ("allow Bash(make)", "$ make; ls"),
    ] {
        world(rules).check(call, "allow");
        world(rules).mode("plan").check(call, "ask");
    }
    world("").mode("plan").check("$ ls > /dev/null", "allow");
}

#[test]
fn a_plan_file_that_is_a_link_is_something_else() {
    let mut world = world("").mode("plan");
    world.policy.plan_file = Some("/repo/plan.md".into());
    world.check_all(&[("Write plan.md", "allow"), ("Read plan.md", "allow")]);
    world.disk.links.insert("/repo/plan.md".into(), "/repo/src/a.rs".into());
    world.check_all(&[("Write plan.md", "ask"), ("Edit src/a.rs", "ask")]);
    world.disk.links.clear();
    world.disk.links.insert("/repo/other.md".into(), "/repo/plan.md".into());
    world.check("Write other.md", "ask");
}

#[test]
fn a_person_takes_part_whatever_is_allowed() {
    for mode in ["default", "acceptEdits", "plan", "auto", "bypassPermissions"] {
        table(
            "allow AskUserQuestion; skill allow AskUserQuestion",
            mode,
            &[("AskUserQuestion", "ask"), ("ExitPlanMode", "ask")],
        );
    }
    table("allow AskUserQuestion", "dontAsk", &[("AskUserQuestion", "deny")]);
    let world = world("allow mcp__a__b").mode("bypassPermissions");
    let facts = CallFacts::new("mcp__a__b", json!({})).with_need(Need::Interaction);
    assert_eq!(word(&world.resolve_facts(&facts)), "ask");
    assert_eq!(word(&world.mode("dontAsk").resolve_facts(&facts)), "deny");
}

#[test]
fn protected_paths_ask_before_any_rule() {
    for path in [
        ".git/config",
        ".claude/settings.json",
        ".innerve/settings.json",
        ".husky/pre-commit",
        ".npmrc",
        "a/.GIT/x",
        "~/.config/innerve/settings.json",
    ] {
        table("allow Edit", "acceptEdits", &[(&format!("Edit {path}"), "ask")]);
    }
    for path in [
        ".claude/worktrees/w/a.rs",
        ".innerve/worktrees/w/a.rs",
        ".github/workflows/x.yml",
        ".gitignore",
    ] {
        table("", "acceptEdits", &[(&format!("Edit {path}"), "allow")]);
    }
    let rules = "allow Edit(.claude/**)";
    for (mode, expected) in [
        ("default", "ask"),
        ("dontAsk", "deny"),
        ("auto", "classify"),
        ("bypassPermissions", "allow"),
    ] {
        table(rules, mode, &[("Edit .claude/settings.json", expected)]);
    }
    table(
        "session allow Edit(.claude/**)",
        "default",
        &[("Edit .claude/settings.json", "allow"), ("Edit .git/config", "ask")],
    );
    world("").hook(HookVoice::Allow).check("Edit .claude/settings.json", "allow");
}

#[test]
fn secrets_ask_wherever_they_lie() {
    for path in [
        ".env",
        "sub/.env.local",
        "~/.ssh/config",
        "~/.aws/credentials",
        "~/.kube/config",
        "~/.config/gh/hosts.yml",
        "k.pem",
        "tls/server.key",
        "id_ed25519",
        "/etc/shadow",
        "/proc/1/environ",
        "~/.netrc",
    ] {
        table("allow Read", "default", &[(&format!("Read {path}"), "ask")]);
        table("", "auto", &[(&format!("Read {path}"), "classify")]);
        table("", "bypassPermissions", &[(&format!("Read {path}"), "allow")]);
    }
    table(
        "",
        "default",
        &[
            ("Read .env.example", "allow"),
            ("Read .env.template", "allow"),
            ("Read environ", "allow"),
            ("Read a/config", "allow"),
        ],
    );
    table("allow Read(.env)", "default", &[("Read .env", "allow"), ("Read .env.local", "ask")]);
    world("").hook(HookVoice::Allow).check("Read .env", "allow");
    let mut allowed = world("");
    allowed.policy.ask_secret_reads = false;
    allowed.check("Read .env", "allow");
}

#[test]
fn a_tool_can_object_and_never_allow() {
    let mut world = world("allow Edit");
    world.voices.objection = Some(Objection::Ask("odd path".to_owned()));
    world.check("Edit a", "ask");
    world.clone().mode("bypassPermissions").check("Edit a", "allow");
    world.voices.objection = Some(Objection::Deny("no".to_owned()));
    world.clone().mode("bypassPermissions").check("Edit a", "deny");
    world.check("Edit a", "deny");
}

#[test]
fn globs_that_leave_their_directory_are_reads_outside() {
    table(
        "",
        "default",
        &[
            (r#"Glob {"pattern":"**/*.rs"}"#, "allow"),
            (r#"Glob {"pattern":"/etc/*"}"#, "ask"),
            (r#"Glob {"pattern":"../*"}"#, "ask"),
            (r#"Glob {"pattern":"*/../../x"}"#, "ask"),
            (r#"Glob {"pattern":"/*"}"#, "ask"),
        ],
    );
}

#[test]
fn a_wrong_input_gives_the_strictest_facts() {
    table(
        "allow Read(/**)",
        "default",
        &[
            ("Read {}", "ask"),
            (r#"Read {"file_path":1}"#, "ask"),
            (r#"Grep {"path":1}"#, "ask"),
            ("Bash {}", "ask"),
            ("Edit {}", "ask"),
            ("WebFetch {}", "ask"),
        ],
    );
}

#[test]
fn a_reason_names_the_rule_and_where_it_stands() {
    let world = world("user deny Read(x)");
    let resolution = world.resolve("Read x");
    assert_eq!(resolution.reason.rule.as_deref(), Some("Read(x)"));
    assert_eq!(resolution.reason.source.as_deref(), Some("user"));
    assert_eq!(resolution.reason.code, "deny_rule");
    let links: Vec<&str> =
        world.resolve("Read /etc/hosts").trace.iter().map(|link| link.link).collect();
    assert_eq!(
        links,
        [
            "deny_rules",
            "hook",
            "ask_rules",
            "objection",
            "critical_paths",
            "protected_paths",
            "odd_paths",
            "opaque",
            "secrets",
            "mode",
            "hook_allow",
            "sandbox",
            "allow_rules",
            "read_only",
            "accept_edits",
            "default",
        ]
    );
}

#[test]
fn denied_files_are_hidden_from_searches() {
    let world = world("deny Read(*.pem); deny Read(~/.ssh/**); ask Read(a)");
    for (path, hidden) in [("k.pem", true), ("a/k.pem", true), ("a", false), ("project/key", true)]
    {
        assert_eq!(world.policy.hides(&PathTarget::new(path, world.place())), hidden, "{path}");
    }
}

#[test]
fn where_nobody_can_answer_a_question_is_a_denial() {
    let world = world("ask Read(x)").headless();
    world.check_all(&[("Edit a", "deny"), ("Read x", "deny"), ("Read a", "allow")]);
    let resolution = world.resolve("Edit a");
    assert!(
        resolution.reason.message.contains("nobody can be asked"),
        "{}",
        resolution.reason.message
    );
}

#[test]
fn without_a_verdict_of_the_classifier_nothing_runs() {
    let verdict = world("").mode("auto").resolve("mcp__a__b").verdict;
    assert_eq!(verdict, Verdict::NeedsClassifier { otherwise: Decision::Deny });
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        "[~/.a*$\"'`;|&(){}<>= \\n\\\\-]{0,30}".prop_map(Value::from),
    ];
    let field =
        prop_oneof!["file_path|path|command|url|pattern|subagent_type|notebook_path", "[a-z]{1,5}"];
    proptest::collection::vec((field, leaf), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

proptest! {
    #[test]
    fn any_input_is_answered(input in any_json(), tool in "Bash|Read|Edit|Write|Grep|Glob|WebFetch|Agent|NotebookEdit|Monitor|Skill|Other") {
        let world = world("deny Bash(rm *); deny Read(.env); ask Bash(* x); allow Bash(a *); allow Edit(b/**)");
        let place = Place { cwd: CWD.as_ref(), home: HOME.as_ref(), disk: &NoDisk };
        let facts = facts::from_call(&tool, &input, place).unwrap_or_else(|| CallFacts::new(tool, input));
        for mode in ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"] {
            let _decided = word(&world.clone().mode(mode).resolve_facts(&facts));
        }
    }
}
