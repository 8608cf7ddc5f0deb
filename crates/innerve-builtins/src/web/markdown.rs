//! HTML as Markdown, in one pass over the tags without a tree: pages may be nested as deep as they like, and broken ones
//! are read as far as they go.

mod writer;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};
use reqwest::Url;

use writer::Writer;

/// What became of a page.
pub(super) struct Markdown {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Whether the page is longer.
    pub(super) is_cut: bool,
}

/// The longest title, in characters.
const MAX_TITLE: usize = 300;

/// Converts a page; `base` is what its links are relative to.
pub(super) fn convert(html: &str, base: Option<&Url>, max_chars: usize) -> Markdown {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = Page {
        writer: Writer::new(max_chars),
        base: base.cloned(),
        title: String::new(),
        is_in_title: false,
        skipped: None,
    };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.text(&String::from_utf8_lossy(&text.value)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if page.writer.is_full() {
            break;
        }
    }
    let title: Vec<&str> = page.title.split_whitespace().collect();
    let title: String = title.join(" ").chars().take(MAX_TITLE).collect();
    let is_cut = page.writer.is_full();
    Markdown {
        title: Some(title).filter(|title| !title.is_empty()),
        text: page.writer.finish(),
        is_cut,
    }
}

struct Page {
    writer: Writer,
    base: Option<Url>,
    title: String,
    is_in_title: bool,
    /// The element whose content is left out, and how many of its kind are open.
    skipped: Option<(String, u32)>,
}

/// Elements whose content nobody reads.
const SKIPPED: &[&str] = &[
    "audio", "canvas", "iframe", "math", "noembed", "noframes", "noscript", "object", "script",
    "style", "svg", "template", "video",
];
/// Elements that begin and end a paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "details",
    "dialog",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "main",
    "nav",
    "p",
    "search",
    "section",
    "summary",
];
/// Elements that begin and end a line.
const LINES: &[&str] = &["div", "dt", "dd", "option", "legend", "caption", "tr"];

impl Page {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        let name = name.as_ref();
        if let Some((skipped, depth)) = &mut self.skipped {
            let is_raw = matches!(
                skipped.as_str(),
                "script" | "style" | "noscript" | "iframe" | "noembed" | "noframes"
            );
            if skipped == name && !tag.self_closing {
                *depth += 1;
                return;
            }
            // A forgotten end tag must not swallow the rest of the page (HTML standard, "in foreign content").
            let ends_it = !is_raw
                && (BLOCKS.contains(&name) || matches!(name, "body" | "div" | "ul" | "table"));
            if !ends_it || skipped == "template" {
                return;
            }
            self.skipped = None;
        }
        if SKIPPED.contains(&name) {
            if !tag.self_closing {
                self.skipped = Some((name.to_owned(), 1));
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            "title" => self.is_in_title = self.title.is_empty(),
            "base" => {
                if let Some(base) = attribute(tag, "href").and_then(|href| self.link(&href)) {
                    self.base = Url::parse(&base).ok();
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => writer.heading(name),
            "br" => writer.line(),
            "hr" => writer.rule(),
            "ul" | "menu" => writer.list(None),
            "ol" => {
                let first = attribute(tag, "start").and_then(|start| start.parse().ok());
                writer.list(Some(first.unwrap_or(1)));
            }
            "li" => writer.item(),
            "blockquote" => writer.quote(),
            "pre" | "listing" | "xmp" => writer.preformatted(&language(tag)),
            "code" | "kbd" | "samp" | "tt" => {
                if let Some(language) = Some(language(tag)).filter(|language| !language.is_empty())
                {
                    writer.set_language(&language);
                }
                writer.open("code", None);
            }
            "b" | "strong" => writer.open("strong", None),
            "i" | "em" => writer.open("em", None),
            "del" | "s" => writer.open("del", None),
            "a" => {
                let href = attribute(tag, "href").and_then(|href| self.link(&href));
                self.writer.close("a");
                self.writer.open("a", href);
            }
            "img" => {
                let alt = attribute(tag, "alt").unwrap_or_default();
                let source = attribute(tag, "src").and_then(|source| self.link(&source));
                self.writer.image(&alt, source.as_deref());
            }
            "table" => writer.table(),
            "tr" if writer.is_in_table() => writer.row(),
            "td" | "th" => writer.cell(),
            _ if BLOCKS.contains(&name) => writer.block(),
            _ if LINES.contains(&name) => writer.line(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            "title" => self.is_in_title = false,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => writer.block(),
            "ul" | "ol" | "menu" => writer.end_list(),
            "li" => writer.end_item(),
            "blockquote" => writer.end_quote(),
            "pre" | "listing" | "xmp" => writer.end_preformatted(),
            "code" | "kbd" | "samp" | "tt" => writer.close("code"),
            "b" | "strong" => writer.close("strong"),
            "i" | "em" => writer.close("em"),
            "del" | "s" => writer.close("del"),
            "a" => writer.close("a"),
            "table" => writer.end_table(),
            "tr" if writer.is_in_table() => writer.end_row(),
            "td" | "th" => writer.end_cell(),
            _ if BLOCKS.contains(&name) => writer.block(),
            _ if LINES.contains(&name) => writer.line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.is_in_title {
            let room = MAX_TITLE.saturating_sub(self.title.len());
            self.title.extend(text.chars().take(room));
            return;
        }
        self.writer.text(text);
    }

    /// A link as an absolute URL; of code and of data that stands in the page itself nothing is left.
    fn link(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let url = match &self.base {
            Some(base) => base.join(href).ok()?,
            None => Url::parse(href).ok()?,
        };
        matches!(url.scheme(), "http" | "https" | "mailto" | "ftp").then(|| url.into())
    }
}

/// The language of code, as highlighters have it in its class.
fn language(tag: &StartTag<()>) -> String {
    let classes = attribute(tag, "class").unwrap_or_default();
    let named = classes.split_whitespace().find_map(|class| {
        ["language-", "lang-", "highlight-source-"]
            .iter()
            .find_map(|prefix| class.strip_prefix(prefix))
    });
    let plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '#' | '-' | '_');
    named.filter(|name| name.len() <= 20 && name.chars().all(plain)).unwrap_or_default().to_owned()
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(&value.value).into_owned())
}

#[cfg(test)]
mod tests;
