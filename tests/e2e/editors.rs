//! The agent in an editor that others wrote: the protocol's Python SDK, which checks every message against the schema.

use innerve_tests::{Wire, World, pypi_programs, reply};
use serde_json::json;

/// What `fixtures/editor.py` sees; it says what it does on the way.
const SEEN: &str = r#"agent innerve loads sessions
modes default acceptEdits plan auto
prompt 'Mend the note.'
asked 'Edit note.txt' with a diff
answers 'Allow' (allow_once)
writes 'written, not saved\n'
call 'Read note.txt' read completed
call 'Edit note.txt' edit completed
ends with end_turn
prompt 'Make two stamps.'
asked '`touch stamp.1`' without a diff
answers 'Allow Bash(touch *) for this session' (allow_always)
call '`touch stamp.1`' execute completed
terminal '' ended with 0
call '`touch stamp.2`' execute completed
terminal '' ended with 0
call '`ls stamp.*; pwd -P`' execute completed
terminal 'stamp.1\r\nstamp.2\r\nPROJECT\r\n' ended with 0
ends with end_turn
prompt 'Remove it all.'
asked '`rm stamp.1`' without a diff
answers 'Reject' (reject_once)
call '`rm stamp.1`' execute failed
ends with end_turn
prompt 'Mend it once more.'
writes 'written twice\n'
call 'Edit note.txt' edit completed
ends with end_turn
prompt 'Wait.'
asked '`make wait`' without a diff
answers 'Allow' (allow_once)
call '`make wait`' execute failed
ends with cancelled
agent ended with 0
shown again 'Mend the note.'
shown again 'Make two stamps.'
shown again 'Remove it all.'
shown again 'Mend it once more.'
shown again 'Wait.'
prompt 'Are you still there?'
ends with end_turn
"#;

#[test]
fn the_sdk_of_the_protocol_asks_allows_rejects_switches_cancels_and_loads() {
    let Some(programs) = pypi_programs() else { return };
    let world = World::new().file("note.txt", "saved\n").file("Makefile", "wait:\n\t@sleep 60\n");
    let edit = |old: &str, new: &str| {
        let path = world.work("note.txt");
        json!({ "file_path": path, "old_string": old, "new_string": new })
    };
    let bash = |command: &str| json!({ "command": command });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Read", json!({ "file_path": world.work("note.txt") })),
            reply().uses("Edit", edit("typed", "written")),
            reply().text("Mended."),
            reply().uses("Bash", bash("touch stamp.1")),
            reply().uses("Bash", bash("touch stamp.2")),
            reply().uses("Bash", bash("ls stamp.*; pwd -P")),
            reply().text("Made."),
            reply().uses("Bash", bash("rm stamp.1")),
            reply().uses("Edit", edit("written, not saved", "written twice")),
            reply().text("Mended again."),
            reply().uses("Bash", bash("make wait")),
            reply().text("I am."),
        ],
    );
    let python = programs.join("python");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/editor.py");
    let ended = world
        .innerve([])
        .model(&model)
        .by_shell(&format!("exec '{}' '{script}' \"$PWD\" innerve acp", python.display()));
    ended.exits(0);
    let project = world.work("").canonicalize().unwrap();
    assert_eq!(ended.stdout(), SEEN.replace("PROJECT", project.to_str().unwrap()));
    assert!(world.has("stamp.1") && world.has("stamp.2"));
    assert_eq!(world.read("note.txt"), "written twice\n");
    world.nobody_is_left();
}
