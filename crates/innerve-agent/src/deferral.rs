//! Deferral: which tools' schemas stay out of the prompt until a search finds them, and how the model learns their names.
//!
//! All of it follows from the pool and the conversation alone, so that it is the same after a resume: what was found is
//! referred to in the results of `ToolSearch`, and what was announced stands in the conversation.

use std::collections::BTreeSet;
use std::str::FromStr;

use innerve_protocol::{
    ContentBlock, Message, Role, SharedMessage, ToolDefinition, ToolResultContent,
};
use innerve_tool::{DynTool, ToolPool};
use thiserror::Error;

/// The tool without which nothing is deferred, since nothing could be found.
const SEARCH: &str = "ToolSearch";
/// Characters that make a token, roughly.
const CHARS_PER_TOKEN: u64 = 4;
/// How a block begins that announces deferred tools, and one that takes them back.
const ANNOUNCED: &str = "[Deferred tools, found with ToolSearch: ";
const TAKEN_BACK: &str = "[Tools that are gone: ";

/// When tools are deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSearchMode {
    /// Never.
    Off,
    /// Always, where a tool may be.
    On,
    /// When the definitions of those that may be fill more than this part of the context window, in percent.
    Auto(u8),
}

impl ToolSearchMode {
    /// The usual part of the context window (Claude Code documentation, "MCP").
    pub const USUAL: Self = Self::Auto(10);
}

/// A text that names no [`ToolSearchMode`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is none of off, on, auto and auto:PERCENT")]
pub struct UnknownToolSearchMode(String);

impl FromStr for ToolSearchMode {
    type Err = UnknownToolSearchMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().to_ascii_lowercase().as_str() {
            "off" | "false" | "0" => Ok(Self::Off),
            "on" | "true" | "1" => Ok(Self::On),
            "auto" => Ok(Self::USUAL),
            other => other
                .strip_prefix("auto:")
                .and_then(|percent| percent.parse().ok())
                .filter(|percent| *percent <= 100)
                .map(Self::Auto)
                .ok_or_else(|| UnknownToolSearchMode(text.to_owned())),
        }
    }
}

/// Whether a tool may be deferred at all.
pub(crate) fn is_deferrable(tool: &dyn DynTool) -> bool {
    tool.should_defer() && !tool.always_load() && tool.name() != SEARCH
}

/// The names of the tools that are deferred. `already` says whether any were before: what was deferred once stays so.
pub(crate) fn deferred(
    mode: ToolSearchMode,
    pool: &ToolPool,
    window: u64,
    already: bool,
) -> BTreeSet<String> {
    // How many tools servers bring must not change what is sent of the built-in ones.
    let first = if mode == ToolSearchMode::On { 0 } else { pool.builtin_count() };
    let considered = pool.tools().get(first..).unwrap_or_default();
    let tools = || considered.iter().filter(|tool| is_deferrable(tool.as_ref()));
    let can_search = pool.tools().iter().any(|tool| tool.name() == SEARCH);
    let is_due = can_search
        && match mode {
            ToolSearchMode::Off => false,
            ToolSearchMode::On => true,
            ToolSearchMode::Auto(percent) => {
                let tokens: u64 = tools().map(|tool| tokens(tool.definition())).sum();
                already || tokens > window / 100 * u64::from(percent)
            }
        };
    if is_due { tools().map(|tool| tool.name().to_owned()).collect() } else { BTreeSet::new() }
}

fn tokens(definition: &ToolDefinition) -> u64 {
    let schema = definition.input_schema.to_string();
    let chars = definition.name.len() + definition.description.len() + schema.len();
    u64::try_from(chars).unwrap_or(u64::MAX) / CHARS_PER_TOKEN
}

/// The names of all tools that results in the conversation refer to.
pub(crate) fn referenced<'a>(messages: impl IntoIterator<Item = &'a Message>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let blocks = messages.into_iter().flat_map(|message| &message.content);
    for result in blocks.filter_map(ContentBlock::as_tool_result) {
        let ToolResultContent::Blocks(blocks) = &result.content else { continue };
        names.extend(blocks.iter().filter_map(|block| reference(block).map(str::to_owned)));
    }
    names
}

fn reference(block: &ContentBlock) -> Option<&str> {
    if let ContentBlock::ToolReference(found) = block { Some(&found.tool_name) } else { None }
}

/// The deferred tools whose schemas stay out of the prompt. One that was found and that nothing refers to any more, since a
/// summary has swallowed what found it, is sent in full: the model knows it and could not call it.
pub(crate) fn hidden(
    deferred: &BTreeSet<String>,
    found: &BTreeSet<String>,
    referenced: &BTreeSet<String>,
) -> BTreeSet<String> {
    let is_swallowed = |name: &&String| found.contains(*name) && !referenced.contains(*name);
    deferred.iter().filter(|name| !is_swallowed(name)).cloned().collect()
}

/// Takes references to tools that are not in the pool any more out of what is sent: an API refuses them.
pub(crate) fn strip_references(messages: &mut [SharedMessage], pool: &ToolPool) {
    let names: BTreeSet<&str> = pool.tools().iter().map(|tool| tool.name()).collect();
    for message in messages {
        if referenced([&**message]).iter().all(|name| names.contains(name.as_str())) {
            continue;
        }
        for block in &mut message.make_mut().content {
            let ContentBlock::ToolResult(result) = block else { continue };
            let ToolResultContent::Blocks(blocks) = &mut result.content else { continue };
            let count = blocks.len();
            blocks.retain(|block| reference(block).is_none_or(|name| names.contains(name)));
            if blocks.is_empty() && count > 0 {
                result.content = "The tools that were found are not available any more.".into();
            }
        }
    }
}

/// What the model must be told of the names of deferred tools, after what the conversation says already.
pub(crate) fn announcement(
    messages: &[SharedMessage],
    deferred: &BTreeSet<String>,
) -> Option<String> {
    let told = told(messages);
    let list = |names: Vec<&str>| names.join(", ");
    let new: Vec<&str> =
        deferred.iter().map(String::as_str).filter(|name| !told.contains(name)).collect();
    let gone: Vec<&str> = told.iter().copied().filter(|name| !deferred.contains(*name)).collect();
    let mut lines = Vec::new();
    if !new.is_empty() {
        lines.push(format!("{ANNOUNCED}{}]", list(new)));
    }
    if !gone.is_empty() {
        lines.push(format!("{TAKEN_BACK}{}]", list(gone)));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The names that were announced and not taken back.
fn told(messages: &[SharedMessage]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let users = messages.iter().filter(|message| message.role == Role::User);
    let texts = users.flat_map(|message| &message.content).filter_map(ContentBlock::as_text);
    for line in texts.filter(|text| text.starts_with('[')).flat_map(str::lines) {
        let Some(line) = line.strip_suffix(']') else { continue };
        if let Some(list) = line.strip_prefix(ANNOUNCED) {
            names.extend(list.split(", "));
        } else if let Some(list) = line.strip_prefix(TAKEN_BACK) {
            for name in list.split(", ") {
                names.remove(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use innerve_protocol::{ToolReference, ToolResult};
    use innerve_tool::{ToolBuilder, ToolSources};
    use serde_json::{Map, json};

    use super::*;

    fn tool(name: &str, chars: usize) -> std::sync::Arc<dyn DynTool> {
        ToolBuilder::new(name, json!({ "type": "object" }))
            .description("x".repeat(chars))
            .deferred()
            .build(|_, _| async { Ok("done".into()) })
            .unwrap()
    }

    fn plain(name: &str) -> std::sync::Arc<dyn DynTool> {
        ToolBuilder::new(name, json!({ "type": "object" }))
            .build(|_, _| async { Ok("done".into()) })
            .unwrap()
    }

    fn pool(builtins: &[&str], mcp: &[(&str, usize)]) -> ToolPool {
        let builtins = builtins.iter().map(|name| plain(name)).collect();
        let mcp = mcp.iter().map(|(name, chars)| tool(name, *chars)).collect();
        ToolPool::assemble(ToolSources { builtins, mcp }, |_| false)
    }

    fn found(names: &[&str]) -> Message {
        let blocks = names.iter().map(|name| {
            ContentBlock::ToolReference(ToolReference {
                tool_name: (*name).to_owned(),
                extra: Map::new(),
            })
        });
        let content = ToolResultContent::Blocks(blocks.collect());
        Message::new(
            Role::User,
            vec![ContentBlock::ToolResult(ToolResult::ok("t".into(), content))],
        )
    }

    #[test]
    fn nothing_is_deferred_that_could_not_be_found() {
        let names = |mode, pool: &ToolPool| deferred(mode, pool, 100_000, false).len();
        let without = pool(&["Read"], &[("mcp__a__x", 9)]);
        let with = pool(&["Read", SEARCH], &[("mcp__a__x", 9)]);
        assert_eq!(names(ToolSearchMode::On, &without), 0);
        assert_eq!(names(ToolSearchMode::On, &with), 1);
        assert_eq!(names(ToolSearchMode::Off, &with), 0);
    }

    #[test]
    fn auto_defers_above_its_part_of_the_window_and_does_not_go_back() {
        // Ten percent of 10,000 tokens are 4,000 characters.
        let names = |chars, already| {
            let pool = pool(&[SEARCH], &[("mcp__a__x", chars)]);
            deferred(ToolSearchMode::USUAL, &pool, 10_000, already).len()
        };
        assert_eq!(names(3_900, false), 0);
        assert_eq!(names(4_100, false), 1);
        assert_eq!(names(100, true), 1);
    }

    #[test]
    fn i12_tools_of_servers_do_not_change_what_is_deferred_of_the_built_in_ones() {
        let builtins = vec![plain(SEARCH), tool("WebFetch", 10)];
        let mcp = vec![tool("mcp__a__x", 40_000)];
        let pool = ToolPool::assemble(ToolSources { builtins, mcp }, |_| false);
        let names = |mode| deferred(mode, &pool, 10_000, false).into_iter().collect::<Vec<_>>();
        assert_eq!(names(ToolSearchMode::USUAL), ["mcp__a__x"]);
        assert_eq!(names(ToolSearchMode::On), ["WebFetch", "mcp__a__x"]);
    }

    #[test]
    fn names_are_announced_once_and_changes_follow_as_differences() {
        let set =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let mut messages: Vec<SharedMessage> = vec![Message::user("do it").into()];
        let first = announcement(&messages, &set(&["mcp__a__x", "mcp__b__y"])).unwrap();
        assert_eq!(first, "[Deferred tools, found with ToolSearch: mcp__a__x, mcp__b__y]");
        messages.push(Message::user(first).into());
        assert_eq!(announcement(&messages, &set(&["mcp__a__x", "mcp__b__y"])), None);
        let second = announcement(&messages, &set(&["mcp__b__y", "mcp__c__z"])).unwrap();
        assert!(second.contains("mcp__c__z") && !second.contains("mcp__b__y"), "{second}");
        assert!(second.contains("[Tools that are gone: mcp__a__x]"), "{second}");
        messages.push(Message::user(second).into());
        assert_eq!(announcement(&messages, &set(&["mcp__b__y", "mcp__c__z"])), None);
        assert_eq!(announcement(&[], &BTreeSet::new()), None);
    }

    #[test]
    fn what_was_found_is_known_from_the_conversation_and_references_to_nothing_are_taken_out() {
        let names = |messages: &[SharedMessage]| {
            referenced(messages.iter().map(|message| &**message)).into_iter().collect::<Vec<_>>()
        };
        let mut messages: Vec<SharedMessage> =
            vec![found(&["mcp__a__x", "mcp__gone__y"]).into(), found(&["mcp__gone__y"]).into()];
        assert_eq!(names(&messages).len(), 2);
        strip_references(&mut messages, &pool(&[SEARCH], &[("mcp__a__x", 1)]));
        assert_eq!(names(&messages), ["mcp__a__x"]);
        let last = messages[1].content[0].as_tool_result().unwrap();
        assert!(last.content.plain_text().contains("not available"), "{last:?}");
    }

    #[test]
    fn a_tool_whose_reference_a_summary_has_swallowed_is_sent_in_full() {
        let set =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let deferred = set(&["a", "b", "c"]);
        assert_eq!(hidden(&deferred, &set(&["a", "b"]), &set(&["b"])), set(&["b", "c"]));
        assert_eq!(hidden(&deferred, &set(&[]), &set(&["a"])), deferred);
    }

    #[test]
    fn modes_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<ToolSearchMode>();
        assert_eq!(read("OFF"), Ok(ToolSearchMode::Off));
        assert_eq!(read("true"), Ok(ToolSearchMode::On));
        assert_eq!(read("auto"), Ok(ToolSearchMode::Auto(10)));
        assert_eq!(read("auto:3"), Ok(ToolSearchMode::Auto(3)));
        assert!(read("auto:101").is_err() && read("sometimes").is_err());
    }
}
