//! Lists, pipelines and simple commands.

use super::scanner::Scanner;
use super::words::Token;
use super::{Read, Written};

/// Words that mean something only where a command begins.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while", "{", "}",
];

/// What ends a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The end of the part that is read.
    End,
    /// `)`, which is left to the caller.
    Parenthesis,
    /// One of these reserved words, which is left to the caller.
    Words(&'static [&'static str]),
    /// `;;`, `;&`, `;;&` or `esac`, which are left to the caller.
    CaseItem,
}

impl<'a> Scanner<'a> {
    /// Reads the text from its beginning to its end.
    pub(super) fn whole_text(&mut self) -> Read {
        self.list(Until::End)?;
        if self.at == self.end && self.pending.is_empty() { Ok(()) } else { self.give_up() }
    }

    /// Reads commands up to what ends the list.
    pub(super) fn list(&mut self, until: Until) -> Read {
        self.nested(|scanner| {
            let mut empty = true;
            loop {
                scanner.lines()?;
                let ends = match until {
                    Until::End => scanner.at == scanner.end,
                    Until::Parenthesis => scanner.peek() == b')',
                    Until::Words(words) => words.iter().any(|word| scanner.spelled(word).is_some()),
                    Until::CaseItem => scanner.peek() == b';' || scanner.spelled("esac").is_some(),
                };
                if ends {
                    break;
                }
                scanner.and_or()?;
                empty = false;
                scanner.blanks();
                match scanner.peek() {
                    b';' if matches!(scanner.ahead(), b';' | b'&') => {}
                    b';' | b'&' => scanner.at += 1,
                    0 | b'\n' | b')' => {}
                    _ => return scanner.give_up(),
                }
            }
            if empty && until != Until::CaseItem { scanner.give_up() } else { Ok(()) }
        })
    }

    /// Reads pipelines joined by `&&` and `||`.
    fn and_or(&mut self) -> Read {
        loop {
            self.pipeline()?;
            self.blanks();
            match (self.peek(), self.ahead()) {
                (b'&', b'&') | (b'|', b'|') => {
                    self.advance();
                    self.advance();
                    self.lines()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn pipeline(&mut self) -> Read {
        self.blanks();
        if let Some(end) = self.spelled("!") {
            self.at = end;
            self.blanks();
        }
        loop {
            self.command()?;
            self.blanks();
            if self.peek() != b'|' || self.ahead() == b'|' {
                return Ok(());
            }
            self.advance();
            if self.peek() == b'&' {
                self.at += 1;
            }
            self.lines()?;
        }
    }

    fn command(&mut self) -> Read {
        self.blanks();
        if self.peek() == b'(' {
            return self.compound("(");
        }
        let reserved = RESERVED.iter().find(|word| self.spelled(word).is_some());
        match reserved {
            None => self.simple_command(false),
            Some(&"time") => self.simple_command(true),
            Some(&"function") => self.function_keyword(),
            Some(word) => self.compound(word),
        }
    }

    /// Reads assignments, words and redirections; `timed` if the first word is the keyword `time`.
    fn simple_command(&mut self, timed: bool) -> Read {
        let mut command = Written {
            start: self.at,
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            confirmed: false,
        };
        loop {
            self.blanks();
            if self.at_redirect() {
                self.redirect(&mut command.redirects)?;
                continue;
            }
            if command.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                command.assignments.push(assignment);
                continue;
            }
            if timed
                && command.words.iter().skip(1).all(|word| matches!(word.raw, "-p" | "--"))
                && !command.words.is_empty()
                && (self.reserved_next() || self.assignment()?.is_some())
            {
                // What is timed is a compound, or has assignments of its own.
                return self.give_up();
            }
            let word = self.word()?;
            if word.raw.is_empty() {
                break;
            }
            if matches!(self.peek(), b'<' | b'>') {
                if word.raw.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.redirect(&mut command.redirects)?;
                    continue;
                }
                if word.raw.ends_with('}') {
                    return self.give_up();
                }
            }
            command.words.push(word);
        }
        if self.peek() == b'(' {
            return if timed { self.give_up() } else { self.function_parentheses(&command) };
        }
        if command.words.is_empty()
            && command.assignments.is_empty()
            && command.redirects.is_empty()
        {
            return self.give_up();
        }
        self.commands.push(command);
        Ok(())
    }

    fn reserved_next(&mut self) -> bool {
        self.peek();
        RESERVED.iter().any(|word| self.spelled(word).is_some())
    }

    /// Reads `NAME=value` or `NAME+=value`, if that is next.
    fn assignment(&mut self) -> Read<Option<(&'a str, Token<'a>)>> {
        self.peek();
        let start = self.at;
        if self.raw(start).is_ascii_digit() {
            return Ok(None);
        }
        while self.peek().is_ascii_alphanumeric() || self.raw(self.at) == b'_' {
            self.at += 1;
        }
        let name = self.slice(start, self.at);
        match (self.peek(), self.ahead()) {
            _ if name.is_empty() => {}
            (b'[', _) => return self.give_up(),
            (b'=', _) => {
                self.advance();
                return self.assigned(name).map(Some);
            }
            (b'+', b'=') => {
                self.advance();
                self.advance();
                return self.assigned(name).map(Some);
            }
            _ => {}
        }
        self.at = start;
        Ok(None)
    }

    fn assigned(&mut self, name: &'a str) -> Read<(&'a str, Token<'a>)> {
        if self.peek() == b'(' {
            return self.give_up();
        }
        Ok((name, self.word()?))
    }
}
