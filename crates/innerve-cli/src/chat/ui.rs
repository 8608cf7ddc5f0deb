//! The chat on the screen: keys, events of the run, questions and notices, one after the other.

mod asked;
mod keys;
mod view;
mod work;

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use innerve_agent::{AgentEvent, Run, RunSummary, TerminalReason};
use innerve_protocol::{ContentBlock, ToolUseId};
use tokio::sync::mpsc::UnboundedReceiver;

use super::actions::{NO_CONVERSATION, Next};
use super::asking::Asked;
use super::commands::{self, Typed};
use super::editor::Editor;
use super::history::History;
use super::input::{self, Input};
use super::markdown::Markdown;
use super::pager::Pager;
use super::results::Results;
use super::screen::Screen;
use super::talk::Talk;
use crate::exit::{Exit, Failure};
use crate::interrupts::{Continued, Interrupts};
use crate::output::{BOLD, DIM, Diverted, TextEvents, YELLOW, complain, plain, tell_end, warn};
use asked::Open;
pub(super) use view::short;
use work::Work;

/// The shortest time between two drawings.
const FRAME: Duration = Duration::from_millis(30);
/// How long tmux keeps a further change of its size to itself (250 ms), and a little more. What is drawn meanwhile is drawn
/// for another size, and stays in the scrollback.
const LATE: Duration = Duration::from_millis(300);
/// How often the time of a run is drawn, and withdrawn questions are looked for.
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two looks at the settings files.
const TICKS_PER_LOOK: u32 = 4;
/// Lines of a sent text that are shown again, and characters of each.
const MAX_ECHO: (usize, usize) = (20, 1_000);
/// How long a run may take to end in good order when the chat ends.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The chat.
pub(super) struct Ui {
    pub(super) talk: Talk,
    screen: Screen,
    editor: Editor,
    history: History,
    markdown: Markdown,
    texts: TextEvents,
    run: Option<Work>,
    /// Lines that were not drawn yet.
    above: Vec<String>,
    /// What Tab found.
    choices: Vec<String>,
    hint: &'static str,
    /// What Ctrl-O shows in full.
    results: Results,
    /// The page that covers the conversation, and the place of the result that it shows, if it shows one.
    page: Option<(Pager, Option<usize>)>,
    waiting: VecDeque<Asked>,
    open: Option<Open>,
    /// When a key was pressed last.
    typed: Instant,
    /// The calls that a person said no to.
    denied: Vec<ToolUseId>,
    questions: UnboundedReceiver<Asked>,
    notices: UnboundedReceiver<String>,
    input: UnboundedReceiver<Input>,
    interrupts: Interrupts,
    continued: Continued,
    /// Given back when the chat ends.
    diverted: Diverted,
}

/// Whether the chat goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    End,
    /// Somebody else ended it, by a signal.
    Killed,
}

impl Ui {
    /// Takes the terminal.
    pub(super) fn open(talk: Talk, questions: UnboundedReceiver<Asked>) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| Failure::new(format!("the terminal cannot be used: {error}"));
        let interrupts = Interrupts::listen()?;
        let continued = Continued::listen()?;
        let history = History::in_folder(&talk.workplace.state);
        let editor = Editor::with_history(history.load());
        let screen = Screen::open().map_err(failed)?;
        let (diverted, notices) = Diverted::begin();
        let hello = format!(
            "{BOLD}innerve{BOLD:#} {DIM}{}; /help lists commands and keys{DIM:#}",
            plain(talk.model())
        );
        Ok(Self {
            talk,
            screen,
            editor,
            history,
            markdown: Markdown::default(),
            texts: TextEvents::new(),
            run: None,
            above: vec![hello, String::new()],
            choices: Vec::new(),
            hint: "",
            results: Results::default(),
            page: None,
            waiting: VecDeque::new(),
            open: None,
            typed: Instant::now(),
            denied: Vec::new(),
            questions,
            notices,
            input: input::read(),
            interrupts,
            continued,
            diverted,
        })
    }

    /// Talks until a person ends it, and gives the terminal back.
    pub(super) async fn run(mut self) -> Result<Exit, Failure> {
        let ended = self.work().await;
        if let Some(mut work) = self.run.take() {
            work.run.cancel();
            let end = async { while work.run.next().await.is_some() {} };
            // Its tools are ended with the session in any case.
            let _late = tokio::time::timeout(LAST_WAIT, end).await;
        }
        let closed = self.screen.close();
        let id = self.talk.env().map(|env| env.session_id.to_string());
        drop(self.diverted);
        let said = self.talk.has_said();
        self.talk.end().await;
        let flow = ended.and_then(|flow| closed.map(|()| flow));
        let flow = flow.map_err(|error| Failure::new(format!("the terminal failed: {error}")))?;
        if let Some(id) = id.filter(|_| said) {
            crate::output::note(&format!("{DIM}to go on with it: innerve --resume {id}{DIM:#}"));
        }
        Ok(if flow == Flow::Killed { Exit::Interrupted } else { Exit::Success })
    }

    async fn work(&mut self) -> io::Result<Flow> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut count = 0_u32;
        let mut drawn = Instant::now();
        let is_late = std::env::var_os("TMUX").is_some();
        self.draw()?;
        let mut is_dirty = false;
        loop {
            let flow = tokio::select! {
                biased;
                () = tokio::time::sleep_until((drawn + FRAME).into()), if is_dirty => {
                    self.draw()?;
                    drawn = Instant::now();
                    is_dirty = false;
                    continue;
                }
                () = self.interrupts.next() => Flow::Killed,
                () = self.continued.next() => {
                    self.screen.take()?;
                    Flow::On
                }
                event = self.input.recv() => match event {
                    Some(Input::Event(event)) => {
                        if is_late && matches!(event, Event::Resize(..)) {
                            drawn = Instant::now() + LATE;
                        }
                        self.hear(event).await?
                    }
                    Some(Input::Unread) => {
                        input::wake();
                        continue;
                    }
                    None => Flow::End,
                },
                event = next(&mut self.run) => {
                    self.show(event).await;
                    Flow::On
                }
                Some(asked) = self.questions.recv() => {
                    self.waiting.push_back(asked);
                    Flow::On
                }
                Some(line) = self.notices.recv() => {
                    self.above.push(line);
                    Flow::On
                }
                _ = ticks.tick() => {
                    count = count.wrapping_add(1);
                    if count.is_multiple_of(TICKS_PER_LOOK) {
                        self.talk.look().await;
                    }
                    self.take_notices();
                    if self.run.is_none() && self.above.is_empty() && self.open.is_none() {
                        continue;
                    }
                    Flow::On
                }
            };
            self.ask_next();
            self.take_notices();
            if flow != Flow::On {
                self.page = None;
                return self.draw().map(|()| flow);
            }
            is_dirty = true;
        }
    }

    async fn hear(&mut self, event: Event) -> io::Result<Flow> {
        if !matches!(event, Event::Resize(..)) {
            self.typed = Instant::now();
        }
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => return self.key(key).await,
            Event::Paste(text) if self.page.is_none() => {
                self.choices.clear();
                self.hint = "";
                self.editor.paste(&text);
            }
            Event::Resize(..)
            | Event::Key(_)
            | Event::Paste(_)
            | Event::Mouse(_)
            | Event::FocusGained
            | Event::FocusLost => {}
        }
        Ok(Flow::On)
    }

    /// A text was sent: an answer, a command, or words for the model.
    async fn sent(&mut self, text: String) -> io::Result<Flow> {
        self.choices.clear();
        if self.open.is_some() {
            self.answer(&text);
            return Ok(Flow::On);
        }
        if text.trim().is_empty() {
            return Ok(Flow::On);
        }
        self.history.add(&text);
        self.editor.remember(&text);
        self.echo(&text);
        match commands::read(&text) {
            Typed::Known(action, behind) if self.run.is_some() && action.needs_rest(behind) => {
                warn("an answer is being written; stop it by Esc first");
            }
            Typed::Known(action, behind) => {
                match self.talk.act(action, behind).await {
                    Ok(Next::Stay) => {}
                    Ok(Next::End) => return Ok(Flow::End),
                    Ok(Next::Follow(run)) => {
                        self.begin(run);
                        return Ok(Flow::On);
                    }
                    Err(failure) => complain(&failure.message),
                }
                self.take_notices();
                self.above.push(String::new());
            }
            Typed::Unknown(name) => {
                warn(&format!("there is no command /{name}; /help lists them"));
            }
            Typed::Words => match &self.run {
                Some(work) => {
                    work.run.submit(vec![ContentBlock::text(text)]);
                    self.above.push(format!("{DIM}  waits for its turn{DIM:#}"));
                }
                None => self.say(&text).await,
            },
        }
        Ok(Flow::On)
    }

    async fn say(&mut self, text: &str) {
        self.talk.look().await;
        match self.talk.say(text) {
            Some(run) => self.begin(run),
            None => warn(NO_CONVERSATION),
        }
    }

    /// Follows a run.
    fn begin(&mut self, run: Run) {
        self.markdown = Markdown::default();
        self.texts = TextEvents::new();
        self.run = Some(Work::begin(run));
    }

    /// Shows an event of the run.
    async fn show(&mut self, event: Option<AgentEvent>) {
        let Some(event) = event else {
            self.run = None;
            return;
        };
        match &event {
            AgentEvent::Text(words) => {
                self.above.extend(self.markdown.push(words, Screen::width()));
                self.does("writing");
            }
            AgentEvent::Thinking(_) | AgentEvent::User(_) => self.does("thinking"),
            AgentEvent::ToolStarted(tool_use) => {
                self.end_text();
                if let Some(work) = &mut self.run {
                    work.started(tool_use);
                }
            }
            AgentEvent::Progress(progress) => {
                self.above.extend(self.run.as_mut().and_then(|work| work.progress(progress)));
            }
            AgentEvent::ToolEnded(report) => {
                self.end_text();
                let at = self.denied.iter().position(|id| *id == report.tool_use_id);
                let is_denied = at.map(|at| self.denied.swap_remove(at)).is_some();
                if let Some(work) = &mut self.run {
                    let (result, lines) = work.ended(report, is_denied);
                    self.above.extend(lines);
                    self.results.keep(result);
                }
            }
            AgentEvent::Ended(summary) => {
                self.end_text();
                self.ended(summary).await;
            }
            AgentEvent::Retrying(_)
            | AgentEvent::Warning(_)
            | AgentEvent::Discarded
            | AgentEvent::Compacted(_) => {
                self.end_text();
                // It prints by notices, which go to the screen.
                if let Err(error) = self.texts.show(&event) {
                    warn(&format!("the output failed: {error}"));
                }
                self.take_notices();
            }
            AgentEvent::Started { .. } | AgentEvent::Assistant(_) | AgentEvent::Continuing(_) => {}
        }
    }

    /// A run is over. What was sent and never heard goes on as the next text, or, where a person stopped the run, back to
    /// them.
    async fn ended(&mut self, summary: &RunSummary) {
        let terminal = &summary.terminal;
        let is_own_wish = matches!(
            terminal.reason,
            TerminalReason::AbortedStreaming
                | TerminalReason::AbortedTools
                | TerminalReason::DeniedByUser
        );
        if is_own_wish {
            let message = plain(&terminal.message);
            self.above.push(format!("{YELLOW}■{YELLOW:#} {DIM}{message}{DIM:#}"));
        } else {
            tell_end(terminal);
        }
        self.take_notices();
        self.above.push(String::new());
        let Some(work) = self.run.take() else { return };
        let unsent = work.run.take_unsent();
        let texts: Vec<&str> = unsent.iter().flatten().filter_map(ContentBlock::as_text).collect();
        if texts.is_empty() {
            return;
        }
        let text = texts.join("\n\n");
        if work.is_stopping {
            self.hint = "what waited for its turn is in the prompt again";
            self.put_before_draft(text);
        } else {
            self.say(&text).await;
        }
    }

    /// Puts a text before what is being written.
    fn put_before_draft(&mut self, mut text: String) {
        let draft = match &mut self.open {
            Some(open) => &mut open.draft,
            None => &mut self.editor.take(),
        };
        if !draft.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(draft);
        match &mut self.open {
            Some(open) => open.draft = text,
            None => self.editor.set(text),
        }
    }

    /// Shows what there is of a text that has ended.
    fn end_text(&mut self) {
        self.above.extend(self.markdown.finish(Screen::width()));
    }

    fn does(&mut self, what: &'static str) {
        if let Some(work) = &mut self.run {
            work.does(what);
        }
    }

    /// Stops the run in good order.
    fn stop(&mut self) {
        if let Some(work) = &mut self.run {
            work.is_stopping = true;
            work.run.cancel();
        }
    }

    /// Shows what was sent, of a long text the beginning.
    fn echo(&mut self, text: &str) {
        let (most, width) = MAX_ECHO;
        for (index, line) in text.lines().take(most).enumerate() {
            let mark = if index == 0 { ">" } else { " " };
            let end = line.char_indices().nth(width).map_or(line.len(), |(at, _)| at);
            let dots = if end < line.len() { "…" } else { "" };
            let line = plain(line.get(..end).unwrap_or_default());
            self.above.push(format!("{BOLD}{mark} {line}{dots}{BOLD:#}"));
        }
        let left = text.lines().count().saturating_sub(most);
        if left > 0 {
            self.above.push(format!("{DIM}  … and {} more{DIM:#}", view::lines_word(left)));
        }
    }

    fn take_notices(&mut self) {
        while let Ok(line) = self.notices.try_recv() {
            self.above.push(line);
        }
    }
}

async fn next(run: &mut Option<Work>) -> Option<AgentEvent> {
    match run {
        Some(work) => work.run.next().await,
        None => pending().await,
    }
}
