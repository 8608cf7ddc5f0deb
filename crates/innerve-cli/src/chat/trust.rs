//! The first question in a workspace whose own settings want to loosen something.

use std::io;

use innerve_settings::Trust;

use crate::exit::Failure;
use crate::output::{BOLD, YELLOW, note, plain};
use crate::settings;
use crate::wire::Workplace;

/// Asks whether the workspace is trusted, if that makes a difference and was not answered before. Says whether it is now.
pub(super) fn asks(workplace: &Workplace) -> Result<bool, Failure> {
    if !workplace.waits_for_trust() {
        return Ok(false);
    }
    let locations = settings::locations(&workplace.policy.original_cwd)?;
    let root = locations.trust_root();
    let shown = plain(&root.display().to_string());
    note(&format!(
        "{YELLOW}?{YELLOW:#} The settings files in {BOLD}{shown}{BOLD:#} allow things, or start programs, on their own. \
         They count only if you trust this workspace."
    ));
    note(
        "  `innerve rules list` shows the rules. Without trust its deny and ask rules count all the same.",
    );
    note(&format!("  {BOLD}Trust it? [y/N]{BOLD:#}"));
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    if read.is_err() || !matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(false);
    }
    let added = Trust::load(&locations).add(&root);
    added.map_err(|error| Failure::new(error.to_string()))?;
    Ok(true)
}
