//! A person at a pseudo-terminal: sees what the program shows, types, interrupts.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use expectrl::process::Process as _;
pub use expectrl::process::unix::Signal;
use expectrl::process::unix::{UnixProcess, WaitStatus};
use serde_json::json;

use crate::{LIFETIME, PATIENCE};

/// A terminal with the program in it; the program is killed when the terminal is dropped.
#[derive(Debug)]
pub struct Terminal {
    process: UnixProcess,
    keyboard: File,
    screen: Arc<(Mutex<Screen>, Condvar)>,
    /// How much of the screen earlier waits have seen.
    seen: usize,
    ended: bool,
}

#[derive(Debug, Default)]
struct Screen {
    bytes: Vec<u8>,
    /// What came when, and how large the terminal was made when, each by the number of bytes that were there.
    events: Vec<(Instant, usize, Event)>,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Output,
    Size { columns: u16, rows: u16 },
}

impl Terminal {
    /// Wide enough that no line of a test is wrapped by the terminal.
    pub(crate) fn open(command: Command) -> Self {
        Self::of_size(command, 200, 60)
    }

    pub(crate) fn of_size(command: Command, columns: u16, rows: u16) -> Self {
        let mut process =
            UnixProcess::spawn_command(command).expect("the program starts at a terminal");
        process.set_window_size(columns, rows).expect("a terminal has a size");
        let mut display = process.get_raw_handle().expect("the terminal's other end");
        let keyboard = display.try_clone().expect("the terminal's other end");
        let screen: Arc<(Mutex<Screen>, Condvar)> = Arc::default();
        let size = (Instant::now(), 0, Event::Size { columns, rows });
        screen.0.lock().unwrap_or_else(PoisonError::into_inner).events.push(size);
        let shown = Arc::clone(&screen);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                // Linux answers with an error when the last program has left the terminal.
                let count = display.read(&mut buffer).unwrap_or(0);
                let mut screen = shown.0.lock().unwrap_or_else(PoisonError::into_inner);
                screen.bytes.extend_from_slice(&buffer[..count]);
                let length = screen.bytes.len();
                screen.events.push((Instant::now(), length, Event::Output));
                screen.ended = count == 0;
                shown.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self { process, keyboard, screen, seen: 0, ended: false }
    }

    /// Makes the terminal smaller or larger, as a person does who pulls at its window.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn resizes(&mut self, columns: u16, rows: u16) -> &mut Self {
        let mut screen = self.screen.0.lock().unwrap_or_else(PoisonError::into_inner);
        let length = screen.bytes.len();
        screen.events.push((Instant::now(), length, Event::Size { columns, rows }));
        drop(screen);
        self.process.set_window_size(columns, rows).expect("a terminal has a size");
        self
    }

    /// Sends the program a signal.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signals(&mut self, signal: Signal) -> &mut Self {
        self.process.kill(signal).expect("a running program");
        self
    }

    /// Types text.
    pub fn types(&mut self, text: &str) -> &mut Self {
        self.keyboard.write_all(text.as_bytes()).expect("the terminal is open");
        self
    }

    /// Types a line.
    pub fn enters(&mut self, line: &str) -> &mut Self {
        self.types(&format!("{line}\r"))
    }

    /// Presses Ctrl-C.
    pub fn interrupts(&mut self) -> &mut Self {
        self.types("\u{3}")
    }

    /// Waits until the program shows this, after what was waited for before.
    ///
    /// # Panics
    /// When it does not in time.
    #[track_caller]
    pub fn sees(&mut self, text: &str) -> &mut Self {
        let deadline = Instant::now() + PATIENCE;
        let mut screen = self.screen.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let shown = plain(&screen.bytes);
            let new = shown.get(self.seen..).unwrap_or_default();
            if let Some(at) = new.find(text) {
                self.seen += at + text.len();
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !screen.ended && !left.is_zero(),
                "`{text}` was not shown\n── terminal\n{shown}"
            );
            let waited = self.screen.1.wait_timeout(screen, left);
            screen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(screen);
        self
    }

    /// Presses a key by its bytes, such as `"\u{1b}[Z"` for Shift+Tab, and lets it be the only one for a moment: an escape
    /// byte with other keys right behind it would be another key.
    pub fn presses(&mut self, key: &str) -> &mut Self {
        self.types(key);
        thread::sleep(Duration::from_millis(150));
        self
    }

    /// Waits until the screen, as a person would see it now, is like this.
    ///
    /// # Panics
    /// When it is not in time.
    #[track_caller]
    pub fn shows(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let view = self.view();
            if wanted(&view) {
                return view;
            }
            assert!(
                Instant::now() < deadline,
                "the screen does not show {what}\n── screen\n{view}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the chat has nothing to do and its prompt is empty.
    ///
    /// # Panics
    /// When that is not so in time.
    #[track_caller]
    pub fn rests(&self) -> String {
        self.shows("a prompt at rest", is_at_rest)
    }

    /// Leaves the chat, by Ctrl-D in an empty prompt.
    #[track_caller]
    pub fn leaves(&mut self) {
        self.types("\u{4}");
        assert_eq!(self.ends(), 0, "{self}");
    }

    /// Waits until nothing has been written for a while, and gives all that was.
    pub fn draws_no_more(&self) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        let mut raw = self.raw();
        loop {
            thread::sleep(Duration::from_millis(200));
            let now = self.raw();
            if now.len() == raw.len() {
                return raw;
            }
            assert!(Instant::now() < deadline, "it never stops drawing: {self}");
            raw = now;
        }
    }

    /// The screen as a person sees it now: what a terminal makes of all bytes so far, without blank lines at its end.
    pub fn view(&self) -> String {
        let terminal = self.emulated(0);
        let (_, columns) = terminal.screen().size();
        let view = terminal.screen().rows(0, columns).map(|row| row.trim_end().to_owned());
        view.collect::<Vec<String>>().join("\n").trim_end().to_owned()
    }

    /// The colour of the first character of the first line that begins so, blanks aside, by its number among the eight
    /// (ECMA-48); `None` for a line in the terminal's own colour, or for none.
    pub fn colour_of(&self, beginning: &str) -> Option<u8> {
        let terminal = self.emulated(0);
        let (_, columns) = terminal.screen().size();
        let mut rows = terminal.screen().rows(0, columns);
        let row = rows.position(|row| row.trim_start().starts_with(beginning))?;
        let text = terminal.screen().rows(0, columns).nth(row)?;
        let blanks = text.len() - text.trim_start().len();
        let cell = terminal.screen().cell(u16::try_from(row).ok()?, u16::try_from(blanks).ok()?)?;
        match cell.fgcolor() {
            vt100::Color::Idx(colour) => Some(colour),
            vt100::Color::Default | vt100::Color::Rgb(..) => None,
        }
    }

    /// Where the cursor stands: row and column, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.emulated(0).screen().cursor_position()
    }

    /// What scrolling back would show above the screen, the oldest line first, without blank lines at its end.
    pub fn scrolled_away(&self) -> String {
        const MAX: usize = 10_000;
        let mut terminal = self.emulated(MAX);
        let (height, columns) = terminal.screen().size();
        terminal.screen_mut().set_scrollback(MAX);
        let mut lines = Vec::new();
        let mut left = terminal.screen().scrollback();
        while left > 0 {
            terminal.screen_mut().set_scrollback(left);
            let rows = terminal.screen().rows(0, columns).take(left.min(usize::from(height)));
            lines.extend(rows.map(|row| row.trim_end().to_owned()));
            left = left.saturating_sub(usize::from(height));
        }
        lines.join("\n").trim_end().to_owned()
    }

    fn emulated(&self, scrollback: usize) -> vt100::Parser {
        let screen = self.screen.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut terminal = vt100::Parser::new(24, 80, scrollback);
        let mut start = 0;
        for (_, end, event) in &screen.events {
            terminal.process(screen.bytes.get(start..*end).unwrap_or_default());
            start = *end;
            if let Event::Size { columns, rows } = event {
                terminal.screen_mut().set_size(*rows, *columns);
            }
        }
        terminal
    }

    /// The recording of all that was shown, for players of terminal sessions (asciinema, "asciicast v2").
    pub fn cast(&self) -> String {
        let screen = self.screen.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        let mut began = None;
        let mut start = 0;
        for (at, end, event) in &screen.events {
            let began = *began.get_or_insert(*at);
            let time = at.duration_since(began).as_secs_f64();
            match event {
                Event::Size { columns, rows } if lines.is_empty() => {
                    let head = json!({ "version": 2, "width": columns, "height": rows });
                    lines.push(head.to_string());
                }
                Event::Size { columns, rows } => {
                    lines.push(json!([time, "r", format!("{columns}x{rows}")]).to_string());
                }
                Event::Output => {
                    let new = screen.bytes.get(start..*end).unwrap_or_default();
                    // A character that comes in two pieces is played when it is whole.
                    let whole = match std::str::from_utf8(new) {
                        Err(error) if error.error_len().is_none() => error.valid_up_to(),
                        Ok(_) | Err(_) => new.len(),
                    };
                    let text = String::from_utf8_lossy(new.get(..whole).unwrap_or_default());
                    lines.push(json!([time, "o", text]).to_string());
                    start += whole;
                }
            }
        }
        lines.join("\n") + "\n"
    }

    /// All that was shown so far, without colours.
    pub fn shown(&self) -> String {
        plain(&self.raw())
    }

    /// All that was shown so far, byte for byte.
    pub fn raw(&self) -> Vec<u8> {
        self.screen.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.clone()
    }

    /// Waits for the program's end and gives its exit code.
    ///
    /// # Panics
    /// When it does not end in time, or by a signal.
    #[track_caller]
    pub fn ends(&mut self) -> i32 {
        let deadline = Instant::now() + LIFETIME;
        loop {
            match self.process.status().expect("a child") {
                WaitStatus::Exited(_, code) => {
                    self.ended = true;
                    assert!(!self.shown().contains("panicked at"), "a panic\n{self}");
                    return code;
                }
                WaitStatus::StillAlive => {}
                status => {
                    self.ended = true;
                    panic!("the program ended by {status:?}\n{self}");
                }
            }
            assert!(Instant::now() < deadline, "the program did not end\n{self}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl fmt::Display for Terminal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "── terminal\n{}", self.shown())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended by itself.
            let _dead = self.process.kill(Signal::SIGKILL);
            let _status = self.process.wait();
        }
    }
}

/// Whether a screen shows the chat with nothing to do and an empty prompt.
pub fn is_at_rest(view: &str) -> bool {
    let mut lines = view.lines().rev();
    lines.next().is_some_and(|foot| foot.contains('·'))
        && lines.next().is_some_and(|line| line.trim_end() == ">")
        && !["Esc stops", "stopping", "[y] yes"].iter().any(|busy| view.contains(busy))
}

/// The text without carriage returns and without what colours it (ECMA-48, "control sequences").
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => {}
            '\u{1b}' => {
                if letters.next() == Some('[') {
                    let _last = letters.find(|letter| ('@'..='~').contains(letter));
                }
            }
            letter => out.push(letter),
        }
    }
    out
}
