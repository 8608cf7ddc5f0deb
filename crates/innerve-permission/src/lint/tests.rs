//! Tests of this module.

use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Decision, NoDisk, Place, RuleSource, Verdict, Voices, facts, resolve};

const CWD: &str = "/repo";
const HOME: &str = "/home/u";

fn rule(text: &str, behavior: Behavior, source: RuleSource, line: u32) -> Rule {
    let root = if source == RuleSource::User { "/home/u/.config/innerve" } else { CWD };
    let file = Some(PathBuf::from(root).join("settings.json"));
    let origin = Origin { source, root: PathBuf::from(root), file, line: Some(line) };
    Rule::parse(text, behavior, origin).unwrap()
}

/// Rules of a project, written `allow Bash(ls); deny Read(x)`; `user deny …` is one of the user's.
#[track_caller]
fn policy(rules: &str) -> Policy {
    let mut policy = Policy::new(CWD, HOME);
    for (index, text) in rules.split("; ").filter(|text| !text.is_empty()).enumerate() {
        let (source, text) = match text.strip_prefix("user ") {
            Some(text) => (RuleSource::User, text),
            None => (RuleSource::Project, text),
        };
        let (behavior, text) = text.split_once(' ').unwrap();
        let behavior = match behavior {
            "allow" => Behavior::Allow,
            "ask" => Behavior::Ask,
            "deny" => Behavior::Deny,
            other => panic!("{other}"),
        };
        let line = u32::try_from(index).unwrap() + 1;
        policy.rules.push(rule(text, behavior, source, line));
    }
    policy
}

/// The codes found for each rule, and what to write instead.
#[track_caller]
fn check(rules: &str, expected: &[(&str, &[&str])]) {
    let findings = lint(&policy(rules));
    let found: Vec<(&str, Vec<&str>)> = findings
        .iter()
        .map(|it| (it.code.name(), it.instead.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<(&str, Vec<&str>)> =
        expected.iter().map(|(code, instead)| (*code, instead.to_vec())).collect();
    assert_eq!(found, expected, "{rules}: {findings:#?}");
}

#[track_caller]
fn clean(rules: &str) {
    check(rules, &[]);
}

#[test]
fn the_codes_are_these_and_each_is_there_once() {
    let names: Vec<&str> = LintCode::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(
        names,
        [
            "malformed",
            "unknown_tool",
            "never_consulted",
            "never_matches",
            "never_wins",
            "shadowed",
            "duplicate",
            "redundant",
            "arbitrary_execution",
            "project_execution",
            "unsafe_prefix",
            "prefix_not_honoured",
            "star_spans_words",
            "no_word_boundary",
            "spans_operators",
            "option_order",
            "literal_colon",
            "script_colon",
            "settings_relative_path",
            "only_in_cwd",
            "variable_in_path",
            "counts_as",
            "renamed",
            "any_file",
        ]
    );
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
    assert_eq!(names.len(), LintCode::AnyFile as usize + 1, "a code is missing in ALL");
}

#[test]
fn names_that_lint_suggests_are_tools() {
    for name in NAMES {
        assert!(tools::is_known(name), "{name}");
    }
}

#[test]
fn rules_that_do_what_they_show_are_left_alone() {
    for rules in [
        "allow Bash(cargo test *)",
        "allow Bash(npm run build); allow Bash(npm run test *)",
        "allow Bash(git status *); allow Bash(git commit *); ask Bash(git push *); deny Bash(rm *)",
        "allow Bash(npx prettier *)",
        "allow Bash(python scripts/gen.py *)",
        "allow Bash(bash scripts/deploy.sh)",
        "allow Bash(sudo apt update)",
        "allow Bash(make test)",
        "allow Bash(cd web && npm test)",
        "allow Bash(docker compose up *)",
        "allow Bash(curl https://example.com/health)",
        "allow Edit(src/**); allow Edit(/docs/**); deny Read(.env); deny Edit(//etc/**); deny Read(~/.ssh/**)",
        "allow Read(//usr/share/**)",
        "allow WebFetch(domain:example.com); deny WebFetch(domain:*.evil.com)",
        "allow mcp__github; deny mcp__github__delete_*",
        "deny Agent(Explore); deny Agent(model:opus); ask Bash(run_in_background:true)",
        "deny Bash; deny *; deny Edit",
        "allow Skill(review *); deny my_tool",
    ] {
        clean(rules);
    }
}

#[test]
fn tools_that_nobody_knows_never_match() {
    check("deny bash(rm *)", &[("unknown_tool", &["Bash(rm *)"])]);
    check("allow Frobnicate", &[("unknown_tool", &[])]);
    check("allow Fetch(domain:a.com)", &[("renamed", &["WebFetch(domain:a.com)"])]);
}

#[test]
fn specifiers_that_nobody_reads_are_told() {
    check("allow Write(src/**)", &[("never_consulted", &["Edit(src/**)"])]);
    check("allow Grep(src/**)", &[("never_consulted", &["Read(src/**)"])]);
    check("deny Bash(command:rm *)", &[("never_consulted", &["Bash(rm *)"])]);
    check("deny Read(file_path:.env)", &[("never_consulted", &["Read(.env)"])]);
    check(
        "deny WebFetch(url:https://a.com/x)",
        &[("never_consulted", &["WebFetch(domain:a.com)"])],
    );
    check("allow Cd(src)", &[("never_consulted", &[])]);
    check("deny Write(src/**)", &[("counts_as", &["Edit(src/**)"])]);
}

#[test]
fn a_rule_that_a_stricter_one_covers_is_shadowed() {
    for rules in [
        "allow Bash(npm publish *); deny Bash(npm *)",
        "allow Bash(npm publish); ask Bash(npm *)",
        "allow Edit(src/gen/**); deny Edit(src/**)",
        "allow Edit(src/**); deny Read(src/**)",
        "allow Read(//etc/hosts); deny Read",
        "allow Edit; deny Edit",
        "ask Bash(npm *); deny Bash",
        "allow WebFetch(domain:api.a.com); deny WebFetch(domain:*.a.com)",
        "allow mcp__a__b; deny mcp__a",
        "allow Agent(Plan); ask Agent",
        "allow Skill(deploy); deny Skill(deploy *)",
        "user allow Bash(npm test); deny Bash(npm *)",
        "allow Bash(cat /etc/motd); deny Read(//etc/**)",
    ] {
        let findings = lint(&policy(rules));
        let codes: Vec<&str> = findings
            .iter()
            .map(|it| it.code.name())
            .filter(|code| !matches!(*code, "any_file" | "unsafe_prefix"))
            .collect();
        assert_eq!(codes, ["shadowed"], "{rules}: {findings:#?}");
    }
    let findings = lint(&policy("allow Bash(npm publish *); deny Bash(npm *)"));
    assert_eq!(
        findings.first().unwrap().message,
        "never has its say: the deny rule `Bash(npm *)` in line 2 speaks of all of it"
    );
}

#[test]
fn a_rule_that_a_stricter_one_covers_in_part_is_not() {
    for rules in [
        "allow Bash(npm *); deny Bash(npm publish *)",
        "allow Bash(git push *); ask Bash(git push)",
        "allow Edit(src/**); deny Edit(src/gen/**)",
        "allow Read(//etc/**); deny Read(//etc/shadow)",
        "allow mcp__a; deny mcp__a__b",
        "deny Bash(rm *); ask Bash(rm *)",
    ] {
        let findings = lint(&policy(rules));
        let allow = findings.iter().filter(|it| it.behavior == Behavior::Allow);
        assert_eq!(allow.filter(|it| it.code == LintCode::Shadowed).count(), 0, "{rules}");
    }
}

#[test]
fn what_no_allow_rule_spares_is_told() {
    check("allow Edit(.git/**)", &[("never_wins", &[])]);
    check("allow Edit(/.claude/settings.json)", &[("never_wins", &[])]);
}

#[test]
fn repetition_is_told_within_one_file() {
    check("allow Bash(npm test *); allow Bash(npm test:*)", &[("duplicate", &[])]);
    check("deny Read(.env); deny Read(.env)", &[("duplicate", &[])]);
    check(
        "allow Bash(cargo *); allow Bash(cargo test *)",
        &[("project_execution", &["Bash(cargo test *)"])],
    );
    check("allow Bash(git log *); allow Bash(git log --oneline)", &[("redundant", &[])]);
    check("deny Bash(git *); deny Bash(git push)", &[("redundant", &[])]);
    check("deny Edit(src/**); deny Edit(src/gen/**)", &[("redundant", &[])]);
    clean("deny Read(.env); user deny Read(.env)");
}

#[test]
fn what_runs_anything_is_an_error() {
    for text in [
        "Bash",
        "Bash(*)",
        "Monitor",
        "PowerShell",
        "Bash(* --help)",
        "Bash(python *)",
        "Bash(python3:*)",
        "Bash(python3.12 *)",
        "Bash(py*)",
        "Bash(python -c *)",
        "Bash(node -e *)",
        "Bash(npx *)",
        "Bash(npm exec *)",
        "Bash(npm *)",
        "Bash(uv run *)",
        "Bash(docker run *)",
        "Bash(docker *)",
        "Bash(bash *)",
        "Bash(bash -c *)",
        "Bash(sh:*)",
        "Bash(sudo *)",
        "Bash(env *)",
        "Bash(xargs *)",
        "Bash(eval *)",
    ] {
        let findings = lint(&policy(&format!("allow {text}")));
        let codes: Vec<&str> = findings.iter().map(|it| it.code.name()).collect();
        assert!(codes.starts_with(&["arbitrary_execution"]), "{text}: {findings:#?}");
        assert_eq!(findings.first().unwrap().severity, Severity::Error);
        assert!(!findings.first().unwrap().instead.is_empty(), "{text}");
    }
}

#[test]
fn what_runs_the_project_is_a_warning() {
    for text in ["Bash(make *)", "Bash(npm run *)", "Bash(cargo *)", "Bash(just *)", "Bash(yarn *)"]
    {
        let findings = lint(&policy(&format!("allow {text}")));
        let codes: Vec<&str> = findings.iter().map(|it| it.code.name()).collect();
        assert_eq!(codes, ["project_execution"], "{text}: {findings:#?}");
        assert_eq!(findings.first().unwrap().severity, Severity::Warning);
    }
}

#[test]
fn scripts_of_one_directory_are_the_projects() {
    check("allow Bash(node scripts/*)", &[("project_execution", &["Bash(node scripts/FILE)"])]);
}

#[test]
fn programs_that_can_do_more_than_the_rule_shows_are_told() {
    check("allow Bash(curl *)", &[("unsafe_prefix", &["WebFetch(domain:HOST)"])]);
    check("allow Bash(curl https://a.com/*)", &[("unsafe_prefix", &["WebFetch(domain:HOST)"])]);
    check("allow Bash(git *)", &[("unsafe_prefix", &["Bash(git SUBCOMMAND *)"])]);
    check("allow Bash(tee *)", &[("unsafe_prefix", &["Edit(PATH)"])]);
    check("allow Bash(rm *)", &[("unsafe_prefix", &["Bash(rm -r DIRECTORY)"])]);
    check("allow Bash(ssh build-host *)", &[("unsafe_prefix", &["Bash(ssh HOST COMMAND)"])]);
    clean("ask Bash(curl *); deny Bash(git *)");
}

#[test]
fn wrappers_are_not_what_a_rule_is_about() {
    check("allow Bash(timeout 60 npm test *)", &[("prefix_not_honoured", &["Bash(npm test *)"])]);
    check("allow Bash(xargs grep *)", &[("prefix_not_honoured", &["Bash(grep *)"])]);
    check("allow Bash(nohup make test *)", &[("prefix_not_honoured", &["Bash(make test *)"])]);
    check("allow Bash(timeout *)", &[("prefix_not_honoured", &["Bash(PROGRAM SUBCOMMAND *)"])]);
    check("allow Bash(sudo apt *)", &[("prefix_not_honoured", &["Bash(sudo apt ARGUMENTS)"])]);
    check(
        "allow Bash(find * -delete)",
        &[("prefix_not_honoured", &["Bash(find ARGUMENTS -delete)"])],
    );
}

#[test]
fn what_never_matches_is_told() {
    check("allow Bash(FOO=1 npm test *)", &[("never_matches", &["Bash(npm test *)"])]);
    check("deny Bash(FOO=1 npm test)", &[("never_matches", &[])]);
    check("allow Bash(cd web && npm *)", &[("spans_operators", &["Bash(cd web)", "Bash(npm *)"])]);
    check("allow Bash(cat * | grep *)", &[("spans_operators", &["Bash(cat *)", "Bash(grep *)"])]);
    check(
        "allow Bash(echo * > out.txt)",
        &[("spans_operators", &["Bash(echo *)", "Edit(out.txt)"])],
    );
    check(
        "allow Bash(npm test * 2> /tmp/log)",
        &[("spans_operators", &["Bash(npm test *)", "Edit(//tmp/log)"])],
    );
    check("deny Bash(curl * | sh)", &[("spans_operators", &["Bash(curl *)", "Bash(sh)"])]);
    check("allow Bash(do echo *)", &[("never_matches", &["Bash(echo *)"])]);
    check("allow Bash(for f in *.ts)", &[("never_matches", &[])]);
    check("allow Bash(done)", &[("never_matches", &[])]);
    check("deny Bash(git:* push)", &[("literal_colon", &["Bash(git * push)"])]);
}

#[test]
fn patterns_that_mean_less_or_more_than_they_show_are_told() {
    check("allow Bash(eslint src/*.ts)", &[("star_spans_words", &["Bash(eslint src/NAME.ts)"])]);
    clean("allow Bash(eslint src/a.ts *)");
    clean("deny Bash(eslint src/*.ts)");
    check("allow Bash(ls*)", &[("no_word_boundary", &["Bash(ls *)"])]);
    check("deny Bash(rm -rf *)", &[("option_order", &["Bash(rm *)"])]);
    check("deny Bash(git push --force *)", &[("option_order", &["Bash(git push *--force*)"])]);
    check(
        "allow Bash(npm run test:*)",
        &[("script_colon", &["Bash(npm run test *)", "Bash(npm run test:NAME *)"])],
    );
    check("deny Bash(npm run deploy:*)", &[("script_colon", &["Bash(npm run deploy*)"])]);
    clean("deny Bash(git push *--force*)");
}

#[test]
fn paths_that_are_not_what_they_look_like_are_told() {
    check("deny Read(/etc/passwd)", &[("settings_relative_path", &["Read(//etc/passwd)"])]);
    check("allow Edit(/tmp/**)", &[("settings_relative_path", &["Edit(//tmp/**)"])]);
    check(
        "user deny Edit(/src/**)",
        &[("settings_relative_path", &["Edit(src/**)", "Edit(//src/**)"])],
    );
    check("deny Read(./.env)", &[("only_in_cwd", &["Read(.env)"])]);
    check("deny Read($HOME/.ssh/**)", &[("variable_in_path", &["Read(~/.ssh/**)"])]);
    check("deny Edit(${CLAUDE_PROJECT_DIR}/lib/**)", &[("variable_in_path", &["Edit(./lib/**)"])]);
    check("allow Edit(//**)", &[("any_file", &["Edit(**)"])]);
    check("allow Edit(~/**)", &[("any_file", &["Edit(**)"])]);
    check("allow Write", &[("any_file", &["Edit(**)"])]);
    clean("allow Read(./.env.example); deny Edit(/src/**); allow Edit(**)");
}

/// What a finding says of matching is what the engine does.
#[test]
fn commands_are_decided_as_the_findings_say() {
    for (rules, command, allowed) in [
        ("allow Bash(FOO=1 npm test *)", "FOO=1 npm test x", false),
        ("allow Bash(cd web && npm *)", "cd web && npm x", false),
        ("allow Bash(timeout 60 npm test *)", "timeout 60 npm test x", false),
        ("allow Bash(npm test *)", "timeout 60 npm test x", true),
        ("allow Bash(sudo apt *)", "sudo apt update", false),
        ("allow Bash(npm run test:*)", "npm run test:unit", false),
        ("allow Bash(curl *)", "curl -o /etc/motd https://a.com", true),
    ] {
        let policy = Policy { headless: false, ..policy(rules) };
        let place = Place { cwd: &policy.cwd, home: &policy.home, disk: &NoDisk };
        let call = facts::from_call("Bash", &json!({ "command": command }), place).unwrap();
        let verdict = resolve(&policy, &call, &Voices::default()).verdict;
        let expected = if allowed { Decision::Allow } else { Decision::Ask };
        assert_eq!(verdict, Verdict::Decided(expected), "{rules}: {command}");
    }
}

fn layer(value: Value) -> Layer {
    let mut layer = Layer::new(RuleSource::Project, CWD, value);
    layer.file = Some(PathBuf::from("/repo/.innerve/settings.json"));
    layer.lines.insert("/permissions/deny/1".to_owned(), 4);
    layer.trusted = false;
    layer
}

#[test]
fn entries_that_are_no_rules_are_found_with_their_line() {
    let value = json!({"permissions": {
        "deny": ["Read(.env)", "Bash(rm"], "ask": "Bash", "allow": [1, "Edit(~other/x)", "Bash(*)"],
    }});
    let findings = lint_layers(&[layer(value)], CWD.as_ref(), HOME.as_ref());
    let found: Vec<(&str, &str, Option<u32>)> =
        findings.iter().map(|it| (it.code.name(), it.rule.as_str(), it.origin.line)).collect();
    assert_eq!(
        found,
        [
            ("malformed", "\"Bash\"", None),
            ("malformed", "1", None),
            ("malformed", "Edit(~other/x)", None),
            ("arbitrary_execution", "Bash(*)", None),
            ("malformed", "Bash(rm", Some(4)),
        ]
    );
    assert!(findings.iter().all(|it| it.severity == Severity::Error));
}

#[test]
fn every_rule_to_write_instead_is_a_rule_that_has_not_the_same_fault() {
    let all = "allow Bash; allow Bash(python *); allow Bash(npx *); allow Bash(make *); allow Bash(curl *); \
               allow Bash(git *); allow Bash(timeout 5 npm test *); allow Bash(sudo apt *); allow Bash(ls*); \
               allow Bash(cd web && npm *); allow Write(src/**); allow Edit(//**); deny Read(/etc/passwd); \
               deny Read(./.env); deny Bash(rm -rf *); deny Bash(git push --force *); deny bash(rm *); \
               allow Bash(npm run test:*); deny Read($HOME/x)";
    for text in all.split("; ") {
        for finding in lint(&policy(text)) {
            for instead in &finding.instead {
                let replaced = policy(&format!("{} {instead}", finding.behavior.name()));
                let again = lint(&replaced);
                assert!(
                    again.iter().all(|it| it.code != finding.code),
                    "{text} → {instead}: {again:#?}"
                );
            }
        }
    }
}

#[test]
fn an_allow_rule_without_effect_is_a_warning_and_a_deny_rule_without_effect_an_error() {
    for (rules, severity) in [
        ("allow bash(ls)", Severity::Warning),
        ("deny bash(ls)", Severity::Error),
        ("ask Read(/etc/x)", Severity::Error),
        ("allow Read(/etc/x)", Severity::Warning),
    ] {
        assert_eq!(lint(&policy(rules)).first().unwrap().severity, severity, "{rules}");
    }
}

/// Rules over few words, so that they often speak of the same commands.
fn any_rule() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => Just("npm"), 2 => Just("sudo"), 2 => Just("python"), 2 => Just("git"), 1 => Just("timeout"),
    ];
    let rest = prop::collection::vec(
        prop_oneof![3 => Just("*"), 2 => Just("run"), 2 => Just("x"), 1 => Just("-c"), 1 => Just("5")],
        0..3,
    );
    let command = (word, rest).prop_map(|(word, rest)| format!("Bash({word} {})", rest.join(" ")));
    let path = prop_oneof![
        Just("src/**"),
        Just("src/*.rs"),
        Just("**"),
        Just("a"),
        Just("src/a"),
        Just("/src/**")
    ];
    let rule = prop_oneof![
        6 => command,
        2 => path.clone().prop_map(|path| format!("Edit({path})")),
        1 => path.prop_map(|path| format!("Read({path})")),
        1 => prop_oneof![Just("Bash"), Just("Edit"), Just("Bash(x && npm *)"), Just("Bash(A=1 npm *)")]
            .prop_map(str::to_owned),
    ];
    let behavior = prop_oneof![3 => Just("allow"), 1 => Just("ask"), 1 => Just("deny")];
    (behavior, rule).prop_map(|(behavior, rule)| format!("{behavior} {rule}"))
}

const CALLS: &[(&str, &str)] = &[
    ("Bash", "npm"),
    ("Bash", "npm run"),
    ("Bash", "npm run x"),
    ("Bash", "npm x x"),
    ("Bash", "git x"),
    ("Bash", "git -c x"),
    ("Bash", "sudo x"),
    ("Bash", "sudo npm run"),
    ("Bash", "python x"),
    ("Bash", "python -c x"),
    ("Bash", "timeout 5 npm x"),
    ("Bash", "timeout 5 npm run && git run"),
    ("Bash", "x && npm run"),
    ("Bash", "A=1 npm x"),
    ("Edit", "src/a"),
    ("Edit", "src/a.rs"),
    ("Edit", "src/b/a"),
    ("Edit", "a"),
    ("Edit", "/etc/a"),
    ("Read", "/etc/a"),
    ("Read", "src/a.rs"),
];

proptest! {
    /// What lint calls idle can go: nothing is decided otherwise without it.
    #[test]
    fn a_rule_without_effect_can_be_removed(rules in prop::collection::vec(any_rule(), 1..5)) {
        let all = policy(&rules.join("; "));
        for finding in lint(&all) {
            let is_idle = matches!(
                finding.code,
                LintCode::Shadowed | LintCode::Duplicate | LintCode::Redundant | LintCode::NeverMatches
                    | LintCode::NeverWins | LintCode::PrefixNotHonoured
            );
            // A wrapper is free once what is inside is allowed, so a rule about it decides nothing but the wording.
            if !is_idle {
                continue;
            }
            let line = finding.origin.line;
            let rest: Vec<&str> = rules
                .iter()
                .zip(1..)
                .filter(|(_, number)| Some(*number) != line)
                .map(|(rule, _)| rule.as_str())
                .collect();
            for mode in [PermissionMode::Default, PermissionMode::Auto, PermissionMode::AcceptEdits] {
                let with = Policy { mode, headless: false, ..all.clone() };
                let without = Policy { mode, headless: false, ..policy(&rest.join("; ")) };
                for (tool, subject) in CALLS {
                    let input = json!({ "command": subject, "file_path": subject });
                    let decide = |policy: &Policy| {
                        let place = Place { cwd: &policy.cwd, home: &policy.home, disk: &NoDisk };
                        let call = facts::from_call(tool, &input, place).unwrap();
                        resolve(policy, &call, &Voices::default()).verdict
                    };
                    prop_assert_eq!(
                        decide(&with), decide(&without),
                        "{:?} is said to be {}, yet {} `{}` in {:?} is decided otherwise without it",
                        &finding.rule, finding.code, tool, subject, mode
                    );
                }
            }
        }
    }
}
