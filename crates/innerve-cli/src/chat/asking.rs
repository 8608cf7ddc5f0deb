//! Questions on their way to the screen, and the answers back.

use innerve_pipeline::{Answer, ApprovalRequest, Approver};
use innerve_tool::{BoxFuture, CancellationToken};
use tokio::sync::{mpsc, oneshot};

/// A question that waits for an answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) request: ApprovalRequest,
    pub(super) reply: Reply,
}

/// Where the answer goes.
#[derive(Debug)]
pub(super) struct Reply(oneshot::Sender<Answer>);

impl Reply {
    /// Whether nobody waits for the answer any more.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.0.is_closed()
    }

    /// Answers; a question that was withdrawn meanwhile needs no answer.
    pub(super) fn answer(self, answer: Answer) {
        let _withdrawn = self.0.send(answer);
    }
}

/// Puts questions to whoever shows the screen.
pub(super) struct OnScreen {
    questions: mpsc::UnboundedSender<Asked>,
}

impl OnScreen {
    /// An approver, and where its questions come out.
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Asked>) {
        let (questions, asked) = mpsc::unbounded_channel();
        (Self { questions }, asked)
    }
}

impl Approver for OnScreen {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        let (answer, answered) = oneshot::channel();
        let sent = self.questions.send(Asked { request, reply: Reply(answer) });
        Box::pin(async move {
            let gone = || Answer::Unavailable("the terminal was closed".to_owned());
            if sent.is_err() {
                return gone();
            }
            tokio::select! {
                answer = answered => answer.unwrap_or_else(|_| gone()),
                () = cancellation.cancelled() => Answer::Interrupted,
            }
        })
    }
}
