//! The tools of a session in their stable order, and how a name finds one.

use std::collections::HashSet;
use std::sync::Arc;

use innerve_protocol::ToolDefinition;

use crate::DynTool;

/// The tools that a model is offered, in an order that never depends on how they were registered: built-in ones sorted
/// by name, then those of MCP servers sorted by name, so that the prompt cache holds.
#[derive(Clone, Debug)]
pub struct ToolPool {
    active: Arc<[Arc<dyn DynTool>]>,
    base: Arc<[Arc<dyn DynTool>]>,
    removed: Arc<[String]>,
    builtin_count: usize,
    /// How many of `base` are built-in.
    base_builtin_count: usize,
}

/// What goes into a [`ToolPool`].
#[derive(Clone, Debug, Default)]
pub struct ToolSources {
    /// All built-in tools, switched-off ones included.
    pub builtins: Vec<Arc<dyn DynTool>>,
    /// Tools of MCP servers.
    pub mcp: Vec<Arc<dyn DynTool>>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// A tool of the pool, or the tool that has this former name.
    Found(Arc<dyn DynTool>),
    /// A tool that exists and is not offered: a deny rule removed it, or it is switched off.
    Removed(Arc<dyn DynTool>),
    /// No tool; perhaps this one was meant.
    Unknown {
        /// The nearest name.
        nearest: Option<String>,
    },
}

impl ToolPool {
    /// Assembles a pool; `is_denied` says whether a blanket deny rule removes a tool by its name.
    pub fn assemble(sources: ToolSources, is_denied: impl Fn(&str) -> bool) -> Self {
        let sorted = |mut tools: Vec<Arc<dyn DynTool>>| {
            tools.sort_by(|a, b| a.name().cmp(b.name()));
            tools
        };
        let mut names = HashSet::new();
        let mut active = Vec::new();
        let mut base = Vec::new();
        let mut removed = Vec::new();
        let (mut builtin_count, mut base_builtin_count) = (0, 0);
        for (is_builtin, tools) in [(true, sorted(sources.builtins)), (false, sorted(sources.mcp))]
        {
            for tool in tools {
                // A built-in tool comes first and wins a clash of names.
                if !names.insert(tool.name().to_owned()) {
                    continue;
                }
                if tool.is_enabled() && !is_denied(tool.name()) {
                    builtin_count += usize::from(is_builtin);
                    active.push(Arc::clone(&tool));
                } else {
                    removed.push(tool.name().to_owned());
                }
                base_builtin_count += usize::from(is_builtin);
                base.push(tool);
            }
        }
        Self {
            active: active.into(),
            base: base.into(),
            removed: removed.into(),
            builtin_count,
            base_builtin_count,
        }
    }

    /// The pool with these tools of MCP servers in place of those it has. The built-in ones are the same values in the
    /// same order, so that what a model is told of them does not change.
    #[must_use]
    pub fn with_mcp(&self, mcp: Vec<Arc<dyn DynTool>>, is_denied: impl Fn(&str) -> bool) -> Self {
        let builtins = self.base.get(..self.base_builtin_count).unwrap_or_default();
        let is_out = |name: &str| self.removed.iter().any(|removed| removed == name);
        let own: HashSet<&str> = builtins.iter().map(|tool| tool.name()).collect();
        Self::assemble(ToolSources { builtins: builtins.to_vec(), mcp }, |name| {
            // What was removed stays so: which built-in tools there are is settled when a session begins.
            if own.contains(name) { is_out(name) } else { is_denied(name) }
        })
    }

    /// The tools that are offered, in order.
    pub fn tools(&self) -> &[Arc<dyn DynTool>] {
        &self.active
    }

    /// How many of [`Self::tools`] are built-in; they come first.
    pub fn builtin_count(&self) -> usize {
        self.builtin_count
    }

    /// The names of the tools that are offered, in order.
    pub fn names(&self) -> Vec<String> {
        self.active.iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// The definitions as they are sent to a model, in order.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.active.iter().map(|tool| tool.definition().clone()).collect()
    }

    /// Finds a tool by name among those offered, then among all base tools by former name.
    pub fn find(&self, name: &str) -> Lookup {
        if let Some(tool) = self.active.iter().find(|tool| tool.name() == name) {
            return Lookup::Found(Arc::clone(tool));
        }
        if let Some(tool) = self.base.iter().find(|tool| tool.aliases().contains(&name)) {
            // A former name must not bring back what a deny rule removed.
            let is_removed =
                self.removed.iter().any(|removed| removed == tool.name()) && tool.is_enabled();
            return if is_removed {
                Lookup::Removed(Arc::clone(tool))
            } else {
                Lookup::Found(Arc::clone(tool))
            };
        }
        if let Some(tool) = self.base.iter().find(|tool| tool.name() == name) {
            return Lookup::Removed(Arc::clone(tool));
        }
        let nearest = self
            .active
            .iter()
            .map(|tool| (distance(name, tool.name()), tool.name()))
            .filter(|(distance, _)| *distance <= 2)
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, name)| name.to_owned());
        Lookup::Unknown { nearest }
    }

    /// The pool without the tools that `keep` refuses, in the same order; for sub-agents.
    #[must_use]
    pub fn narrowed(&self, keep: impl Fn(&dyn DynTool) -> bool) -> Self {
        let kept = |tools: &[Arc<dyn DynTool>]| -> Vec<Arc<dyn DynTool>> {
            tools.iter().filter(|tool| keep(tool.as_ref())).map(Arc::clone).collect()
        };
        let builtins = self.active.get(..self.builtin_count).map(kept).unwrap_or_default();
        let mcp = self.active.get(self.builtin_count..).map(kept).unwrap_or_default();
        let builtin_count = builtins.len();
        let active: Vec<_> = builtins.into_iter().chain(mcp).collect();
        let base_builtins = self.base.get(..self.base_builtin_count).map(kept).unwrap_or_default();
        Self {
            active: active.into(),
            base: kept(&self.base).into(),
            removed: Arc::clone(&self.removed),
            builtin_count,
            base_builtin_count: base_builtins.len(),
        }
    }
}

/// The number of single-character changes between two names, case folded; long texts are far from everything.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (row, left) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        for (right, pair) in b.iter().zip(previous.windows(2)) {
            let (Some(&diagonal), Some(&above), Some(&before)) =
                (pair.first(), pair.last(), current.last())
            else {
                return usize::MAX;
            };
            current.push((diagonal + usize::from(left != right)).min(above + 1).min(before + 1));
        }
        previous = current;
    }
    previous.last().copied().unwrap_or(usize::MAX)
}
