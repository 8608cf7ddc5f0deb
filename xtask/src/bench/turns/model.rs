//! A model that asks for tools.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::bench::server::{Piece, Request, Response, Script};
use crate::bench::wire::{Call, Wire, message_start, message_stop, text, tool_use};

/// The calls of [`Task::Calls`].
pub(super) const CALLS: usize = 8;
/// How long each of them takes.
pub(super) const CALL: Duration = Duration::from_millis(300);
/// Between one call and the next.
pub(super) const APART: Duration = Duration::from_millis(20);
/// How long the model goes on talking after the last call.
const TALK: Duration = Duration::from_millis(260);

/// What the model has the program do before it says that it is done.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// To read this file in each of so many responses.
    Reads { turns: usize, file: PathBuf },
    /// To make [`CALLS`] calls in one response that takes its time.
    Calls,
}

/// The task as a server speaks it.
pub(super) struct Told {
    pub(super) wire: Wire,
    pub(super) task: Task,
}

impl Script for Told {
    fn response(&self, number: usize, _request: &Request) -> Response {
        let once = |calls: &[Call]| vec![Piece::at_once(self.wire.response(number, calls))];
        Response::Stream(match &self.task {
            Task::Reads { turns, file } => {
                let input = json!({ "file_path": file, "limit": 1 + number % 12 });
                let call = Call { name: "Read".to_owned(), input };
                once(if number <= *turns { std::slice::from_ref(&call) } else { &[] })
            }
            Task::Calls if number == 1 => calls(),
            Task::Calls => once(&[]),
        })
    }
}

/// The calls one after the other, then words until the first of them could be done.
fn calls() -> Vec<Piece> {
    // A lone `sleep` is a pause that the model wants: it does not run beside others.
    let input = json!({ "command": format!("sleep {} && cat notes.txt", CALL.as_secs_f64()) });
    let block = |index| tool_use(index, &format!("toolu_bench_{index}"), "Bash", &input);
    let mut pieces = vec![Piece::at_once(message_start(1) + &block(0))];
    pieces.extend((1..CALLS).map(|index| Piece { after: APART, text: block(index) }));
    let last = text(CALLS, "These take a moment.") + &message_stop("tool_use");
    pieces.push(Piece { after: TALK, text: last });
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_talks_until_the_first_call_could_be_done() {
        let pieces = calls();
        let whole: Duration = pieces.iter().map(|piece| piece.after).sum();
        // Otherwise a program that waits for the end of the response would look as quick as one that does not.
        assert!(whole >= CALL, "{whole:?}");
        let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(text.matches("sleep 0.3").count(), 8, "{text}");
    }
}
