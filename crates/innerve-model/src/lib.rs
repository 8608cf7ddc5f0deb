#![doc = include_str!("../README.md")]

mod error;
mod model;

pub use error::{ErrorClass, ModelError, Overflow};
pub use model::{EventStream, Model};
