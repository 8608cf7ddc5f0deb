//! The erased twin of [`Tool`]: what pools and pipelines hold; only this crate can make one.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use innerve_permission::facts::Place;
use innerve_permission::{CallFacts, Objection, Permit, Preview};
use innerve_protocol::{Message, ToolDefinition, ToolResultContent};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::tool::DEFAULT_RESULT_CHARS;
use crate::{
    BoxFuture, CallContext, DefinitionError, InputSchema, InterruptBehavior, ResultLimit,
    SchemaIssue, SessionChange, Spooled, Tool, ToolError, code,
};

pub(crate) mod sealed {
    //! Keeps [`super::DynTool`] closed.

    /// Only types of this crate implement it.
    #[expect(unnameable_types, reason = "that is what seals the trait")]
    pub trait Sealed {}
}

/// A tool with its types erased. Sealed: made by [`erase`] and [`crate::ToolBuilder`] alone, so that no implementation
/// can skip the schema, and [`DynTool::invoke`] takes a [`Permit`], so that nothing runs unjudged. Whatever panics in a
/// tool's own code is answered in the strict way.
///
/// ```compile_fail,E0603
/// struct Mine;
/// // What seals it cannot be named outside of this crate.
/// impl innerve_tool::dynamic::sealed::Sealed for Mine {}
/// ```
pub trait DynTool: sealed::Sealed + Send + Sync {
    /// The canonical name.
    fn name(&self) -> &str;
    /// Former names.
    fn aliases(&self) -> &[&str];
    /// What a model is told; never deferred here, the host decides that.
    fn definition(&self) -> &ToolDefinition;
    /// Whether it is offered at all.
    fn is_enabled(&self) -> bool;
    /// Whether it may be deferred.
    fn should_defer(&self) -> bool;
    /// Whether it must not be deferred.
    fn always_load(&self) -> bool;
    /// Words for a search.
    fn search_hint(&self) -> &str;
    /// How long its result may be.
    fn result_limit(&self) -> ResultLimit;
    /// What a new message does to a running call.
    fn interrupt_behavior(&self) -> InterruptBehavior;
    /// Whether a person must take part.
    fn requires_user_interaction(&self) -> bool;

    /// Checks the model's input against the schema and gives back the input as it is understood, or every issue.
    fn parse(&self, input: Value) -> Result<Value, Vec<SchemaIssue>>;
    /// Checks what a schema cannot say; a panic is an error.
    fn validate<'a>(
        &'a self,
        input: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Fills in derived fields.
    fn prepare(&self, input: &mut Value, context: &CallContext);
    /// States what a call would do; a panic gives the strictest facts.
    fn facts(&self, input: &Value, context: &CallContext, place: Place<'_>) -> CallFacts;
    /// The tool's objection; a panic objects.
    fn objection(&self, input: &Value, context: &CallContext) -> Option<Objection>;
    /// What a call would write; a panic is an error.
    fn preview<'a>(
        &'a self,
        input: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<Preview>, ToolError>>;
    /// Whether a call may run beside others; an input that does not parse, or a panic, says no.
    fn is_concurrency_safe(&self, input: &Value) -> bool;
    /// Whether a call only reads; an input that does not parse, or a panic, says no.
    fn is_read_only(&self, input: &Value) -> bool;
    /// Whether a call may destroy; an input that does not parse, or a panic, says yes.
    fn is_destructive(&self, input: &Value) -> bool;
    /// What a classifier is told; empty means that it cannot judge.
    fn classifier_input(&self, input: &Value) -> String;
    /// How long a call may take.
    fn timeout(&self, input: &Value) -> Option<Duration>;
    /// Spends the permit and runs; a panic is an error without the panic's text.
    fn invoke(
        &self,
        permit: Permit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<Rendered, ToolError>>;
}

impl fmt::Debug for dyn DynTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("DynTool").field(&self.name()).finish()
    }
}

/// A finished call with its output rendered for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// What the model sees.
    pub content: ToolResultContent,
    /// The output as JSON, for hooks and machines.
    pub data: Value,
    /// Messages to append after the result.
    pub messages: Vec<Message>,
    /// Changes to the session.
    pub changes: Vec<SessionChange>,
    /// Where the full output already is.
    pub spooled: Option<Spooled>,
}

/// Erases the types of a tool and compiles its schema.
pub fn erase<T: Tool>(tool: T) -> Result<Arc<dyn DynTool>, DefinitionError> {
    let schema = InputSchema::of::<T::Input>(tool.name())?;
    with_schema(tool, schema)
}

/// As [`erase`], for a schema that is only known at run time.
pub(crate) fn with_schema<T: Tool>(
    tool: T,
    schema: InputSchema,
) -> Result<Arc<dyn DynTool>, DefinitionError> {
    let name = tool.name();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(DefinitionError::Name(name.to_owned()));
    }
    let definition = ToolDefinition::new(name, tool.description(), schema.value().clone());
    Ok(Arc::new(Erased { tool, schema, definition }))
}

struct Erased<T> {
    tool: T,
    schema: InputSchema,
    definition: ToolDefinition,
}

impl<T> sealed::Sealed for Erased<T> {}

/// Runs a predicate that a tool's author wrote; a panic gives the strict answer.
fn guarded<R>(strict: R, predicate: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(predicate)).unwrap_or_else(|payload: Box<dyn Any + Send>| {
        // The payload may hold secrets: it is dropped unseen.
        drop(payload);
        strict
    })
}

/// Runs what a tool's author wrote; a panic is an error without the panic's text.
async fn contained<R>(
    tool: &str,
    work: impl Future<Output = Result<R, ToolError>>,
) -> Result<R, ToolError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|payload: Box<dyn Any + Send>| {
        drop(payload);
        let message = format!("internal error in {tool}; the call was abandoned");
        Err(ToolError::new(code::PANICKED, message))
    })
}

fn typed<I: DeserializeOwned>(input: &Value) -> Result<I, ToolError> {
    I::deserialize(input)
        .map_err(|error| ToolError::invalid(format!("the input cannot be read: {error}")))
}

impl<T: Tool> DynTool for Erased<T> {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn aliases(&self) -> &[&str] {
        guarded(&[], || self.tool.aliases())
    }

    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn is_enabled(&self) -> bool {
        guarded(false, || self.tool.is_enabled())
    }

    fn should_defer(&self) -> bool {
        guarded(false, || self.tool.should_defer())
    }

    fn always_load(&self) -> bool {
        guarded(false, || self.tool.always_load())
    }

    fn search_hint(&self) -> &str {
        guarded("", || self.tool.search_hint())
    }

    fn result_limit(&self) -> ResultLimit {
        guarded(ResultLimit::Chars(DEFAULT_RESULT_CHARS), || self.tool.result_limit())
    }

    fn interrupt_behavior(&self) -> InterruptBehavior {
        guarded(InterruptBehavior::Block, || self.tool.interrupt_behavior())
    }

    fn requires_user_interaction(&self) -> bool {
        guarded(true, || self.tool.requires_user_interaction())
    }

    fn parse(&self, mut input: Value) -> Result<Value, Vec<SchemaIssue>> {
        if self.tool.accepts_text_scalars() {
            self.schema.coerce_text_scalars(&mut input);
        }
        let issues = self.schema.issues(&input);
        if !issues.is_empty() {
            return Err(issues);
        }
        // A schema may be laxer than the type behind it.
        match typed::<T::Input>(&input) {
            Ok(_) => Ok(input),
            Err(error) => Err(vec![SchemaIssue::Other {
                parameter: String::new(),
                problem: error.message().to_owned(),
            }]),
        }
    }

    fn validate<'a>(
        &'a self,
        input: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(contained(self.name(), async move {
            let input = typed::<T::Input>(input)?;
            self.tool.validate(&input, context).await
        }))
    }

    fn prepare(&self, input: &mut Value, context: &CallContext) {
        let original = input.clone();
        if guarded(None, || {
            self.tool.prepare(input, context);
            Some(())
        })
        .is_none()
        {
            *input = original;
        }
    }

    fn facts(&self, input: &Value, context: &CallContext, place: Place<'_>) -> CallFacts {
        let facts = guarded(None, || Some(self.tool.facts(input, context, place)));
        // Facts about another tool or another input would let the engine judge what is not run.
        match facts {
            Some(facts) if facts.tool() == self.name() && facts.input() == input => facts,
            Some(_) | None => CallFacts::new(self.name(), input.clone()),
        }
    }

    fn objection(&self, input: &Value, context: &CallContext) -> Option<Objection> {
        let strict = || Some(Objection::Ask(format!("{} could not check this call", self.name())));
        match typed::<T::Input>(input) {
            Ok(input) => guarded(strict(), || self.tool.objection(&input, context)),
            Err(_) => strict(),
        }
    }

    fn preview<'a>(
        &'a self,
        input: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<Preview>, ToolError>> {
        Box::pin(contained(self.name(), async move {
            let input = typed::<T::Input>(input)?;
            self.tool.preview(&input, context).await
        }))
    }

    fn is_concurrency_safe(&self, input: &Value) -> bool {
        guarded(false, || typed(input).is_ok_and(|input| self.tool.is_concurrency_safe(&input)))
    }

    fn is_read_only(&self, input: &Value) -> bool {
        guarded(false, || typed(input).is_ok_and(|input| self.tool.is_read_only(&input)))
    }

    fn is_destructive(&self, input: &Value) -> bool {
        guarded(true, || typed(input).map_or(true, |input| self.tool.is_destructive(&input)))
    }

    fn classifier_input(&self, input: &Value) -> String {
        guarded(String::new(), || {
            typed(input).map_or_else(|_| String::new(), |input| self.tool.classifier_input(&input))
        })
    }

    fn timeout(&self, input: &Value) -> Option<Duration> {
        guarded(None, || typed(input).ok().and_then(|input| self.tool.timeout(&input)))
    }

    fn invoke(
        &self,
        permit: Permit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<Rendered, ToolError>> {
        Box::pin(contained(self.name(), async move {
            if permit.tool() != self.name() {
                let message =
                    format!("the permit is for `{}`, not for `{}`", permit.tool(), self.name());
                return Err(ToolError::new(code::WRONG_PERMIT, message));
            }
            let (input, preview) = permit.spend();
            let input = typed::<T::Input>(&input)?;
            let output = self.tool.call(input, preview, context.typed()).await?;
            let content = self.tool.render(&output.data);
            let data = serde_json::to_value(&output.data).unwrap_or(Value::Null);
            Ok(Rendered {
                content,
                data,
                messages: output.messages,
                changes: output.changes,
                spooled: output.spooled,
            })
        }))
    }
}
