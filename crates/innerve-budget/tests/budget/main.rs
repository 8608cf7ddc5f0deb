//! Tests of the budget: one result, and the results of one message together.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod fit;
mod replacement;
mod store;
