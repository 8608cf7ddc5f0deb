//! What stands in the place of a result that was saved: its size, its file and its beginning.

use std::path::Path;

const OPENING: &str = "<persisted-output>";
const CLOSING: &str = "</persisted-output>";
/// The closing tag as it is shown when it is part of an output.
const ESCAPED: &str = "<\\/persisted-output>";
/// Bytes of the output that are shown at most.
const PREVIEW_BYTES: usize = 2_000;
/// Bytes of a wrapper at most: the preview, the longest path of common systems, and the words around them.
const WRAPPER_BYTES: usize = PREVIEW_BYTES + 4_096 + 512;

/// The wrapper for an output of `total` bytes of which `kept` are in `path`, `text` being its beginning or all of it.
///
/// It has no more than `limit` bytes unless the words around the preview alone have more.
pub(crate) fn wrap(text: &str, total: u64, kept: u64, path: &Path, limit: usize) -> String {
    let size = human_size(total);
    let path = path.display();
    let part = if kept >= total {
        "All of it is".to_owned()
    } else {
        format!("The first {} are", human_size(kept))
    };
    let head = format!("{OPENING}\nOutput too large ({size}). {part} in: {path}\n");
    let titled = format!("{head}\nPreview (first 2KB):\n");
    let frame = titled.len() + "\n...\n".len() + CLOSING.len();
    let (shown, is_whole) = preview(text, PREVIEW_BYTES.min(limit.saturating_sub(frame)));
    if shown.is_empty() {
        return format!("{head}{CLOSING}");
    }
    // What a tool put into a file itself is more than it shows.
    let dots = if is_whole && text.len() as u64 >= total { "" } else { "...\n" };
    format!("{titled}{shown}\n{dots}{CLOSING}")
}

/// Whether the text is a wrapper already. A long text that only begins like one is none.
pub(crate) fn is_wrapped(text: &str) -> bool {
    text.len() <= WRAPPER_BYTES && text.starts_with(OPENING) && text.trim_end().ends_with(CLOSING)
}

/// Where all of a result is that was too large for a conversation: the file that its preview names. `None` for a text that
/// is no preview.
///
/// ```
/// let text = "<persisted-output>\nOutput too large (29.3KB). All of it is in: /s/toolu_1.txt\n</persisted-output>";
/// assert_eq!(innerve_budget::saved_in(text), Some("/s/toolu_1.txt"));
/// assert_eq!(innerve_budget::saved_in("a text of its own"), None);
/// ```
///
/// Whoever writes a text can make it look like a preview: what is in such a file is no more to be trusted than the text.
pub fn saved_in(text: &str) -> Option<&str> {
    let second = text.lines().nth(1).filter(|_| is_wrapped(text))?;
    let (_, path) = second.strip_prefix("Output too large (")?.split_once(" in: ")?;
    Some(path)
}

/// The beginning of the text, at most `most` bytes, and whether it is all of it. Ends with a whole line if that keeps at
/// least half.
fn preview(text: &str, most: usize) -> (String, bool) {
    let head = head(text, most);
    let is_whole = head.len() == text.len();
    let lines = head.rfind('\n').filter(|end| !is_whole && *end >= most / 2);
    let lines = lines.and_then(|end| head.get(..end)).unwrap_or(head);
    let escaped = lines.trim_end_matches('\n').replace(CLOSING, ESCAPED);
    // Escaping made it longer.
    let shown = self::head(&escaped, most);
    (shown.to_owned(), is_whole && shown.len() == escaped.len())
}

/// The first `most` bytes of the text, or a little less where that would split a character.
fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// A number of bytes for people: `512 bytes`, `29.3KB`, `4.8MB`, `1.0GB`; rounded down.
fn human_size(bytes: u64) -> String {
    let unit = |size: u64, name: &str| {
        let tenths = (u128::from(bytes) * 10) / u128::from(size);
        format!("{}.{}{name}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..0x400 => format!("{bytes} bytes"),
        0x400..0x10_0000 => unit(0x400, "KB"),
        0x10_0000..0x4000_0000 => unit(0x10_0000, "MB"),
        0x4000_0000.. => unit(0x4000_0000, "GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_says_where_the_whole_is() {
        for (kept, limit) in [(50_000, 10_000), (40_000, 10_000), (50_000, 10)] {
            let text = wrap(
                &"line\n".repeat(10_000),
                50_000,
                kept,
                Path::new("/a dir in: x/t.txt"),
                limit,
            );
            assert_eq!(saved_in(&text), Some("/a dir in: x/t.txt"), "{text}");
        }
        assert_eq!(
            saved_in("<persisted-output>\nOutput too large (1KB). All of it is in: /x\nand more"),
            None
        );
    }

    #[test]
    fn sizes_read_well_and_are_never_rounded_up() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1.0KB"),
            (30_001, "29.2KB"),
            (1_048_575, "1023.9KB"),
            (5_033_165, "4.8MB"),
            (1_073_741_823, "1023.9MB"),
            (1_610_612_736, "1.5GB"),
            (u64::MAX, "17179869183.9GB"),
        ] {
            assert_eq!(human_size(bytes), expected);
        }
    }
}
