//! What an agent holds in memory: all its processes, without the commands that it was told to run.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between one look and the next.
const APART: Duration = Duration::from_millis(25);
/// Programs of the commands in the script, and of what agents wrap around them.
const COMMANDS: [&str; 8] = ["bash", "sh", "dash", "yes", "head", "sleep", "true", "bwrap"];

/// Looks at a process and its descendants again and again.
pub(super) struct Watch {
    stopped: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Watch {
    pub(super) fn start(process: u32) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopped);
        let thread = thread::spawn(move || {
            let mut most = 0;
            // A child between fork and exec looks like its parent: only what two looks in a row saw counts.
            let mut before = 0;
            while !seen.load(Ordering::SeqCst) {
                let now = kilobytes(process);
                most = most.max(now.min(before));
                before = now;
                thread::sleep(APART);
            }
            most
        });
        Self { stopped, thread }
    }

    /// The most megabytes that were seen.
    pub(super) fn stop(self) -> f64 {
        self.stopped.store(true, Ordering::SeqCst);
        let kilobytes = self.thread.join().unwrap_or_default();
        f64::from(u32::try_from(kilobytes).unwrap_or(u32::MAX)) / 1e3
    }
}

/// The memory of a process and its descendants; a page that several of them share counts once (Linux,
/// `proc_pid_smaps(5)`, `Pss`).
fn kilobytes(root: u32) -> u64 {
    let parents = parents();
    let belongs = |mut process: u32| {
        while process != root {
            match parents.get(&process) {
                Some(&parent) if parent != 0 => process = parent,
                Some(_) | None => return false,
            }
        }
        true
    };
    let own = parents.keys().filter(|process| belongs(**process));
    own.filter(|process| !COMMANDS.contains(&name(**process).as_str()))
        .map(|process| share(*process))
        .sum()
}

/// Each process with its parent.
fn parents() -> BTreeMap<u32, u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name before it may hold anything, brackets too.
        let (_, rest) = stat.rsplit_once(')')?;
        Some((process, rest.split_whitespace().nth(1)?.parse().ok()?))
    };
    processes.filter_map(parent).collect()
}

fn name(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default().trim().to_owned()
}

fn share(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_holds_something() {
        assert!(kilobytes(std::process::id()) > 0);
    }
}
