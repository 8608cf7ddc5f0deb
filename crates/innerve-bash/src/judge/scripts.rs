//! Programs inside arguments: the parts of `sed` and `awk` that only read.

mod awk;
mod sed;

pub(crate) use awk::is_reading_awk;
pub(crate) use sed::is_reading_sed;
