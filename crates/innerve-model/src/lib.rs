#![doc = include_str!("../README.md")]

#[cfg(feature = "anthropic")]
mod anthropic;
mod catalog;
#[cfg(feature = "http")]
mod endpoint;
mod error;
#[cfg(feature = "http")]
mod http;
mod model;
#[cfg(feature = "http")]
mod sse;

#[cfg(feature = "openai")]
mod openai;
#[cfg(feature = "replay")]
mod replay;
#[cfg(feature = "http")]
mod retry;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
pub use catalog::{Price, price};
#[cfg(feature = "http")]
pub use endpoint::Endpoint;
pub use error::{ErrorClass, ModelError, Overflow};
pub use model::{EventStream, Model};
#[cfg(feature = "openai")]
pub use openai::{Dialect, OpenAi};
#[cfg(feature = "replay")]
pub use replay::{Record, Recording, Replay};
#[cfg(feature = "http")]
pub use retry::{Pace, RetryPolicy, Retrying};
