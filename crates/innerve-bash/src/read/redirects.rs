//! Redirections: operators, descriptors and targets.

use tree_sitter::Node;

use super::{Argument, Blanks, Reader, Scope, Simple, Step};
use crate::{Redirection, RedirectionKind, Word};

impl<'a> Reader<'a> {
    /// Reads a redirection; words behind its target belong to the command and are added to it.
    pub(super) fn redirect(
        &mut self,
        node: Node<'_>,
        scope: Scope,
        simple: &mut Simple<'a>,
    ) -> Step {
        match node.kind() {
            "file_redirect" => self.file_redirect(node, scope, simple),
            "herestring_redirect" => self.herestring(node, scope, simple),
            "heredoc_redirect" => self.heredoc(node, scope, simple),
            kind => self.construct(format!("`{kind}` is not analyzed as a redirection"), node),
        }
    }

    /// Splits off the descriptor before the operator.
    fn descriptor<'t>(
        &self,
        node: Node<'_>,
        children: &[Node<'t>],
    ) -> Step<(Option<&'a str>, Node<'t>, usize)> {
        let mut rest = children.iter().copied();
        let Some(first) = rest.next() else {
            return self.construct("a redirection is empty", node);
        };
        let before = self.byte_before(node.start_byte());
        if first.kind() != "file_descriptor" {
            if before.is_ascii_digit() || before == b'}' {
                return self.construct("a redirection touches what stands before it", node);
            }
            if before == b'\n' && self.byte_before(node.start_byte() - 1) == b'\\' {
                return self.construct("a redirection follows a line continuation", node);
            }
            return Ok((None, first, 1));
        }
        let text = self.node_text(first);
        let Some(operator) = rest.next() else {
            return self.construct("a redirection has no operator", node);
        };
        let separate =
            matches!(before, 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')');
        if !separate
            || text.is_empty()
            || text.len() > 3
            || !text.bytes().all(|byte| byte.is_ascii_digit())
            || first.end_byte() != operator.start_byte()
        {
            return self.construct("a descriptor is not of a known form", node);
        }
        Ok((Some(text), operator, 2))
    }

    fn file_redirect(&mut self, node: Node<'_>, scope: Scope, simple: &mut Simple<'a>) -> Step {
        let children = self.children(node, Blanks::Only, scope)?;
        let (descriptor, operator, used) = self.descriptor(node, &children)?;
        let mut words = children.iter().skip(used).copied();
        let kind = match operator.kind() {
            ">&-" | "<&-" => {
                if words.next().is_some() {
                    return self.construct("a word follows a closed descriptor", node);
                }
                let target = Word::Literal("-".to_owned());
                simple.redirections.push(Redirection { kind: RedirectionKind::Duplicate, target });
                return Ok(());
            }
            "<" => RedirectionKind::Read,
            ">" | ">|" | "&>" | ">&" => RedirectionKind::Write,
            ">>" | "&>>" => RedirectionKind::Append,
            "<&" => RedirectionKind::Duplicate,
            operator => return self.construct(format!("`{operator}` is not analyzed"), node),
        };
        if operator.kind().starts_with('&') && descriptor.is_some() {
            return self.construct("a descriptor stands before `&>`", node);
        }
        let Some(target_node) = words.next() else {
            return self.construct("a redirection has no target", node);
        };
        let raw = self.node_text(target_node);
        let target = self.word(target_node, scope)?;
        let kind = match operator.kind() {
            ">&" | "<&" => self.duplicate(operator.kind(), descriptor, raw, node)?,
            _ => kind,
        };
        simple.redirections.push(Redirection { kind, target });
        for word_node in words {
            let word = self.word(word_node, scope)?;
            let span = self.span(word_node.start_byte(), word_node.end_byte());
            simple.words.push(Argument { word, raw: self.node_text(word_node), span });
        }
        Ok(())
    }

    /// What `>&` and `<&` do: bash expands their word twice, so only plain words are read.
    fn duplicate(
        &self,
        operator: &str,
        descriptor: Option<&str>,
        raw: &str,
        node: Node<'_>,
    ) -> Step<RedirectionKind> {
        let digits = raw.strip_suffix('-').unwrap_or(raw);
        if raw == "-" || !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(RedirectionKind::Duplicate);
        }
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
        if operator == ">&"
            && descriptor.is_none_or(|text| text == "1")
            && !raw.starts_with('-')
            && raw.bytes().all(plain)
        {
            return Ok(RedirectionKind::Write);
        }
        Err(self.evaluates("the word of this redirection is expanded twice", node))
    }

    fn herestring(&mut self, node: Node<'_>, scope: Scope, simple: &mut Simple<'a>) -> Step {
        let children = self.children(node, Blanks::Only, scope)?;
        let (_, operator, used) = self.descriptor(node, &children)?;
        match children.get(used..) {
            Some([word]) if operator.kind() == "<<<" => {
                let target = self.word(*word, scope)?;
                simple.redirections.push(Redirection { kind: RedirectionKind::Text, target });
                Ok(())
            }
            _ => self.construct("a here-string is not of a known form", node),
        }
    }
}
