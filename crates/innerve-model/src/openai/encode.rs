//! Writes a request as Chat Completions wants it (OpenAI API reference, "Create chat completion").

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use innerve_protocol::{
    ContentBlock, ImageSource, Message, Request, Role, ToolChoice, ToolDefinition, ToolResult,
    ToolResultContent, ToolUse, UnknownBlock,
};
use serde_json::{Map, Value, json};

use super::Dialect;

/// Sampling fields that both wire formats spell alike.
const SHARED_FIELDS: [&str; 2] = ["temperature", "top_p"];

/// The body without its model and messages.
pub(super) fn rest(request: &Request, dialect: &Dialect) -> Map<String, Value> {
    let encoder = Encoder { request, dialect };
    let mut body = Map::new();
    let tools = encoder.tools();
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
        encoder.tool_choice(&mut body);
    }
    let limit = if dialect.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body.insert(limit.to_owned(), json!(request.max_tokens));
    if !request.stop_sequences.is_empty() {
        body.insert("stop".to_owned(), json!(request.stop_sequences));
    }
    for name in SHARED_FIELDS {
        if let Some(value) = request.extra.get(name) {
            body.insert(name.to_owned(), value.clone());
        }
    }
    body.insert("stream".to_owned(), Value::Bool(true));
    if !dialect.no_usage {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    body.extend(dialect.fields.clone());
    body
}

/// The message that holds the instructions.
pub(super) fn instructions(request: &Request) -> Option<Value> {
    let system: Vec<&str> = request.system.iter().map(|block| block.text.as_str()).collect();
    (!system.is_empty()).then(|| json!({"role": "system", "content": system.join("\n\n")}))
}

/// What a message becomes, behind the one before it.
pub(super) fn message(
    request: &Request,
    dialect: &Dialect,
    previous: Option<&Message>,
    message: &Message,
) -> Vec<Value> {
    let encoder = Encoder { request, dialect };
    match message.role {
        Role::System => vec![json!({"role": "system", "content": message.plain_text()})],
        Role::Assistant => encoder.assistant(message).into_iter().collect(),
        Role::User => {
            let mut messages = Vec::new();
            encoder.user(message, previous, &mut messages);
            messages
        }
    }
}

struct Encoder<'a> {
    request: &'a Request,
    dialect: &'a Dialect,
}

impl<'a> Encoder<'a> {
    /// Thinking and server-side blocks are left out: no server takes them back.
    fn assistant(&self, message: &Message) -> Option<Value> {
        let texts: Vec<&str> = message.content.iter().filter_map(ContentBlock::as_text).collect();
        let text = texts.join("\n\n");
        let calls: Vec<Value> = message.tool_uses().map(|tool_use| self.call(tool_use)).collect();
        if calls.is_empty() {
            return (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
        }
        let content = match text.as_str() {
            "" if !self.dialect.empty_content => Value::Null,
            _ => Value::String(text),
        };
        Some(json!({"role": "assistant", "content": content, "tool_calls": calls}))
    }

    fn call(&self, tool_use: &ToolUse) -> Value {
        json!({
            "id": self.id(tool_use.id.as_str()),
            "type": "function",
            "function": {"name": tool_use.name, "arguments": tool_use.input.to_string()},
        })
    }

    /// Tool messages in the order of the calls, then one user message with the results' media and the person's words.
    fn user(&self, message: &Message, previous: Option<&Message>, messages: &mut Vec<Value>) {
        let order: HashMap<&str, (usize, &str)> = previous
            .into_iter()
            .flat_map(Message::tool_uses)
            .enumerate()
            .map(|(place, tool_use)| (tool_use.id.as_str(), (place, tool_use.name.as_str())))
            .collect();
        let mut results: Vec<&ToolResult> =
            message.content.iter().filter_map(ContentBlock::as_tool_result).collect();
        results.sort_by_key(|result| {
            order.get(result.tool_use_id.as_str()).map_or(usize::MAX, |(place, _)| *place)
        });
        let mut parts = Vec::new();
        for result in results {
            messages.push(json!({
                "role": "tool",
                "tool_call_id": self.id(result.tool_use_id.as_str()),
                "content": self.result_text(result),
            }));
            let media = media(&result.content);
            if !media.is_empty() {
                let name = order.get(result.tool_use_id.as_str()).map_or("tool", |(_, name)| name);
                let id = self.id(result.tool_use_id.as_str());
                parts.push(text_part(&format!("From the result of {name} ({id}):")));
                parts.extend(media);
            }
        }
        parts.extend(message.content.iter().filter_map(part));
        if let Some(content) = content_of(parts) {
            messages.push(json!({"role": "user", "content": content}));
        }
    }

    fn result_text(&self, result: &ToolResult) -> String {
        let text = match &result.content {
            ToolResultContent::Absent => String::new(),
            ToolResultContent::Text(text) => text.clone(),
            ToolResultContent::Blocks(blocks) => {
                let texts: Vec<Cow<'_, str>> =
                    blocks.iter().filter_map(|block| self.block_text(block)).collect();
                texts.join("\n")
            }
        };
        let told = text.starts_with("Error") || text.starts_with("<tool_use_error>");
        match (result.failed(), text.is_empty()) {
            (true, _) if !told => format!("Error: {text}"),
            (false, true) if result.content.has_media() => "(see the next message)".to_owned(),
            (false, true) => "(no output)".to_owned(),
            (true | false, _) => text,
        }
    }

    /// The text form of a block inside a tool result; media go into the next message.
    fn block_text<'b>(&self, block: &'b ContentBlock) -> Option<Cow<'b, str>> {
        match block {
            ContentBlock::Text(text) => Some(Cow::Borrowed(&text.text)),
            ContentBlock::ToolReference(reference) => {
                let tool =
                    self.request.tools.iter().find(|tool| tool.name == reference.tool_name)?;
                Some(Cow::Owned(format!(
                    "{}: {}\n{}",
                    tool.name, tool.description, tool.input_schema
                )))
            }
            ContentBlock::Unknown(opaque) => Some(opaque_text(opaque)),
            ContentBlock::Image(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::RedactedThinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_) => None,
        }
    }

    /// Loaded tools in their order, then those that a search found, in the order of finding: the prefix stays the same.
    /// Tools that another provider would run are left out: nobody runs them here.
    fn tools(&self) -> Vec<Value> {
        let tools = &self.request.tools;
        let mut chosen: Vec<&ToolDefinition> =
            tools.iter().filter(|tool| !tool.defer_loading && !tool.is_server_tool()).collect();
        let mut seen: HashSet<&str> = HashSet::new();
        for name in self.referenced() {
            if seen.insert(name) {
                chosen.extend(tools.iter().find(|tool| tool.defer_loading && tool.name == name));
            }
        }
        chosen.into_iter().map(tool).collect()
    }

    fn referenced(&self) -> impl Iterator<Item = &'a str> {
        let results = self
            .request
            .messages
            .iter()
            .flat_map(|message| &message.content)
            .filter_map(ContentBlock::as_tool_result);
        let blocks = results.flat_map(|result| match &result.content {
            ToolResultContent::Blocks(blocks) => blocks.as_slice(),
            ToolResultContent::Absent | ToolResultContent::Text(_) => &[],
        });
        blocks.filter_map(|block| {
            if let ContentBlock::ToolReference(found) = block {
                Some(found.tool_name.as_str())
            } else {
                None
            }
        })
    }

    fn tool_choice(&self, body: &mut Map<String, Value>) {
        let (choice, single) = match &self.request.tool_choice {
            None => (None, false),
            Some(ToolChoice::Auto { disable_parallel_tool_use }) => {
                (Some(json!("auto")), *disable_parallel_tool_use)
            }
            Some(ToolChoice::Any { disable_parallel_tool_use }) => {
                (Some(json!("required")), *disable_parallel_tool_use)
            }
            Some(ToolChoice::Tool { name, disable_parallel_tool_use }) => (
                Some(json!({"type": "function", "function": {"name": name}})),
                *disable_parallel_tool_use,
            ),
            Some(ToolChoice::None) => (Some(json!("none")), false),
        };
        if let Some(choice) = choice {
            body.insert("tool_choice".to_owned(), choice);
        }
        let parallel = if single { Some(false) } else { self.dialect.parallel_tool_calls };
        if let Some(parallel) = parallel {
            body.insert("parallel_tool_calls".to_owned(), Value::Bool(parallel));
        }
    }

    /// The id as the server takes it; the same text always gives the same id.
    fn id<'b>(&self, id: &'b str) -> Cow<'b, str> {
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !self.dialect.short_ids || fits { Cow::Borrowed(id) } else { Cow::Owned(short_id(id)) }
    }
}

/// Nine letters and digits made of `id` by FNV-1a.
fn short_id(id: &str) -> String {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut text = String::with_capacity(9);
    for _ in 0..9 {
        let digit = usize::try_from(hash % 62).ok().and_then(|place| DIGITS.get(place));
        text.extend(digit.copied().map(char::from));
        hash /= 62;
    }
    text
}

fn tool(definition: &ToolDefinition) -> Value {
    let mut function = Map::new();
    function.insert("name".to_owned(), json!(definition.name));
    if !definition.description.is_empty() {
        function.insert("description".to_owned(), json!(definition.description));
    }
    function.insert("parameters".to_owned(), definition.input_schema.clone());
    if let Some(strict) = definition.extra.get("strict") {
        function.insert("strict".to_owned(), strict.clone());
    }
    json!({"type": "function", "function": function})
}

/// A block of a user message as a content part; tool results are messages of their own.
fn part(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text(text) => Some(text_part(&text.text)),
        ContentBlock::Image(image) => Some(image_part(&image.source)),
        ContentBlock::Unknown(opaque) => Some(text_part(&opaque_text(opaque))),
        ContentBlock::Thinking(_)
        | ContentBlock::RedactedThinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::ToolReference(_) => None,
    }
}

fn media(content: &ToolResultContent) -> Vec<Value> {
    let ToolResultContent::Blocks(blocks) = content else {
        return Vec::new();
    };
    let images = blocks.iter().filter_map(|block| {
        if let ContentBlock::Image(image) = block { Some(image_part(&image.source)) } else { None }
    });
    images.collect()
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image_part(source: &ImageSource) -> Value {
    let url = match source {
        ImageSource::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        ImageSource::Url { url } => url.clone(),
        ImageSource::File { file_id } => {
            return text_part(&format!(
                "[image {file_id} is left out: this provider does not have the file]"
            ));
        }
    };
    json!({"type": "image_url", "image_url": {"url": url}})
}

/// A plain-text document's text; of any other kind a note, so that the model does not think it saw it.
fn opaque_text(opaque: &UnknownBlock) -> Cow<'_, str> {
    let source = opaque.fields().get("source");
    let is_text =
        source.and_then(|source| source.get("type")).and_then(Value::as_str) == Some("text");
    let text = source.and_then(|source| source.get("data")).and_then(Value::as_str);
    match (is_text, text) {
        (true, Some(text)) => Cow::Borrowed(text),
        (true | false, _) => Cow::Owned(format!(
            "[a block of type {} is left out: this provider does not take it]",
            opaque.kind()
        )),
    }
}

/// Plain text where there is nothing else, since many servers take no lists.
fn content_of(parts: Vec<Value>) -> Option<Value> {
    if parts.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> =
        parts.iter().map(|part| part.get("text").and_then(Value::as_str)).collect();
    match texts {
        Some(texts) => Some(Value::String(texts.join("\n\n"))),
        None => Some(Value::Array(parts)),
    }
}

#[cfg(test)]
mod tests;
