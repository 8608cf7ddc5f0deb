//! The host side: the real disk, real processes, the clock, and what an agent has read.

mod clock;
mod files;
mod ledger;
mod process;
mod spool;

pub use clock::HostClock;
pub use files::HostFiles;
pub use ledger::MemoryLedger;
pub use process::HostProcesses;
pub use spool::{DEFAULT_SPOOL_CAP, DiskSpool};
