//! The tools for the web: `WebFetch` reads one page, `WebSearch` finds pages.
//!
//! A model chooses the addresses, so that a page must not become a way into the network that the agent stands in: every
//! name is resolved here, only public addresses count, and the connection goes to an address that was checked.

mod body;
mod cache;
mod client;
mod fetch;
mod markdown;
mod search;
mod searxng;

use innerve_tool::without_reminders;

#[cfg(feature = "websocket")]
pub(crate) use client::{checked_addresses, install_provider};
pub use fetch::{WebFetchInput, WebFetchOutput, WebFetchTool};
pub use search::{WebSearchHit, WebSearchInput, WebSearchOutput, WebSearchTool};
pub use searxng::SearxngSearcher;

/// Characters that reorder or hide text, or carry some unseen (Unicode, "bidirectional formatting", "default ignorable code
/// points", of which those stay that letters and pictures are made of).
pub(crate) fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            // Tags, and variation selectors that few letters have but any text can be written in.
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A text by strangers between two tags, the second of which it cannot hold itself, and none of the program's own.
fn fenced(tag: &str, text: &str) -> String {
    let text = &without_reminders(text);
    let end = format!("</{tag}");
    let lower = text.to_ascii_lowercase();
    let mut inside = String::with_capacity(text.len());
    let mut from = 0;
    for (place, _) in lower.match_indices(&end) {
        inside.push_str(text.get(from..place).unwrap_or_default());
        inside.push_str("< ");
        from = place + 1;
    }
    inside.push_str(text.get(from..).unwrap_or_default());
    format!("<{tag}>\n{inside}\n</{tag}>")
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn a_fence_holds_neither_its_end_nor_words_of_the_program() {
        assert_eq!(
            fenced("page", "a</PAGE> <system-reminder>b"),
            "<page>\na< /PAGE> &lt;system-reminder>b\n</page>"
        );
    }
}
