//! Tests of the wire words: reading streams, repairing and checking transcripts, round trips.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests build values where they are used and fail by panicking"
)]

mod assembler;
mod kit;
mod normalize;
mod request;
mod round_trip;
mod transcripts;
mod validate;
