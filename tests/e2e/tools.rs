//! `innerve tools`: what a model is offered.

use std::collections::BTreeSet;

use innerve_tests::{Wire, World, reply};

#[test]
fn the_list_is_a_bare_array_of_definitions_with_unique_valid_names() {
    let world = World::new();
    let ended = world.innerve(["tools", "--json"]).run();
    ended.exits(0);
    let tools = ended.json();
    let tools = tools.as_array().expect("a bare array");
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Write"] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    assert!(names.is_sorted(), "{names:?}");
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let is_valid = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        assert!(!name.is_empty() && name.len() <= 64 && name.chars().all(is_valid), "{name}");
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{name}");
        assert_eq!(tool["input_schema"]["type"], "object", "{name}");
    }
}

#[test]
fn i12_a_model_is_sent_exactly_what_is_listed() {
    let world = World::new();
    let model = world.model(Wire::Anthropic, [reply().text("Fine.")]);
    let listed = world.innerve(["tools", "--json"]).model(&model).run().json();
    world.innerve(["run", "go"]).model(&model).run().exits(0);
    let mut sent = model.request(0).body["tools"].clone();
    for tool in sent.as_array_mut().unwrap() {
        tool.as_object_mut().unwrap().shift_remove("cache_control");
    }
    let names = |tools: &serde_json::Value| -> Vec<String> {
        tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&sent), names(&listed));
    for (sent, listed) in sent.as_array().unwrap().iter().zip(listed.as_array().unwrap()) {
        assert_eq!(sent["input_schema"], listed["input_schema"], "{}", sent["name"]);
        // Which agents there are is known only in a conversation.
        if sent["name"] != "Agent" {
            assert_eq!(sent["description"], listed["description"], "{}", sent["name"]);
        }
    }
}

#[test]
fn a_tool_that_is_denied_as_a_whole_is_not_offered() {
    let world = World::new();
    let ended = world.innerve(["tools", "--json", "--deny", "Bash"]).run();
    ended.exits(0);
    let tools = ended.json();
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["name"] != "Bash"));
}

#[test]
fn a_person_gets_one_line_per_tool() {
    let world = World::new();
    let ended = world.innerve(["tools"]).run();
    ended.exits(0);
    let count = world.innerve(["tools", "--json"]).run().json().as_array().unwrap().len();
    assert_eq!(ended.stdout().lines().count(), count, "{ended}");
}
