#![doc = include_str!("../README.md")]

#[cfg(feature = "anthropic")]
mod anthropic;
mod catalog;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod endpoint;
mod error;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod http;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod list;
mod model;
#[cfg(feature = "anthropic")]
mod references;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod sse;

#[cfg(feature = "openai")]
mod openai;
#[cfg(feature = "replay")]
mod replay;
#[cfg(feature = "retry")]
mod retry;
mod window;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
pub use catalog::{Price, current_models, known_capabilities, known_model, price};
#[cfg(any(feature = "anthropic", feature = "openai"))]
pub use endpoint::Endpoint;
pub use error::{ErrorClass, ModelError, Overflow};
pub use model::{EventStream, Model};
#[cfg(feature = "openai")]
pub use openai::{Dialect, OpenAi};
#[cfg(feature = "replay")]
pub use replay::{Recorder, Recording, Replay};
#[cfg(feature = "retry")]
pub use retry::{Pace, RetryPolicy, Retrying};
pub use window::Windowed;
