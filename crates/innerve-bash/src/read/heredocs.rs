//! Here-documents: the delimiter and the end are found again by bash's own rules.

use tree_sitter::Node;

use super::{Reader, Scope, Simple, Step};
use crate::{Redirection, RedirectionKind, Word};

/// Most here-documents of one text.
const MAX_HEREDOCS: usize = 8;

impl<'a> Reader<'a> {
    /// Reads a here-document with nothing but redirections behind its delimiter.
    pub(super) fn heredoc(
        &mut self,
        node: Node<'_>,
        scope: Scope,
        simple: &mut Simple<'a>,
    ) -> Step {
        self.heredocs += 1;
        if self.heredocs > MAX_HEREDOCS || scope.substitutions > 1 || scope.backtick {
            return self.construct("a here-document stands too deep inside substitutions", node);
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let [operator, start, middle @ .., end] = children.as_slice() else {
            return self.construct("a here-document is not of a known form", node);
        };
        if !matches!(operator.kind(), "<<" | "<<-")
            || start.kind() != "heredoc_start"
            || end.kind() != "heredoc_end"
        {
            return self.construct("a here-document is not of a known form", node);
        }
        let before = self.byte_before(operator.start_byte());
        if before.is_ascii_digit() || matches!(before, b'}' | b'\\') {
            return self.construct("a here-document touches what stands before it", node);
        }
        let Some(delimiter) = Delimiter::read(self.slice(operator.start_byte(), start.end_byte()))
        else {
            return self.construct("the delimiter of a here-document is not a plain word", node);
        };
        if !matches!(
            self.byte(start.end_byte()),
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')'
        ) {
            return self
                .construct("the delimiter of a here-document touches what follows it", node);
        }
        let Some(line_end) = self.line_end(start.end_byte()) else {
            return self.construct("a here-document has no body", node);
        };
        let Some((body_end, close)) = self.closing_line(line_end + 1, delimiter) else {
            return self.construct("a here-document does not end", node);
        };
        if end.end_byte() != close {
            return self
                .construct("bash and the grammar disagree on the end of a here-document", node);
        }
        let body = self.slice(line_end + 1, body_end);
        let target = if delimiter.quoted {
            Word::Literal(body.to_owned())
        } else {
            if scope.substitutions > 0 {
                return self
                    .construct("an unquoted here-document stands inside a substitution", node);
            }
            self.here_text(line_end + 1, body_end, node, scope)?
        };
        simple.redirections.push(Redirection { kind: RedirectionKind::Text, target });
        self.line_rest(start.end_byte(), line_end, middle, node, scope, simple)
    }

    /// Reads what stands between the delimiter and the end of its line.
    fn line_rest(
        &mut self,
        from: usize,
        line_end: usize,
        nodes: &[Node<'_>],
        heredoc: Node<'_>,
        scope: Scope,
        simple: &mut Simple<'a>,
    ) -> Step {
        let mut at = from;
        let continued = self.continued_heredocs.contains(&heredoc.start_byte());
        // Whether the commands have begun that are read on their own.
        let mut in_tail = false;
        for node in nodes {
            match node.kind() {
                "heredoc_body" | "\n" if node.end_byte() > line_end => {}
                _ if continued && node.end_byte() <= line_end => {
                    if !self.gap(at, node.start_byte(), super::Blanks::Only) {
                        return self.construct(
                            "a here-document has something behind its delimiter",
                            heredoc,
                        );
                    }
                    at = node.end_byte();
                    in_tail |= node.kind() != "file_redirect";
                    if !in_tail && !self.redirect_only(*node, scope, simple)? {
                        return self
                            .construct("words follow a redirection behind a here-document", *node);
                    }
                }
                "file_redirect" if node.end_byte() <= line_end => {
                    if !self.gap(at, node.start_byte(), super::Blanks::Only) {
                        return self.construct(
                            "a here-document has something behind its delimiter",
                            heredoc,
                        );
                    }
                    at = node.end_byte();
                    if !self.redirect_only(*node, scope, simple)? {
                        return self
                            .construct("words follow a redirection behind a here-document", *node);
                    }
                }
                kind => {
                    return self.construct(
                        format!("`{kind}` behind a here-document is not analyzed"),
                        *node,
                    );
                }
            }
        }
        if !self.slice(at, line_end).bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
            return self.construct("a here-document has something behind its delimiter", heredoc);
        }
        Ok(())
    }

    /// Reads a redirection; whether no words follow its target.
    fn redirect_only(
        &mut self,
        node: Node<'_>,
        scope: Scope,
        simple: &mut Simple<'a>,
    ) -> Step<bool> {
        let words = simple.words.len();
        self.redirect(node, scope, simple)?;
        Ok(simple.words.len() == words)
    }

    fn line_end(&self, from: usize) -> Option<usize> {
        self.text.get(from..)?.find('\n').map(|length| from + length)
    }

    /// The place of the closing line: where it starts and where it ends.
    fn closing_line(&self, from: usize, delimiter: Delimiter<'_>) -> Option<(usize, usize)> {
        let mut start = from;
        let rest = self.text.get(from..)?;
        for line in rest.split('\n') {
            let end = start + line.len();
            let compared = if delimiter.tabs { line.trim_start_matches('\t') } else { line };
            if compared == delimiter.text {
                return Some((start, end));
            }
            // In an unquoted body a continued line is joined with the next, delimiter or not.
            if !delimiter.quoted && line.ends_with('\\') {
                return None;
            }
            start = end + 1;
        }
        None
    }
}

#[derive(Clone, Copy)]
struct Delimiter<'a> {
    text: &'a str,
    quoted: bool,
    tabs: bool,
}

impl<'a> Delimiter<'a> {
    /// Reads `<<WORD`, `<<-'WORD'` and the like.
    fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("<<")?;
        let (rest, tabs) = rest.strip_prefix('-').map_or((rest, false), |rest| (rest, true));
        let rest = rest.trim_start_matches([' ', '\t']);
        let unquoted = rest
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''))
            .or_else(|| rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')));
        let word = unquoted.unwrap_or(rest);
        let plain = !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        plain.then_some(Self { text: word, quoted: unquoted.is_some(), tabs })
    }
}
