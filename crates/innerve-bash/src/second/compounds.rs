//! Compound commands and functions.

use super::lists::Until;
use super::scanner::Scanner;
use super::words::Token;
use super::{Read, Written};

impl<'a> Scanner<'a> {
    /// Reads the compound command that `opening` begins, with its redirections.
    pub(super) fn compound(&mut self, opening: &str) -> Read {
        let start = self.at;
        let mut words = Vec::new();
        match opening {
            "(" => self.subshell()?,
            "{" => self.group()?,
            "if" => self.conditional()?,
            "while" | "until" => {
                self.expect(opening)?;
                self.list(Until::Words(&["do"]))?;
                self.do_group()?;
            }
            "for" => self.for_loop()?,
            "case" => self.case()?,
            "[[" => words = self.condition()?,
            _ => return self.give_up(),
        }
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            if self.raw(self.at).is_ascii_digit() {
                let word = self.word()?;
                if !word.raw.bytes().all(|byte| byte.is_ascii_digit())
                    || !matches!(self.peek(), b'<' | b'>')
                {
                    return self.give_up();
                }
            } else if !self.at_redirect() {
                break;
            }
            self.redirect(&mut redirects)?;
        }
        if !words.is_empty() || !redirects.is_empty() {
            let assignments = Vec::new();
            self.commands.push(Written { start, assignments, words, redirects, confirmed: false });
        }
        Ok(())
    }

    fn subshell(&mut self) -> Read {
        // Two parentheses may be arithmetic.
        if self.ahead() == b'(' {
            return self.give_up();
        }
        self.at += 1;
        self.list(Until::Parenthesis)?;
        if self.peek() != b')' {
            return self.give_up();
        }
        self.at += 1;
        Ok(())
    }

    fn group(&mut self) -> Read {
        self.expect("{")?;
        self.list(Until::Words(&["}"]))?;
        self.expect("}")
    }

    fn conditional(&mut self) -> Read {
        self.expect("if")?;
        loop {
            self.list(Until::Words(&["then"]))?;
            self.expect("then")?;
            self.list(Until::Words(&["elif", "else", "fi"]))?;
            match self.spelled("elif") {
                Some(end) => self.at = end,
                None => break,
            }
        }
        if let Some(end) = self.spelled("else") {
            self.at = end;
            self.list(Until::Words(&["fi"]))?;
        }
        self.expect("fi")
    }

    fn do_group(&mut self) -> Read {
        self.expect("do")?;
        self.list(Until::Words(&["done"]))?;
        self.expect("done")
    }

    fn for_loop(&mut self) -> Read {
        self.expect("for")?;
        self.blanks();
        let name = self.word()?;
        if name.value.as_deref() != Some(name.raw) {
            return self.give_up();
        }
        self.lines()?;
        self.expect("in")?;
        loop {
            self.blanks();
            if self.word()?.raw.is_empty() {
                break;
            }
        }
        match self.peek() {
            b';' => self.at += 1,
            b'\n' => {}
            _ => return self.give_up(),
        }
        self.lines()?;
        self.do_group()
    }

    fn case(&mut self) -> Read {
        self.expect("case")?;
        self.blanks();
        if self.word()?.raw.is_empty() {
            return self.give_up();
        }
        self.lines()?;
        self.expect("in")?;
        loop {
            self.lines()?;
            if let Some(end) = self.spelled("esac") {
                self.at = end;
                return Ok(());
            }
            if self.peek() == b'(' {
                self.at += 1;
            }
            loop {
                self.blanks();
                if self.word()?.raw.is_empty() {
                    return self.give_up();
                }
                self.blanks();
                match self.peek() {
                    b'|' => self.at += 1,
                    b')' => break,
                    _ => return self.give_up(),
                }
            }
            self.at += 1;
            self.list(Until::CaseItem)?;
            if self.peek() == b';' {
                self.advance();
                // `;;`, `;&` or `;;&`.
                match self.peek() {
                    b';' => {
                        self.at += 1;
                        if self.peek() == b'&' {
                            self.at += 1;
                        }
                    }
                    b'&' => self.at += 1,
                    _ => return self.give_up(),
                }
            } else if self.spelled("esac").is_none() {
                return self.give_up();
            }
        }
    }

    /// Reads `[[ … ]]` as words.
    fn condition(&mut self) -> Read<Vec<Token<'a>>> {
        let mut words: Vec<Token<'a>> = Vec::new();
        loop {
            self.blanks();
            let operator = match (self.peek(), self.ahead()) {
                (b'&', b'&') => Some("&&"),
                (b'|', b'|') => Some("||"),
                _ if self.spelled("=~").is_some() => Some("=~"),
                _ => None,
            };
            if let Some(operator) = operator {
                self.advance();
                self.advance();
                words.push(Token { raw: operator, value: Some(operator.into()) });
                continue;
            }
            let word = if words.last().is_some_and(|word| word.raw == "=~") {
                self.regex()?
            } else {
                self.word()?
            };
            if word.raw.is_empty() {
                return self.give_up();
            }
            let last = word.raw == "]]";
            words.push(word);
            if last {
                return Ok(words);
            }
        }
    }

    /// Reads a regular expression without quotes and expansions: in groups it may hold `|`.
    fn regex(&mut self) -> Read<Token<'a>> {
        let start = self.at;
        let mut groups = 0_usize;
        loop {
            match self.raw(self.at) {
                b' ' | b'\t' if groups == 0 => break,
                b'\\' if self.raw(self.at + 1).is_ascii_punctuation() => self.at += 1,
                b'$' if matches!(self.raw(self.at + 1), b' ' | b'\t' | b')' | b'|') => {}
                b'(' => groups += 1,
                b')' if groups > 0 => groups -= 1,
                b'|' if groups > 0 => {}
                byte if byte.is_ascii_alphanumeric() || b"^.*+?[]{}_:/@%,=-".contains(&byte) => {}
                _ => return self.give_up(),
            }
            self.at += 1;
        }
        Ok(Token { raw: self.slice(start, self.at), value: None })
    }

    /// Reads `function NAME { … }`, with or without parentheses.
    pub(super) fn function_keyword(&mut self) -> Read {
        self.expect("function")?;
        self.blanks();
        let name = self.word()?;
        if name.raw.is_empty() || name.value.as_deref() != Some(name.raw) {
            return self.give_up();
        }
        self.blanks();
        if self.peek() == b'(' {
            self.at += 1;
            self.blanks();
            if self.peek() != b')' {
                return self.give_up();
            }
            self.at += 1;
        }
        self.function_body()
    }

    /// Reads `() { … }` behind what looked like a command.
    pub(super) fn function_parentheses(&mut self, name: &Written<'a>) -> Read {
        let plain =
            matches!(name.words.as_slice(), [word] if word.value.as_deref() == Some(word.raw));
        if !plain || !name.assignments.is_empty() || !name.redirects.is_empty() {
            return self.give_up();
        }
        self.at += 1;
        self.blanks();
        if self.peek() != b')' {
            return self.give_up();
        }
        self.at += 1;
        self.function_body()
    }

    /// Reads the body of a function; its redirections would be those of each call.
    fn function_body(&mut self) -> Read {
        self.lines()?;
        if self.peek() == b'(' { self.subshell() } else { self.group() }
    }
}
