//! Tests of the budget: one result, and the results of one message together.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod fit;
mod replacement;
mod store;
