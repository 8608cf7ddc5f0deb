//! Chaos: random responses, random tools, random aborts on several threads. Whatever happens, every call is answered
//! once and in order, an API takes every request, and the log gives the conversation back.

use innerve_agent::{AgentEvent, Transcript};
use innerve_model::ErrorClass;
use innerve_pipeline::Answer;
use innerve_protocol::{ContentBlock, Message, StopReason, validate};
use serde_json::json;

use crate::kit::{World, check_transcript, finish};
use crate::script::{
    Say, Script, answer, broken_call, call, cut, fail, retrying, stop, text, thinking,
};

/// One random response.
fn any_response(random: &mut fastrand::Rng, number: usize) -> Vec<Say> {
    let mut says = Vec::new();
    for part in 0..random.usize(0..7) {
        // Ids repeat and are odd at times.
        let id = match random.u8(0..10) {
            0 => "same".to_owned(),
            1 => "an odd id".to_owned(),
            _ => format!("t{number}_{part}"),
        };
        let input = match random.u8(0..6) {
            0 => json!({ "fails": "no" }),
            1 => json!({ "panics": true }),
            2 => json!({ "odd": true }),
            3 => json!({ "size": random.usize(0..60_000) }),
            _ => json!({}),
        };
        let tool = ["Read", "Grep", "Edit", "Bash", "Ask", "Nope", "Big"][random.usize(0..7)];
        says.extend(match random.u8(0..12) {
            0 => thinking("hm"),
            1 | 2 => text(["word", " spaces ", "  ", "\n"][random.usize(0..4)]),
            3 => broken_call(&id, tool, "{\"x\": "),
            _ => call(&id, tool, input),
        });
    }
    says.extend(match random.u8(0..12) {
        0 => fail(ErrorClass::Transport),
        1 => stop(StopReason::MaxTokens),
        2 => stop(StopReason::PauseTurn),
        3 => Vec::new(),
        4 => retrying().into_iter().chain(stop(StopReason::EndTurn)).collect(),
        _ => stop(StopReason::ToolUse),
    });
    says
}

async fn chaos(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let count = random.usize(1..6);
    let mut responses: Vec<Vec<Say>> =
        (0..count).map(|number| any_response(&mut random, number)).collect();
    // Enough for whatever is asked after them.
    responses.extend((0..60).map(|_| cut([answer("end")])));
    let script = Script::new(responses);
    let world =
        World::new(&script).person(|request| match request.tool_use_id.as_str().len() % 3 {
            0 => Answer::once(),
            1 => Answer::Deny { comment: Some("no".to_owned()) },
            _ => Answer::Deny { comment: None },
        });
    let agent = world.start();
    for prompt in ["One.", "Two.", "Three."] {
        let mut run = agent.run(vec![ContentBlock::text(prompt)]);
        match random.u8(0..4) {
            0 => {
                for _ in 0..random.usize(1..20) {
                    if run.next().await.is_none_or(|it| matches!(it, AgentEvent::Ended(_))) {
                        break;
                    }
                }
                // Stopped in the middle, and the rest not read.
                drop(run);
            }
            1 => {
                for _ in 0..random.usize(1..20) {
                    tokio::task::yield_now().await;
                }
                run.cancel();
                finish(run).await;
            }
            _ => {
                finish(run).await;
            }
        }
        check_transcript(&agent).await;
    }
    let problems = script.problems();
    assert_eq!(problems, Vec::<String>::new(), "seed {seed}");
    let messages = agent.messages().await;
    let calls = messages.iter().flat_map(Message::tool_uses).count();
    let answers = messages.iter().flat_map(crate::kit::results).count();
    assert_eq!(calls, answers, "seed {seed}");
    let running = world.board.notes();
    assert!(!running.is_empty() || calls < 100);
    drop(agent);
    let (transcript, quarantined) = Transcript::load(&world.log()).unwrap();
    assert!(quarantined.is_empty() && transcript.interrupted.is_empty(), "seed {seed}");
    assert_eq!(validate(&transcript.messages), vec![], "seed {seed}");
    let agent = world.resume_soon().await;
    assert_eq!(agent.messages().await, messages, "seed {seed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i7_whatever_happens_every_call_is_answered_once_and_the_log_tells_the_same() {
    let seeds = 0..300;
    for seed in seeds {
        chaos(seed).await;
    }
}
