//! The program behind every name in the jail: writes down its words and exits as planned.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, kill_current_process_group};

/// After this many calls chance decides, so that loops come to an end.
const PATIENCE: u64 = 20;

/// After this many calls the run is ended: such a loop goes on for ever.
const ENDLESS: u64 = 100;

/// Does the stub's work, if this process was started as one.
pub(crate) fn answer() -> Option<ExitCode> {
    let program = env::current_exe().ok()?;
    let root = program.parent().filter(|directory| directory.ends_with("bin"))?.parent()?;
    let plan = fs::read_to_string(root.join("plan")).ok()?;
    write_down(root);
    let name = program.file_name()?;
    let real = root.join("real").join(name);
    if real.exists() {
        // A wrapper: what it starts is to be seen as well.
        let mut words = env::args_os();
        let mut command = Command::new(real);
        if let Some(zeroth) = words.next() {
            command.arg0(zeroth);
        }
        let error = command.args(words).exec();
        eprintln!("{}: {error}", name.display());
        return Some(ExitCode::from(126));
    }
    let calls = count(root);
    if calls > ENDLESS {
        let _ended = kill_current_process_group(Signal::KILL);
    }
    let mut plan = plan.split(' ');
    let (exit, output) = (plan.next().unwrap_or_default(), plan.next().unwrap_or_default());
    let text: &[u8] = match output {
        "name" => b"c40\n",
        "words" => b"1 z\n2\n",
        _ => b"",
    };
    // Nobody may be listening.
    let _written = std::io::stdout().write_all(text);
    let chance = |seed: u64| (seed ^ calls).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1;
    let fails = match exit {
        _ if calls > PATIENCE => chance(0),
        "succeed" => false,
        "fail" => true,
        "even" => calls.is_multiple_of(2),
        "odd" => !calls.is_multiple_of(2),
        seed => chance(seed.parse().unwrap_or_default()),
    };
    Some(ExitCode::from(u8::from(fails)))
}

/// Appends the words to the log in one write: their number, then each, with NUL after them.
fn write_down(root: &Path) {
    let words: Vec<_> = env::args_os().collect();
    let mut record = format!("{}\0", words.len()).into_bytes();
    for word in words {
        record.extend_from_slice(word.as_bytes());
        record.push(0);
    }
    append(root.join("log").as_path(), &record);
}

/// How many stubs were called in this run, with this one.
fn count(root: &Path) -> u64 {
    append(root.join("count").as_path(), b".")
}

fn append(path: &Path, bytes: &[u8]) -> u64 {
    let written = OpenOptions::new().append(true).open(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.metadata()
    });
    written.map_or(0, |metadata| metadata.len())
}
