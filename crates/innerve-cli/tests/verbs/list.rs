//! `innerve rules list`.

use serde_json::{Value, json};

use crate::kit::World;

#[test]
fn every_rule_is_listed_with_its_place_and_whether_it_counts() {
    let world = World::new();
    world
        .user("{\n  \"permissions\": {\n    \"allow\": [\"Bash(cargo test *)\"]\n  }\n}\n")
        .project("{\"permissions\": {\n  \"deny\": [\"Read(.env)\"], // secrets\n  \"allow\": [\"Bash(make)\"],\n}}");
    let before = world.innerve(&["rules", "list", "--json"]);
    assert_eq!(before.code, Some(0));
    let listed = before.json();
    let brief: Vec<(&str, &str, u64, bool)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            let text = |field: &str| rule.get(field).unwrap().as_str().unwrap();
            let line = rule.get("line").unwrap().as_u64().unwrap();
            (text("rule"), text("source"), line, rule.get("counts").unwrap().as_bool().unwrap())
        })
        .collect();
    assert_eq!(
        brief,
        [
            ("Read(.env)", "project", 2, true),
            ("Bash(make)", "project", 3, false),
            ("Bash(cargo test *)", "user", 3, true),
        ]
    );
    world.innerve(&["rules", "list"]).says("does not count until the workspace is trusted");
    world.trust();
    let after = world.innerve(&["rules", "list", "--json"]).json();
    assert!(after.as_array().unwrap().iter().all(|rule| rule.get("counts") == Some(&json!(true))));
}

#[test]
fn rules_of_flags_and_of_other_agents_settings_are_among_them() {
    let world = World::new();
    world.write(
        "home/.claude/settings.json",
        "{\"permissions\": {\"ask\": [\"Bash(git push *)\"]}}",
    );
    let ended = world.innerve(&["rules", "list", "--deny", "Bash(rm *)"]);
    ended.says("deny   Bash(rm *)        cli      cli flags");
    ended.says("ask    Bash(git push *)  user     ~/.claude/settings.json:1");
}

#[test]
fn broken_and_useless_rules_have_remarks() {
    let world = World::new();
    world.user(
        "{\"permissions\": {\"deny\": [\"Bash\"], \"allow\": [\"Bash(ls\", \"Bash(make)\", 7]}}",
    );
    let listed = world.innerve(&["rules", "list", "--json"]).json();
    let remarks: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            let remarks = rule.get("remarks").and_then(Value::as_array).unwrap();
            remarks.first().map_or_else(String::new, |it| it.as_str().unwrap().to_owned())
        })
        .collect();
    let [deny, broken, shadowed, number] = remarks.as_slice() else { panic!("{remarks:?}") };
    assert_eq!(deny, "");
    assert!(broken.starts_with("does not count: rule `Bash(ls`"), "{broken}");
    assert!(shadowed.contains("never wins against the deny rule `Bash`"), "{shadowed}");
    assert!(number.starts_with("does not count"), "{number}");
}

#[test]
fn without_rules_nothing_is_printed_but_a_note() {
    let ended = World::new().innerve(&["rules", "list"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(ended.stderr.contains("no rules"));
}
