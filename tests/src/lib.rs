//! The kit of the end-to-end tests: the built program in a world of its own, a scripted model, a terminal.
//!
//! [`World`] is a temporary home and workspace; [`World::innerve`] runs the program in it and nothing of the machine's
//! environment reaches it. [`ModelServer`] is a model on the loopback interface that answers by a script of [`Reply`]s and
//! refuses every request that the real interface would refuse. [`Terminal`] is a person at a pseudo-terminal.
//!
//! The kit panics where a test must fail: it is for tests alone.

mod model;
mod packages;
mod pipe;
mod process;
mod program;
mod redact;
mod terminal;
mod world;

pub use model::{Gate, How, ModelServer, Reply, Seen, Wire, reply};
pub use packages::{npm_programs, pypi_programs, python_server};
pub use process::{Ended, Innerve, Running};
pub use program::program;
pub use redact::REDACTIONS;
pub use terminal::{Signal, Terminal, is_at_rest};
pub use world::World;

use std::time::Duration;

/// No program under test lives longer.
pub const LIFETIME: Duration = Duration::from_secs(60);
/// How long a test waits for one thing that should happen at once.
pub const PATIENCE: Duration = Duration::from_secs(20);
