//! The machine: programs that tools need, the folder for state, the terminal.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use innerve_settings::Locations;

use super::finding::Finding;
use crate::private;

/// Bytes that the folder of state must have room for.
const ROOM: usize = 64 * 1024;

/// What is there.
pub(super) fn look() -> Vec<Finding> {
    let mut findings = vec![
        program("bash", "the Bash tool needs it", true),
        program("git", "worktrees of sub-agents need it", false),
    ];
    if let Ok(locations) = Locations::from_env() {
        findings.push(state(&locations.state_dir()));
    }
    findings.extend(terminal());
    findings
}

fn program(name: &str, need: &str, needed: bool) -> Finding {
    let output = Command::new(name).arg("--version").stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Finding::fine("programs", text.lines().next().unwrap_or(name).trim())
        }
        Ok(_) | Err(_) => {
            let text = format!("{name} is not found; {need}");
            let finding = if needed {
                Finding::problem("programs", text)
            } else {
                Finding::note("programs", text)
            };
            finding.mend(format!("install {name}, or put it on PATH"))
        }
    }
}

/// The folder of sessions and results: it can be written, and others cannot read it.
fn state(folder: &Path) -> Finding {
    let shown = folder.display();
    // An empty file can be made on a full disk.
    let written = private::make_folder(folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(folder))
        .and_then(|mut file| {
            file.write_all(&vec![0; ROOM]).and_then(|()| file.as_file().sync_all())
        });
    if let Err(error) = written {
        return Finding::problem("state", format!("{shown} cannot be written: {error}"))
            .mend("sessions and large results go there; make it writable with room in it, or set XDG_STATE_HOME");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(folder).map_or(0, |data| data.permissions().mode());
        if mode & 0o077 != 0 {
            return Finding::note(
                "state",
                format!("others may look into {shown} (mode {:o})", mode & 0o777),
            )
            .mend(format!("chmod 700 {shown}"));
        }
    }
    Finding::fine("state", format!("{shown} can be written"))
}

fn terminal() -> Vec<Finding> {
    const AREA: &str = "terminal";
    if !io::stderr().is_terminal() {
        return vec![
            Finding::note(AREA, "standard error is no terminal: nobody can be asked, and what would be asked is denied")
                .mend("allow what a script needs by --allow or in settings"),
        ];
    }
    let mut findings = Vec::new();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let term = variable("TERM").unwrap_or_else(|| "unknown".to_owned());
    #[cfg(unix)]
    let size =
        rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| (size.ws_col, size.ws_row));
    #[cfg(not(unix))]
    let size: Option<(u16, u16)> = None;
    let size = size.map_or(String::new(), |(columns, rows)| format!(", {columns} x {rows}"));
    let colours = if variable("NO_COLOR").is_some() { ", no colours (NO_COLOR)" } else { "" };
    findings.push(Finding::fine(AREA, format!("{term}{size}{colours}")));
    let charset = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name));
    let utf8 = charset.as_ref().is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    });
    if cfg!(unix) && !utf8 {
        let now = charset.unwrap_or_else(|| "unset".to_owned());
        findings.push(
            Finding::note(
                AREA,
                format!("the locale is {now}, so that marks and quotes may look wrong"),
            )
            .mend("export LANG=C.UTF-8"),
        );
    }
    findings
}
