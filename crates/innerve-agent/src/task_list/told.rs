//! The list of things to do as one agent works on it: hooks are told of tasks that are new or done, and may refuse them.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use innerve_pipeline::HookEventName;
use innerve_tool::BoxFuture;
use innerve_tool::port::{ListNews, ListStep, TaskListStore};
use serde_json::{Value, json};

use super::TaskListFile;
use crate::SessionEnv;
use crate::hooks::object;

/// What hooks said of tasks, until the run hears it.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// For the person.
    pub(crate) messages: Vec<String>,
    /// The run must stop, and why.
    pub(crate) stop: Option<String>,
}

/// Keeps what hooks said for the run of an agent.
pub(crate) type Sayings = Mutex<Said>;

/// The list, for the tools of the agent of this environment.
pub(crate) struct ToldList {
    env: Arc<SessionEnv>,
    list: Arc<TaskListFile>,
}

impl ToldList {
    /// The list of the session, if it keeps one.
    pub(crate) fn of(env: &Arc<SessionEnv>) -> Option<Arc<dyn TaskListStore>> {
        let list = Arc::clone(env.task_list.as_ref()?);
        Some(Arc::new(Self { env: Arc::clone(env), list }))
    }
}

impl TaskListStore for ToldList {
    fn change(&self, change: &mut dyn FnMut(&Value) -> Option<Value>) -> io::Result<()> {
        self.list.change(change)
    }

    fn announce(&self, news: ListNews) -> BoxFuture<'_, Result<(), String>> {
        let name = match news.step {
            ListStep::Created => HookEventName::TaskCreated,
            ListStep::Completed => HookEventName::TaskCompleted,
        };
        // Named as in the documentation (Claude Code, "Hooks reference", TaskCreated); nobody here has a team.
        let mut fields = object(json!({ "task_id": news.id, "task_subject": news.subject }));
        if !news.description.is_empty() {
            fields.insert("task_description".to_owned(), Value::String(news.description));
        }
        Box::pin(async move {
            let (heard, messages) = self.env.hear(name, fields).await;
            let mut said = self.env.sayings.lock().unwrap_or_else(PoisonError::into_inner);
            said.messages.extend(messages);
            if said.stop.is_none() {
                said.stop.clone_from(&heard.stop);
            }
            heard.blocked.or(heard.stop).map_or(Ok(()), Err)
        })
    }
}
