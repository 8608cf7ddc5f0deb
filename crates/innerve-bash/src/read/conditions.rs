//! `[ … ]` and `[[ … ]]`, read again from the text.

use tree_sitter::Node;

use super::{Argument, Reader, Scope, Simple, Step};
use crate::{DynamicWord, Word, WordPart};

const FILE_AND_STRING_TESTS: &[&str] = &[
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-z",
    "-O", "-G", "-L", "-S", "-N", "-n",
];
const COMPARISONS: &[&str] = &["=", "==", "!=", "-nt", "-ot", "-ef"];
const NUMBER_COMPARISONS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Whether `operator` tests one word without evaluating it.
pub(crate) fn is_unary(operator: &str) -> bool {
    FILE_AND_STRING_TESTS.contains(&operator)
}

/// Whether `operator` compares two words.
pub(crate) fn is_comparison(operator: &str) -> bool {
    COMPARISONS.contains(&operator)
}

/// Whether `operator` compares two numbers.
pub(crate) fn is_number_comparison(operator: &str) -> bool {
    NUMBER_COMPARISONS.contains(&operator)
}

impl<'a> Reader<'a> {
    /// Reads a condition as a simple command called `[` or `[[`.
    pub(super) fn condition(
        &mut self,
        node: Node<'_>,
        scope: Scope,
        redirects: &[Node<'_>],
    ) -> Step {
        let text = self.node_text(node);
        let (open, close) = if text.starts_with("[[") { ("[[", "]]") } else { ("[", "]") };
        if !text.starts_with(open) {
            return self.construct("arithmetic conditions are not analyzed", node);
        }
        let mut words = Vec::new();
        let mut at = node.start_byte();
        self.operator(open, at, at + open.len(), &mut words);
        at += open.len();
        loop {
            let next = self.skip_blanks(at);
            if next == at {
                return self.construct("the words of a condition are not separated", node);
            }
            at = next;
            let operator = self.slice(at, at + 2);
            if open == "[[" && matches!(operator, "&&" | "||" | "=~") {
                self.operator(operator, at, at + 2, &mut words);
                at += 2;
                continue;
            }
            let expects_regex = open == "[[" && words.last().is_some_and(|word| word.raw == "=~");
            let (word, end) = match regex_end(self.rest(at)) {
                Some(length) if expects_regex => (regex(self.slice(at, at + length)), at + length),
                _ => self.word_at(at, node, scope)?,
            };
            let raw = self.slice(at, end);
            words.push(Argument { word, raw, span: self.span(at, end) });
            at = end;
            if raw == close {
                break;
            }
        }
        if at != node.end_byte() {
            return self.construct("bash and the grammar disagree on the end of a condition", node);
        }
        if open == "[[" {
            let inner = words.get(1..words.len() - 1).unwrap_or_default();
            for term in inner.split(|word| matches!(word.raw, "&&" | "||")) {
                if !is_plain_term(term) {
                    return Err(
                        self.evaluates("a `[[ … ]]` of this form may evaluate data as code", node)
                    );
                }
            }
        }
        let span = self.span(node.start_byte(), node.end_byte());
        let mut simple = Simple { words, assignments: Vec::new(), redirections: Vec::new(), span };
        let count = simple.words.len();
        for redirect in redirects {
            self.redirect(*redirect, scope, &mut simple)?;
        }
        if simple.words.len() != count {
            return self.construct("words follow a redirection of a condition", node);
        }
        self.compare(node, &simple);
        self.run(simple, scope)
    }

    fn operator(&self, text: &'a str, start: usize, end: usize, words: &mut Vec<Argument<'a>>) {
        words.push(Argument {
            word: Word::Literal(text.to_owned()),
            raw: text,
            span: self.span(start, end),
        });
    }
}

/// Whether bash evaluates nothing in this part of a `[[ … ]]`.
fn is_plain_term(term: &[Argument<'_>]) -> bool {
    let term = match term {
        [first, rest @ ..] if first.raw == "!" => rest,
        _ => term,
    };
    match term {
        [word] => word.raw != "!",
        [operator, word] => is_unary(operator.raw) && word.raw != "!",
        [left, operator, right] => {
            is_comparison(operator.raw)
                || operator.raw == "=~" && regex_end(right.raw) == Some(right.raw.len())
                || is_number_comparison(operator.raw) && is_number(left.raw) && is_number(right.raw)
        }
        _ => false,
    }
}

/// The length of a plain regular expression that bash takes as one word: no quotes, no expansions, `|` in groups only.
fn regex_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut length = 0;
    let mut escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if escaped && byte.is_ascii_punctuation() => escaped = false,
            b'\\' if !escaped => escaped = true,
            _ if escaped => return None,
            b' ' | b'\t' => break,
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            b'|' if depth > 0 => {}
            b'^' | b'$' | b'.' | b'*' | b'+' | b'?' | b'[' | b']' | b'{' | b'}' | b'_' | b':'
            | b'/' | b'@' | b'%' | b',' | b'=' | b'-' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ => return None,
        }
        length += 1;
    }
    let text = text.get(..length)?;
    let expands = text
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [b'$', next] if !matches!(next, b')' | b'|')));
    (depth == 0 && length > 0 && !escaped && text != "]]" && !expands && !text.starts_with('$'))
        .then_some(length)
}

fn regex(raw: &str) -> Word {
    Word::Dynamic(DynamicWord {
        raw: raw.to_owned(),
        parts: vec![WordPart::Glob(raw.to_owned())],
        one_word: true,
    })
}

fn is_number(raw: &str) -> bool {
    matches!(raw, "$#" | "$?" | "\"$#\"" | "\"$?\"")
        || !raw.is_empty() && raw.bytes().all(|byte| byte.is_ascii_digit())
}
