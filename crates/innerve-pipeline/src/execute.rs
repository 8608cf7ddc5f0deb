//! Step 10: run, spending the permit; timeout and abort are obeyed.

use std::time::Duration;

use futures_util::future::{Either, pending, ready, select};
use innerve_tool::{BoxFuture, Rendered, ToolError, code};
use tracing::Instrument as _;

use crate::Step;
use crate::pipeline::Call;
use crate::stage::{Authorized, Executed, Stopped};
use crate::telemetry;
use crate::validate::interrupted;

/// How long a cancelled tool may take to stop by itself before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);

impl Call<'_> {
    /// Step 10.
    pub(crate) async fn execute(&mut self, call: Authorized) -> Result<Executed, Box<Stopped>> {
        let Authorized { tool, permit, approval, context, input, resolution } = call;
        let cancellation = context.cancellation.clone();
        // It may have been aborted since step 2, while hooks ran or somebody was asked.
        if cancellation.is_cancelled() {
            let text = "Interrupted by the user before it started; nothing was run.";
            return Err(Box::new(Stopped {
                resolution: Some(resolution),
                ..interrupted(Step::Run, text)
            }));
        }
        let limit = tool.timeout(permit.input());
        // The tool runs inside this future: nothing of it is left when the future is dropped.
        let since = self.pipeline.now();
        let run = tool.invoke(permit, context).instrument(telemetry::execution());
        let ended = Box::pin(self.ended(limit, &cancellation));
        let outcome: Result<Rendered, ToolError> = match select(run, ended).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right((why, run)) => {
                cancellation.cancel();
                match select(run, self.grace()).await {
                    // It cannot know that it was not a person who stopped it.
                    Either::Left((Err(error), _))
                        if error.code() == code::INTERRUPTED && why.code() != error.code() =>
                    {
                        Err(why.with_changes(error.changes().to_vec()))
                    }
                    // What it had to say on being stopped is better than our own words.
                    Either::Left((outcome, _)) => outcome,
                    Either::Right(_) => Err(why),
                }
            }
        };
        let ended = outcome.as_ref().err().map(ToolError::code);
        self.report(Step::Run, ended);
        self.ran =
            since.zip(self.pipeline.now()).map(|(since, now)| now.saturating_duration_since(since));
        Ok(Executed { tool, input, outcome, approval, resolution })
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
                let limit = limit.unwrap_or_default();
                ToolError::new(code::TIMED_OUT, format!("{} timed out after {limit:?}", self.name))
            }
            Either::Right(_) => ToolError::interrupted(),
        }
    }

    /// How long a cancelled tool is waited for; without a clock it gets one last poll.
    pub(crate) fn grace(&self) -> BoxFuture<'_, ()> {
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
