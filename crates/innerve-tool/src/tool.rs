//! The contract of a tool: everything that is forgotten is answered in the strict way.

use std::future::ready;
use std::time::Duration;

use innerve_permission::facts::Place;
use innerve_permission::{CallFacts, Objection, Preview};
use innerve_protocol::ToolResultContent;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{CallContext, ToolError, ToolOutput};

/// How long the result of a tool that says nothing about it may be.
pub(crate) const DEFAULT_RESULT_CHARS: usize = 100_000;

/// A tool as its author writes it: typed input, output and progress.
///
/// Only `name`, `description`, `call` and `render` must be written. Every other method has the cautious default, so
/// that forgetting one can only make the tool slower or asked about more often, never unsafe.
pub trait Tool: Send + Sync + 'static {
    /// What the model gives; its JSON Schema is shown to the model and checked before anything else happens.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// What the tool gives; kept for hooks and machines, the model sees [`Tool::render`].
    type Output: Serialize + Send + 'static;
    /// What is told while the tool runs; use `()` for nothing.
    type Progress: Serialize + Send + Sync + 'static;

    /// The canonical name, `^[a-zA-Z0-9_-]{1,64}$`.
    fn name(&self) -> &str;

    /// What it does, in words for a model.
    fn description(&self) -> String;

    /// Does the work. Runs only on a permit; must return soon after `context.cancellation` is cancelled.
    ///
    /// `approved` is what a person saw and approved: if it is there, exactly its bytes are written, or nothing.
    fn call(
        &self,
        input: Self::Input,
        approved: Option<Preview>,
        context: CallContext<Self::Progress>,
    ) -> impl Future<Output = Result<ToolOutput<Self::Output>, ToolError>> + Send;

    /// What the model sees of the output.
    fn render(&self, output: &Self::Output) -> ToolResultContent;

    /// Former names, under which old transcripts call it.
    fn aliases(&self) -> &[&str] {
        &[]
    }

    /// Whether it is offered at all.
    fn is_enabled(&self) -> bool {
        true
    }

    /// Checks what a schema cannot say (an edit that changes nothing), before anybody is asked.
    fn validate(
        &self,
        input: &Self::Input,
        context: &CallContext,
    ) -> impl Future<Output = Result<(), ToolError>> + Send {
        let _ = (input, context);
        ready(Ok(()))
    }

    /// Fills in derived fields (`~`, absolute paths) on the copy that is judged and run; the transcript keeps the
    /// model's own words.
    fn prepare(&self, input: &mut Value, context: &CallContext) {
        let _ = (input, context);
    }

    /// States what a call with this prepared input would do. The default claims nothing, so that it is asked about.
    fn facts(&self, input: &Value, context: &CallContext, place: Place<'_>) -> CallFacts {
        let _ = (context, place);
        CallFacts::new(self.name(), input.clone())
    }

    /// Objects to a call; there is no way to say yes here.
    fn objection(&self, input: &Self::Input, context: &CallContext) -> Option<Objection> {
        let _ = (input, context);
        None
    }

    /// Computes what a call would write, so that a person can see it before approving.
    fn preview(
        &self,
        input: &Self::Input,
        context: &CallContext,
    ) -> impl Future<Output = Result<Option<Preview>, ToolError>> + Send {
        let _ = (input, context);
        ready(Ok(None))
    }

    /// Whether a call with this input may run beside other safe calls.
    fn is_concurrency_safe(&self, input: &Self::Input) -> bool {
        let _ = input;
        false
    }

    /// Whether a call with this input only reads.
    fn is_read_only(&self, input: &Self::Input) -> bool {
        let _ = input;
        false
    }

    /// Whether a call with this input may destroy what cannot be brought back.
    fn is_destructive(&self, input: &Self::Input) -> bool {
        let _ = input;
        false
    }

    /// Whether its schema may be left out of the prompt until a search finds it.
    fn should_defer(&self) -> bool {
        false
    }

    /// Whether its schema is always in the prompt, even if others of its kind are deferred.
    fn always_load(&self) -> bool {
        false
    }

    /// Words that a search for tools should find it by.
    fn search_hint(&self) -> &str {
        Default::default()
    }

    /// How long its result may be in a conversation.
    fn result_limit(&self) -> ResultLimit {
        ResultLimit::Chars(DEFAULT_RESULT_CHARS)
    }

    /// What happens to a running call when the person types a new message.
    fn interrupt_behavior(&self) -> InterruptBehavior {
        InterruptBehavior::Block
    }

    /// What a classifier is told of a call; empty means that the classifier cannot judge this tool.
    fn classifier_input(&self, input: &Self::Input) -> String {
        let _ = input;
        String::new()
    }

    /// Whether a person must take part in every call.
    fn requires_user_interaction(&self) -> bool {
        false
    }

    /// Whether numbers and booleans given as text (`"5"`, `"true"`) are taken as meant.
    fn accepts_text_scalars(&self) -> bool {
        false
    }

    /// How long a call may take; `None` leaves it to the tool.
    fn timeout(&self, input: &Self::Input) -> Option<Duration> {
        let _ = input;
        None
    }
}

/// How long a result may be in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultLimit {
    /// Unicode scalar values at most; a global cap may be lower.
    Chars(usize),
    /// Unicode scalar values at most, not lowered by the global cap (an MCP server's own declaration).
    Declared(usize),
    /// The tool bounds itself.
    SelfBounded,
}

/// What happens to a running call when the person types a new message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptBehavior {
    /// It is cancelled.
    Cancel,
    /// It runs on and the message waits.
    Block,
}
