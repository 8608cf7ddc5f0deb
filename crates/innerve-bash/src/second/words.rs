//! Words, quotes and expansions.

use std::borrow::Cow;

use super::Read;
use super::lists::Until;
use super::scanner::{Scanner, ends_word};

/// A word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// As it is written.
    pub(super) raw: &'a str,
    /// Its value, when that depends on nothing.
    pub(super) value: Option<Cow<'a, str>>,
}

/// The value of a word while it is read; `None` once it depends on something.
type Value = Option<String>;

fn push(value: &mut Value, character: char) {
    if let Some(value) = value {
        value.push(character);
    }
}

/// Bytes that stand for themselves wherever in a word they are.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_-./+,:=%@^]".contains(&byte)
}

impl<'a> Scanner<'a> {
    /// Reads a word; it is empty where none begins.
    pub(super) fn word(&mut self) -> Read<Token<'a>> {
        self.peek();
        let start = self.at;
        let part = self.slice(start, self.end);
        let plain = part.bytes().take_while(|byte| is_plain(*byte)).count();
        let next = self.raw(start + plain);
        if ends_word(next) && !matches!(next, b'<' | b'>') {
            self.at += plain;
            let raw = self.slice(start, self.at);
            return Ok(Token { raw, value: Some(Cow::Borrowed(raw)) });
        }
        let mut value = Some(String::new());
        let mut end = start;
        // How much of a brace expression was seen: an opening brace, then what separates its parts.
        let (mut opened, mut separated) = (false, false);
        let mut bracket = false;
        // A tilde counts at the beginning as it does behind `=`.
        let mut previous = b'=';
        loop {
            let byte = self.peek();
            if matches!(byte, b'<' | b'>') && self.ahead() == b'(' {
                self.advance();
                self.advance();
                self.substitution()?;
                value = None;
            } else if ends_word(byte) {
                break;
            } else {
                match byte {
                    b'\\' => {
                        self.at += 1;
                        let Some(character) = self.character() else { return self.give_up() };
                        push(&mut value, character);
                        self.at += character.len_utf8();
                    }
                    b'\'' => {
                        let rest = self.slice(self.at + 1, self.end);
                        let Some((quoted, _)) = rest.split_once('\'') else {
                            return self.give_up();
                        };
                        if let Some(value) = &mut value {
                            value.push_str(quoted);
                        }
                        self.at += quoted.len() + 2;
                    }
                    b'"' => self.double_quoted(&mut value)?,
                    b'$' => self.dollar(&mut value, false)?,
                    b'`' => self.backticks(&mut value)?,
                    _ => {
                        match byte {
                            b'*' | b'?' => value = None,
                            b'[' => bracket = true,
                            // Without an opening one before it, a bracket is itself.
                            b']' if bracket => value = None,
                            b'~' if matches!(previous, b'=' | b':') => value = None,
                            b'{' => opened = true,
                            b',' => separated |= opened,
                            b'.' if previous == b'.' => separated |= opened,
                            b'}' if separated => value = None,
                            _ => {}
                        }
                        let Some(character) = self.character() else { return self.give_up() };
                        push(&mut value, character);
                        self.at += character.len_utf8();
                    }
                }
            }
            // Only what is not quoted counts for tildes and braces.
            previous = if matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`') { 0 } else { byte };
            end = self.at;
        }
        Ok(Token { raw: self.slice(start, end), value: value.map(Cow::Owned) })
    }

    /// Reads `"…"`.
    fn double_quoted(&mut self, value: &mut Value) -> Read {
        self.at += 1;
        loop {
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                byte => self.quoted_piece(byte, b"$`\"\\", value)?,
            }
        }
    }

    /// Reads a piece of text in which only `$`, backticks and backslashes mean something.
    pub(super) fn quoted_piece(
        &mut self,
        byte: u8,
        escapable: &[u8],
        value: &mut Option<String>,
    ) -> Read {
        match byte {
            b'$' => return self.dollar(value, true),
            b'`' => return self.backticks(value),
            b'\\' if escapable.contains(&self.raw(self.at + 1)) => self.at += 1,
            _ => {}
        }
        let Some(character) = self.character() else { return self.give_up() };
        push(value, character);
        self.at += character.len_utf8();
        Ok(())
    }

    /// Reads what begins with `$`.
    fn dollar(&mut self, value: &mut Value, quoted: bool) -> Read {
        match self.ahead() {
            b'(' => {
                self.advance();
                self.advance();
                *value = None;
                if self.peek() == b'(' { self.arithmetic() } else { self.substitution() }
            }
            b'{' => {
                self.advance();
                self.advance();
                *value = None;
                self.parameter()
            }
            b'\'' if !quoted => {
                self.advance();
                self.advance();
                self.escapes(value)
            }
            // A text of the message catalogue, or arithmetic in its old form.
            b'"' if !quoted => self.give_up(),
            b'[' => self.give_up(),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.advance();
                while matches!(self.peek(), b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9') {
                    self.at += 1;
                }
                *value = None;
                Ok(())
            }
            byte if byte.is_ascii_digit() || b"@*#?!$-".contains(&byte) => {
                self.advance();
                self.advance();
                *value = None;
                Ok(())
            }
            _ => {
                push(value, '$');
                self.at += 1;
                Ok(())
            }
        }
    }

    /// Reads arithmetic on numbers up to `))`.
    fn arithmetic(&mut self) -> Read {
        self.at += 1;
        let rest = self.slice(self.at, self.end);
        let Some((expression, _)) = rest.split_once("))") else { return self.give_up() };
        let on_numbers = expression.bytes().all(|byte| b" 0123456789+-*/%".contains(&byte));
        if !on_numbers || expression.is_empty() {
            return self.give_up();
        }
        self.at += expression.len() + 2;
        Ok(())
    }

    /// Reads the commands of a substitution and the parenthesis that closes it.
    fn substitution(&mut self) -> Read {
        let pending = std::mem::take(&mut self.pending);
        let waiting = self.waiting_outside;
        self.waiting_outside |= !pending.is_empty();
        self.list(Until::Parenthesis)?;
        if self.peek() != b')' || !self.pending.is_empty() {
            return self.give_up();
        }
        self.at += 1;
        self.pending = pending;
        self.waiting_outside = waiting;
        Ok(())
    }

    /// Reads the commands between backticks.
    fn backticks(&mut self, value: &mut Value) -> Read {
        *value = None;
        let rest = self.slice(self.at + 1, self.end);
        let Some((inner, _)) = rest.split_once('`') else { return self.give_up() };
        // A backslash would mean something at two levels.
        if inner.contains('\\') {
            return self.give_up();
        }
        let (end, pending) = (self.end, std::mem::take(&mut self.pending));
        let waiting = self.waiting_outside;
        self.waiting_outside |= !pending.is_empty();
        self.at += 1;
        self.end = self.at + inner.len();
        self.list(Until::End)?;
        if self.at != self.end || !self.pending.is_empty() {
            return self.give_up();
        }
        self.at += 1;
        self.end = end;
        self.pending = pending;
        self.waiting_outside = waiting;
        Ok(())
    }

    /// Reads the rest of `${…}`.
    fn parameter(&mut self) -> Read {
        let rest = self.slice(self.at, self.end);
        let Some((inner, _)) = rest.split_once('}') else { return self.give_up() };
        if !is_plain_parameter(inner) {
            return self.give_up();
        }
        self.at += inner.len() + 1;
        Ok(())
    }

    /// Reads the rest of `$'…'`.
    fn escapes(&mut self, value: &mut Value) -> Read {
        loop {
            let Some(character) = self.character() else { return self.give_up() };
            self.at += character.len_utf8();
            match character {
                '\'' => return Ok(()),
                '\\' => match self.escape() {
                    Some(meant) => push(value, meant),
                    None => *value = None,
                },
                _ => push(value, character),
            }
        }
    }

    /// The character that the escape at the cursor stands for, if that is certain; goes past it.
    fn escape(&mut self) -> Option<char> {
        let letter = self.character()?;
        self.at += letter.len_utf8();
        let control = match letter {
            'a' => 7,
            'b' => 8,
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            'e' | 'E' => 27,
            '\\' | '\'' | '"' | '?' => return Some(letter),
            '0'..='7' => {
                self.at -= 1;
                return self.code(3, 8);
            }
            'x' => return self.code(2, 16),
            'u' => return self.code(4, 16),
            'U' => return self.code(8, 16),
            _ => return None,
        };
        Some(char::from(control))
    }

    /// Reads a number of at most `digits` digits; only ASCII but NUL is the same everywhere.
    fn code(&mut self, digits: usize, radix: u32) -> Option<char> {
        let mut number = 0_u32;
        for _ in 0..digits {
            let Some(digit) = char::from(self.raw(self.at)).to_digit(radix) else { break };
            number = number.saturating_mul(radix).saturating_add(digit);
            self.at += 1;
        }
        char::from_u32(number).filter(|character| ('\u{1}'..'\u{80}').contains(character))
    }
}

/// Whether the inside of `${…}` names a variable, and at most cuts, replaces or defaults it by plain text.
fn is_plain_parameter(inner: &str) -> bool {
    let is_text = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@%+,=*?-".contains(&byte);
    let counted = inner.strip_prefix('#').filter(|rest| !rest.is_empty());
    let body = counted.unwrap_or(inner);
    let name = body.len()
        - body
            .trim_start_matches(|letter: char| letter == '_' || letter.is_ascii_alphanumeric())
            .len();
    let Some((name, mut rest)) = body.split_at_checked(name) else { return false };
    if name.is_empty() {
        return matches!(inner, "@" | "*" | "#" | "?" | "$" | "!" | "-");
    }
    if name.starts_with(|first: char| first.is_ascii_digit())
        && !name.bytes().all(|byte| byte.is_ascii_digit())
    {
        return false;
    }
    if let Some((subscript, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
    {
        // Any other subscript is arithmetic.
        let constant = matches!(subscript, "@" | "*")
            || !subscript.is_empty() && subscript.bytes().all(|byte| byte.is_ascii_digit());
        if !constant {
            return false;
        }
        rest = behind;
    }
    if rest.is_empty() {
        return true;
    }
    if counted.is_some() {
        return false;
    }
    let operand = match rest.as_bytes() {
        [b':', b'-' | b'+', ..] | [b'#', b'#', ..] => rest.get(2..),
        [b'-' | b'+' | b'#' | b'%' | b'/', ..] => rest.get(1..),
        _ => None,
    };
    operand.is_some_and(|operand| operand.bytes().all(is_text))
}
