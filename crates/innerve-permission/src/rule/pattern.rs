//! Patterns over text in which `*` alone is special: any run of characters, blanks and slashes included.

/// A compiled pattern, anchored at both ends.
///
/// `\*` is a literal star and `\\` a backslash; any other backslash stands for itself. A trailing ` *` (or `:*`) also
/// matches the text without it, so `ls *` covers `ls` and `ls -la` but not `lsof`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StarPattern {
    /// The literal texts around the stars; one more than there are stars.
    pieces: Vec<String>,
    /// The pieces without the trailing ` *`, if there is one.
    bare: Option<Vec<String>>,
}

impl StarPattern {
    /// Compiles a pattern of plain stars.
    pub(crate) fn new(text: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let literal = match (character, characters.peek()) {
                ('*', _) => {
                    pieces.push(String::new());
                    continue;
                }
                ('\\', Some('*' | '\\')) => characters.next().unwrap_or('\\'),
                (other, _) => other,
            };
            if let Some(last) = pieces.last_mut() {
                last.push(literal);
            }
        }
        Self { pieces, bare: None }
    }

    /// Compiles a command pattern, where a trailing ` *` or `:*` is a word boundary.
    pub(crate) fn command(text: &str) -> Self {
        let normalized = match text.strip_suffix(":*") {
            Some(prefix) => format!("{prefix} *"),
            None => text.to_owned(),
        };
        let mut pattern = Self::new(&normalized);
        if let [before @ .., last, tail] = pattern.pieces.as_slice()
            && tail.is_empty()
            && let Some(word) = last.strip_suffix(' ')
            && !(before.is_empty() && word.is_empty())
        {
            let mut bare = before.to_vec();
            bare.push(word.to_owned());
            pattern.bare = Some(bare);
        }
        pattern
    }

    /// Whether the pattern's texts stand in `text` in their order, from the start of a word on.
    ///
    /// `text` begins and ends with a blank and has one between words.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let pieces = self.bare.as_ref().unwrap_or(&self.pieces);
        let mut rest = text;
        for (index, piece) in pieces.iter().enumerate() {
            let whole_word = index + 1 == pieces.len() && (self.bare.is_some() || self.is_exact());
            let start = if index == 0 && !piece.is_empty() { " " } else { "" };
            let end = if whole_word { " " } else { "" };
            match rest.split_once(&format!("{start}{piece}{end}")) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        true
    }

    /// Whether there is no star.
    pub(crate) fn is_exact(&self) -> bool {
        self.pieces.len() == 1
    }

    /// The literal text before the first star.
    pub(crate) fn prefix(&self) -> &str {
        self.pieces.first().map_or("", String::as_str)
    }

    /// The first word, if the pattern fixes it in full.
    pub(crate) fn first_word(&self) -> Option<&str> {
        match self.prefix().split_once(' ') {
            Some((word, _)) => Some(word),
            None if self.is_exact() => Some(self.prefix()),
            None => None,
        }
    }

    /// Whether the whole of `text` matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        matches_pieces(&self.pieces, text)
            || self.bare.as_ref().is_some_and(|bare| matches_pieces(bare, text))
    }

    /// Whether some value of the holes in `subject` makes the whole match.
    pub(crate) fn may_match(&self, subject: &[Piece<'_>]) -> bool {
        let subject: Vec<Option<char>> = subject
            .iter()
            .flat_map(|piece| match piece {
                Piece::Text(text) => text.chars().map(Some).collect::<Vec<_>>(),
                Piece::Hole => vec![None],
            })
            .collect();
        if subject.len() > MAX_SUBJECT {
            return true;
        }
        intersects(&subject, &holes(&self.pieces))
            || self.bare.as_ref().is_some_and(|bare| intersects(&subject, &holes(bare)))
    }
}

/// A piece of a text that is only partly known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'a> {
    /// Known text.
    Text(&'a str),
    /// Anything, or nothing.
    Hole,
}

/// Longer subjects are not compared character by character: they may match.
const MAX_SUBJECT: usize = 2_000;

fn holes(pieces: &[String]) -> Vec<Option<char>> {
    let mut all = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            all.push(None);
        }
        all.extend(piece.chars().map(Some));
    }
    all
}

fn matches_pieces(pieces: &[String], text: &str) -> bool {
    let [first, rest @ ..] = pieces else { return false };
    let Some(mut remaining) = text.strip_prefix(first.as_str()) else { return false };
    let [middle @ .., last] = rest else { return remaining.is_empty() };
    // Between stars the leftmost place is always as good as any other.
    for piece in middle {
        match remaining.split_once(piece.as_str()) {
            Some((_, after)) => remaining = after,
            None => return false,
        }
    }
    remaining.ends_with(last.as_str())
}

/// Whether two texts with holes (`None`) have a common reading.
pub(crate) fn intersects(left: &[Option<char>], right: &[Option<char>]) -> bool {
    let width = right.len() + 1;
    let mut row = vec![false; width];
    if let Some(start) = row.first_mut() {
        *start = true;
    }
    for step in 0..=left.len() {
        let ours = left.get(step);
        let mut next = vec![false; width];
        for column in 0..width {
            if !row.get(column).copied().unwrap_or(false) {
                continue;
            }
            let theirs = right.get(column);
            let right_hole = matches!(theirs, Some(None));
            let left_hole = matches!(ours, Some(None));
            let equal = matches!((ours, theirs), (Some(Some(a)), Some(Some(b))) if a == b);
            // A hole ends, or swallows one character of the other side.
            let moves_right = right_hole || (left_hole && theirs.is_some());
            let moves_down = left_hole || (right_hole && ours.is_some());
            if moves_right && let Some(cell) = row.get_mut(column + 1) {
                *cell = true;
            }
            if moves_down && let Some(cell) = next.get_mut(column) {
                *cell = true;
            }
            if equal && let Some(cell) = next.get_mut(column + 1) {
                *cell = true;
            }
        }
        if step == left.len() {
            return row.last().copied().unwrap_or(false);
        }
        row = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by trying everything.
    fn naive(pattern: &[Option<char>], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((None, rest)), _) => {
                naive(rest, text)
                    || text.split_first().is_some_and(|(_, after)| naive(pattern, after))
            }
            (Some((Some(wanted), rest)), Some((found, after))) => {
                wanted == found && naive(rest, after)
            }
            (Some((Some(_), _)), None) | (None, Some(_)) => false,
        }
    }

    #[test]
    fn escapes_are_literal() {
        for (pattern, text, matches) in [
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("a\\\\*", "a\\b", true),
            ("a\\b", "a\\b", true),
            ("a\\", "a\\", true),
            ("\\* *", "* x", true),
        ] {
            assert_eq!(StarPattern::command(pattern).matches(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn only_a_trailing_star_has_a_word_boundary() {
        for (pattern, text, matches) in [
            ("ls *", "ls", true),
            ("ls *", "ls -a", true),
            ("ls *", "lsof", false),
            ("ls:*", "ls", true),
            ("ls*", "lsof", true),
            ("a * b *", "a x b", true),
            ("a * b *", "a b", false),
            ("* *", "x y", true),
            ("a:* b", "a:x b", true),
        ] {
            assert_eq!(StarPattern::command(pattern).matches(text), matches, "{pattern} on {text}");
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_trying_everything(pattern in "[ab *]{0,8}", text in "[ab ]{0,8}") {
            let letters: Vec<char> = text.chars().collect();
            let naive_pattern: Vec<Option<char>> = pattern.chars().map(|c| (c != '*').then_some(c)).collect();
            prop_assert_eq!(StarPattern::new(&pattern).matches(&text), naive(&naive_pattern, &letters));
        }

        #[test]
        fn what_matches_may_match_whatever_is_hidden(
            pattern in "[ab *]{0,8}", before in "[ab ]{0,4}", hidden in "[ab ]{0,4}", after in "[ab ]{0,4}",
        ) {
            let pattern = StarPattern::command(&pattern);
            if pattern.matches(&format!("{before}{hidden}{after}")) {
                prop_assert!(pattern.may_match(&[Piece::Text(&before), Piece::Hole, Piece::Text(&after)]));
            }
        }

        #[test]
        fn what_matches_at_a_words_start_is_found_in_longer_text(pattern in "[ab]{1,2}[ab *]{0,6}", text in "[ab]{1,3}( [ab]{1,3}){0,2}") {
            let pattern = StarPattern::command(pattern.trim_end_matches(' '));
            if pattern.matches(&text) {
                prop_assert!(pattern.is_in(&format!(" x {text} y ")), "{pattern:?} in {text}");
            }
        }
    }
}
