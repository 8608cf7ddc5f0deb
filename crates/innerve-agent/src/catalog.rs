//! The catalog: the tools of one agent as they are now, for the loop and for `ToolSearch`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innerve_pipeline::PolicySource as _;
use innerve_tool::port::{CatalogEntry, ToolCatalog};
use innerve_tool::{BoxFuture, DynTool, ToolPool, ToolSources};

use crate::deferral::is_deferrable;
use crate::{SharedPolicy, ToolFactory};

/// Tools of servers, which join and leave while a session runs.
#[derive(Clone, Debug, Default)]
pub struct RemoteTools {
    /// Changes whenever the tools do.
    pub generation: u64,
    /// The tools.
    pub tools: Vec<Arc<dyn DynTool>>,
}

/// Says which tools an agent may have.
pub(crate) type Keep = Box<dyn Fn(&dyn DynTool) -> bool + Send + Sync>;

/// The tools of one agent. Built-in ones are settled when it begins; those of servers are brought up to date between turns.
pub(crate) struct PoolCatalog {
    factory: Arc<dyn ToolFactory>,
    policy: Arc<SharedPolicy>,
    keep: Keep,
    state: Mutex<State>,
}

struct State {
    pool: ToolPool,
    /// That of the remote tools in the pool; `None` before any were asked for.
    generation: Option<u64>,
    loaded: Arc<BTreeSet<String>>,
}

impl PoolCatalog {
    pub(crate) fn new(
        factory: Arc<dyn ToolFactory>,
        policy: Arc<SharedPolicy>,
        keep: Keep,
    ) -> Self {
        let pool = ToolPool::assemble(ToolSources::default(), |_| false);
        let state = State { pool, generation: None, loaded: Arc::default() };
        Self { factory, policy, keep, state: Mutex::new(state) }
    }

    /// Sets the tools that the agent begins with.
    pub(crate) fn begin(&self, tools: ToolSources) {
        let policy = self.policy.current();
        let pool = ToolPool::assemble(tools, |name| policy.rules.removes_tool(name));
        self.state().pool = pool.narrowed(&self.keep);
    }

    /// The tools as they are now; those of servers that joined or left since the last time are brought up to date.
    pub(crate) fn pool(&self) -> ToolPool {
        let Some(remote) = self.factory.remote() else { return self.state().pool.clone() };
        let mut state = self.state();
        if state.generation != Some(remote.generation) {
            let policy = self.policy.current();
            let pool = state.pool.with_mcp(remote.tools, |name| policy.rules.removes_tool(name));
            state.pool = pool.narrowed(&self.keep);
            state.generation = Some(remote.generation);
        }
        state.pool.clone()
    }

    /// Says which tools' schemas the model has.
    pub(crate) fn set_loaded(&self, loaded: Arc<BTreeSet<String>>) {
        self.state().loaded = loaded;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolCatalog for PoolCatalog {
    fn entries(&self) -> Vec<CatalogEntry> {
        let pool = self.pool();
        let loaded = Arc::clone(&self.state().loaded);
        let tools = pool.tools().iter().filter(|tool| is_deferrable(tool.as_ref()));
        let entry = |tool: &Arc<dyn DynTool>| {
            let definition = tool.definition();
            CatalogEntry {
                name: definition.name.clone(),
                aliases: tool.aliases().iter().map(|alias| (*alias).to_owned()).collect(),
                description: definition.description.clone(),
                input_schema: definition.input_schema.clone(),
                search_hint: tool.search_hint().to_owned(),
                loaded: loaded.contains(&definition.name),
            }
        };
        tools.map(entry).collect()
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        self.factory.settled()
    }

    fn pending(&self) -> Vec<String> {
        self.factory.pending()
    }
}
