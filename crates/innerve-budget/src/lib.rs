//! Keeps tool results from flooding a conversation: limits, previews, replacement state, store port.
//!
//! [`Fitting`] makes one result fit: what is too long goes to a [`ResultStore`] in full, and a preview that names the
//! file takes its place. [`ReplacementState`] bounds what one message carries together and never changes its mind, so
//! that a provider's prompt cache holds. [`fit_error`] cuts the middle out of long error messages. This crate does no
//! I/O: the store is the host's.

mod fit;
mod limit;
mod preview;
mod replacement;
mod store;

pub use fit::{FitOutcome, Fitted, Fitting, Spooled, fit_error};
pub use limit::Limit;
pub use preview::saved_in;
pub use replacement::{ReplacementRecord, ReplacementState};
pub use store::{MemoryStore, ResultStore, StoreError, StoredContent};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
