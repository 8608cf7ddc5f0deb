//! Asks a person at the terminal: what would run, why it is asked, which rule would spare the question.

mod answers;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use innerve_builtins::Diff;
use innerve_permission::Resolution;
use innerve_pipeline::{Answer, ApprovalRequest, Approver, Grant, GrantScope};
use innerve_tool::{BoxFuture, CancellationToken};
use tokio::sync::{Mutex, mpsc};

use crate::output::{BOLD, DIM, YELLOW, diff_lines, note, plain};

/// Why nobody can be asked any more.
const GONE: &str = "the terminal was closed";
/// Lines of a shown command at most.
const MAX_COMMAND_LINES: usize = 40;

/// The terminal that a person types at, read by one thread for the whole process.
pub(crate) struct Keyboard {
    terminal: File,
    /// Begun with the first question: what is typed before belongs to whoever reads the terminal next, and a program in the
    /// background that has nothing to ask must not be stopped for reading.
    lines: Mutex<Option<mpsc::UnboundedReceiver<String>>>,
}

/// Asks at the terminal, one question after the other.
pub(crate) struct AtTerminal {
    keyboard: Arc<Keyboard>,
    turn: Mutex<()>,
}

impl Keyboard {
    /// The terminal, if a person sits at it: standard input, or the controlling terminal when standard input is a pipe.
    pub(crate) fn open() -> Option<Arc<Self>> {
        static OPENED: StdMutex<Option<Arc<Keyboard>>> = StdMutex::new(None);
        if !io::stderr().is_terminal() {
            return None;
        }
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.is_none() {
            *opened = Some(Arc::new(Self { terminal: terminal()?, lines: Mutex::new(None) }));
        }
        opened.clone()
    }

    /// The next line; `None` when the terminal is gone.
    pub(crate) async fn line(&self) -> Option<String> {
        let mut lines = self.lines.lock().await;
        if lines.is_none() {
            *lines = Some(read_lines(self.terminal.try_clone().ok()?));
        }
        lines.as_mut()?.recv().await
    }

    /// Forgets what was typed so far: it was not meant as an answer to what is asked next.
    async fn forget(&self) {
        let mut lines = self.lines.lock().await;
        // What nobody has read yet. A terminal that cannot do this still asks.
        #[cfg(unix)]
        let _done =
            rustix::termios::tcflush(&self.terminal, rustix::termios::QueueSelector::IFlush);
        while lines.as_mut().is_some_and(|lines| lines.try_recv().is_ok()) {}
    }
}

#[cfg(unix)]
fn terminal() -> Option<File> {
    use std::os::fd::AsFd as _;
    if io::stdin().is_terminal() {
        io::stdin().as_fd().try_clone_to_owned().ok().map(File::from)
    } else {
        File::open("/dev/tty").ok()
    }
}

#[cfg(not(unix))]
fn terminal() -> Option<File> {
    File::open("CONIN$").ok()
}

fn read_lines(terminal: File) -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in BufReader::new(terminal).lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl AtTerminal {
    pub(crate) fn new(keyboard: Arc<Keyboard>) -> Self {
        Self { keyboard, turn: Mutex::new(()) }
    }

    async fn question(
        &self,
        request: &ApprovalRequest,
        cancellation: &CancellationToken,
    ) -> Answer {
        // Questions of calls that run side by side wait for each other.
        let _turn = tokio::select! {
            turn = self.turn.lock() => turn,
            () = cancellation.cancelled() => return Answer::Interrupted,
        };
        if request.tool == "AskUserQuestion" {
            return answers::ask(self, &request.input, cancellation).await;
        }
        show(request);
        let rules: Vec<String> =
            request.resolution.suggestions.iter().map(|suggestion| suggestion.0.clone()).collect();
        self.keyboard.forget().await;
        loop {
            note(&options(&rules));
            let line = tokio::select! {
                line = self.keyboard.line() => line,
                () = cancellation.cancelled() => return Answer::Interrupted,
            };
            let Some(line) = line else {
                return Answer::Unavailable(GONE.to_owned());
            };
            if let Some(answer) = understand(&line, &rules) {
                return answer;
            }
            note("Please type y, n, or one of the other letters shown.");
        }
    }
}

impl Approver for AtTerminal {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(async move { self.question(&request, &cancellation).await })
    }
}

fn options(rules: &[String]) -> String {
    let mut line = format!("{BOLD}[y]{BOLD:#} yes  {BOLD}[n]{BOLD:#} no");
    if !rules.is_empty() {
        let shown = plain(&rules.join(", "));
        line.push_str(&format!(
            "  {BOLD}[s]{BOLD:#} yes, and {shown} for this session  {BOLD}[a]{BOLD:#} always"
        ));
    }
    line.push_str(&format!("  {DIM}or say what to do instead{DIM:#}"));
    line
}

/// One letter or word answers; a longer text is a no with a comment; a blank line is no answer.
fn understand(line: &str, rules: &[String]) -> Option<Answer> {
    let text = line.trim();
    let grant = |scope| Answer::Allow {
        remember: Some(Grant { scope, rules: rules.to_vec() }),
        edited: None,
    };
    match text.to_lowercase().as_str() {
        "y" | "yes" => Some(Answer::once()),
        "n" | "no" => Some(Answer::Deny { comment: None }),
        "s" | "session" if !rules.is_empty() => Some(grant(GrantScope::Session)),
        "a" | "always" if !rules.is_empty() => Some(grant(GrantScope::Always)),
        short if short.chars().count() < 3 => None,
        _ => Some(Answer::Deny { comment: Some(text.to_owned()) }),
    }
}

fn show(request: &ApprovalRequest) {
    let who =
        request.agent.as_ref().map(|agent| format!(" (sub-agent {agent})")).unwrap_or_default();
    note(&format!("{YELLOW}?{YELLOW:#} {BOLD}{}{BOLD:#}{who} wants to run:", plain(&request.tool)));
    for line in subject(request) {
        note(&format!("    {line}"));
    }
    for line in reasons(&request.resolution) {
        note(&format!("  {DIM}{line}{DIM:#}"));
    }
}

/// What is asked about, in full where it fits.
fn subject(request: &ApprovalRequest) -> Vec<String> {
    if let Some(preview) = &request.preview {
        let before = preview.before.as_deref().unwrap_or_default();
        let mut lines = vec![plain(&preview.path.display().to_string())];
        lines.extend(diff_lines(&Diff::between(before, &preview.after)));
        return lines;
    }
    let text = match request.input.get("command").and_then(serde_json::Value::as_str) {
        Some(command) => plain(command),
        None => plain(&serde_json::to_string_pretty(&request.input).unwrap_or_default()),
    };
    let mut lines: Vec<String> = text.lines().take(MAX_COMMAND_LINES).map(str::to_owned).collect();
    let left = text.lines().count().saturating_sub(MAX_COMMAND_LINES);
    if left > 0 {
        lines.push(format!("{DIM}… {left} more lines{DIM:#}"));
    }
    lines
}

/// Why it is asked: the parts that lack approval, or the one reason.
fn reasons(resolution: &Resolution) -> Vec<String> {
    let open =
        resolution.parts.iter().filter(|part| part.decision != innerve_permission::Decision::Allow);
    let parts: Vec<String> = open
        .map(|part| {
            let (text, message) = (plain(&part.text), plain(&part.reason.message));
            if message.contains(&text) { message } else { format!("{text}: {message}") }
        })
        .collect();
    if parts.len() > 1 { parts } else { vec![plain(&resolution.reason.message)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_was_typed_and_nothing_else() {
        let rules = vec!["Bash(make *)".to_owned()];
        assert_eq!(understand("y", &rules), Some(Answer::once()));
        assert_eq!(understand(" YES ", &rules), Some(Answer::once()));
        assert_eq!(understand("n", &rules), Some(Answer::Deny { comment: None }));
        assert_eq!(understand("", &rules), None);
        assert_eq!(understand("k", &rules), None);
        assert_eq!(understand("a", &[]), None);
        let comment = Some("use make check".to_owned());
        assert_eq!(understand("use make check", &rules), Some(Answer::Deny { comment }));
        let grant = Grant { scope: GrantScope::Always, rules: rules.clone() };
        assert_eq!(
            understand("a", &rules),
            Some(Answer::Allow { remember: Some(grant), edited: None })
        );
    }
}
