//! The `ToolSearch` tool: finds tools whose schemas were left out of the prompt, and has them loaded.

mod rank;

use std::collections::BTreeSet;
use std::sync::Arc;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::{ContentBlock, TextBlock, ToolReference, ToolResultContent};
use innerve_tool::port::{CatalogEntry, ToolCatalog};
use innerve_tool::{BoxFuture, CallContext, SessionChange, Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use rank::rank;
use rank::{Query, normal};

/// Tools that are given back when the model does not say how many.
const DEFAULT_RESULTS: u32 = 5;
/// Tools that are given back at most: each brings its schema into the prompt.
const MAX_RESULTS: u32 = 50;
/// The longest query, in characters.
const MAX_QUERY: usize = 2_000;
/// Names that are told in one note at most.
const MAX_TOLD: usize = 20;

/// Finds deferred tools in the catalog of the agent that asks.
pub struct ToolSearchTool {
    catalog: Arc<dyn ToolCatalog>,
}

/// What the model gives to [`ToolSearchTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSearchInput {
    /// `select:NAME,NAME` loads tools by name; other words find tools, `+word` must be in the name
    pub query: String,
    /// Tools at most; 5 if left out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_results: Option<u32>,
}

/// What [`ToolSearchTool`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolSearchOutput {
    /// The query.
    pub query: String,
    /// The tools that are loaded from now on, best first.
    pub matches: Vec<String>,
    /// Names that were asked for and are in the prompt anyway.
    pub already_loaded: Vec<String>,
    /// Names that were asked for and that no tool has.
    pub missing: Vec<String>,
    /// Tools that match and were left out, as `max_results` was reached.
    pub more: usize,
    /// Deferred tools in all.
    pub deferred_tools: usize,
    /// What may bring more tools, or why it does not.
    pub pending: Vec<String>,
}

impl ToolSearchTool {
    /// Searches this catalog.
    pub fn new(catalog: Arc<dyn ToolCatalog>) -> Self {
        Self { catalog }
    }

    /// What is found at once.
    fn find(&self, input: &ToolSearchInput, offered: &BTreeSet<&str>) -> ToolSearchOutput {
        let entries = self.catalog.entries();
        let limit = input.max_results.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut output = ToolSearchOutput {
            query: input.query.clone(),
            deferred_tools: entries.len(),
            ..ToolSearchOutput::default()
        };
        match Query::parse(&input.query) {
            Query::Select(names) => {
                for name in names {
                    if let Some(entry) = entries.iter().find(|entry| has_name(entry, &name)) {
                        if !output.matches.contains(&entry.name) {
                            output.matches.push(entry.name.clone());
                        }
                    } else if let Some(there) =
                        offered.iter().find(|there| there.eq_ignore_ascii_case(&name))
                    {
                        output.already_loaded.push((*there).to_owned());
                    } else {
                        output.missing.push(name);
                    }
                }
                output.more = output.matches.len().saturating_sub(MAX_RESULTS as usize);
                output.matches.truncate(MAX_RESULTS as usize);
            }
            Query::Words(words) => {
                let found = rank(&entries, &words);
                output.more = found.len().saturating_sub(limit);
                output.matches =
                    found.into_iter().take(limit).map(|entry| entry.name.clone()).collect();
                let bare = words.trim();
                if output.matches.is_empty()
                    && let Some(there) =
                        offered.iter().find(|there| there.eq_ignore_ascii_case(bare))
                {
                    output.already_loaded.push((*there).to_owned());
                }
            }
        }
        output
    }
}

fn has_name(entry: &CatalogEntry, name: &str) -> bool {
    normal(&entry.name) == normal(name)
        || entry.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
}

impl Tool for ToolSearchTool {
    type Input = ToolSearchInput;
    type Output = ToolSearchOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "ToolSearch"
    }

    fn description(&self) -> String {
        "Loads deferred tools: those that you are told of by name only. Their parameters are known once they are found here, so search before you call one. \
         Forms: `select:mcp__github__create_issue` (exact names, with commas), `mcp__github` (a server), `send email` (best matches), `+slack send` (must be in the name)."
            .to_owned()
    }

    fn always_load(&self) -> bool {
        true
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }

    fn is_concurrency_safe(&self, _input: &ToolSearchInput) -> bool {
        true
    }

    fn is_read_only(&self, _input: &ToolSearchInput) -> bool {
        true
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    async fn validate(
        &self,
        input: &ToolSearchInput,
        _context: &CallContext,
    ) -> Result<(), ToolError> {
        if input.query.trim().is_empty() {
            let text = "the query is empty; say what the tool should do, or `select:` and its name";
            return Err(ToolError::invalid(text));
        }
        if input.query.chars().count() > MAX_QUERY {
            let text = format!("the query is longer than {MAX_QUERY} characters; a few words do");
            return Err(ToolError::invalid(text));
        }
        Ok(())
    }

    async fn call(
        &self,
        input: ToolSearchInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<ToolSearchOutput>, ToolError> {
        let offered: BTreeSet<&str> = context.session.tools.iter().map(String::as_str).collect();
        let mut output = self.find(&input, &offered);
        let is_named = matches!(Query::parse(&input.query), Query::Select(_));
        let has_all = is_named && output.missing.is_empty();
        if !has_all {
            // What is missing, or what fits best, may belong to a server that is still starting.
            let settled: BoxFuture<'_, ()> = self.catalog.settled();
            tokio::select! {
                () = settled => output = self.find(&input, &offered),
                () = context.cancellation.cancelled() => return Err(ToolError::interrupted()),
            }
        }
        if output.matches.is_empty() || !output.missing.is_empty() {
            output.pending = self.catalog.pending();
        }
        let loaded = output.matches.clone();
        let mut output = ToolOutput::new(output);
        if !loaded.is_empty() {
            output.changes.push(SessionChange::LoadTools(loaded));
        }
        Ok(output)
    }

    fn render(&self, output: &ToolSearchOutput) -> ToolResultContent {
        let mut notes = Vec::new();
        if output.matches.is_empty()
            && output.missing.is_empty()
            && output.already_loaded.is_empty()
        {
            notes.push(format!(
                "No matching deferred tools ({} in all). Try other words, or fewer.",
                output.deferred_tools
            ));
        }
        if !output.missing.is_empty() {
            notes.push(format!("There is no such tool: {}.", list(&output.missing)));
        }
        if !output.already_loaded.is_empty() {
            notes.push(format!(
                "Loaded already, call it as it is: {}.",
                list(&output.already_loaded)
            ));
        }
        if output.more > 0 {
            notes.push(format!("{} more match; raise max_results to see them.", output.more));
        }
        notes.extend(output.pending.iter().take(MAX_TOLD).cloned());
        if output.matches.is_empty() {
            return notes.join("\n").into();
        }
        let references = output.matches.iter().map(|name| {
            ContentBlock::ToolReference(ToolReference {
                tool_name: name.clone(),
                extra: Map::new(),
            })
        });
        let mut blocks: Vec<ContentBlock> = references.collect();
        if !notes.is_empty() {
            let text = notes.join("\n");
            blocks.push(ContentBlock::Text(TextBlock { text, ..TextBlock::default() }));
        }
        ToolResultContent::Blocks(blocks)
    }

    fn classifier_input(&self, input: &ToolSearchInput) -> String {
        input.query.clone()
    }
}

fn list(names: &[String]) -> String {
    let mut text =
        names.iter().take(MAX_TOLD).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let left = names.len().saturating_sub(MAX_TOLD);
    if left > 0 {
        text.push_str(&format!(" and {left} more"));
    }
    text
}

impl std::fmt::Debug for ToolSearchTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ToolSearchTool").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
