//! Tests of the wire words: reading streams, repairing and checking transcripts, round trips.

mod assembler;
mod normalize;
mod request;
mod round_trip;
mod transcripts;
mod validate;
