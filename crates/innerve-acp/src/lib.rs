//! The agent of innerve for editors, over the Agent Client Protocol: the place is kept, the crate is still empty.
#![doc = include_str!("../README.md")]
