//! Tool references for servers that do not take them: what was found is told as text, and its tools are sent from then on.

use std::collections::HashSet;

use innerve_protocol::{ContentBlock, Message, Request, TextBlock, ToolResultContent};

/// Makes a request that holds no deferred tool and no reference.
///
/// Deferred tools that no result refers to are left out. Those that were found stand behind all others, in the order of
/// finding, so that what was sent before stays a prefix. In the place of a reference stands what the model needs to know.
pub(crate) fn write_out(request: &mut Request) {
    let mut found: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    // A message without references stays shared.
    let referring = request.messages.iter_mut().filter(|message| refers(message));
    for block in referring.flat_map(|message| &mut message.make_mut().content) {
        let ContentBlock::ToolResult(result) = block else { continue };
        let ToolResultContent::Blocks(blocks) = &mut result.content else { continue };
        for block in blocks {
            let ContentBlock::ToolReference(reference) = block else { continue };
            let name = reference.tool_name.clone();
            let text = match request.tools.iter().find(|tool| tool.name == name) {
                Some(tool) => format!(
                    "{name}: {}\nInput schema: {}\nYou can call it now.",
                    tool.description, tool.input_schema
                ),
                None => format!("{name} is not available any more."),
            };
            *block = ContentBlock::Text(TextBlock { text, ..TextBlock::default() });
            if seen.insert(name.clone()) {
                found.push(name);
            }
        }
    }
    let (deferred, mut tools): (Vec<_>, Vec<_>) =
        std::mem::take(&mut request.tools).into_iter().partition(|tool| tool.defer_loading);
    for name in found {
        tools.extend(deferred.iter().find(|tool| tool.name == name).cloned());
    }
    for tool in &mut tools {
        tool.defer_loading = false;
    }
    request.tools = tools;
}

fn refers(message: &Message) -> bool {
    let is_reference = |block: &ContentBlock| matches!(block, ContentBlock::ToolReference(_));
    let mut results = message.content.iter().filter_map(ContentBlock::as_tool_result);
    results.any(|result| match &result.content {
        ToolResultContent::Blocks(blocks) => blocks.iter().any(is_reference),
        ToolResultContent::Absent | ToolResultContent::Text(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use innerve_protocol::{Role, ToolDefinition, ToolReference, ToolResult, normalize_request};
    use serde_json::{Map, json};

    use super::*;

    fn tool(name: &str, defer_loading: bool) -> ToolDefinition {
        ToolDefinition {
            defer_loading,
            ..ToolDefinition::new(name, "Does it.", json!({ "type": "object" }))
        }
    }

    fn request(found: &[&str]) -> Request {
        let blocks = found.iter().map(|name| {
            ContentBlock::ToolReference(ToolReference {
                tool_name: (*name).to_owned(),
                extra: Map::new(),
            })
        });
        let result = ToolResult::ok("t1".into(), ToolResultContent::Blocks(blocks.collect()));
        let message = Message::new(Role::User, vec![ContentBlock::ToolResult(result)]);
        let tools = vec![tool("Read", false), tool("mcp__a", true), tool("mcp__b", true)];
        Request { tools, ..Request::new("m", 1, vec![message.into()]) }
    }

    #[test]
    fn tools_that_were_found_come_last_in_the_order_of_finding_and_others_are_left_out() {
        let names = |found: &[&str]| {
            let mut request = request(found);
            write_out(&mut request);
            assert!(request.tools.iter().all(|tool| !tool.defer_loading));
            request.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["Read"]);
        assert_eq!(names(&["mcp__b", "mcp__a", "mcp__b"]), ["Read", "mcp__b", "mcp__a"]);
    }

    #[test]
    fn a_reference_becomes_the_words_that_it_stands_for() {
        let mut request = request(&["mcp__b", "mcp__gone"]);
        write_out(&mut request);
        let text = request.messages[0].content[0].as_tool_result().unwrap().content.plain_text();
        assert!(
            text.contains("mcp__b: Does it.") && text.contains(r#"{"type":"object"}"#),
            "{text}"
        );
        assert!(text.contains("mcp__gone is not available"), "{text}");
        let before = request.clone();
        normalize_request(&mut request);
        assert_eq!(request.tools, before.tools);
    }
}
