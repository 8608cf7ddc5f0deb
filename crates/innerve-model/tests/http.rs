//! The providers against a real HTTP server on loopback that speaks the wire formats with their oddities.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at the first surprise and looks at what it is about"
)]

#[path = "http/anthropic.rs"]
mod anthropic;
#[path = "http/contract.rs"]
mod contract;
#[path = "http/listing.rs"]
mod listing;
#[path = "http/openai.rs"]
mod openai;
#[path = "http/retrying.rs"]
mod retrying;
#[path = "http/server.rs"]
mod server;
#[path = "http/transport.rs"]
mod transport;
