//! What the verbs share that answer lines of JSON: an answer for each line as it comes, and for no line none.

use innerve_tests::World;

const VERBS: [&str; 2] = ["analyze", "check"];

#[test]
fn an_answer_is_flushed_before_the_next_line_is_read() {
    let world = World::new();
    for verb in VERBS {
        let line = |id| {
            format!(
                "{{\"id\":{id},\"command\":\"ls\",\"input\":{{\"command\":\"ls\"}},\"settings\":[]}}\n"
            )
        };
        let innerve = world.innerve([verb, "--jsonl"]).input(line(1)).with_open_input();
        let mut run = innerve.start();
        run.wait_for_line("the first answer", |line| line["id"] == 1);
        let stdin = run.say(&line(2));
        run.wait_for_line("the second answer", |line| line["id"] == 2);
        drop(stdin);
        run.end().exits(0);
    }
}

#[test]
fn nothing_in_gives_nothing_out() {
    let world = World::new();
    for verb in VERBS {
        let ended = world.innerve([verb, "--jsonl"]).run();
        ended.exits(0);
        assert_eq!(ended.stdout(), "", "{verb}");
    }
}
