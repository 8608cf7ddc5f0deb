//! Step 10: run, spending the permit; panics are caught, timeout and abort are obeyed.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, pending, ready, select};
use innerve_tool::{BoxFuture, Rendered, ToolError, code};

use crate::Step;
use crate::pipeline::Call;
use crate::stage::{Authorized, Executed};

/// How long a cancelled tool may take to stop by itself before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);

impl Call<'_> {
    /// Step 10.
    pub(crate) async fn execute(&mut self, call: Authorized) -> Executed {
        let Authorized { tool, permit, approval, context, input, hooks, resolution } = call;
        let cancellation = context.cancellation.clone();
        let limit = tool.timeout(permit.input());
        // The tool runs inside this future: nothing of it is left when the future is dropped.
        let run = AssertUnwindSafe(tool.invoke(permit, context)).catch_unwind();
        let run = Box::pin(run.map(|outcome| {
            outcome.unwrap_or_else(|payload| {
                // The payload may hold secrets: it is dropped unseen.
                drop(payload);
                Err(ToolError::new(
                    code::PANICKED,
                    format!("internal error in {}; the call was abandoned", self.name),
                ))
            })
        }));
        let ended = Box::pin(self.ended(limit, &cancellation));
        let outcome: Result<Rendered, ToolError> = match select(run, ended).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right((why, run)) => {
                cancellation.cancel();
                match select(run, self.grace()).await {
                    // What it had to say on being stopped is better than our own words.
                    Either::Left((Err(error), _)) => Err(error),
                    Either::Left((Ok(rendered), _)) if why.code() == code::INTERRUPTED => {
                        Ok(rendered)
                    }
                    Either::Left((Ok(_), _)) | Either::Right(_) => Err(why),
                }
            }
        };
        let ended = outcome.as_ref().err().map(ToolError::code);
        self.report(Step::Run, ended);
        Executed { tool, input, outcome, approval, hooks, resolution }
    }

    /// Ends with the reason when the call must stop.
    async fn ended(
        &self,
        limit: Option<Duration>,
        cancellation: &innerve_tool::CancellationToken,
    ) -> ToolError {
        let timed_out: BoxFuture<'_, ()> = match limit {
            Some(limit) => Box::pin(self.sleep(limit)),
            None => Box::pin(pending()),
        };
        match select(timed_out, Box::pin(cancellation.cancelled())).await {
            Either::Left(_) => {
                let seconds = limit.unwrap_or_default().as_secs();
                ToolError::new(
                    code::TIMED_OUT,
                    format!("{} timed out after {seconds} s", self.name),
                )
            }
            Either::Right(_) => ToolError::interrupted(),
        }
    }

    /// How long a cancelled tool is waited for; without a clock it gets one last poll.
    fn grace(&self) -> BoxFuture<'_, ()> {
        match &self.pipeline.clock {
            Some(clock) => clock.sleep(STOP_GRACE),
            None => Box::pin(ready(())),
        }
    }

    /// Without a clock nothing times out here.
    async fn sleep(&self, duration: Duration) {
        match &self.pipeline.clock {
            Some(clock) => clock.sleep(duration).await,
            None => pending().await,
        }
    }
}
