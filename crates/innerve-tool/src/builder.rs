//! Small tools without a type of their own: a schema, some flags and a closure.

use std::fmt;
use std::sync::Arc;

use innerve_permission::Preview;
use innerve_permission::facts::Place;
use innerve_permission::{CallFacts, Need};
use innerve_protocol::ToolResultContent;
use serde_json::Value;

use crate::dynamic::with_schema;
use crate::tool::DEFAULT_RESULT_CHARS;
use crate::{
    BoxFuture, CallContext, DefinitionError, DynTool, InputSchema, ResultLimit, Tool, ToolError,
    ToolOutput,
};

type Body = Box<
    dyn Fn(Value, CallContext) -> BoxFuture<'static, Result<ToolResultContent, ToolError>>
        + Send
        + Sync,
>;

/// Builds a tool from a schema and a closure; for MCP servers' tools and other run-time tools.
///
/// The flags start strict, as in [`Tool`], and none of them grants permission.
#[expect(clippy::struct_excessive_bools, reason = "independent yes/no flags of a builder")]
pub struct ToolBuilder {
    name: String,
    description: String,
    schema: Value,
    read_only: bool,
    destructive: bool,
    defer: bool,
    always_load: bool,
    interaction: bool,
    judged: bool,
    search_hint: String,
    limit: ResultLimit,
    need: Need,
}

impl ToolBuilder {
    /// A tool whose input is any JSON that fits `schema`.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            schema,
            read_only: false,
            destructive: true,
            defer: false,
            always_load: false,
            interaction: false,
            judged: false,
            search_hint: String::new(),
            limit: ResultLimit::Chars(DEFAULT_RESULT_CHARS),
            need: Need::Always,
        }
    }

    /// What it does, in words for a model. Default: empty.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Declares that it only reads, and may hence run beside others. Default: no.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self.destructive = false;
        self
    }

    /// Declares that what it does can be undone. Default: no.
    #[must_use]
    pub fn reversible(mut self) -> Self {
        self.destructive = false;
        self
    }

    /// Keeps its schema out of the prompt until it is searched for. Default: no.
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.defer = true;
        self
    }

    /// Keeps its schema in the prompt always. Default: no.
    #[must_use]
    pub fn always_loaded(mut self) -> Self {
        self.always_load = true;
        self
    }

    /// Demands that a person takes part in every call. Default: no.
    #[must_use]
    pub fn interactive(mut self) -> Self {
        self.interaction = true;
        self.need = Need::Interaction;
        self
    }

    /// Tells a classifier the whole input as JSON, so that it can judge calls in mode `auto`. Default: no, a person is asked.
    #[must_use]
    pub fn judged_by_input(mut self) -> Self {
        self.judged = true;
        self
    }

    /// Words that a search finds it by. Default: none.
    #[must_use]
    pub fn search_hint(mut self, words: impl Into<String>) -> Self {
        self.search_hint = words.into();
        self
    }

    /// How long its result may be. Default: 100,000 characters, lowered by the global cap.
    #[must_use]
    pub fn result_limit(mut self, limit: ResultLimit) -> Self {
        self.limit = limit;
        self
    }

    /// Finishes the tool with what it does.
    pub fn build<F, R>(self, body: F) -> Result<Arc<dyn DynTool>, DefinitionError>
    where
        F: Fn(Value, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolResultContent, ToolError>> + Send + 'static,
    {
        let schema = InputSchema::compile(&self.name, self.schema.clone())?;
        let body: Body = Box::new(move |input, context| Box::pin(body(input, context)));
        with_schema(RawTool { settings: self, body }, schema)
    }
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToolBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

struct RawTool {
    settings: ToolBuilder,
    body: Body,
}

impl Tool for RawTool {
    type Input = Value;
    type Output = ToolResultContent;
    type Progress = Value;

    fn name(&self) -> &str {
        &self.settings.name
    }

    fn description(&self) -> String {
        self.settings.description.clone()
    }

    async fn call(
        &self,
        input: Value,
        _approved: Option<Preview>,
        context: CallContext,
    ) -> Result<ToolOutput<ToolResultContent>, ToolError> {
        (self.body)(input, context).await.map(ToolOutput::new)
    }

    fn render(&self, output: &ToolResultContent) -> ToolResultContent {
        output.clone()
    }

    fn facts(&self, input: &Value, _context: &CallContext, _place: Place<'_>) -> CallFacts {
        let mut facts = CallFacts::new(self.name(), input.clone());
        facts.need = self.settings.need;
        facts
    }

    fn is_concurrency_safe(&self, _input: &Value) -> bool {
        self.settings.read_only
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        self.settings.read_only
    }

    fn is_destructive(&self, _input: &Value) -> bool {
        self.settings.destructive
    }

    fn should_defer(&self) -> bool {
        self.settings.defer
    }

    fn always_load(&self) -> bool {
        self.settings.always_load
    }

    fn search_hint(&self) -> &str {
        &self.settings.search_hint
    }

    fn result_limit(&self) -> ResultLimit {
        self.settings.limit
    }

    fn classifier_input(&self, input: &Value) -> String {
        if self.settings.judged { input.to_string() } else { String::new() }
    }

    fn requires_user_interaction(&self) -> bool {
        self.settings.interaction
    }
}
