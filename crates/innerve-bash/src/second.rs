//! A second opinion: a small reader of its own, written from the rules of bash and not from a syntax tree.
//!
//! The verified walk rests on a grammar that was made for editors. This reader shares no code and no tree with it, goes
//! through the text byte by byte as bash's own lexer does, and lists the simple commands as they are written. What the
//! two do not read alike is refused, so that a misreading must happen twice, and in the same way, to go unseen.
//!
//! It reads a part of bash that is a little larger than what the walk accepts, and gives up on everything else.

mod compounds;
mod lists;
mod redirects;
mod scanner;
mod words;

use crate::Word;
use crate::read::Simple;

use redirects::{Redirect, Target};
use scanner::Scanner;
use words::Token;

/// The place where the reader gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unread {
    at: usize,
}

/// The outcome of one step of the reader.
type Read<T = ()> = Result<T, Unread>;

/// A simple command as it is written, or the redirections of a compound command.
#[derive(Debug)]
struct Written<'a> {
    start: usize,
    assignments: Vec<(&'a str, Token<'a>)>,
    words: Vec<Token<'a>>,
    redirects: Vec<Redirect<'a>>,
    confirmed: bool,
}

/// What the second reader found in a text.
#[derive(Debug)]
pub(crate) struct SecondOpinion<'a> {
    /// In the order in which they start.
    commands: Vec<Written<'a>>,
    /// The bodies of here-documents.
    bodies: Vec<Token<'a>>,
    /// The first place where the readers are known to differ.
    dispute: Option<usize>,
}

impl<'a> SecondOpinion<'a> {
    /// Reads `text`.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut scanner = Scanner::new(text);
        let dispute = scanner.whole_text().err().map(|unread| unread.at);
        let Scanner { mut commands, bodies, .. } = scanner;
        commands.sort_by_key(|command| command.start);
        Self { commands, bodies, dispute }
    }

    /// Takes note of what the walk found at `start`.
    pub(crate) fn compare(&mut self, start: usize, simple: &Simple<'_>) {
        let place = self.commands.binary_search_by_key(&start, |command| command.start);
        match place.ok().and_then(|place| self.commands.get_mut(place)) {
            Some(command) => command.confirmed = command.agrees(simple, &self.bodies),
            None => self.dispute = self.dispute.or(Some(start)),
        }
    }

    /// Where the readers differ, after everything that the walk found was compared.
    pub(crate) fn dispute(&self) -> Option<usize> {
        let unconfirmed = self.commands.iter().find(|command| !command.confirmed);
        self.dispute.or(unconfirmed.map(|command| command.start))
    }
}

impl Written<'_> {
    fn agrees(&self, simple: &Simple<'_>, bodies: &[Token<'_>]) -> bool {
        let words =
            pairwise(&self.words, &simple.words, |token, argument| agree(&argument.word, token));
        // What `export` assigns is a word here.
        let exports = self.words.first().is_some_and(|word| word.raw == "export");
        let assignments = exports && self.assignments.is_empty()
            || pairwise(&self.assignments, &simple.assignments, |(name, value), assignment| {
                *name == assignment.name && agree(&assignment.value, value)
            });
        let redirects = pairwise(&self.redirects, &simple.redirections, |redirect, other| {
            let token = match &redirect.target {
                Target::Word(token) => Some(token),
                Target::Body(slot) => bodies.get(*slot),
            };
            redirect.kind == other.kind && token.is_some_and(|token| agree(&other.target, token))
        });
        words && assignments && redirects
    }
}

fn pairwise<A, B>(left: &[A], right: &[B], alike: impl Fn(&A, &B) -> bool) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| alike(left, right))
}

/// Whether a word is what this reader saw; calling a word dynamic that is not is only careful.
fn agree(word: &Word, token: &Token<'_>) -> bool {
    match word {
        Word::Literal(text) => token.value.as_deref() == Some(text),
        Word::Dynamic(dynamic) => token.raw == dynamic.raw,
    }
}

#[cfg(test)]
mod tests;
