//! Text that is neither UTF-8 nor UTF-16: its encoding is guessed, and said to be guessed.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

/// How many bytes a guess is made by; more take long and change little.
const SAMPLE: usize = 64 * 1024;

/// The encoding of a file that begins so; `None` if it is UTF-8, or nothing is better than to say what cannot be read.
pub(super) fn guess(beginning: &[u8]) -> Option<&'static Encoding> {
    let broken = match std::str::from_utf8(beginning) {
        Ok(_) => return None,
        // The last character may end in the next piece.
        Err(error) if error.error_len().is_none() => return None,
        Err(error) => error.valid_up_to(),
    };
    // From shortly before the first byte that is no UTF-8, so that plain text before it does not hide it.
    let start = broken.saturating_sub(SAMPLE / 8);
    let sample = beginning.get(start..)?;
    let sample = sample.get(..SAMPLE).unwrap_or(sample);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    // What most of a file contradicts is no guess: a single odd byte in UTF-8 is an odd byte.
    let text = String::from_utf8_lossy(sample);
    let odd = text.chars().filter(|letter| *letter == '\u{fffd}').count();
    let other = text.chars().filter(|letter| !letter.is_ascii() && *letter != '\u{fffd}').count();
    (guess != UTF_8 && odd > other).then_some(guess)
}

/// The note with what a guess means.
pub(super) fn with_note(note: Option<String>, guess: Option<&'static Encoding>) -> Option<String> {
    let Some(encoding) = guess else { return note };
    let words = format!(
        "The file is not UTF-8; it is shown as {}, which is a guess. Edit keeps its bytes, but finds plain ASCII text only.",
        encoding.name()
    );
    Some(match note {
        Some(note) => format!("{note} {words}"),
        None => words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<&str>) {
        assert_eq!(guess(bytes).map(Encoding::name), expected);
    }

    #[test]
    fn legacy_encodings_are_guessed_and_utf_8_is_left_alone() {
        check("Ça va très bien, déjà".as_bytes(), None);
        check(b"Tr\xE8s bien, d\xE9j\xE0 vu, na\xEFf et \xE9l\xE8ve\n", Some("windows-1252"));
        let (japanese, _, _) =
            encoding_rs::SHIFT_JIS.encode("これは日本語のテキストです。とても長い文章を書きます。");
        check(&japanese, Some("Shift_JIS"));
        let (russian, _, _) =
            encoding_rs::WINDOWS_1251.encode("Привет, мир! Это обычный русский текст.");
        check(&russian, Some("windows-1251"));
        check("日本語 と \u{1F600}".as_bytes().get(..10).unwrap_or_default(), None);
        let mut one_odd_byte = "viel schöner Text über Äpfel, größtenteils".as_bytes().to_vec();
        one_odd_byte.push(0xFF);
        one_odd_byte.extend("und weiter".as_bytes());
        check(&one_odd_byte, None);
    }
}
