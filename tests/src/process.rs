//! Runs the program: arguments, input, output, signals, time and memory.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::model::ModelServer;
use crate::pipe::Collected;
use crate::terminal::Terminal;
use crate::world::World;
use crate::{LIFETIME, PATIENCE, program};

/// The program before it starts.
#[derive(Clone, Debug)]
pub struct Innerve {
    arguments: Vec<OsString>,
    environment: Vec<(String, OsString)>,
    cwd: PathBuf,
    input: Vec<u8>,
    keeps_input_open: bool,
    reads_at_most: Option<u64>,
}

impl Innerve {
    pub(crate) fn new(world: &World, arguments: &[&str]) -> Self {
        let environment = world.environment();
        Self {
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: environment
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            cwd: world.work(""),
            input: Vec::new(),
            keeps_input_open: false,
            reads_at_most: None,
        }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<const N: usize>(self, arguments: [&str; N]) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// A variable of its environment.
    #[must_use]
    pub fn env(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.environment.retain(|(present, _)| present != key);
        self.environment.push((key.to_owned(), value.into()));
        self
    }

    /// Starts in another directory.
    #[must_use]
    pub fn within(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// Is given this on standard input, which then ends.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Standard input stays open after that.
    #[must_use]
    pub fn with_open_input(mut self) -> Self {
        self.keeps_input_open = true;
        self
    }

    /// Whoever reads standard output goes away after so many bytes.
    #[must_use]
    pub fn read_at_most(mut self, bytes: u64) -> Self {
        self.reads_at_most = Some(bytes);
        self
    }

    /// Asks this model.
    #[must_use]
    pub fn model(self, model: &ModelServer) -> Self {
        let mut innerve = self;
        for (key, value) in model.environment() {
            innerve = innerve.env(key, value);
        }
        innerve
    }

    /// Has a key, and a server that is not there: for runs that must end before they ask.
    #[must_use]
    pub fn with_a_key_only(self) -> Self {
        self.env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    }

    fn command(&self) -> Command {
        self.set_up(Command::new(program()))
    }

    fn set_up(&self, mut command: Command) -> Command {
        command.args(&self.arguments).env_clear().envs(self.environment.iter().cloned());
        command.current_dir(&self.cwd);
        command
    }

    /// Starts it without a terminal.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(self) -> Running {
        let command = self.command();
        self.start_command(command)
    }

    fn start_command(self, mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdout = Collected::from(child.stdout.take().expect("a pipe"), self.reads_at_most);
        let stderr = Collected::from(child.stderr.take().expect("a pipe"), None);
        let mut stdin = child.stdin.take().expect("a pipe");
        let (sender, kept) = std::sync::mpsc::channel();
        thread::spawn(move || {
            // A program that does not want its input is no failure.
            let _ignored = stdin.write_all(&self.input);
            if self.keeps_input_open {
                let _gone = sender.send(stdin);
            }
        });
        Running { child, stdout, stderr, input: kept, started: Instant::now() }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().end()
    }

    /// Starts it with a person at a terminal.
    pub fn at_terminal(self) -> Terminal {
        Terminal::open(self.command())
    }

    /// Runs a script of bash, in which `innerve` is the program with nothing but its own arguments.
    pub fn by_shell(mut self, script: &str) -> Ended {
        let bin = self.cwd.join("../bin");
        fs::create_dir_all(&bin).expect("the world is writable");
        let link = bin.join("innerve");
        if fs::symlink_metadata(&link).is_err() {
            std::os::unix::fs::symlink(program(), &link).expect("the world is writable");
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut with = OsString::from(bin);
        with.push(":");
        with.push(path);
        self = self.env("PATH", with);
        self.arguments = vec!["-c".into(), script.into()];
        let command = self.set_up(Command::new("bash"));
        self.start_command(command).end()
    }

    /// Starts it at a terminal of this size.
    pub fn at_terminal_of(self, columns: u16, rows: u16) -> Terminal {
        Terminal::of_size(self.command(), columns, rows)
    }

    /// Starts it at a terminal by a shell script, in which `innerve` stands for the program with its arguments.
    pub fn at_terminal_by(self, script: &str) -> Terminal {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script.replace("innerve", "\"$0\" \"$@\"")).arg(program());
        Terminal::open(self.set_up(shell))
    }
}

/// The program while it runs; killed when it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Collected,
    stderr: Collected,
    input: std::sync::mpsc::Receiver<ChildStdin>,
    started: Instant,
}

impl Running {
    /// Writes to standard input, which must have been kept open.
    pub fn say(&mut self, text: &str) -> ChildStdin {
        let mut stdin = self.input.recv_timeout(PATIENCE).expect("standard input is open");
        stdin.write_all(text.as_bytes()).expect("the program reads");
        stdin
    }

    /// Waits until the lines of JSON on standard output are as wanted.
    ///
    /// # Panics
    /// When they are not in time.
    #[track_caller]
    pub fn wait_for_lines(&self, what: &str, wanted: impl Fn(&[Value]) -> bool) {
        let found = self.stdout.wait(|text| wanted(&json_lines(text)).then_some(()));
        assert!(found.is_some(), "{what} did not come\n{self}");
    }

    /// Waits for a line of JSON on standard output.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn wait_for_line(&self, what: &str, wanted: impl Fn(&Value) -> bool) {
        self.wait_for_lines(what, |lines| lines.iter().any(&wanted));
    }

    /// Waits for text on standard error.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn wait_for_words(&self, words: &str) {
        let found = self.stderr.wait(|text| text.contains(words).then_some(()));
        assert!(found.is_some(), "`{words}` did not come on standard error\n{self}");
    }

    /// Standard output so far, as lines of JSON.
    pub fn lines(&self) -> Vec<Value> {
        json_lines(&self.stdout.text())
    }

    /// Sends a signal to the program alone.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a number");
        kill_process(id, signal).expect("the program runs");
    }

    /// Kills it by `kill -9`, if it still runs; says whether it did.
    pub fn kill(mut self) -> bool {
        let ran = self.child.try_wait().expect("a child").is_none();
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
        ran
    }

    /// The most memory that the program itself has held so far, in bytes (`VmHWM` of Linux).
    pub fn peak_memory(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it lives longer than [`LIFETIME`]; it is killed then.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let mut peak = 0;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            peak = peak.max(self.peak_memory());
            if self.started.elapsed() > LIFETIME {
                let _dead = self.child.kill();
                panic!("the program did not end\n{self}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        // A child that holds a pipe open is found by the tests that look for it; here it must not hang the test.
        self.stdout.wait_for_end();
        self.stderr.wait_for_end();
        Ended {
            status,
            stdout: self.stdout.bytes(),
            stderr: self.stderr.text(),
            peak_memory: peak,
            took: self.started.elapsed(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, or it must.
        let _dead = self.child.kill();
        let _status = self.child.wait();
    }
}

impl fmt::Display for Running {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "── stdout\n{}── stderr\n{}", self.stdout.text(), self.stderr.text())
    }
}

/// How the program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
    /// The most memory that the program itself held when it was last looked at, in bytes.
    pub peak_memory: u64,
    /// From start to end.
    pub took: Duration,
}

impl Ended {
    /// The exit code; -1 when a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// It ended with this exit code.
    ///
    /// # Panics
    /// When it did not, or wrote of a panic.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(
            self.status.code(),
            Some(code),
            "exit code, signal {:?}\n{self}",
            self.status.signal()
        );
        assert!(!self.stderr.contains("panicked at"), "a panic\n{self}");
        self
    }

    /// Standard output as text.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn stderr(&self) -> &str {
        &self.stderr
    }

    /// Standard error names all of these.
    #[track_caller]
    pub fn complains<const N: usize>(&self, words: [&str; N]) -> &Self {
        for word in words {
            assert!(self.stderr.contains(word), "standard error does not say `{word}`\n{self}");
        }
        self
    }

    /// Standard output, which is one line of JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let mut lines = self.lines();
        assert_eq!(lines.len(), 1, "one line of JSON is expected\n{self}");
        lines.remove(0)
    }

    /// Standard output, each line of which is JSON.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.stdout).expect("UTF-8");
        let parse = |line| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("no JSON: {error}: {line}\n{self}"))
        };
        text.lines().map(parse).collect()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| text.chars().take(20_000).collect::<String>();
        write!(
            formatter,
            "── stdout\n{}\n── stderr\n{}",
            short(&self.stdout()),
            short(&self.stderr)
        )
    }
}

/// The lines that are whole; the last one may be half written.
fn json_lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
