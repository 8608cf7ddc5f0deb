//! `innerve trust`: lets a workspace's own settings files loosen something.

use std::io::{self, Write as _};

use innerve_settings::Trust;

use crate::args::TrustArguments;
use crate::exit::{Exit, Failure};
use crate::output::{broken_pipe_is_success, note, plain};
use crate::settings;

/// Runs the verb.
pub(crate) fn trust(arguments: &TrustArguments) -> Result<Exit, Failure> {
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::new(format!("the current directory cannot be read: {error}")))?;
    let locations = settings::locations(&cwd)?;
    let mut trust = Trust::load(&locations);
    let root = locations.trust_root();
    let failed = |error: innerve_settings::SettingsError| Failure::new(error.to_string());
    if arguments.list {
        let mut text = String::new();
        for root in trust.roots() {
            text.push_str(&format!("{}\n", root.display()));
        }
        return broken_pipe_is_success(io::stdout().write_all(text.as_bytes()));
    }
    let shown = plain(&root.display().to_string());
    if arguments.revoke {
        trust.remove(&root).map_err(failed)?;
        note(&format!(
            "{shown} is not trusted any more; what its settings files allow does not count"
        ));
    } else {
        trust.add(&root).map_err(failed)?;
        note(&format!("{shown} is trusted; what its settings files allow counts from now on"));
    }
    Ok(Exit::Success)
}
