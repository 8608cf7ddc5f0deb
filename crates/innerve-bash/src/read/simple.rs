//! Simple commands: assignments, words and redirections in the order in which they stand.

use tree_sitter::Node;

use super::lists::{is_lost_dash, is_redirect};
use super::{Blanks, Reader, Scope, Step};
use crate::{Assignment, OpaqueCode, Redirection, Span, Word, variables};

/// A word of a simple command.
#[derive(Clone, Debug)]
pub(crate) struct Argument<'a> {
    /// The value.
    pub(crate) word: Word,
    /// The text as written; empty for what a wrapper puts in.
    pub(crate) raw: &'a str,
    /// Where it stands.
    pub(crate) span: Span,
}

/// A simple command as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Simple<'a> {
    pub(crate) words: Vec<Argument<'a>>,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) redirections: Vec<Redirection>,
    pub(crate) span: Span,
}

impl<'a> Reader<'a> {
    /// Reads a simple command and judges it.
    pub(super) fn simple_command(
        &mut self,
        node: Node<'_>,
        scope: Scope,
        redirects: &[Node<'_>],
    ) -> Step {
        let mut end = node.end_byte();
        let mut simple = Simple {
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            span: self.span(0, 0),
        };
        match node.kind() {
            "variable_assignment" => simple.assignments.push(self.assignment(node, scope)?),
            "file_redirect" => self.redirect(node, scope, &mut simple)?,
            "declaration_command" => self.declaration(node, scope, &mut simple)?,
            _ => {
                for child in self.children(node, Blanks::Only, scope)? {
                    match child.kind() {
                        "variable_assignment" if simple.words.is_empty() => {
                            simple.assignments.push(self.assignment(child, scope)?);
                        }
                        "command_name"
                            if simple.words.is_empty() && self.node_text(child) != "[[" =>
                        {
                            self.argument(child, scope, &mut simple)?;
                        }
                        _ if is_redirect(child) => self.redirect(child, scope, &mut simple)?,
                        _ if node.kind() == "command"
                            && child.is_named()
                            && !simple.words.is_empty() =>
                        {
                            self.argument(child, scope, &mut simple)?;
                        }
                        kind => {
                            return self.construct(
                                format!("`{kind}` is not analyzed in a command"),
                                child,
                            );
                        }
                    }
                }
            }
        }
        for redirect in redirects {
            if redirect.kind() == "heredoc_redirect"
                && is_lost_dash(self.slice(end, redirect.start_byte()))
            {
                let start =
                    end + self.slice(end, redirect.start_byte()).find('-').unwrap_or_default();
                let span = self.span(start, start + 1);
                simple.words.push(Argument { word: Word::Literal("-".to_owned()), raw: "-", span });
            }
            self.redirect(*redirect, scope, &mut simple)?;
            // The body of a here-document is no part of the command.
            end = end.max(if redirect.kind() == "heredoc_redirect" {
                redirect.start_byte()
            } else {
                redirect.end_byte()
            });
        }
        simple.span = self.span(node.start_byte(), end);
        self.compare(node, &simple);
        self.run(simple, scope)
    }

    fn argument(&mut self, node: Node<'_>, scope: Scope, simple: &mut Simple<'a>) -> Step {
        let word = self.word(node, scope)?;
        let (raw, span) = (self.node_text(node), self.span(node.start_byte(), node.end_byte()));
        simple.words.push(Argument { word, raw, span });
        Ok(())
    }

    /// Reads `NAME=value`.
    fn assignment(&mut self, node: Node<'_>, scope: Scope) -> Step<Assignment> {
        let children = self.children(node, Blanks::Only, scope)?;
        let [name, operator, ..] = children.as_slice() else {
            return self.construct("an assignment is not of a known form", node);
        };
        if name.kind() == "subscript" {
            return Err(self.evaluates("a subscript is evaluated as arithmetic", node));
        }
        let text = self.node_text(*name);
        if name.kind() != "variable_name"
            || !matches!(operator.kind(), "=" | "+=")
            || name.end_byte() != operator.start_byte()
            || !variables::is_name(text)
            || children.len() > 3
        {
            return self.construct("an assignment is not of a known form", node);
        }
        let start = operator.end_byte();
        let value =
            if matches!(self.byte(start), 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') {
                if node.end_byte() != start {
                    return self.construct("bash and the grammar disagree on a value", node);
                }
                Word::Literal(String::new())
            } else {
                let (value, end) = self.word_at(start, node, scope)?;
                if node.end_byte() != end {
                    return self.construct("bash and the grammar disagree on a value", node);
                }
                value
            };
        Ok(Assignment { name: text.to_owned(), value })
    }

    /// Reads `export NAME=value …`; other declarations are refused.
    fn declaration(&mut self, node: Node<'_>, scope: Scope, simple: &mut Simple<'a>) -> Step {
        let children = self.children(node, Blanks::Only, scope)?;
        let Some((keyword, rest)) = children.split_first() else {
            return self.construct("a declaration is empty", node);
        };
        let span = self.span(keyword.start_byte(), keyword.end_byte());
        let raw = self.node_text(*keyword);
        simple.words.push(Argument { word: Word::Literal(raw.to_owned()), raw, span });
        if raw != "export" {
            simple.span = self.span(node.start_byte(), node.end_byte());
            self.found_only(simple, scope);
            let message = format!("`{raw}` may evaluate what it is given");
            return Err(self.refusal(OpaqueCode::ChangesState, message, node));
        }
        for child in rest {
            match child.kind() {
                "variable_assignment" => {
                    let Assignment { name, value } = self.assignment(*child, scope)?;
                    let raw = self.node_text(*child);
                    let word = match &value {
                        Word::Literal(text) => Word::Literal(format!("{name}={text}")),
                        Word::Dynamic(dynamic) => {
                            let mut dynamic = dynamic.clone();
                            raw.clone_into(&mut dynamic.raw);
                            dynamic.parts.insert(0, crate::WordPart::Literal(format!("{name}=")));
                            Word::Dynamic(dynamic)
                        }
                    };
                    let span = self.span(child.start_byte(), child.end_byte());
                    simple.words.push(Argument { word, raw, span });
                    simple.assignments.push(Assignment { name, value });
                }
                "variable_name" | "word" => self.argument(*child, scope, simple)?,
                kind => {
                    return self.construct(format!("`{kind}` is not analyzed in `export`"), *child);
                }
            }
        }
        Ok(())
    }
}
