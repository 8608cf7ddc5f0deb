//! What a provider's search found, out of the blocks of its answer (Anthropic Messages API, "Web search tool").

use innerve_protocol::{ContentBlock, TextBlock, UnknownBlock};
use innerve_tool::port::SearchHit;
use serde_json::Value;

use super::NAME;

/// Pages that are kept at most.
const MAX_PAGES: usize = 200;
/// Bytes of quotes that are kept for one page; a quote is added as long as there are fewer.
const MAX_QUOTES: usize = 2_000;
/// Letters of an error code that nobody knows.
const MAX_CODE: usize = 40;

/// The pages, and what was said about them.
#[derive(Debug, Default)]
pub(super) struct Found {
    pages: Vec<Page>,
    /// Whether a search came back, with or without pages.
    has_result: bool,
    failure: Option<String>,
    searches: usize,
    called_here: bool,
}

#[derive(Debug, Default)]
struct Page {
    url: String,
    title: String,
    age: String,
    quotes: Vec<String>,
}

impl Found {
    pub(super) fn take(&mut self, content: &[ContentBlock]) {
        for block in content {
            match block {
                ContentBlock::Unknown(opaque) => match opaque.kind() {
                    "server_tool_use" => self.searches += 1,
                    "web_search_tool_result" => self.take_result(opaque),
                    _ => {}
                },
                ContentBlock::Text(text) => self.take_text(text),
                // A server that does not know the tool may take it for one of ours.
                ContentBlock::ToolUse(tool_use) => self.called_here |= tool_use.name == NAME,
                ContentBlock::Image(_)
                | ContentBlock::Thinking(_)
                | ContentBlock::RedactedThinking(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::ToolReference(_) => {}
            }
        }
    }

    fn take_result(&mut self, result: &UnknownBlock) {
        let content = result.fields().get("content").unwrap_or(&Value::Null);
        let Some(list) = content.as_array() else {
            let known = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
            let code = field(content, "error_code").chars().filter(known).take(MAX_CODE).collect();
            self.failure = Some(code);
            return;
        };
        self.has_result = true;
        for result in list {
            if let Some(page) = self.page(result) {
                field(result, "page_age").clone_into(&mut page.age);
            }
        }
    }

    /// A sentence about a page stands before its quotes.
    fn take_text(&mut self, text: &TextBlock) {
        let citations = text.extra.get("citations").and_then(Value::as_array);
        for citation in citations.into_iter().flatten() {
            let Some(page) = self.page(citation) else { continue };
            for quote in [text.text.as_str(), field(citation, "cited_text")] {
                let kept: usize = page.quotes.iter().map(String::len).sum();
                let quote = quote.trim();
                let is_new = page.quotes.iter().all(|known| known != quote);
                if !quote.is_empty() && is_new && kept < MAX_QUOTES {
                    page.quotes.push(quote.chars().take(MAX_QUOTES).collect());
                }
            }
        }
    }

    /// The page that this is about.
    fn page(&mut self, about: &Value) -> Option<&mut Page> {
        let url = field(about, "url");
        let place = match self.pages.iter().position(|page| page.url == url) {
            Some(place) => place,
            None if url.is_empty() || self.pages.len() >= MAX_PAGES => return None,
            None => {
                let title = field(about, "title").to_owned();
                self.pages.push(Page { url: url.to_owned(), title, ..Page::default() });
                self.pages.len() - 1
            }
        };
        self.pages.get_mut(place)
    }

    /// How often was searched.
    pub(super) fn searches(&self) -> usize {
        self.searches
    }

    /// Whether the tool was called as one of ours.
    pub(super) fn called_here(&self) -> bool {
        self.called_here
    }

    /// The pages, those first that something was quoted from; the code of a failure if it left none; `None` where nobody
    /// searched.
    pub(super) fn into_hits(self) -> Option<Result<Vec<SearchHit>, String>> {
        if self.pages.is_empty() && (self.failure.is_some() || !self.has_result) {
            return self.failure.map(Err);
        }
        let (quoted, others): (Vec<Page>, Vec<Page>) =
            self.pages.into_iter().partition(|page| !page.quotes.is_empty());
        Some(Ok(quoted.into_iter().chain(others).map(Page::into_hit).collect()))
    }
}

impl Page {
    fn into_hit(self) -> SearchHit {
        let age = Some(self.age).filter(|age| !age.is_empty()).map(|age| format!("({age})"));
        let snippet: Vec<String> = age.into_iter().chain(self.quotes).collect();
        SearchHit { title: self.title, url: self.url, snippet: snippet.join(" ") }
    }
}

fn field<'a>(of: &'a Value, name: &str) -> &'a str {
    of.get(name).and_then(Value::as_str).unwrap_or_default()
}
