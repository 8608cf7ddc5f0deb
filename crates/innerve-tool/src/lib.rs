#![doc = include_str!("../README.md")]

mod builder;
mod context;
mod dynamic;
mod error;
mod output;
mod pool;
pub mod port;
mod reminder;
mod schema;
pub mod show;
mod tool;

pub use builder::ToolBuilder;
pub use context::{CallContext, ProgressEvent, ProgressSink, Reporter, SessionView, Silent};
pub use dynamic::{DynTool, Rendered, erase};
pub use error::{DefinitionError, ToolError, code};
pub use output::{SessionChange, Spooled, ToolOutput};
pub use pool::{Lookup, ToolPool, ToolSources};
pub use reminder::without_reminders;
pub use schema::{InputSchema, SchemaIssue};
pub use tool::{InterruptBehavior, ResultLimit, Tool};

/// Cancels a call, its children and whatever they started; cheap to clone.
pub use tokio_util::sync::CancellationToken;

/// A boxed future that may move between threads, as the erased interfaces return it.
pub type BoxFuture<'a, T> = futures_util::future::BoxFuture<'a, T>;
