//! The chat on the screen: keys, events of the run, questions and notices, one after the other.

mod keys;
mod view;

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use innerve_agent::{AgentEvent, Run, ToolReport};
use innerve_pipeline::Answer;
use innerve_protocol::ContentBlock;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::asking::{Asked, Reply};
use super::commands::{self, Typed};
use super::editor::Editor;
use super::history::History;
use super::markdown::Markdown;
use super::screen::Screen;
use super::talk::Talk;
use crate::exit::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::{BOLD, DIM, Diverted, TextEvents, plain, warn};
use crate::terminal::{Dialogue, Heard};
pub(super) use view::short;

/// The shortest time between two drawings.
const FRAME: Duration = Duration::from_millis(30);
/// How often the time of a run is drawn, and withdrawn questions are looked for.
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two looks at the settings files.
const TICKS_PER_LOOK: u32 = 4;
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
    /// The result that Ctrl-O shows in full.
    last: Option<ToolReport>,
    waiting: VecDeque<Asked>,
    open: Option<Open>,
    questions: UnboundedReceiver<Asked>,
    notices: UnboundedReceiver<String>,
    input: UnboundedReceiver<Event>,
    interrupts: Interrupts,
    /// Given back when the chat ends.
    diverted: Diverted,
}

/// A run that is under way.
struct Work {
    run: Run,
    since: Instant,
    doing: String,
    is_stopping: bool,
}

/// The question that a person sees.
struct Open {
    dialogue: Dialogue,
    reply: Reply,
    /// What was being written when the question came.
    draft: String,
}

/// Whether the chat goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    End,
}

impl Ui {
    /// Takes the terminal.
    pub(super) fn open(talk: Talk, questions: UnboundedReceiver<Asked>) -> Result<Self, Failure> {
        let failed =
            |error: io::Error| Failure::new(format!("the terminal cannot be used: {error}"));
        let interrupts = Interrupts::listen()?;
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
            last: None,
            waiting: VecDeque::new(),
            open: None,
            questions,
            notices,
            input: read_input(),
            interrupts,
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
        ended.and(closed).map_err(|error| Failure::new(format!("the terminal failed: {error}")))?;
        if let Some(id) = id.filter(|_| said) {
            crate::output::note(&format!("{DIM}to go on with it: innerve --resume {id}{DIM:#}"));
        }
        Ok(Exit::Success)
    }

    async fn work(&mut self) -> io::Result<()> {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut count = 0_u32;
        let mut drawn = Instant::now();
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
                () = self.interrupts.next() => Flow::End,
                event = self.input.recv() => match event {
                    Some(event) => self.hear(event).await?,
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
            if flow == Flow::End {
                return self.draw();
            }
            is_dirty = true;
        }
    }

    async fn hear(&mut self, event: Event) -> io::Result<Flow> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => return self.key(key).await,
            Event::Paste(text) => {
                self.choices.clear();
                self.editor.insert(&text);
            }
            Event::Resize(..)
            | Event::Key(_)
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
        self.echo(&text);
        match commands::read(&text) {
            Typed::Known(action, behind) => return self.act(action, behind).await,
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
        let run = self.talk.say(text);
        self.begin(run);
    }

    /// Follows a run.
    pub(super) fn begin(&mut self, run: Option<Run>) {
        let Some(run) = run else {
            return warn("there is no conversation; /clear begins one");
        };
        self.markdown = Markdown::default();
        self.texts = TextEvents::new();
        let doing = "thinking".to_owned();
        self.run = Some(Work { run, since: Instant::now(), doing, is_stopping: false });
    }

    /// Whether a run is under way; tells so when it is.
    pub(super) fn is_busy(&self) -> bool {
        if self.run.is_some() {
            warn("an answer is being written; stop it by Esc first");
        }
        self.run.is_some()
    }

    /// Shows an event of the run.
    async fn show(&mut self, event: Option<AgentEvent>) {
        let Some(event) = event else {
            self.run = None;
            return;
        };
        let doing = match &event {
            AgentEvent::Text(words) => {
                self.above.extend(self.markdown.push(words));
                self.doing("writing");
                return;
            }
            AgentEvent::Thinking(_) => return self.doing("thinking"),
            AgentEvent::ToolStarted(tool_use) => Some(view::call(tool_use)),
            AgentEvent::ToolEnded(report) => {
                self.last = Some(report.clone());
                None
            }
            AgentEvent::User(_) => Some("thinking".to_owned()),
            AgentEvent::Started { .. }
            | AgentEvent::Assistant(_)
            | AgentEvent::Progress(_)
            | AgentEvent::Retrying(_)
            | AgentEvent::Warning(_)
            | AgentEvent::Discarded
            | AgentEvent::Compacted(_)
            | AgentEvent::Continuing(_)
            | AgentEvent::Ended(_) => None,
        };
        if let Some(doing) = doing {
            self.doing(&doing);
        }
        self.above.extend(self.markdown.finish());
        // It prints by notices, which go to the screen.
        if let Err(error) = self.texts.show(&event) {
            warn(&format!("the output failed: {error}"));
        }
        self.take_notices();
        if matches!(event, AgentEvent::Ended(_)) {
            self.above.push(String::new());
            let unsent = self.run.take().map(|work| work.run.take_unsent()).unwrap_or_default();
            let texts: Vec<&str> =
                unsent.iter().flatten().filter_map(ContentBlock::as_text).collect();
            if !texts.is_empty() {
                let text = texts.join("\n\n");
                self.say(&text).await;
            }
        }
    }

    fn doing(&mut self, what: &str) {
        if let Some(work) = &mut self.run {
            what.clone_into(&mut work.doing);
        }
    }

    /// Stops the run in good order.
    fn stop(&mut self) {
        if let Some(work) = &mut self.run {
            work.is_stopping = true;
            work.run.cancel();
        }
    }

    /// Opens the next question that still needs an answer.
    fn ask_next(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.reply.is_withdrawn()) {
            self.above.push(format!("{DIM}  the question was withdrawn{DIM:#}"));
            self.close_question();
        }
        while self.open.is_none() {
            let Some(Asked { request, reply }) = self.waiting.pop_front() else { return };
            if reply.is_withdrawn() {
                continue;
            }
            self.above.extend(self.markdown.finish());
            match Dialogue::begin(request) {
                Err(answer) => reply.answer(answer),
                Ok(dialogue) => {
                    self.above.extend(dialogue.opening());
                    let draft = self.editor.take();
                    self.open = Some(Open { dialogue, reply, draft });
                    self.forget_keys();
                }
            }
        }
    }

    /// What was typed before a question was seen does not answer it.
    fn forget_keys(&mut self) {
        while self.input.try_recv().is_ok() {}
    }

    fn answer(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        match open.dialogue.hear(text) {
            Heard::Again(problem) => self.above.push(problem.to_owned()),
            Heard::Next => self.forget_keys(),
            Heard::Answer(answer) => self.close_question_with(answer, text),
        }
    }

    fn close_question_with(&mut self, answer: Answer, text: &str) {
        self.above.push(format!("  {DIM}{}{DIM:#}", plain(text)));
        if let Some(open) = self.close_question() {
            open.answer(answer);
        }
    }

    /// Puts back what was being written; gives where the answer goes.
    fn close_question(&mut self) -> Option<Reply> {
        let open = self.open.take()?;
        self.editor.set(open.draft);
        Some(open.reply)
    }

    /// Shows what was sent.
    fn echo(&mut self, text: &str) {
        for (index, line) in plain(text).lines().enumerate() {
            let mark = if index == 0 { ">" } else { " " };
            self.above.push(format!("{BOLD}{mark} {line}{BOLD:#}"));
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

/// Keys and pastes, read by a thread for as long as the terminal gives any.
fn read_input() -> UnboundedReceiver<Event> {
    let (sender, events) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    events
}
