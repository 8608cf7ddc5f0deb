//! Steps 5 and 6: start the classifier early, and fill in derived fields.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;
use innerve_permission::PermissionMode;
use innerve_tool::BoxFuture;

use crate::ask::is_open;
use crate::pipeline::Call;
use crate::stage::{Given, Validated};
use crate::{ClassifierRequest, ClassifierVerdict, Step};

/// A classifier's answer that is under way. Dropping it cancels the work, so that it costs nothing when another step
/// decides.
pub(crate) struct Suspicion {
    /// What it was told; it says nothing about any other call.
    pub(crate) about: String,
    pub(crate) verdict: BoxFuture<'static, ClassifierVerdict>,
}

impl Call<'_> {
    /// Step 5.
    pub(crate) fn start_classifier(
        &mut self,
        call: &Validated,
        given: &Given,
    ) -> Option<Suspicion> {
        // What rules and analysis decide by themselves costs no request to a model.
        let wanted = self.pipeline.classifier.is_some()
            && call.policy.mode == PermissionMode::Auto
            && self.name == "Bash"
            && is_open(&self.judge(call, given));
        let suspicion = if wanted { self.ask_classifier(call) } else { None };
        self.pass(Step::StartClassifier);
        suspicion
    }

    /// Asks the classifier; `None` if there is none or the tool cannot be judged by one.
    pub(crate) fn ask_classifier(&self, call: &Validated) -> Option<Suspicion> {
        let classifier = self.pipeline.classifier.as_ref()?;
        let input = call.tool.classifier_input(&call.input);
        if input.is_empty() {
            return None;
        }
        let request = ClassifierRequest {
            tool_use_id: self.id.clone(),
            tool: self.name.clone(),
            input: input.clone(),
            cwd: call.context.cwd.clone(),
            mode: call.policy.mode,
        };
        let started = catch_unwind(AssertUnwindSafe(|| classifier.start(request)));
        let broken = || ClassifierVerdict::Unavailable("an internal error ended it".to_owned());
        // What a panic says may hold secrets: it is dropped unseen.
        let verdict: BoxFuture<'static, ClassifierVerdict> = match started {
            Ok(verdict) => {
                let verdict = AssertUnwindSafe(verdict).catch_unwind();
                Box::pin(async move { verdict.await.unwrap_or_else(|_| broken()) })
            }
            Err(_) => Box::pin(async move { broken() }),
        };
        Some(Suspicion { about: input, verdict })
    }

    /// Step 6. What is judged and what runs is the prepared input; the transcript keeps the model's own words.
    pub(crate) fn prepare(&mut self, mut call: Validated) -> Validated {
        call.tool.prepare(&mut call.input, &call.context);
        self.pass(Step::Prepare);
        call
    }
}
