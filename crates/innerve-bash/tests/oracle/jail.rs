//! A directory in which bash finds nothing but stubs, and what is seen of a run in it.
//!
//! Nothing here depends on namespaces or privileges, so the texts themselves must be harmless: [`crate::harmless`] lets none
//! through that could name a file outside of the jail, and the only programs on `PATH` are stubs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::harmless::PROGRAMS;

/// Longest run.
const PATIENCE: Duration = Duration::from_secs(10);

/// Builtins without effect on the shell: they are disabled, so that a stub is called and writes down the words.
const DISABLED: &[&str] = &[
    ":", "[", "echo", "false", "hash", "jobs", "kill", "printf", "pwd", "test", "times", "true",
    "type", "ulimit", "umask",
];

/// Programs that start others: behind their stubs are the real ones.
const WRAPPERS: &[&str] =
    &["bash", "env", "find", "nice", "nohup", "sh", "stdbuf", "timeout", "xargs"];

/// Files that are there before each run.
const FILES: &[(&str, &str)] = &[
    ("work/f1", "one\n"),
    ("work/f2", "two\n"),
    ("work/in.txt", "1\n2\n3\n"),
    ("work/d/g1", "g\n"),
];

/// How the stubs of a run exit and what they print.
pub(crate) const PLANS: &[&str] =
    &["succeed name", "fail words", "odd words", "even nothing", "7 name", "succeed nothing"];

/// Marks of texts in which something depends on how programs exit or what they print.
const BRANCHES: &[&str] = &[
    "&&", "||", "\\\n", "! ", "if", "while", "until", "case", "xargs", "find", "$(", "`", "sh -c",
];

/// What a run showed.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The words of every program, in the order in which they were started, without repetitions.
    pub(crate) executed: Vec<Vec<String>>,
    /// Files made, changed or removed, from the working directory; those of the home directory behind `~/`.
    pub(crate) written: BTreeSet<String>,
}

/// The place of the runs.
#[derive(Debug)]
pub(crate) struct Jail {
    root: TempDir,
    bash: PathBuf,
    untouched: BTreeMap<String, Stamp>,
}

/// What tells whether a file was touched.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    is_directory: bool,
    length: u64,
    modified: (i64, i64),
}

impl Jail {
    /// Makes a jail; `bash` is the one to be asked.
    pub(crate) fn new(bash: &Path) -> io::Result<Self> {
        // Beside this program, so that the stubs can be links to it.
        let root =
            tempfile::Builder::new().prefix("jail").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let path = root.path();
        for directory in ["bin", "real", "work", "home"] {
            fs::create_dir(path.join(directory))?;
        }
        let stub = path.join("bin/.stub");
        let program = std::env::current_exe()?;
        if fs::hard_link(&program, &stub).is_err() {
            fs::copy(&program, &stub)?;
        }
        let numbered = (1..=40).map(|number| format!("c{number}"));
        let named = [PROGRAMS, DISABLED, WRAPPERS].concat().into_iter().map(str::to_owned);
        for name in numbered.chain(named) {
            fs::hard_link(&stub, path.join("bin").join(name))?;
        }
        for name in WRAPPERS {
            let real = if *name == "bash" { Some(bash.to_owned()) } else { found_on_path(name) };
            if let Some(real) = real {
                symlink(real, path.join("real").join(name))?;
            }
        }
        fs::write(path.join("rc"), start_up_file(path))?;
        fs::write(path.join("input"), "1\nc39 r\n2\n1\n2\n")?;
        let mut jail = Self { root, bash: bash.to_owned(), untouched: BTreeMap::new() };
        jail.restore()?;
        Ok(jail)
    }

    /// Runs `text` under one plan.
    pub(crate) fn run(&mut self, text: &str, plan: &str) -> io::Result<Observed> {
        let root = self.root.path();
        fs::write(root.join("plan"), plan)?;
        for name in ["log", "count"] {
            File::create(root.join(name))?;
        }
        let mut child = Command::new(&self.bash)
            .arg0("bash")
            .args(["-c", "--", text])
            .env_clear()
            .env("PATH", root.join("bin"))
            .env("HOME", root.join("home"))
            .env("BASH_ENV", root.join("rc"))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(root.join("work"))
            .stdin(File::open(root.join("input"))?)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        // What still runs in the background holds the stream open.
        if let Some(mut stderr) = child.stderr.take() {
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || {
                let mut text = Vec::new();
                let _read = stderr.read_to_end(&mut text);
                let _sent = sender.send(());
            });
            let _ended = receiver.recv_timeout(PATIENCE);
        }
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // Mostly there is nothing left to kill.
            let _killed = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
        let executed = read_log(&fs::read(root.join("log"))?);
        let written = self.written()?;
        if !written.is_empty() {
            self.restore()?;
        }
        Ok(Observed { executed, written })
    }

    /// Runs `text` under one plan after the other, as long as they show something new.
    pub(crate) fn observe(&mut self, text: &str) -> io::Result<Observed> {
        let branches = BRANCHES.iter().any(|mark| text.contains(mark));
        let mut all = Observed::default();
        for (index, plan) in PLANS.iter().take(if branches { PLANS.len() } else { 1 }).enumerate() {
            let seen = self.run(text, plan)?;
            let before = (all.executed.len(), all.written.len());
            for words in seen.executed {
                if !all.executed.contains(&words) {
                    all.executed.push(words);
                }
            }
            all.written.extend(seen.written);
            // All succeeded, all failed, some did: what showed nothing new then hardly will.
            if index >= 2 && before == (all.executed.len(), all.written.len()) {
                break;
            }
        }
        Ok(all)
    }

    /// The files that are not as they were.
    fn written(&self) -> io::Result<BTreeSet<String>> {
        let now = stamps(self.root.path())?;
        let changed = now.iter().filter(|(path, stamp)| self.untouched.get(*path) != Some(stamp));
        let gone = self.untouched.keys().filter(|path| !now.contains_key(*path));
        Ok(changed.map(|(path, _)| path).chain(gone).cloned().collect())
    }

    /// Makes the files that runs may touch as they were.
    fn restore(&mut self) -> io::Result<()> {
        let root = self.root.path();
        for directory in ["work", "home"] {
            fs::remove_dir_all(root.join(directory))?;
            fs::create_dir(root.join(directory))?;
        }
        fs::create_dir_all(root.join("work/d/e"))?;
        for (path, text) in FILES {
            fs::write(root.join(path), text)?;
        }
        self.untouched = stamps(root)?;
        Ok(())
    }
}

fn start_up_file(root: &Path) -> String {
    let stub = root.join("bin/.stub");
    // A bracket is a pattern, so the names are quoted.
    let disabled = DISABLED.join("' '");
    format!(
        "ulimit -t 1 -f 2000\nFUNCNEST=5\nenable -n '{disabled}'\n\
         command_not_found_handle() {{ exec -a \"$1\" '{}' \"${{@:2}}\"; }}\n",
        stub.display()
    )
}

/// What the directories that runs may write to hold.
fn stamps(root: &Path) -> io::Result<BTreeMap<String, Stamp>> {
    let mut found = BTreeMap::new();
    for (directory, shown) in [("work", ""), ("home", "~/")] {
        collect(&root.join(directory), shown, &mut found)?;
    }
    Ok(found)
}

fn collect(directory: &Path, shown: &str, found: &mut BTreeMap<String, Stamp>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let path = format!("{shown}{}", entry.file_name().to_string_lossy());
        let is_directory = metadata.is_dir();
        let stamp = if is_directory {
            // Its entries are looked at themselves.
            Stamp { is_directory, length: 0, modified: (0, 0) }
        } else {
            let modified = (metadata.mtime(), metadata.mtime_nsec());
            Stamp { is_directory, length: metadata.len(), modified }
        };
        if is_directory {
            collect(&entry.path(), &format!("{path}/"), found)?;
        }
        found.insert(path, stamp);
    }
    Ok(())
}

fn read_log(log: &[u8]) -> Vec<Vec<String>> {
    let mut fields = log.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut records: Vec<Vec<String>> = Vec::new();
    while let Some(count) = fields.next().and_then(|field| field.parse().ok()) {
        let words = fields.by_ref().take(count).map(std::borrow::Cow::into_owned).collect();
        if !records.contains(&words) {
            records.push(words);
        }
    }
    records
}

fn found_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// The bash to ask, or why there is none.
pub(crate) fn bash() -> Result<PathBuf, String> {
    let bash = found_on_path("bash").ok_or("there is no bash on PATH")?;
    let output = Command::new(&bash)
        .args(["-c", "echo $((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))"])
        .output()
        .map_err(|error| format!("{} does not run: {error}", bash.display()))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0);
    if version < 502 {
        // Before 5.2 the end of `$(…)` was found by counting quotes and parentheses.
        return Err(format!("{} is older than 5.2", bash.display()));
    }
    Ok(bash)
}
