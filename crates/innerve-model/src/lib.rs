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

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
pub use catalog::{Price, price};
#[cfg(feature = "http")]
pub use endpoint::Endpoint;
pub use error::{ErrorClass, ModelError, Overflow};
pub use model::{EventStream, Model};
#[cfg(feature = "openai")]
pub use openai::{Dialect, OpenAi};
