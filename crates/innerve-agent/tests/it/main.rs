//! Tests of the agent loop from outside: a scripted model on one side, scripted tools on the other, and between them
//! transcripts that an API would take, whatever happens.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::wildcard_enum_match_arm,
    reason = "tests fail by panicking, and look at the one case they are about"
)]

mod chaos;
mod classifier;
mod compaction;
mod cuts;
mod definitions;
mod hooks;
mod interrupts;
mod journal;
mod kit;
mod log;
mod looping;
mod provider_search;
mod recovery;
mod resume;
mod script;
mod subagents;
mod tasks;
mod telemetry;
mod tools;
