//! `kill -9` at random moments of a scripted run, again and again: what was finished is not lost, and nothing is run twice
//! without a word. `INNERVE_KILLS` says how often, `INNERVE_KILL_SEED` repeats the same moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use innerve_protocol::Message;
use innerve_tests::{Innerve, ModelServer, Reply, Seen, Wire, World, reply};
use serde_json::{Value, json};

/// Rounds of tools until the model is done.
const STEPS: usize = 10;
/// Writes to the ledger when it begins and when it ends.
const STEP: &str =
    "echo \"begin $1\" >> ledger\nsleep 0.02\necho \"end $1\" >> ledger\necho \"done $1\"\n";

/// What the model is told of a call that had started.
const INTERRUPTED: &str = "The session ended while this call of";
/// … and of one that had not.
const NOT_STARTED: &str = "The session ended before this call of";

/// A model that works through its steps, and repeats one only if it was told that the session ended in it.
fn next(seen: &Seen) -> Reply {
    let first = seen.messages[0].plain_text();
    if let Some(token) = first.strip_prefix("child ") {
        return match seen.results().is_empty() {
            true => reply().bash(&format!("sh step.sh {token}")),
            false => reply().text("The child is done."),
        };
    }
    let attempt = seen.messages.iter().flat_map(Message::tool_uses).count();
    let token = |part: usize| format!("{}-t{attempt}-{part}", session_of(&first));
    let step = |part| format!("sh step.sh {}", token(part));
    let file = || format!("made-{}.txt", token(0));
    match finished_rounds(&seen.messages) {
        STEPS.. => reply().text("All is done."),
        round => match round % 5 {
            0 => reply().text("One command.").bash(&step(0)),
            1 => {
                let read = json!({ "file_path": "step.sh" });
                let grep = json!({ "pattern": "ledger" });
                reply().uses("Read", read).uses("Grep", grep).bash("cat step.sh").bash(&step(0))
            }
            2 => {
                let write = json!({ "file_path": file(), "content": "alpha\n" });
                let edit =
                    json!({ "file_path": file(), "old_string": "alpha", "new_string": "beta" });
                reply().uses("Write", write).uses("Edit", edit).bash(&step(0))
            }
            3 => {
                let input = json!({ "description": "a side task", "prompt": format!("child {}", token(0)) });
                reply().text("A side task.").uses("Agent", input).bash(&step(1))
            }
            _ => reply().bash(&step(0)).pauses(10).bash(&step(1)).text("Both."),
        },
    }
}

/// The first prompt names the session, so that no two have the same tokens.
fn session_of(prompt: &str) -> String {
    prompt.split_whitespace().find(|word| word.starts_with("session")).unwrap().to_owned()
}

/// Rounds of which no call was cut off.
fn finished_rounds(messages: &[Message]) -> usize {
    let rounds = messages.windows(2).filter(|pair| pair[0].tool_uses().next().is_some());
    let whole = |pair: &&[Message]| {
        let mut results = pair[1].content.iter().filter_map(|block| block.as_tool_result());
        results.all(|result| !result.content.plain_text().contains("The session ended"))
    };
    rounds.filter(whole).count()
}

/// A few lines of the standard generator xorshift64: the kit has no need of a better one.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// What the logs of the newest session say of its calls.
#[derive(Default)]
struct Logged {
    started: BTreeMap<String, String>,
    ended: BTreeMap<String, String>,
}

impl Logged {
    fn read(log: &PathBuf) -> Self {
        let mut logged = Self::default();
        for line in fs::read(log).unwrap_or_default().split(|byte| *byte == b'\n') {
            let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match record["type"].as_str() {
                Some("tool_started") => {
                    let call = &record["tool_use"];
                    logged.started.insert(text(&call["id"]), text(&call["name"]));
                }
                Some("tool_ended") => {
                    let result = &record["result"];
                    let content =
                        serde_json::from_value::<innerve_protocol::ToolResult>(result.clone());
                    logged.ended.insert(
                        text(&result["tool_use_id"]),
                        content.unwrap().content.plain_text(),
                    );
                }
                _ => {}
            }
        }
        logged
    }
}

struct Harness {
    world: World,
    model: ModelServer,
}

impl Harness {
    fn run(&self, arguments: &[&str]) -> Innerve {
        let innerve = arguments.iter().fold(self.world.innerve(["run"]), |it, word| it.arg(*word));
        innerve
            .args(["--permission-mode", "bypassPermissions", "--output", "json"])
            .model(&self.model)
    }

    /// The log of the session that is under way.
    fn log(&self) -> Option<PathBuf> {
        self.world
            .find("log.jsonl")
            .into_iter()
            .max_by_key(|log| fs::metadata(log).unwrap().modified().unwrap())
    }

    /// The tokens in the ledger: no command was run twice.
    fn ledger(&self) -> BTreeSet<String> {
        let mut begun = BTreeSet::new();
        let ledger = fs::read_to_string(self.world.work("ledger")).unwrap_or_default();
        for token in ledger.lines().filter_map(|line| line.strip_prefix("begin ")) {
            assert!(begun.insert(token.to_owned()), "{token} was run twice");
        }
        begun
    }

    /// Whatever has begun is in a log as started.
    fn check_ledger(&self) {
        let mut logs = String::new();
        for folder in fs::read_dir(self.log().unwrap().parent().unwrap().parent().unwrap()).unwrap()
        {
            let folder = folder.unwrap().path();
            let agents = fs::read_dir(folder.join("agents")).into_iter().flatten().flatten();
            for log in agents.map(|entry| entry.path()).chain([folder.join("log.jsonl")]) {
                logs.push_str(&fs::read_to_string(log).unwrap());
            }
        }
        let started: BTreeSet<&str> = logs
            .lines()
            .filter(|line| line.contains("\"tool_started\""))
            .flat_map(|line| line.split("sh step.sh ").skip(1))
            .filter_map(|rest| rest.split(['"', '\\']).next())
            .collect();
        for token in self.ledger() {
            assert!(started.contains(token.as_str()), "{token} was run and no log says so");
        }
    }

    /// What the model is told first after a kill: every finished result, and the truth about the others. Gives how many
    /// calls were cut off.
    fn check_resumed(&self, logged: &Logged, request: &Seen) -> usize {
        let content = request.messages.iter().flat_map(|message| &message.content);
        let told: BTreeMap<String, String> = content
            .filter_map(|block| block.as_tool_result())
            .map(|result| (result.tool_use_id.to_string(), result.content.plain_text()))
            .collect();
        for (id, text) in &logged.ended {
            assert_eq!(told.get(id), Some(text), "a finished result was lost: {id}");
        }
        for (id, name) in logged.started.iter().filter(|(id, _)| !logged.ended.contains_key(*id)) {
            let text = told.get(id).unwrap_or_else(|| panic!("{id} was not answered"));
            assert!(text.starts_with(&format!("{INTERRUPTED} {name}")), "{id}: {text}");
        }
        for (id, text) in &told {
            assert!(
                logged.started.contains_key(id) || text.starts_with(NOT_STARTED),
                "{id} never started: {text}"
            );
        }
        told.values().filter(|text| text.starts_with(INTERRUPTED)).count()
    }
}

#[test]
fn i7_a_run_killed_at_any_moment_loses_no_result_and_repeats_nothing_in_silence() {
    let kills = number("INNERVE_KILLS").unwrap_or(30);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("INNERVE_KILL_SEED").unwrap_or(clock.as_nanos() as u64 | 1);
    println!("INNERVE_KILL_SEED={seed}");
    let mut random = Random(seed | 1);
    let world = World::new().file("step.sh", STEP);
    let model = world.model_by(Wire::Anthropic, next);
    let harness = Harness { world, model };

    // A run that nobody kills says how long one takes.
    let began = Instant::now();
    harness.run(&["session0 begins"]).run().exits(0);
    let whole = began.elapsed().max(Duration::from_millis(200));
    let rounds = finished_rounds(&harness.model.take_seen().pop().unwrap().messages);
    assert_eq!(rounds, STEPS);

    let (mut killed, mut finished, mut sessions, mut cut_off) = (0, 0, 0, 0);
    let mut logged: Option<Logged> = None;
    while killed < kills {
        let running = if logged.is_some() {
            harness.run(&["--continue", "go on"]).start()
        } else {
            sessions += 1;
            harness.run(&[&format!("session{sessions} begins")]).start()
        };
        let micros = u64::try_from(whole.as_micros()).unwrap();
        std::thread::sleep(Duration::from_micros(random.below(micros * 2 / 3)));
        let was_running = running.kill();
        let seen = harness.model.take_seen();
        let main = seen.iter().find(|seen| !seen.messages[0].plain_text().starts_with("child "));
        if let (Some(logged), Some(request)) = (&logged, main) {
            cut_off += harness.check_resumed(logged, request);
        }
        if harness.log().is_some() {
            harness.check_ledger();
        }
        if was_running {
            killed += 1;
        }
        let is_begun = harness.log().is_some_and(|log| {
            fs::read_to_string(&log).unwrap_or_default().contains(&format!("session{sessions} "))
        });
        if !was_running {
            // It came to its end by itself: the next session begins.
            finished += 1;
            logged = None;
        } else if is_begun {
            logged = harness.log().as_ref().map(Logged::read);
        }
    }
    // The last one is brought to its end.
    if logged.is_some() {
        harness.run(&["--continue", "go on"]).run().exits(0);
        harness.check_ledger();
    }
    println!(
        "{killed} kills in {sessions} sessions, {finished} of which came to their end; {cut_off} calls told as cut off"
    );
}
