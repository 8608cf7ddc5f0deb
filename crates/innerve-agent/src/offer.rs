//! What a model is offered: its agent's tools as they are now, which of them are deferred, and which the model knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use innerve_protocol::{Message, Role, ToolDefinition};
use innerve_tool::ToolPool;

use crate::catalog::PoolCatalog;
use crate::conversation::Conversation;
use crate::deferral::{announcement, deferred, hidden, referenced};
use crate::{LogError, ToolSearchMode};

/// The tools that a model is offered.
pub(crate) struct Offer {
    catalog: Arc<PoolCatalog>,
    pool: ToolPool,
    /// The names for which it was decided what is deferred.
    names: Vec<String>,
    deferred: BTreeSet<String>,
    /// The deferred tools whose schemas stay out of the prompt.
    hidden: BTreeSet<String>,
    loaded: Arc<BTreeSet<String>>,
}

impl Offer {
    /// All tools of the catalog; nothing is deferred yet.
    pub(crate) fn new(catalog: Arc<PoolCatalog>) -> Self {
        let pool = catalog.pool();
        let loaded = Arc::new(pool.names().into_iter().collect());
        Self {
            catalog,
            pool,
            names: Vec::new(),
            deferred: BTreeSet::new(),
            hidden: BTreeSet::new(),
            loaded,
        }
    }

    /// The tools.
    pub(crate) fn pool(&self) -> &ToolPool {
        &self.pool
    }

    /// The tools whose schemas the model has.
    pub(crate) fn loaded(&self) -> &Arc<BTreeSet<String>> {
        &self.loaded
    }

    /// The tools as they are sent.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        let mut definitions = self.pool.definitions();
        for definition in &mut definitions {
            definition.defer_loading = self.hidden.contains(&definition.name);
        }
        definitions
    }

    /// Brings the tools up to date: those of servers, which of them are deferred, and which the model knows.
    /// `window` is the model's context window in tokens.
    pub(crate) fn refresh(
        &mut self,
        conversation: &mut Conversation,
        mode: ToolSearchMode,
        window: u64,
    ) {
        self.pool = self.catalog.pool();
        let names = self.pool.names();
        if self.names != names {
            let already = !self.deferred.is_empty();
            self.deferred = deferred(mode, &self.pool, window, already);
            self.names = names;
        }
        let there = referenced(conversation.messages().iter().map(|message| &**message));
        self.hidden = hidden(&self.deferred, &conversation.found, &there);
        conversation.found.extend(there);
        let known = self.names.iter().filter(|name| !self.hidden.contains(*name));
        self.loaded = Arc::new(known.chain(&conversation.found).cloned().collect());
        self.catalog.set_loaded(Arc::clone(&self.loaded));
    }

    /// Tells the model the names of deferred tools, and once what may still bring more.
    pub(crate) fn announce(
        &self,
        conversation: &mut Conversation,
        pending: impl FnOnce() -> Vec<String>,
    ) -> Result<(), LogError> {
        let messages = conversation.messages();
        // A turn that the provider has paused goes on without a word from anybody.
        if messages.last().is_none_or(|last| last.role != Role::User) {
            return Ok(());
        }
        let mut lines: Vec<String> = announcement(messages, &self.hidden).into_iter().collect();
        if !std::mem::replace(&mut conversation.told_pending, true) {
            let pending = pending();
            if !pending.is_empty() {
                lines.push(format!("[{}]", pending.join(" ")));
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        conversation.push(Message::user(lines.join("\n")))
    }
}
