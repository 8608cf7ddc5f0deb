//! Checks on the raw text, before any parsing: length and characters that bash, the grammar or a reader's eye take differently.

use crate::opaque::Refusal;
use crate::{OpaqueCode, Span};

/// Longest text that is analyzed, in characters.
const MAX_CHARS: usize = 10_000;

/// Refuses texts that are too long or hold characters which are not read alike everywhere.
pub(crate) fn check(text: &str) -> Result<(), Refusal> {
    if text.chars().nth(MAX_CHARS).is_some() {
        let span = Span { start: 0, end: text.len() };
        return Err(Refusal::new(
            OpaqueCode::TooLarge,
            "the text is longer than 10,000 characters",
            span,
        ));
    }
    for (start, character) in text.char_indices() {
        if is_odd(character) {
            let message = format!(
                "the character U+{:04X} is invisible or is not read alike everywhere",
                u32::from(character)
            );
            return Err(Refusal::new(
                OpaqueCode::Characters,
                message,
                Span { start, end: start + character.len_utf8() },
            ));
        }
    }
    Ok(())
}

/// Control characters but TAB and LF; blanks other than the space; format, private and unassigned-plane characters.
fn is_odd(character: char) -> bool {
    match character {
        '\t' | '\n' | ' '..='~' => false,
        // Unicode general category Cf, and letters that render as nothing.
        '\u{ad}'
        | '\u{34f}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{fffe}'..='\u{ffff}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1345f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        // Private use areas, and everything from plane 4 on: not assigned, tags, variation selectors.
        | '\u{e000}'..='\u{f8ff}'
        | '\u{40000}'..='\u{10ffff}' => true,
        _ => character.is_control() || character.is_whitespace(),
    }
}
