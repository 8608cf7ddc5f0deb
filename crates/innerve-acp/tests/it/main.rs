//! Tests of the agent for editors: the protocol crate's own client on one side, a scripted model on the other, and real
//! tools on real files between them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "tests fail by panicking, and look at the one case they are about"
)]

mod conversation;
mod files;
mod kit;
mod permission;
mod script;
mod sessions;
