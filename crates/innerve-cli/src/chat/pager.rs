//! A page that covers the conversation for a while: a long text to scroll through. Pure state.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screen::{cut, fold};
use crate::output::{BOLD, DIM, YELLOW};

/// The page.
#[derive(Debug)]
pub(super) struct Pager {
    title: String,
    lines: Vec<String>,
    /// The lines broken at a width.
    rows: Vec<String>,
    width: usize,
    top: usize,
    /// Rows that were shown last.
    height: usize,
}

/// What a key asks for beyond scrolling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Stay,
    /// The page before this one.
    Back,
    /// The page after this one.
    On,
    Close,
}

impl Pager {
    /// A page of styled lines.
    pub(super) fn new(title: String, lines: Vec<String>) -> Self {
        Self { title, lines, rows: Vec::new(), width: 0, top: 0, height: 1 }
    }

    /// What a terminal of this size shows; `notice` is something to take notice of.
    pub(super) fn view(&mut self, width: usize, rows: usize, notice: &str) -> Vec<String> {
        if self.width != width {
            self.rows = self
                .lines
                .iter()
                .flat_map(|line| fold(&line.replace('\t', "    "), width))
                .collect();
            self.width = width;
        }
        self.height = rows.saturating_sub(2).max(1);
        self.top = self.top.min(self.last_top());
        let mut view = vec![cut(&format!("{BOLD}{}{BOLD:#}", self.title), width)];
        let shown = self.rows.iter().skip(self.top).take(self.height);
        view.extend(shown.cloned());
        view.resize(self.height + 1, String::new());
        let last = (self.top + self.height).min(self.rows.len());
        let place = format!("{}–{last} of {}", (self.top + 1).min(last), self.rows.len());
        let foot = if notice.is_empty() {
            format!("{DIM}{place} · ↑ ↓ PgUp PgDn scroll · ← → other results · q closes{DIM:#}")
        } else {
            format!("{YELLOW}{notice}{YELLOW:#}")
        };
        view.push(cut(&foot, width));
        view
    }

    fn last_top(&self) -> usize {
        self.rows.len().saturating_sub(self.height)
    }

    /// Scrolls, or says what else is wanted.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing here")]
    pub(super) fn key(&mut self, key: KeyEvent) -> Turn {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = self.height.saturating_sub(1).max(1);
        match key.code {
            KeyCode::Char('c' | 'o' | 'd') if control => return Turn::Close,
            KeyCode::Char(_) if control => {}
            KeyCode::Esc | KeyCode::Char('q') => return Turn::Close,
            KeyCode::Left | KeyCode::Char('p') => return Turn::Back,
            KeyCode::Right | KeyCode::Char('n') => return Turn::On,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => self.top += 1,
            KeyCode::PageUp | KeyCode::Char('b') => self.top = self.top.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top += page,
            KeyCode::Home | KeyCode::Char('g') => self.top = 0,
            KeyCode::End | KeyCode::Char('G') => self.top = usize::MAX / 2,
            _ => {}
        }
        self.top = self.top.min(self.last_top());
        Turn::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pager: &mut Pager, width: usize, rows: usize) -> Vec<String> {
        let view = pager.view(width, rows, "");
        view.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn keys_scroll_and_never_beyond_the_ends() {
        let lines = (1..=20).map(|number| number.to_string()).collect();
        let mut pager = Pager::new("Numbers".to_owned(), lines);
        let view = shown(&mut pager, 80, 7);
        assert_eq!(view.len(), 7);
        assert_eq!(view[..3], ["Numbers", "1", "2"]);
        assert!(view[6].starts_with("1–5 of 20"), "{view:?}");
        for (code, first) in [
            (KeyCode::Up, "1"),
            (KeyCode::Down, "2"),
            (KeyCode::PageDown, "6"),
            (KeyCode::PageUp, "2"),
            (KeyCode::End, "16"),
            (KeyCode::Down, "16"),
            (KeyCode::Char('g'), "1"),
        ] {
            assert_eq!(pager.key(KeyEvent::from(code)), Turn::Stay);
            assert_eq!(shown(&mut pager, 80, 7)[1], first, "after {code:?}");
        }
    }

    #[test]
    fn another_width_breaks_the_lines_anew_and_stays_in_the_text() {
        let mut pager = Pager::new("T".to_owned(), vec!["one two three four".to_owned()]);
        assert_eq!(shown(&mut pager, 10, 3)[1], "one two");
        pager.key(KeyEvent::from(KeyCode::End));
        assert_eq!(shown(&mut pager, 10, 3)[1], "three four");
        assert_eq!(shown(&mut pager, 80, 3)[1], "one two three four");
        let mut empty = Pager::new(String::new(), Vec::new());
        assert!(shown(&mut empty, 20, 1)[2].starts_with("0–0 of 0"));
    }

    #[test]
    fn it_is_left_by_the_keys_that_people_try() {
        let mut pager = Pager::new(String::new(), Vec::new());
        let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        for key in [
            KeyEvent::from(KeyCode::Esc),
            KeyEvent::from(KeyCode::Char('q')),
            control('c'),
            control('o'),
        ] {
            assert_eq!(pager.key(key), Turn::Close);
        }
        assert_eq!(pager.key(KeyEvent::from(KeyCode::Left)), Turn::Back);
        assert_eq!(pager.key(KeyEvent::from(KeyCode::Right)), Turn::On);
    }
}
