//! Ctrl-R: looks for a text that was sent before, by words in it, while they are typed. The keys are those of readline
//! ("Searching for Commands in the History").

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{Edit, Editor};

/// Bytes of a text that are looked at: what was pasted may be long.
const MAX_LOOKED_AT: usize = 64 * 1024;
/// Characters that are looked for at most.
const MAX_WANTED: usize = 200;

/// A search that is under way; the editor holds the text that it has found.
#[derive(Debug)]
pub(super) struct Search {
    wanted: String,
    /// The place in the history of what was found last.
    at: Option<usize>,
    /// Whether nothing holds what is wanted; what was found before is still shown.
    has_failed: bool,
    /// What was being written, and its cursor.
    draft: (String, usize),
    /// The editor's own, as it was before the search.
    browsing: Option<(usize, String)>,
}

/// Where the next one is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From what is shown, to the older ones.
    Here,
    Older,
    Newer,
}

impl Editor {
    /// What is looked for, and whether nothing holds it; `None` while nothing is searched.
    pub(in crate::chat) fn search(&self) -> Option<(&str, bool)> {
        self.search.as_ref().map(|search| (search.wanted.as_str(), search.has_failed))
    }

    pub(super) fn begin_search(&mut self) {
        self.search = Some(Search {
            wanted: String::new(),
            at: None,
            has_failed: false,
            draft: (self.text.clone(), self.cursor),
            browsing: self.browsing.take(),
        });
    }

    /// Ends a search and puts back what was being written.
    pub(super) fn cancel_search(&mut self) {
        if let Some(search) = self.search.take() {
            (self.text, self.cursor) = search.draft;
            self.browsing = search.browsing;
        }
    }

    /// Ends a search with what it has found, which is gone on from by Up and Down.
    fn accept_search(&mut self) {
        let Some(search) = self.search.take() else { return };
        if !search.wanted.is_empty() {
            self.last_wanted = search.wanted;
        }
        self.browsing = match search.at {
            // Down leads to what was being written, however it was left.
            Some(at) => Some((at, search.browsing.map_or(search.draft.0, |(_, draft)| draft))),
            None => search.browsing,
        };
    }

    /// Does what a key asks of the search. A key that is none of its own ends it, and is `None`.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys end the search")]
    pub(super) fn search_key(&mut self, key: KeyEvent) -> Option<Edit> {
        let search = self.search.as_mut()?;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('r') if control => self.search_on(Way::Older),
            KeyCode::Char('s') if control => self.search_on(Way::Newer),
            KeyCode::Up => self.search_on(Way::Older),
            KeyCode::Down => self.search_on(Way::Newer),
            KeyCode::Char('c' | 'g') if control => self.cancel_search(),
            // An empty line would end the chat.
            KeyCode::Char('d' | 'j') if control => self.accept_search(),
            KeyCode::Backspace => self.shorten(),
            KeyCode::Char('h') if control => self.shorten(),
            KeyCode::Enter if key.modifiers.is_empty() && !search.has_failed => {
                self.accept_search();
                return Some(self.send());
            }
            // What nothing was found for is nothing to send.
            KeyCode::Enter | KeyCode::Esc => self.accept_search(),
            KeyCode::Char(letter) if !control && !alt => {
                self.search_for(letter.encode_utf8(&mut [0; 4]));
            }
            _ => {
                self.accept_search();
                return None;
            }
        }
        Some(Edit::Changed)
    }

    /// Adds to what is looked for; of a text of several lines the first one.
    pub(super) fn search_for(&mut self, text: &str) {
        let Some(search) = &mut self.search else { return };
        let left = MAX_WANTED.saturating_sub(search.wanted.chars().count());
        search.wanted.extend(text.lines().next().unwrap_or_default().chars().take(left));
        self.find(Way::Here);
    }

    fn shorten(&mut self) {
        let Some(search) = &mut self.search else { return };
        let last = search.wanted.graphemes(true).next_back().map_or(0, str::len);
        search.wanted.truncate(search.wanted.len() - last);
        if search.wanted.is_empty() {
            search.has_failed = false;
        } else {
            self.find(Way::Here);
        }
    }

    /// To the next one. Where nothing is typed yet, what was looked for last time.
    fn search_on(&mut self, way: Way) {
        let Some(search) = &mut self.search else { return };
        if search.wanted.is_empty() {
            search.wanted.clone_from(&self.last_wanted);
            if search.wanted.is_empty() {
                return;
            }
            self.find(Way::Here);
        } else {
            self.find(way);
        }
    }

    fn find(&mut self, way: Way) {
        let Some(search) = &mut self.search else { return };
        let count = self.history.len();
        let older = search.at.map_or(count, |at| if way == Way::Here { at + 1 } else { at });
        let newer = search.at.map_or(count, |at| at + 1);
        // The same text again is not another one.
        let is_new = |text: &str| way == Way::Here || search.at.is_none() || text != self.text;
        let look = |at: usize| {
            let text = self.history.get(at)?;
            let place = place(text, &search.wanted)?;
            is_new(text).then_some((at, place))
        };
        let found = match way {
            Way::Here | Way::Older => (0..older).rev().find_map(look),
            Way::Newer => (newer..count).find_map(look),
        };
        search.has_failed = found.is_none();
        if let Some((at, place)) = found {
            search.at = Some(at);
            self.text = self.history.get(at).cloned().unwrap_or_default();
            self.cursor = place;
        }
    }
}

/// Where the text holds what is wanted: as far at its end as it does. Capitals only matter where some are wanted.
fn place(text: &str, wanted: &str) -> Option<usize> {
    let end = text.floor_char_boundary(MAX_LOOKED_AT);
    let text = text.get(..end)?;
    if wanted.chars().any(char::is_uppercase) {
        return text.rfind(wanted);
    }
    let (at, _) = text.char_indices().rev().find(|(at, _)| {
        let mut letters = text.get(*at..).unwrap_or_default().chars().flat_map(char::to_lowercase);
        wanted.chars().all(|letter| letters.next() == Some(letter))
    })?;
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: [&str; 6] = [
        "run the tests",
        "größe der Datei\nund der Rest",
        "what does the Parser do?",
        "run the tests",
        "日本語で答えて",
        "fix the parser",
    ];

    fn editor() -> Editor {
        let mut editor = Editor::with_history(HISTORY.map(str::to_owned).to_vec());
        editor.set("draft");
        editor.key(KeyEvent::from(KeyCode::Left));
        editor
    }

    fn control(letter: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
    }

    /// The keys: letters as they are, `<` for Ctrl-R, `>` for Ctrl-S, `^` for Backspace.
    fn press(editor: &mut Editor, keys: &str) {
        for letter in keys.chars() {
            let key = match letter {
                '<' => control('r'),
                '>' => control('s'),
                '^' => KeyEvent::from(KeyCode::Backspace),
                letter => KeyEvent::from(KeyCode::Char(letter)),
            };
            assert_eq!(editor.key(key), Edit::Changed, "{letter}");
        }
    }

    /// These keys find that text, with the cursor there, and maybe more does not hold what is wanted.
    #[track_caller]
    fn check(keys: &str, expected: &str, has_failed: bool) {
        let mut editor = editor();
        press(&mut editor, keys);
        let shown = format!("{}|{}", editor.before(), editor.after());
        assert_eq!((shown.as_str(), editor.search().unwrap().1), (expected, has_failed), "{keys}");
    }

    #[test]
    fn each_letter_and_each_ctrl_r_goes_further_back() {
        check("<", "draf|t", false);
        check("<p", "fix the |parser", false);
        check("<par", "fix the |parser", false);
        check("<par<", "what does the |Parser do?", false);
        check("<par<<", "what does the |Parser do?", true);
        check("<par<>", "fix the |parser", false);
        check("<par>", "fix the |parser", true);
        check("<Par", "what does the |Parser do?", false);
        check("<tests", "run the |tests", false);
        check("<tests<", "run the |tests", true);
        check("<本", "日|本語で答えて", false);
        check("<größe", "|größe der Datei\nund der Rest", false);
        check("<GRÖ", "draf|t", true);
        check("<grö", "|größe der Datei\nund der Rest", false);
        check("<rest", "größe der Datei\nund der |Rest", false);
    }

    #[test]
    fn what_is_not_found_leaves_what_was_and_backspace_goes_back() {
        check("<parx", "fix the |parser", true);
        check("<parx^", "fix the |parser", false);
        check("<x", "fi|x the parser", false);
        check("<zzz", "draf|t", true);
        check("<zzz^^^", "draf|t", false);
        check("<^^", "draf|t", false);
        check("<<", "draf|t", false);
    }

    #[test]
    fn enter_sends_what_was_found_and_nothing_that_was_not() {
        let enter = KeyEvent::from(KeyCode::Enter);
        let mut editor = editor();
        press(&mut editor, "<par");
        assert_eq!(editor.key(enter), Edit::Sent("fix the parser".to_owned()));
        assert!(editor.search().is_none() && editor.text().is_empty());
        editor.set("draft");
        press(&mut editor, "<zzz");
        assert_eq!(editor.key(enter), Edit::Changed);
        assert_eq!((editor.text(), editor.search()), ("draft", None));
    }

    #[test]
    fn esc_and_arrows_take_it_for_editing_and_ctrl_g_and_ctrl_c_give_the_draft_back() {
        for (key, expected) in [
            (KeyEvent::from(KeyCode::Esc), "fix the |parser"),
            (control('j'), "fix the |parser"),
            (control('d'), "fix the |parser"),
            (KeyEvent::from(KeyCode::Left), "fix the| parser"),
            (KeyEvent::from(KeyCode::Right), "fix the p|arser"),
            (KeyEvent::from(KeyCode::End), "fix the parser|"),
            (control('k'), "fix the |"),
            (control('g'), "draf|t"),
            (control('c'), "draf|t"),
        ] {
            let mut editor = editor();
            press(&mut editor, "<par");
            assert_eq!(editor.key(key), Edit::Changed, "{key:?}");
            assert_eq!(format!("{}|{}", editor.before(), editor.after()), expected, "{key:?}");
            assert!(editor.search().is_none());
        }
        let mut editor = editor();
        press(&mut editor, "<par");
        assert_eq!(editor.key(control('o')), Edit::Unknown, "a key of somebody else");
        assert_eq!((editor.text(), editor.search()), ("fix the parser", None));
    }

    #[test]
    fn up_and_down_go_on_from_what_was_found_and_back_to_the_draft() {
        let mut editor = editor();
        press(&mut editor, "<Par");
        editor.key(KeyEvent::from(KeyCode::Esc));
        editor.key(KeyEvent::from(KeyCode::Down));
        assert_eq!(editor.text(), "run the tests");
        for _ in 0..3 {
            editor.key(KeyEvent::from(KeyCode::Down));
        }
        assert_eq!(editor.text(), "draft");
    }

    #[test]
    fn ctrl_r_without_words_takes_those_of_the_last_search() {
        let mut editor = editor();
        press(&mut editor, "<par");
        editor.key(KeyEvent::from(KeyCode::Esc));
        press(&mut editor, "<");
        assert_eq!(editor.search(), Some(("", false)));
        press(&mut editor, "<");
        assert_eq!((editor.search(), editor.text()), (Some(("par", false)), "fix the parser"));
        press(&mut editor, "<");
        assert_eq!(editor.text(), "what does the Parser do?");
    }

    #[test]
    fn a_paste_is_looked_for_and_whoever_takes_the_text_gets_the_draft() {
        let mut editor = editor();
        press(&mut editor, "<");
        editor.paste("the parser\nand more");
        assert_eq!(editor.search(), Some(("the parser", false)));
        assert_eq!(editor.text(), "fix the parser");
        editor.paste(&"x".repeat(10_000));
        assert_eq!(editor.search().unwrap().0.len(), MAX_WANTED);
        assert_eq!(editor.take(), "draft");
        assert!(editor.search().is_none());
        assert_eq!(Editor::with_history(Vec::new()).search(), None);
    }

    #[test]
    fn of_a_long_text_only_the_beginning_is_looked_at() {
        let long = format!("{}needle", "ä".repeat(MAX_LOOKED_AT));
        assert_eq!(place(&long, "needle"), None);
        assert_eq!(place("", ""), None);
    }
}
