//! Output that no conversation could hold.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use innerve_tests::{Wire, World, reply};

const SIZE: u64 = 50_000_000;

/// The path that a result names.
fn named_path(result: &str) -> PathBuf {
    let word = result.split_whitespace().find(|word| word.starts_with('/')).unwrap_or_default();
    PathBuf::from(word)
}

fn holds_only(mut file: File, byte: u8) -> bool {
    let expected = vec![byte; 1 << 20];
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer).unwrap();
        if buffer[..count] != expected[..count] {
            return false;
        }
        if count == 0 {
            return true;
        }
    }
}

#[test]
fn fifty_megabytes_become_a_short_result_and_a_whole_file_in_bounded_memory() {
    let world = World::new();
    // The pause is for a look at the memory after the flood.
    let model = world.model(
        Wire::Anthropic,
        [
            reply().bash(&format!("head -c {SIZE} /dev/zero | tr '\\0' x")),
            reply().pauses(100).text("Much."),
        ],
    );
    let ended = world
        .innerve(["run", "flood", "--allow", "Bash(tr *)", "--allow", "Bash(head *)"])
        .model(&model)
        .run();
    ended.exits(0);
    let result = model.request(1).result_texts().remove(0);
    assert!(result.len() < 40_000, "{} bytes", result.len());
    assert!(result.starts_with("<persisted-output>"), "{}", &result[..200]);

    let path = named_path(&result);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(file.metadata().unwrap().len(), SIZE);
    assert!(holds_only(file, b'x'), "the file holds what was printed");
    // Generous: a debug build on a busy machine.
    assert!(ended.peak_memory < 120_000_000, "{} bytes", ended.peak_memory);
    assert!(ended.peak_memory > 0, "the memory was looked at");
    world.nobody_is_left();
}

#[test]
fn many_lines_are_previewed_by_their_first_and_last() {
    let world = World::new();
    let model = world.model(Wire::OpenAi, [reply().bash("seq 1 200000"), reply().text("Much.")]);
    world.innerve(["run", "count"]).model(&model).run().exits(0);
    let result = model.request(1).result_texts().remove(0);
    assert!(result.len() < 40_000, "{} bytes", result.len());
    assert!(result.contains("\n200000"), "{result}");
    let text = std::fs::read_to_string(named_path(&result)).unwrap();
    assert_eq!(text.lines().count(), 200_000);
}

#[test]
fn a_command_that_never_stops_printing_is_stopped_by_its_timeout() {
    let world = World::new();
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Bash", serde_json::json!({ "command": "yes", "timeout": 1000 })),
            reply().pauses(100).text("Much."),
        ],
    );
    let ended = world.innerve(["run", "yes", "--allow", "Bash(yes)"]).model(&model).run();
    ended.exits(0);
    let result = model.request(1).result_texts().remove(0);
    assert!(result.len() < 40_000, "{} bytes", result.len());
    assert!(ended.peak_memory < 120_000_000, "{} bytes", ended.peak_memory);
    world.nobody_is_left();
}
