//! PDF files: the text of their pages.

use std::path::PathBuf;

use innerve_tool::port::{FileMetadata, FileReader};
use innerve_tool::{ToolError, code as tool_code};
use lopdf::{Document, LoadOptions};

use super::{MAX_BYTES, PIECE, ReadOutput, ReadTool, cannot_read};
use crate::code;

/// Bytes of a PDF that are read (Anthropic Messages API, "PDF support": 32 MB in a request).
const MAX_FILE: u64 = 32 << 20;
/// A longer PDF is read by pages that are named.
const MAX_UNNAMED: usize = 10;
/// Pages in one call.
const MAX_PAGES: usize = 20;
/// Bytes that the content of one page, or any stream, may have when it is unpacked.
const MAX_STREAM: usize = 64 << 20;
/// The stack of the thread that reads: objects are nested, though not without a limit.
const STACK: usize = 32 << 20;

/// What was asked for: a page, or the first and the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pages {
    first: usize,
    last: usize,
}

/// Reads `"3"` or `"1-5"`.
pub(super) fn parse(given: &str) -> Result<Pages, ToolError> {
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number > 0);
    let pages = match given.split_once(['-', '–']) {
        None => number(given).map(|page| Pages { first: page, last: page }),
        Some((first, last)) => {
            number(first).zip(number(last)).map(|(first, last)| Pages { first, last })
        }
    };
    let Some(pages) = pages.filter(|pages| pages.first <= pages.last) else {
        return Err(ToolError::invalid(format!(
            "`pages` is \"{given}\"; give a page such as \"3\" or pages such as \"1-5\""
        )));
    };
    if pages.last - pages.first >= MAX_PAGES {
        return Err(ToolError::invalid(format!(
            "`pages` names more than {MAX_PAGES} pages; ask for them in parts"
        )));
    }
    Ok(pages)
}

impl ReadTool {
    /// Reads a PDF whose first bytes are `head`.
    pub(super) async fn pdf(
        &self,
        path: PathBuf,
        meta: FileMetadata,
        pages: Option<&str>,
        head: Vec<u8>,
        mut reader: Box<dyn FileReader>,
    ) -> Result<ReadOutput, ToolError> {
        let pages = pages.map(parse).transpose()?;
        let mut content = head;
        let name = path.display().to_string();
        loop {
            if content.len() as u64 > MAX_FILE || meta.len > MAX_FILE {
                let message =
                    format!("the PDF `{name}` has {} bytes; at most {MAX_FILE} are read", meta.len);
                return Err(ToolError::new(code::TOO_LARGE, message));
            }
            let piece = reader.read(PIECE).await.map_err(|error| cannot_read(&path, &error))?;
            if piece.is_empty() {
                break;
            }
            content.extend_from_slice(&piece);
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let thread = std::thread::Builder::new().name("pdf".to_owned()).stack_size(STACK);
        let work = move || {
            // Whoever asked may be gone.
            drop(sender.send(text(&content, pages)));
        };
        thread.spawn(work).map_err(|error| ToolError::io("the PDF cannot be read", &error))?;
        // A panic of the thread closes the channel.
        let read = receiver.await.unwrap_or_else(|_| Err("it cannot be understood".to_owned()));
        let (content, total_pages, pages, is_cut) = read.map_err(|problem| {
            ToolError::new(tool_code::FAILED, format!("the PDF `{name}` was not read: {problem}"))
        })?;
        Ok(ReadOutput::Pdf { file_path: path, content, total_pages, pages, is_cut })
    }
}

/// The text of the pages, how many pages there are, which ones were read, and whether the text is cut.
fn text(
    content: &[u8],
    wanted: Option<Pages>,
) -> Result<(String, usize, (usize, usize), bool), String> {
    let options = LoadOptions { max_decompressed_size: Some(MAX_STREAM), ..LoadOptions::default() };
    let document = Document::load_mem_with_options(content, options)
        .map_err(|error| format!("it is damaged or protected ({error})"))?;
    if document.is_encrypted() {
        return Err("it is protected by a password".to_owned());
    }
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    let total = numbers.len();
    let Pages { first, last } = match wanted {
        Some(pages) if pages.first > total => {
            return Err(format!("it has {total} pages, and page {} was asked for", pages.first));
        }
        Some(pages) => Pages { last: pages.last.min(total), ..pages },
        None if total > MAX_UNNAMED => {
            return Err(format!(
                "it has {total} pages; name those to read, such as pages: \"1-{MAX_UNNAMED}\""
            ));
        }
        None => Pages { first: 1, last: total },
    };
    let mut out = String::new();
    for (index, number) in numbers.iter().enumerate().take(last).skip(first.saturating_sub(1)) {
        let page = match document.extract_text_with_limit(&[*number], MAX_STREAM) {
            Ok(text) if text.trim().is_empty() => "(no text; it may be an image)".to_owned(),
            Ok(text) => text.trim().to_owned(),
            Err(error) => format!("(not readable: {error})"),
        };
        out.push_str(&format!("--- page {} of {total} ---\n{page}\n", index + 1));
        if out.len() > MAX_BYTES {
            let end = out.floor_char_boundary(MAX_BYTES);
            out.truncate(end);
            return Ok((out, total, (first, index + 1), true));
        }
    }
    Ok((out, total, (first, last), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_one_by_one_or_as_a_range() {
        let range = |given| {
            parse(given).map(|pages| (pages.first, pages.last)).map_err(|error| error.code())
        };
        assert_eq!(range("3"), Ok((3, 3)));
        assert_eq!(range(" 1 - 5 "), Ok((1, 5)));
        assert_eq!(range("1-20"), Ok((1, 20)));
        for odd in ["", "0", "5-1", "1-21", "a", "1-", "-3", "1,2"] {
            assert_eq!(range(odd), Err("tool:invalid"), "{odd}");
        }
    }

    #[test]
    fn what_is_no_pdf_is_an_error() {
        assert!(text(b"%PDF-1.4\nbroken", None).is_err());
        assert!(text(b"%PDF-", None).is_err());
    }
}
