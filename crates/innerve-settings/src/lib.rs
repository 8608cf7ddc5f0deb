//! Settings files of innerve: layers, trust, saving a rule without disturbing the file, real path facts.
//!
//! [`Settings::load`] is the way in: from [`Locations`] and [`Flags`] to the rules and limits of a session, with a warning
//! for whatever is odd and an error where a deny rule would be lost. [`Trust`] remembers which workspaces may loosen
//! something, [`save_rule`] writes a rule into a file and leaves the rest of it as it was, [`Watcher`] tells when to load
//! again, and [`DiskPaths`] answers the permission engine's questions about the disk. This crate decides nothing: `innerve-permission` does.

mod disk;
mod error;
mod json;
mod load;
mod locations;
mod save;
mod trust;
mod watch;
mod write;

pub use disk::DiskPaths;
pub use error::SettingsError;
pub use json::Document;
pub use load::{Flags, Loaded, Settings};
pub use locations::Locations;
pub use save::{Saved, save_local_rule, save_rule};
pub use trust::Trust;
pub use watch::Watcher;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
