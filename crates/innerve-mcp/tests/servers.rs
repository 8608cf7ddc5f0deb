//! Connections to real processes and real HTTP: well-behaved servers, and hostile ones.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test says no by a panic"
)]

#[path = "servers/hostile.rs"]
mod hostile;
#[path = "servers/http.rs"]
mod http;
#[path = "servers/kit.rs"]
mod kit;
#[path = "servers/stdio.rs"]
mod stdio;
