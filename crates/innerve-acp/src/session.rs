//! A session that is open: one agent, one prompt at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    CurrentModeUpdate, SessionId, SessionModeState, SessionUpdate, StopReason,
};
use innerve_agent::{AgentEvent, Run, RunSummary, SessionEnv};
use innerve_permission::PermissionMode;
use innerve_pipeline::PolicySource as _;
use innerve_tool::CancellationToken;
use serde_json::json;

use crate::error::{failed, refused};
use crate::prompt::Prompt;
use crate::updates::{self, Teller, stop_reason};
use crate::{Editor, Host, HostedSession, modes};

/// An open session.
pub(crate) struct Session {
    host: Arc<dyn Host>,
    hosted: Box<dyn HostedSession>,
    editor: Editor,
    state: Mutex<State>,
}

struct State {
    /// Ends the prompt that is being worked on.
    running: Option<CancellationToken>,
    /// The mode that the editor shows.
    mode: PermissionMode,
}

/// The right to work on a prompt; no other one is taken until it is dropped.
pub(crate) struct Claim {
    session: Arc<Session>,
    cancellation: CancellationToken,
}

impl Session {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        hosted: Box<dyn HostedSession>,
        editor: Editor,
    ) -> Arc<Self> {
        let mode = hosted.agent().env().policy.current().mode;
        let session =
            Self { host, hosted, editor, state: Mutex::new(State { running: None, mode }) };
        session.editor.is_session(session.id());
        Arc::new(session)
    }

    pub(crate) fn id(&self) -> SessionId {
        SessionId::new(self.env().session_id.as_str())
    }

    pub(crate) fn modes(&self) -> SessionModeState {
        modes::state(self.env())
    }

    fn env(&self) -> &SessionEnv {
        self.hosted.agent().env()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the right to work on a prompt.
    pub(crate) fn claim(self: &Arc<Self>) -> Result<Claim, Error> {
        let mut state = self.lock();
        if state.running.is_some() {
            let text = "the session works on another prompt; cancel it, or wait until it is done";
            return Err(Error::new(Error::invalid_request().code, text));
        }
        let cancellation = CancellationToken::new();
        state.running = Some(cancellation.clone());
        Ok(Claim { session: Arc::clone(self), cancellation })
    }

    /// Stops the prompt that is being worked on, if any.
    pub(crate) fn cancel(&self) {
        if let Some(running) = &self.lock().running {
            running.cancel();
        }
    }

    /// Goes into another mode, as the person at the editor wants it.
    pub(crate) fn set_mode(&self, id: &str) -> Result<(), Error> {
        let available = modes::available(self.env());
        let Some(mode) = available.into_iter().find(|mode| mode.name() == id) else {
            let text = format!("there is no mode `{id}` here");
            return Err(refused(text));
        };
        let mut state = self.lock();
        self.env().policy.set_mode(mode);
        state.mode = mode;
        Ok(())
    }

    /// Shows the conversation so far.
    pub(crate) async fn replay(&self) -> Result<(), Error> {
        let messages = self.hosted.agent().messages().await;
        let updates = updates::replay(&messages, self.editor.cwd());
        updates.into_iter().try_for_each(|update| self.editor.tell(update))
    }

    /// Ends the session.
    pub(crate) async fn close(&self) {
        self.cancel();
        for notice in self.hosted.agent().close("other").await {
            self.host.warn(&notice);
        }
        self.hosted.close().await;
    }

    async fn follow(
        &self,
        mut run: Run,
        cancellation: &CancellationToken,
    ) -> Result<StopReason, Error> {
        let mut teller = Teller::new(self.editor.cwd());
        let mut is_cancelled = false;
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                () = cancellation.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    run.cancel();
                    continue;
                }
            };
            let Some(event) = event else { return Err(Error::internal_error()) };
            if let Some(update) = teller.tell(&event) {
                self.editor.tell(update)?;
            }
            self.tell_mode()?;
            match event {
                AgentEvent::Ended(summary) => return self.end(&summary, is_cancelled),
                AgentEvent::User(_) => self.hosted.refresh().await,
                AgentEvent::Warning(text) => self.host.warn(&text),
                AgentEvent::Retrying(notice) => {
                    let said =
                        if notice.message.is_empty() { &notice.class } else { &notice.message };
                    let (attempt, of) = (notice.attempt, notice.max_attempts);
                    self.host.warn(&format!("{said}; trying again ({attempt} of {of})"));
                }
                AgentEvent::Started { .. }
                | AgentEvent::Text(_)
                | AgentEvent::Thinking(_)
                | AgentEvent::Assistant(_)
                | AgentEvent::ToolStarted(_)
                | AgentEvent::ToolEnded(_)
                | AgentEvent::Progress(_)
                | AgentEvent::Discarded
                | AgentEvent::Compacted(_)
                | AgentEvent::Continuing(_) => {}
            }
        }
    }

    /// Says what a person would not know otherwise, and how it ended.
    fn end(&self, summary: &RunSummary, is_cancelled: bool) -> Result<StopReason, Error> {
        let terminal = &summary.terminal;
        let stop =
            if is_cancelled { Some(StopReason::Cancelled) } else { stop_reason(terminal.reason) };
        match stop {
            Some(StopReason::Cancelled) => Ok(StopReason::Cancelled),
            Some(stop) => {
                if !terminal.message.is_empty() {
                    self.editor.tell(updates::message(&format!("\n\n*({})*", terminal.message)))?;
                }
                Ok(stop)
            }
            None => {
                let reason = json!({ "reason": terminal.reason.name() });
                Err(failed(terminal.message.as_str(), reason))
            }
        }
    }

    /// Tells the editor when the mode has changed by itself, such as by a plan that was approved.
    fn tell_mode(&self) -> Result<(), Error> {
        let mode = {
            let mut state = self.lock();
            let mode = self.env().policy.current().mode;
            if mode == state.mode {
                return Ok(());
            }
            state.mode = mode;
            mode
        };
        let update = CurrentModeUpdate::new(mode.name());
        self.editor.tell(SessionUpdate::CurrentModeUpdate(update))
    }
}

impl Claim {
    /// Works on a prompt to its end.
    pub(crate) async fn work(self, prompt: Prompt) -> Result<StopReason, Error> {
        let session = &self.session;
        session.hosted.refresh().await;
        let run = session.hosted.agent().run_with(prompt.words, prompt.attached);
        session.follow(run, &self.cancellation).await
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.session.lock().running = None;
    }
}
