//! Makes one result fit into a conversation.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use innerve_protocol::{ContentBlock, ToolResultContent, ToolUseId};

use crate::preview::{is_wrapped, wrap};
use crate::{Limit, ResultStore, StoredContent};

/// Characters of an error message at most; errors are not saved (Claude Code documentation, "tools reference").
const ERROR_CHARS: usize = 10_000;
/// Characters of a store's complaint that a model is told.
const REASON_CHARS: usize = 200;

/// What is known of one successful call when its result is made to fit.
#[derive(Clone, Copy)]
pub struct Fitting<'a> {
    /// The tool's name, told when it wrote nothing.
    pub tool: &'a str,
    /// The call, which names the file.
    pub tool_use_id: &'a ToolUseId,
    /// How long the result may be.
    pub limit: Limit,
    /// Where the tool has put its output itself; given only when the content is not all of it.
    pub spooled: Option<Spooled<'a>>,
    /// Where full results go; without one, what is too long is lost but for its beginning.
    pub store: Option<&'a dyn ResultStore>,
}

/// A file that a tool wrote its full output to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spooled<'a> {
    /// The file, absolute.
    pub path: &'a Path,
    /// Its size in bytes.
    pub bytes: u64,
    /// The size of the whole output in bytes; more than `bytes` if the file holds only its beginning.
    pub total: u64,
}

/// A result that fits.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the result that fits is in it"]
pub struct Fitted {
    /// What the model sees.
    pub content: ToolResultContent,
    /// What was done to it.
    pub outcome: FitOutcome,
}

/// What was done to a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FitOutcome {
    /// Nothing: it fits, or its tool bounds itself, or it is a wrapper already.
    Inline,
    /// It was empty; a sentence that says so took its place.
    Empty,
    /// Its text is in a file; a wrapper with a preview took its place.
    Persisted {
        /// The file.
        path: PathBuf,
        /// Bytes of the whole output.
        bytes: u64,
    },
    /// Its text could not be saved; its beginning was kept.
    Cut {
        /// Characters that are lost.
        lost: usize,
    },
}

impl Fitting<'_> {
    /// Makes the content fit.
    ///
    /// Text that is longer than the limit is saved in full and replaced by a wrapper that names the file and shows its
    /// beginning; several text blocks count, are saved and are replaced together. Images and other media stay. If saving
    /// fails the beginning is kept, with a note. The text of the outcome has no more characters than the limit, or than
    /// the words of a wrapper without a preview.
    pub fn fit(&self, content: ToolResultContent) -> Fitted {
        let has_media = content.has_media();
        let text = match &content {
            ToolResultContent::Text(text) => Cow::Borrowed(text.as_str()),
            ToolResultContent::Absent | ToolResultContent::Blocks(_) => {
                Cow::Owned(content.plain_text())
            }
        };
        if text.trim().is_empty() && self.spooled.is_none() {
            if has_media {
                return Fitted { content, outcome: FitOutcome::Inline };
            }
            let content = format!("({} completed with no output)", self.tool).into();
            return Fitted { content, outcome: FitOutcome::Empty };
        }
        let Some(limit) = self.limit.chars() else {
            return Fitted { content, outcome: FitOutcome::Inline };
        };
        let chars = text.chars().count();
        if is_wrapped(&text) || (chars <= limit && self.spooled.is_none()) {
            return Fitted { content, outcome: FitOutcome::Inline };
        }
        let (replacement, outcome) = self.replace(&text, chars, limit);
        if outcome == FitOutcome::Inline {
            return Fitted { content, outcome };
        }
        let content =
            if has_media { beside_media(replacement, content) } else { replacement.into() };
        Fitted { content, outcome }
    }

    fn replace(&self, text: &str, chars: usize, limit: usize) -> (String, FitOutcome) {
        if let Some(Spooled { path, bytes, total }) = self.spooled {
            let outcome = FitOutcome::Persisted { path: path.to_owned(), bytes };
            return (wrap(text, total, bytes, path, limit), outcome);
        }
        match persist(self.store, self.tool_use_id, text, limit) {
            Ok(Some((wrapper, path))) => {
                let bytes = text.len() as u64;
                (wrapper, FitOutcome::Persisted { path, bytes })
            }
            Ok(None) => (String::new(), FitOutcome::Inline),
            Err(reason) => {
                let (cut, lost) = cut_end(text, chars, limit, &reason);
                (cut, FitOutcome::Cut { lost })
            }
        }
    }
}

impl std::fmt::Debug for Fitting<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Fitting")
            .field("tool", &self.tool)
            .field("tool_use_id", &self.tool_use_id)
            .field("limit", &self.limit)
            .field("spooled", &self.spooled)
            .field("store", &self.store.is_some())
            .finish()
    }
}

/// Saves the text and returns its wrapper and its file; `None` when the wrapper would be no shorter than the text.
pub(crate) fn persist(
    store: Option<&dyn ResultStore>,
    id: &ToolUseId,
    text: &str,
    limit: usize,
) -> Result<Option<(String, PathBuf)>, String> {
    let store = store.ok_or_else(|| "there is no place to save it".to_owned())?;
    let path = store.save(id, StoredContent::of(text)).map_err(|error| error.to_string())?;
    let wrapper = wrap(text, text.len() as u64, text.len() as u64, &path, limit);
    Ok((wrapper.len() < text.len()).then_some((wrapper, path)))
}

/// The beginning of the text and a note, together of at most `limit` characters if the note alone is not longer.
fn cut_end(text: &str, chars: usize, limit: usize, reason: &str) -> (String, usize) {
    let reason: String = reason.chars().take(REASON_CHARS).collect();
    let note = |lost: usize| format!("\n\n[{lost} more characters are lost: {reason}]");
    let kept = limit.saturating_sub(note(chars).chars().count());
    let mut cut: String = text.chars().take(kept).collect();
    let lost = chars.saturating_sub(kept);
    cut.push_str(&note(lost));
    (cut, lost)
}

fn beside_media(wrapper: String, content: ToolResultContent) -> ToolResultContent {
    let ToolResultContent::Blocks(blocks) = content else { return wrapper.into() };
    let media = blocks.into_iter().filter(|block| block.as_text().is_none());
    let all: Vec<ContentBlock> =
        std::iter::once(ContentBlock::text(wrapper)).chain(media).collect();
    all.into()
}

/// Cuts the middle out of an error message of more than 10,000 characters: its beginning says what was tried, its end
/// what went wrong. The result has at most 10,000 characters, so that a second pass changes nothing.
pub fn fit_error(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= ERROR_CHARS {
        return text.to_owned();
    }
    let marker = |cut: usize| format!("\n\n... [{cut} characters truncated] ...\n\n");
    // The number in the marker has as many digits as that of all characters, or fewer.
    let kept = ERROR_CHARS - marker(chars).len();
    let (first, last) = (kept - kept / 2, kept / 2);
    let head: String = text.chars().take(first).collect();
    let tail: String = text.chars().skip(chars - last).collect();
    format!("{head}{}{tail}", marker(chars - kept))
}
