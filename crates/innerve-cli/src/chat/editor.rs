//! What a person types: a text of one or several lines with a cursor, and the texts that were sent before. Pure state.

mod search;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use search::Search;

/// Sent texts that are remembered at most.
const MAX_HISTORY: usize = 1_000;

/// The text that is being written.
#[derive(Debug, Default)]
pub(super) struct Editor {
    text: String,
    /// In bytes, always between two characters as people see them.
    cursor: usize,
    /// The text that was cut last.
    cut: String,
    history: Vec<String>,
    /// The place in the history that is shown, and what was being written before it was opened.
    browsing: Option<(usize, String)>,
    search: Option<Search>,
    /// What was looked for last.
    last_wanted: String,
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// The text or the cursor may have changed.
    Changed,
    /// The text is sent; the editor is empty again.
    Sent(String),
    /// The key means nothing to an editor.
    Unknown,
}

impl Editor {
    /// An editor that remembers these texts, the oldest first.
    pub(super) fn with_history(history: Vec<String>) -> Self {
        Self { history, ..Self::default() }
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text up to the cursor.
    pub(super) fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    /// The text behind the cursor.
    pub(super) fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    /// Empties it and gives what was in it.
    pub(super) fn take(&mut self) -> String {
        self.cancel_search();
        self.cursor = 0;
        self.browsing = None;
        std::mem::take(&mut self.text)
    }

    /// Replaces the text; the cursor stands at its end.
    pub(super) fn set(&mut self, text: impl Into<String>) {
        self.search = None;
        self.text = text.into();
        self.cursor = self.text.len();
        self.browsing = None;
    }

    /// Puts text at the cursor, as it comes from a paste: line ends of any kind become one kind, tabs stay.
    pub(super) fn paste(&mut self, text: &str) {
        if self.search.is_some() { self.search_for(text) } else { self.insert(text) }
    }

    fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Replaces the last `bytes` before the cursor.
    pub(super) fn complete(&mut self, bytes: usize, text: &str) {
        let start = self.cursor.saturating_sub(bytes);
        if self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.cursor, text);
            self.cursor = start + text.len();
        }
    }

    /// Does what a key asks for.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
    pub(super) fn key(&mut self, key: KeyEvent) -> Edit {
        if let Some(edit) = self.search_key(key) {
            return edit;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => {
                self.insert("\n");
            }
            KeyCode::Enter if self.before().ends_with('\\') => {
                self.cut_back(1);
                self.insert("\n");
            }
            KeyCode::Enter => return self.send(),
            KeyCode::Char('j') if control => self.insert("\n"),
            KeyCode::Char('a') if control => self.cursor = self.line_start(),
            KeyCode::Char('e') if control => self.cursor = self.line_end(),
            KeyCode::Char('b') if control => self.left(),
            KeyCode::Char('f') if control => self.right(),
            KeyCode::Char('b') if alt => self.cursor = self.word_left(),
            KeyCode::Char('f') if alt => self.cursor = self.word_right(),
            KeyCode::Char('p') if control => self.up(),
            KeyCode::Char('n') if control => self.down(),
            KeyCode::Char('r') if control => self.begin_search(),
            KeyCode::Char('h') if control => self.delete_left(),
            KeyCode::Char('d') if control && !self.text.is_empty() => self.delete_right(),
            KeyCode::Char('u') if control => self.cut_range(self.line_start(), self.cursor),
            KeyCode::Char('k') if control => self.cut_range(self.cursor, self.line_end()),
            KeyCode::Char('w') if control => self.cut_range(self.word_left(), self.cursor),
            KeyCode::Char('d') if alt => self.cut_range(self.cursor, self.word_right()),
            KeyCode::Backspace if alt || control => self.cut_range(self.word_left(), self.cursor),
            KeyCode::Char('y') if control => {
                let text = self.cut.clone();
                self.insert(&text);
            }
            KeyCode::Char(_) if control || alt => return Edit::Unknown,
            KeyCode::Char(letter) => {
                self.text.insert(self.cursor, letter);
                self.cursor += letter.len_utf8();
            }
            KeyCode::Left if control || alt => self.cursor = self.word_left(),
            KeyCode::Right if control || alt => self.cursor = self.word_right(),
            KeyCode::Left => self.left(),
            KeyCode::Right => self.right(),
            KeyCode::Home => self.cursor = self.line_start(),
            KeyCode::End => self.cursor = self.line_end(),
            KeyCode::Backspace => self.delete_left(),
            KeyCode::Delete => self.delete_right(),
            KeyCode::Up => self.up(),
            KeyCode::Down => self.down(),
            _ => return Edit::Unknown,
        }
        Edit::Changed
    }

    fn send(&mut self) -> Edit {
        Edit::Sent(self.take())
    }

    /// Keeps a text among those that come back.
    pub(super) fn remember(&mut self, text: &str) {
        if !text.trim().is_empty() && self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
            if self.history.len() > MAX_HISTORY {
                self.history.remove(0);
            }
        }
    }

    /// Empties it; what was in it comes back as the last text does.
    pub(super) fn put_aside(&mut self) {
        let text = self.take();
        self.remember(&text);
    }

    fn left(&mut self) {
        self.cursor -= self.before().graphemes(true).next_back().map_or(0, str::len);
    }

    fn right(&mut self) {
        self.cursor += self.after().graphemes(true).next().map_or(0, str::len);
    }

    fn delete_left(&mut self) {
        let bytes = self.before().graphemes(true).next_back().map_or(0, str::len);
        self.cut_back(bytes);
    }

    fn delete_right(&mut self) {
        let bytes = self.after().graphemes(true).next().map_or(0, str::len);
        self.text.replace_range(self.cursor..self.cursor + bytes, "");
    }

    fn cut_back(&mut self, bytes: usize) {
        self.complete(bytes, "");
    }

    fn cut_range(&mut self, start: usize, end: usize) {
        if let Some(text) = self.text.get(start..end).filter(|text| !text.is_empty()) {
            self.cut = text.to_owned();
            self.text.replace_range(start..end, "");
            self.cursor = start;
        }
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.after().find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_left(&self) -> usize {
        let mut words = self.before().unicode_word_indices();
        words.next_back().map_or(0, |(start, _)| start)
    }

    fn word_right(&self) -> usize {
        let next = self.after().unicode_word_indices().next();
        next.map_or(self.text.len(), |(start, word)| self.cursor + start + word.len())
    }

    /// To the line above; in the first line, to the text that was sent before.
    fn up(&mut self) {
        let start = self.line_start();
        if start > 0 {
            let column = self.before().get(start..).map_or(0, |line| line.graphemes(true).count());
            self.cursor = start - 1;
            self.go_to_column(column);
            return;
        }
        let next = match &self.browsing {
            None => self.history.len().checked_sub(1),
            Some((at, _)) => at.checked_sub(1),
        };
        if let Some(at) = next {
            self.browse(at);
        }
    }

    /// To the line below; in the last line, to the text that was sent after the one that is shown.
    fn down(&mut self) {
        let end = self.line_end();
        if end < self.text.len() {
            let start = self.line_start();
            let column = self.before().get(start..).map_or(0, |line| line.graphemes(true).count());
            self.cursor = end + 1;
            self.go_to_column(column);
            return;
        }
        match self.browsing.take() {
            Some((at, draft)) if at + 1 < self.history.len() => {
                self.browsing = Some((at, draft));
                self.browse(at + 1);
            }
            Some((_, draft)) => self.set(draft),
            None => {}
        }
    }

    fn browse(&mut self, at: usize) {
        let Some(text) = self.history.get(at).cloned() else { return };
        let draft = match self.browsing.take() {
            Some((_, draft)) => draft,
            None => self.text.clone(),
        };
        self.set(text);
        self.browsing = Some((at, draft));
    }

    /// To this column of the line that the cursor is in.
    fn go_to_column(&mut self, column: usize) {
        let (start, end) = (self.line_start(), self.line_end());
        let line = self.text.get(start..end).unwrap_or_default();
        self.cursor = start + line.graphemes(true).take(column).map(str::len).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, keys: &str) {
        for letter in keys.chars() {
            assert_eq!(editor.key(KeyEvent::from(KeyCode::Char(letter))), Edit::Changed);
        }
    }

    fn with(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    fn control(letter: char) -> KeyEvent {
        with(KeyCode::Char(letter), KeyModifiers::CONTROL)
    }

    #[track_caller]
    fn check(start: &str, keys: &[KeyEvent], expected: &str) {
        let mut editor = Editor::default();
        editor.set(start);
        for key in keys {
            editor.key(*key);
        }
        let mut shown = editor.text().to_owned();
        shown.insert(editor.cursor, '|');
        assert_eq!(shown, expected);
    }

    #[test]
    fn keys_move_and_delete_what_people_see_as_one_character() {
        let left = KeyEvent::from(KeyCode::Left);
        let back = KeyEvent::from(KeyCode::Backspace);
        check("naïve 👩‍👩‍👧", &[left], "naïve |👩‍👩‍👧");
        check("naïve 👩‍👩‍👧", &[back, back], "naïve|");
        check("e\u{301}", &[back], "|");
        check("", &[back, left, KeyEvent::from(KeyCode::Delete)], "|");
        check("ab", &[control('a'), KeyEvent::from(KeyCode::Right), control('d')], "a|");
    }

    #[test]
    fn words_and_lines_are_cut_and_put_back() {
        check("git commit now", &[control('w')], "git commit |");
        check("git commit now", &[control('w'), control('w')], "git |");
        check("one two", &[control('w'), control('a'), control('y')], "two|one ");
        check("one\ntwo three", &[control('u')], "one\n|");
        check("one\ntwo", &[KeyEvent::from(KeyCode::Up), control('k')], "one|\ntwo");
        check("a b", &[with(KeyCode::Left, KeyModifiers::ALT), control('k')], "a |");
    }

    #[test]
    fn enter_sends_and_its_relatives_make_a_new_line() {
        let mut editor = Editor::default();
        press(&mut editor, "one\\");
        assert_eq!(editor.key(KeyEvent::from(KeyCode::Enter)), Edit::Changed);
        press(&mut editor, "two");
        editor.key(with(KeyCode::Enter, KeyModifiers::ALT));
        press(&mut editor, "three");
        editor.key(control('j'));
        assert_eq!(editor.text(), "one\ntwo\nthree\n");
        let sent = editor.key(KeyEvent::from(KeyCode::Enter));
        assert_eq!(sent, Edit::Sent("one\ntwo\nthree\n".to_owned()));
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn a_paste_of_several_lines_is_not_sent() {
        let mut editor = Editor::default();
        editor.insert("a\r\nb\rc");
        assert_eq!(editor.text(), "a\nb\nc");
        assert_eq!(editor.cursor, 5);
    }

    #[test]
    fn up_and_down_walk_through_lines_and_then_through_what_was_sent() {
        let (up, down) = (KeyEvent::from(KeyCode::Up), KeyEvent::from(KeyCode::Down));
        let mut editor = Editor::with_history(vec!["first".to_owned(), "second".to_owned()]);
        press(&mut editor, "draft");
        editor.key(up);
        assert_eq!(editor.text(), "second");
        editor.key(up);
        editor.key(up);
        assert_eq!(editor.text(), "first");
        editor.key(down);
        editor.key(down);
        assert_eq!(editor.text(), "draft");
        editor.key(down);
        assert_eq!(editor.text(), "draft");
        check("abc\nd\nefg", &[up, up, down], "abc\nd|\nefg");
    }

    #[test]
    fn the_same_text_is_remembered_once_and_blank_ones_never() {
        let mut editor = Editor::default();
        for text in ["a", "a", "  ", "b"] {
            editor.remember(text);
        }
        assert_eq!(editor.history, ["a", "b"]);
    }

    #[test]
    fn what_was_put_aside_comes_back() {
        let mut editor = Editor::default();
        editor.set("half a thought");
        editor.put_aside();
        assert_eq!(editor.text(), "");
        editor.key(KeyEvent::from(KeyCode::Up));
        assert_eq!(editor.text(), "half a thought");
    }

    #[test]
    fn what_was_begun_is_completed_in_place() {
        let mut editor = Editor::default();
        editor.set("see @src/ma and more");
        editor.cursor = "see @src/ma".len();
        editor.complete("src/ma".len(), "src/main.rs");
        assert_eq!(editor.before(), "see @src/main.rs");
        assert_eq!(editor.text(), "see @src/main.rs and more");
    }

    #[test]
    fn keys_of_others_are_left_to_them() {
        let mut editor = Editor::default();
        for key in [
            control('c'),
            control('o'),
            KeyEvent::from(KeyCode::Esc),
            KeyEvent::from(KeyCode::BackTab),
        ] {
            assert_eq!(editor.key(key), Edit::Unknown);
        }
        assert_eq!(editor.key(control('d')), Edit::Unknown, "an empty text ends the chat");
    }
}
