//! `innerve rules lint`.

use serde_json::{Value, json};

use crate::kit::World;

#[test]
fn errors_end_with_one_and_warnings_with_zero() {
    let world = World::new();
    world.project("{\"permissions\": {\n  \"allow\": [\"Bash(ls*)\"]\n}}");
    let warned = world.innerve(&["rules", "lint"]);
    assert_eq!(warned.code, Some(0), "{warned:?}");
    warned.says(".innerve/settings.json:2: warning allow Bash(ls*)").says("[no_word_boundary]");
    warned.says("instead: Bash(ls *)");
    assert!(warned.stderr.contains("1 rules: 0 errors, 1 warnings"), "{warned:?}");

    world.project("{\"permissions\": {\"allow\": [\"Bash(*)\"]}}");
    let failed = world.innerve(&["rules", "lint"]);
    assert_eq!(failed.code, Some(1));
    failed.says("error allow Bash(*)").says("[arbitrary_execution]");

    world.project(
        "{\"permissions\": {\"allow\": [\"Bash(cargo test *)\"], \"deny\": [\"Read(.env)\"]}}",
    );
    let clean = world.innerve(&["rules", "lint"]);
    assert_eq!((clean.code, clean.stdout.as_str()), (Some(0), ""));
}

#[test]
fn the_rules_of_an_untrusted_workspace_are_linted_too() {
    let world = World::new();
    world.project("{\"permissions\": {\"allow\": [\"Bash(npx *)\"]}}");
    let findings = world.innerve(&["rules", "lint", "--json"]);
    assert_eq!(findings.code, Some(1));
    let finding = findings.json();
    let field = |name: &str| finding.pointer(&format!("/0/{name}")).cloned();
    assert_eq!(field("code"), Some(json!("arbitrary_execution")));
    assert_eq!(field("severity"), Some(json!("error")));
    assert_eq!(field("behavior"), Some(json!("allow")));
    assert_eq!(field("line"), Some(json!(1)));
    assert_eq!(field("source"), Some(json!("project")));
    assert_eq!(field("instead"), Some(json!(["Bash(npx PACKAGE *)"])));
}

#[test]
fn one_file_is_linted_with_all_its_broken_rules() {
    let world = World::new();
    world.write(
        "work/.claude/settings.json",
        "{\"permissions\": {\"deny\": [\n\"Bash(rm\",\n\"bash(rm *)\",\n\"Read(/etc/passwd)\"]}}",
    );
    let file = world.innerve(&["rules", "lint", ".claude/settings.json", "--json"]);
    assert_eq!(file.code, Some(1));
    let found: Vec<(String, u64)> = file
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let code = finding.get("code").and_then(Value::as_str).unwrap().to_owned();
            (code, finding.get("line").and_then(Value::as_u64).unwrap())
        })
        .collect();
    let expected = [("malformed", 2), ("unknown_tool", 3), ("settings_relative_path", 4)];
    assert_eq!(found, expected.map(|(code, line)| (code.to_owned(), line)));

    // Without the file named, the broken deny rule leads to it.
    let all = world.innerve(&["rules", "lint"]);
    assert_eq!(all.code, Some(1), "{all:?}");
    all.says("[malformed]").says("[unknown_tool]");
    assert!(all.stderr.contains("holds a broken deny rule"));
}

#[test]
fn a_file_that_cannot_be_read_is_bad_usage() {
    let world = World::new();
    world.write("work/bad.json", "{");
    for file in ["bad.json", "none.json", "."] {
        let ended = world.innerve(&["rules", "lint", file]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{file}");
        assert!(ended.stderr.contains("error:"), "{ended:?}");
    }
}
