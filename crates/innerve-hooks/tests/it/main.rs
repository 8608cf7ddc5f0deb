//! Hooks as real commands and requests, alone and in the real pipeline.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unnecessary_wraps,
    clippy::unnecessary_literal_bound,
    reason = "what the tests share is test code, and returns what it is compared with"
)]

mod background;
mod exits;
#[cfg(feature = "http")]
mod http;
mod kit;
mod matching;
mod ports;
mod running;
mod vectors;
mod wild;
