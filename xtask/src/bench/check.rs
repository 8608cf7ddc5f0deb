//! `cargo xtask bench check`: a check under a thousand rules beside the same under ten.

use xshell::Shell;

use super::{Measured, example};
use crate::Result;

/// Builds the measuring program and runs it; it states the bound.
pub(super) fn measure(shell: &Shell) -> Result<Measured> {
    Ok(Measured::Figures(example(shell, "innerve-permission", "bench")?))
}
