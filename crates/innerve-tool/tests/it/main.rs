//! Tests of the tool contract from outside: pools, erased tools, the builder.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unnecessary_literal_bound,
    reason = "tests fail by panicking, and their tools are written as any author would"
)]

mod builder;
mod erased;
mod kit;
mod pool;
