//! Tests of the fourteen steps from outside: their order, each way out of each, and the invariants.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unnecessary_literal_bound,
    clippy::wildcard_enum_match_arm,
    reason = "tests fail by panicking, and their tools are written as any author would"
)]

mod asking;
mod deny;
mod early;
mod facts;
mod failures;
mod hooks;
mod kit;
mod order;
mod permission;
mod prompt_tool;
mod refusals;
mod results;
mod running;
mod telemetry;
