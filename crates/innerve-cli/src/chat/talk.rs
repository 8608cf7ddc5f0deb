//! The conversation that a chat is in, and how it is left for another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innerve_agent::{Agent, PastSession, Run, SessionEnv, Transcript};
use innerve_permission::PermissionMode;
use innerve_pipeline::PolicySource as _;
use innerve_protocol::ContentBlock;

use crate::args::SessionArguments;
use crate::exit::Failure;
use crate::output::warn;
use crate::provider::Chosen;
use crate::sessions;
use crate::wire::{Reload, Watch, Workplace};

/// An agent, and all that another one can be made of.
pub(super) struct Talk {
    pub(super) workplace: Workplace,
    arguments: SessionArguments,
    chosen: Chosen,
    agent: Option<Agent>,
    pub(super) reload: Option<Reload>,
    /// The mode of the conversation that was left: who had a plan made first, wants that in the next one too.
    mode: Option<PermissionMode>,
    /// What the model is told with the next text, and the folder of the session that this is about.
    notes: Vec<(PathBuf, ContentBlock)>,
    has_said: bool,
}

impl Talk {
    /// Begins a conversation, or goes on with `past`.
    pub(super) fn begin(
        workplace: Workplace,
        chosen: Chosen,
        arguments: SessionArguments,
        past: Option<PastSession>,
    ) -> Result<Self, Failure> {
        let mut talk = Self {
            workplace,
            arguments,
            chosen,
            agent: None,
            reload: None,
            mode: None,
            notes: Vec::new(),
            has_said: false,
        };
        talk.open(past)?;
        Ok(talk)
    }

    fn open(&mut self, past: Option<PastSession>) -> Result<(), Failure> {
        let id = past.as_ref().map(PastSession::id);
        let chosen =
            Chosen { model: Arc::clone(&self.chosen.model), name: self.chosen.name.clone() };
        let env = self.workplace.session(chosen, &self.arguments, id.as_deref(), Watch::Nothing)?;
        let agent = match past {
            None => Agent::start(env),
            Some(past) => Agent::resume(env, past),
        }?;
        if let Some(mode) = self.mode {
            agent.env().policy.set_mode(mode);
        }
        self.reload = Some(self.workplace.reload(agent.env(), &self.arguments.agent.policy));
        self.agent = Some(agent);
        Ok(())
    }

    /// What the agent is built from; `None` only when the last change of conversations failed.
    pub(super) fn env(&self) -> Option<&Arc<SessionEnv>> {
        self.agent.as_ref().map(Agent::env)
    }

    /// The model's name.
    pub(super) fn model(&self) -> &str {
        &self.chosen.name
    }

    /// Whom the conversation is with.
    pub(super) fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Says something to the model.
    pub(super) fn say(&mut self, text: &str) -> Option<Run> {
        self.has_said = true;
        let agent = self.agent.as_ref()?;
        let here = &agent.env().folder;
        let own = self.notes.extract_if(.., |(folder, _)| folder == here);
        let notes = own.map(|(_, note)| note).collect();
        Some(agent.run_with(vec![ContentBlock::text(text)], notes))
    }

    /// Whether anything was said.
    pub(super) fn has_said(&self) -> bool {
        self.has_said
    }

    /// Puts a summary in place of the conversation.
    pub(super) fn compact(&self, keep: &str) -> Option<Run> {
        Some(self.agent.as_ref()?.compact(keep))
    }

    /// Has the model told this with the next text of this session.
    pub(super) fn note(&mut self, text: String) {
        if let Some(folder) = self.folder().map(Path::to_path_buf) {
            self.notes.push((folder, ContentBlock::text(text)));
        }
    }

    /// Looks whether settings have changed.
    pub(super) async fn look(&mut self) {
        if let Some(reload) = &mut self.reload {
            reload.look().await;
        }
    }

    /// Leaves this conversation for a new one.
    pub(super) async fn clear(&mut self) -> Result<(), Failure> {
        self.leave("clear").await;
        self.open(None)
    }

    /// Leaves this conversation for an earlier one, and gives what was said in that.
    pub(super) async fn resume(&mut self, id: &str) -> Result<Transcript, Failure> {
        let folder = sessions::find(&self.workplace.sessions, id)?;
        if self.env().is_some_and(|env| env.folder == folder) {
            return Err(Failure::usage("that is the session that you are in"));
        }
        let past = sessions::take(&folder)?;
        let transcript = past.transcript().clone();
        self.leave("resume").await;
        self.open(Some(past))?;
        Ok(transcript)
    }

    /// Goes on with another model.
    pub(super) async fn switch_model(&mut self, name: &str) -> Result<(), Failure> {
        name.clone_into(&mut self.chosen.name);
        let Some(folder) = self.env().map(|env| env.folder.clone()) else {
            return self.open(None);
        };
        self.leave("other").await;
        self.open(Some(sessions::take(&folder)?))
    }

    async fn leave(&mut self, why: &str) {
        self.reload = None;
        if let Some(agent) = self.agent.take() {
            self.mode = Some(agent.env().policy.current().mode);
            for notice in agent.close(why).await {
                warn(&notice);
            }
        }
        self.workplace.end_servers().await;
    }

    /// Ends it all.
    pub(super) async fn end(mut self) {
        self.leave("prompt_input_exit").await;
        self.workplace.close();
    }

    /// The folder of the session.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.env().map(|env| env.folder.as_path())
    }
}
