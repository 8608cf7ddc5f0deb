//! Words, read from the text by bash's own rules; the tree only tells where substitutions are.

use tree_sitter::Node;

use super::substitutions::substitutions;
use super::{Reader, Scope, Step};
use crate::opaque::Refusal;
use crate::{DynamicWord, OpaqueCode, Word, WordPart};

/// A word while it is read.
#[derive(Debug)]
pub(super) struct Draft {
    parts: Vec<WordPart>,
    pub(super) literal: String,
    one_word: bool,
}

impl Draft {
    fn new() -> Self {
        Self { parts: Vec::new(), literal: String::new(), one_word: true }
    }

    pub(super) fn dynamic(&mut self, part: WordPart, one_word: bool) {
        if !self.literal.is_empty() {
            self.parts.push(WordPart::Literal(std::mem::take(&mut self.literal)));
        }
        self.parts.push(part);
        self.one_word &= one_word;
    }

    fn finish(mut self, raw: &str) -> Word {
        if self.parts.is_empty() {
            return Word::Literal(self.literal);
        }
        if !self.literal.is_empty() {
            self.parts.push(WordPart::Literal(self.literal));
        }
        Word::Dynamic(DynamicWord {
            raw: raw.to_owned(),
            parts: self.parts,
            one_word: self.one_word,
        })
    }
}

/// What quotes are around.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Double,
}

impl<'a> Reader<'a> {
    /// Reads the word that `node` is said to be; bash must see exactly the same bytes as one word.
    pub(super) fn word(&mut self, node: Node<'_>, scope: Scope) -> Step<Word> {
        match node.kind() {
            "command_name"
            | "word"
            | "number"
            | "concatenation"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "simple_expansion"
            | "expansion"
            | "arithmetic_expansion"
            | "command_substitution"
            | "process_substitution"
            | "brace_expression"
            | "variable_name" => {}
            kind => return self.construct(format!("`{kind}` is not analyzed as a word"), node),
        }
        let (word, end) = self.word_at(node.start_byte(), node, scope)?;
        if end != node.end_byte() {
            return self.construct("bash and the grammar disagree on where a word ends", node);
        }
        Ok(word)
    }

    /// Reads the word that starts at `start`, whose substitutions are among the descendants of `holder`; gives its end.
    pub(super) fn word_at(
        &mut self,
        start: usize,
        holder: Node<'_>,
        scope: Scope,
    ) -> Step<(Word, usize)> {
        let substitutions = substitutions(holder);
        let mut draft = Draft::new();
        let mut at = start;
        if matches!(self.byte(at), b'<' | b'>') && self.byte(at + 1) == b'(' {
            at = self.substitution(at, &substitutions, holder, scope)?;
            draft.dynamic(WordPart::Other(self.slice(start, at).to_owned()), true);
            self.word_end(start, at, holder, scope)?;
            return Ok((draft.finish(self.slice(start, at)), at));
        }
        if self.byte(at) == b'#' {
            return self.construct("a word starts with `#`", holder);
        }
        loop {
            match self.byte(at) {
                0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'`' if scope.backtick => break,
                b'\\' => {
                    let escaped = self.char_at(at + 1);
                    match escaped {
                        None | Some('\n') => {
                            return self.construct("a backslash ends a line inside a word", holder);
                        }
                        Some(character) => {
                            draft.literal.push(character);
                            at += 1 + character.len_utf8();
                        }
                    }
                }
                b'\'' => {
                    let Some(length) = self.rest(at + 1).find('\'') else {
                        return self.construct("a quote is not closed", holder);
                    };
                    draft.literal.push_str(self.slice(at + 1, at + 1 + length));
                    at += length + 2;
                }
                b'"' => {
                    at = self.double_quoted(at + 1, &mut draft, &substitutions, holder, scope)?;
                }
                b'$' if self.byte(at + 1) == b'\'' => {
                    at = self.ansi_quoted(at, &mut draft, holder)?;
                }
                b'$' if self.byte(at + 1) == b'"' => {
                    return self.construct("`$\"…\"` is translated by a message catalogue", holder);
                }
                b'$' | b'`' => {
                    at = self.expansion(
                        at,
                        Quotes::None,
                        &mut draft,
                        &substitutions,
                        holder,
                        scope,
                    )?;
                }
                b'*' | b'?' | b'[' => {
                    let length =
                        if self.byte(at) == b'[' { bracket_length(self.rest(at)) } else { 1 };
                    draft.dynamic(WordPart::Glob(self.slice(at, at + length).to_owned()), false);
                    at += length;
                }
                b'~' if at == start => {
                    let user: String = self
                        .rest(at + 1)
                        .chars()
                        .take_while(|character| {
                            character.is_ascii_alphanumeric()
                                || matches!(character, '_' | '-' | '+' | '.')
                        })
                        .collect();
                    at += 1 + user.len();
                    if matches!(
                        self.byte(at),
                        0 | b'/' | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')'
                    ) {
                        if user.starts_with(['+', '-']) {
                            // The current or the previous directory.
                            draft.dynamic(WordPart::Other(format!("~{user}")), true);
                        } else {
                            draft.dynamic(WordPart::Tilde(user), true);
                        }
                    } else {
                        draft.dynamic(WordPart::Other(format!("~{user}")), true);
                    }
                }
                b'~' if matches!(self.byte_before(at), b':' | b'=') => {
                    draft.dynamic(WordPart::Other("~".to_owned()), true);
                    at += 1;
                }
                b'{' if self.is_brace_expression(at, holder.end_byte()) => {
                    draft.dynamic(WordPart::Other("{".to_owned()), false);
                    at += 1;
                }
                _ => {
                    let Some(character) = self.char_at(at) else {
                        return self.construct("a word ends inside a character", holder);
                    };
                    draft.literal.push(character);
                    at += character.len_utf8();
                }
            }
        }
        if at == start {
            if self.byte(at) == b'(' {
                return self.construct("an array is not analyzed", holder);
            }
            return self.construct("a word is empty", holder);
        }
        self.word_end(start, at, holder, scope)?;
        Ok((draft.finish(self.slice(start, at)), at))
    }

    /// Refuses words that touch something with which bash would read them together.
    fn word_end(&self, start: usize, end: usize, holder: Node<'_>, scope: Scope) -> Step {
        let raw = self.slice(start, end);
        match self.byte(end) {
            b'<' | b'>' if self.byte(end + 1) == b'(' => {
                self.construct("a word touches a substitution", holder)
            }
            b'<' | b'>' if raw.ends_with('}') || raw.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.construct(
                    "a word touches a redirection that would take it for a descriptor",
                    holder,
                )
            }
            0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')' => Ok(()),
            b'`' if scope.backtick => Ok(()),
            _ => self.construct("a word touches what follows it", holder),
        }
    }

    pub(super) fn rest(&self, start: usize) -> &'a str {
        self.text.get(start..).unwrap_or_default()
    }

    pub(super) fn char_at(&self, at: usize) -> Option<char> {
        self.rest(at).chars().next()
    }

    /// Whether the `{` at `at` may begin a brace expression: only with a comma or two dots after it in the word.
    fn is_brace_expression(&self, at: usize, limit: usize) -> bool {
        let rest = self.slice(at, limit.max(at));
        let word = rest.split([' ', '\t', '\n']).next().unwrap_or_default();
        // Quotes may hide blanks, so a quoted rest counts in full.
        let word = if word.contains(['"', '\'', '\\', '$', '`']) { rest } else { word };
        word.contains(',') || word.contains("..")
    }

    /// Reads up to the closing quote; gives the place behind it.
    fn double_quoted(
        &mut self,
        start: usize,
        draft: &mut Draft,
        substitutions: &[Node<'_>],
        holder: Node<'_>,
        scope: Scope,
    ) -> Step<usize> {
        let mut at = start;
        loop {
            match self.byte(at) {
                b'"' => return Ok(at + 1),
                b'\\' => match self.byte(at + 1) {
                    b'\n' => at += 2,
                    escaped @ (b'$' | b'`' | b'"' | b'\\') => {
                        draft.literal.push(char::from(escaped));
                        at += 2;
                    }
                    _ => {
                        draft.literal.push('\\');
                        at += 1;
                    }
                },
                b'$' | b'`' => {
                    at = self.expansion(at, Quotes::Double, draft, substitutions, holder, scope)?;
                }
                _ => {
                    let Some(character) = self.char_at(at) else {
                        return self.construct("a quote is not closed", holder);
                    };
                    draft.literal.push(character);
                    at += character.len_utf8();
                }
            }
        }
    }

    /// Reads the body of an unquoted here-document: as in double quotes, but quotes are text.
    pub(super) fn here_text(
        &mut self,
        start: usize,
        end: usize,
        holder: Node<'_>,
        scope: Scope,
    ) -> Step<Word> {
        let substitutions = substitutions(holder);
        let mut draft = Draft::new();
        let mut at = start;
        while at < end {
            match self.byte(at) {
                b'\\' => {
                    let escaped = self.byte(at + 1);
                    if !matches!(escaped, b'$' | b'`' | b'\\') {
                        return self
                            .construct("a backslash in a here-document is not analyzed", holder);
                    }
                    draft.literal.push(char::from(escaped));
                    at += 2;
                }
                b'$' | b'`' => {
                    at = self.expansion(
                        at,
                        Quotes::Double,
                        &mut draft,
                        &substitutions,
                        holder,
                        scope,
                    )?;
                }
                _ => {
                    let Some(character) = self.char_at(at) else {
                        return self.construct("a here-document ends inside a character", holder);
                    };
                    draft.literal.push(character);
                    at += character.len_utf8();
                }
            }
        }
        if at != end {
            return self.construct("an expansion goes on behind a here-document", holder);
        }
        Ok(draft.finish(self.slice(start, end)))
    }

    pub(super) fn evaluates(&self, message: &str, node: Node<'_>) -> Refusal {
        self.refusal(OpaqueCode::EvaluatesData, message, node)
    }
}

/// The length of a plain bracket expression, or of the bracket alone.
fn bracket_length(rest: &str) -> usize {
    let plain = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'[' | b'^' | b'!' | b'-' | b':' | b'_' | b'.')
    };
    let length = rest.bytes().take_while(plain).count();
    if rest.as_bytes().get(length) == Some(&b']') { length + 1 } else { 1 }
}
