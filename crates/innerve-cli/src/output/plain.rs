//! Text from a model, a file or a program as a terminal may have it: nothing in it commands, hides or reorders.

/// The text without the control characters that would command the terminal; what cannot be seen is written out.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => out.push(letter),
            // Carriage returns hide what stands before them; they are of no use in what we print.
            '\r' => {}
            // Emoji and many scripts need joiners; between the letters of commands and paths they only hide something.
            '\u{200c}' | '\u{200d}'
                if joins(out.chars().next_back()) && joins(letters.peek().copied()) =>
            {
                out.push(letter);
            }
            letter if letter.is_control() || is_invisible(letter) => {
                out.extend(letter.escape_unicode());
            }
            letter => out.push(letter),
        }
    }
    out
}

/// Whether a joiner beside this character can mean something.
fn joins(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| !letter.is_ascii() && !is_invisible(letter))
}

/// Characters that reorder or hide text, or are not seen at all (Unicode, "bidirectional formatting", "default ignorable"
/// and "tag characters").
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(plain(text), expected);
    }

    #[test]
    fn nothing_commands_the_terminal() {
        check("a\u{1b}[2Jb\u{7}\u{9b}31m", "a\\u{1b}[2Jb\\u{7}\\u{9b}31m");
        check("50 %\rdone\r\n\tx", "50 %done\n\tx");
    }

    #[test]
    fn what_hides_in_a_command_is_seen() {
        check("ls\u{200d}x \u{202e}gpj", "ls\\u{200d}x \\u{202e}gpj");
        check("a\u{e0041}b\u{2028}c\u{3164}", "a\\u{e0041}b\\u{2028}c\\u{3164}");
        check("é\u{200d}\u{200d}é", "é\\u{200d}\\u{200d}é");
        check("é\u{200d}", "é\\u{200d}");
    }

    #[test]
    fn scripts_and_emoji_that_need_joiners_keep_them() {
        for text in
            ["👩\u{200d}👩\u{200d}👧", "❤\u{fe0f}\u{200d}🔥", "می\u{200c}خواهم", "日本語 e\u{301}"]
        {
            check(text, text);
        }
    }
}
