//! Text from hooks: cut to a length that people and models can bear, with a note of what was left out.

/// Characters that a text of a hook may have (Claude Code, "Hooks reference", JSON output).
pub(crate) const TEXT: usize = 10_000;

/// Characters that a hook's name in a message may have.
const LABEL: usize = 80;

/// The text's first `limit` characters, with a note if there were more.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            let rest = text.get(end..).unwrap_or_default().chars().count();
            format!("{kept}\n[{rest} more characters were left out]")
        }
    }
}

/// The text as one short line: a hook's name in a message.
pub(crate) fn label(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LABEL) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_what_is_gone() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü\n[1 more characters were left out]");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn a_label_is_one_short_line() {
        assert_eq!(label("a \n\t b"), "a b");
        assert_eq!(label(&"é".repeat(100)).chars().count(), LABEL + 1);
    }
}
