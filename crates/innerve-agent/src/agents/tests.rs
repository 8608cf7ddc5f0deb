//! Definitions: what is read, what is told, and what gives no tool.

use super::*;

#[track_caller]
fn parse(text: &str) -> AgentDefinition {
    let (definition, odd) = AgentDefinition::parse(text).unwrap();
    assert_eq!(odd, Vec::<String>::new());
    definition
}

#[test]
fn a_definition_has_a_head_and_instructions() {
    let definition = parse(
        "---\nname: code-reviewer\ndescription: Reviews code. Use it after changes: always.\ntools: Read, Grep, Bash\n\
         disallowedTools: Write\nmodel: sonnet\npermissionMode: plan\nmaxTurns: 7\ncolor: blue\n---\n\nYou review.\n\n---\nAll of it.\n",
    );
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        definition,
        AgentDefinition {
            name: "code-reviewer".to_owned(),
            description: "Reviews code. Use it after changes: always.".to_owned(),
            prompt: "You review.\n\n---\nAll of it.".to_owned(),
            tools: Some(words(&["Read", "Grep", "Bash"])),
            disallowed_tools: words(&["Write"]),
            model: Some("sonnet".to_owned()),
            mode: Some(PermissionMode::Plan),
            max_turns: Some(7),
            background: false,
        }
    );
}

#[test]
fn lists_and_texts_come_in_many_forms() {
    #[track_caller]
    fn check(field: &str, tools: Option<&[&str]>, description: &str) {
        let text = format!("\u{feff}---\r\n# a comment\nname: a\r\n{field}\n---\nDo it.");
        let definition = parse(&text);
        let tools = tools.map(|tools| tools.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!((definition.tools, definition.description.as_str()), (tools, description));
    }
    check("description: d", None, "d");
    check("description: \"a \\\"b\\\"\\nc\"", None, "a \"b\"\nc");
    check("description: 'it''s'", None, "it's");
    check("description: d # why", None, "d");
    check(
        "description: >-\n  one\n  two\n\ntools: [Read, \"Grep\"]",
        Some(&["Read", "Grep"]),
        "one two",
    );
    check(
        "description: |\n  one\n  two\ntools:\n  - Read\n  - Grep",
        Some(&["Read", "Grep"]),
        "one\ntwo",
    );
    check("description: one\n  two\ntools:\n- Read", Some(&["Read"]), "one two");
    check("description: d\ntools: '*'", None, "d");
    // Nothing is not everything.
    check("description: d\ntools: []", Some(&[]), "d");
    check("description: d\ntools:", Some(&[]), "d");
}

#[test]
fn i2_what_is_not_understood_is_told_and_gives_no_tool() {
    let text = "---\nname: a\ndescription: d\ntools: Bash(git *), Read\nhooks:\n  PreToolUse:\n    - matcher: x\n---\nDo it.";
    let (definition, odd) = AgentDefinition::parse(text).unwrap();
    assert_eq!(definition.tools.unwrap(), ["Read"]);
    assert_eq!(odd.len(), 2, "{odd:?}");
    assert!(odd[0].contains("Bash(git *)") && odd[1].contains("hooks"), "{odd:?}");
}

#[test]
fn what_is_no_definition_says_why() {
    #[track_caller]
    fn check(text: &str, words: &str) {
        let problem = AgentDefinition::parse(text).unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
    check("", "does not begin");
    check("# Title\n", "does not begin");
    check("---\nname: a\n", "no closing line");
    check("---\nname: a\ndescription: d\n---\n  \n", "no instructions");
    check("---\ndescription: d\n---\nx", "no `name`");
    check("---\nname: a\n---\nx", "no `description`");
    check("---\nname: ../a\ndescription: d\n---\nx", "the name");
    check("---\nname: Fork\ndescription: d\n---\nx", "is taken");
    check("---\nname: a\nname: b\ndescription: d\n---\nx", "twice");
    check("---\njust words\n---\nx", "no `key: value`");
    check("---\nname: a\ndescription: d\nmaxTurns: -1\n---\nx", "maxTurns");
    check("---\nname: a\ndescription: d\npermissionMode: sudo\n---\nx", "permissionMode");
}

#[test]
fn of_one_name_the_last_counts() {
    let other = |name: &str, prompt: &str| AgentDefinition {
        name: name.to_owned(),
        prompt: prompt.to_owned(),
        ..AgentDefinition::default()
    };
    let types =
        AgentTypes::new(vec![other("explore", "mine"), other("b", "one"), other("B", "two")]);
    let names: Vec<&str> = types.all().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["B", "explore", "fork", "general-purpose"]);
    assert_eq!(types.find("EXPLORE").unwrap().prompt, "mine");
}
