//! Substitutions: `$(…)`, backticks, `<(…)` and `>(…)`, whose statements are read where they stand.

use tree_sitter::Node;

use super::{Blanks, Reader, Scope, Step};
use crate::Context;

impl Reader<'_> {
    /// Reads the substitution at `at`, which the tree must know; gives the place behind it.
    pub(super) fn substitution(
        &mut self,
        at: usize,
        known: &[Node<'_>],
        holder: Node<'_>,
        scope: Scope,
    ) -> Step<usize> {
        // The grammar takes blanks before a substitution inside quotes into the node.
        let node = known.iter().copied().find(|node| {
            let text = self.node_text(*node);
            node.start_byte() + (text.len() - text.trim_start_matches([' ', '\t', '\n']).len())
                == at
        });
        let Some(node) = node else {
            return self
                .construct("the grammar does not see a substitution that bash would run", holder);
        };
        let mut cursor = node.walk();
        let all: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let (Some(open), Some(close)) = (all.first(), all.last()) else {
            return self.construct("a substitution is empty", node);
        };
        let opening = self.node_text(*open).trim_start_matches([' ', '\t', '\n']);
        let backtick = opening == "`";
        let expected = if backtick { "`" } else { ")" };
        if !matches!(opening, "$(" | "`" | "<(" | ">(")
            || close.kind().trim_start() != expected
            || self.node_text(*close) != expected
            || all.len() < 3
        {
            return self.construct("a substitution is not of a known form", node);
        }
        let body = self.slice(open.end_byte(), close.start_byte());
        if backtick && body.contains(['\\', '`', '"', '\'', '#']) || scope.backtick {
            return self.construct("quotes inside backticks lose a level of escaping", node);
        }
        let inner = Scope {
            context: Context::Substitution,
            last: false,
            substitutions: scope.substitutions + 1,
            backtick: scope.backtick || backtick,
        };
        let mut end = open.end_byte();
        let mut statements = Vec::with_capacity(all.len());
        for child in all.iter().skip(1) {
            if !self.gap(end, child.start_byte(), Blanks::AndNewlines) {
                return self
                    .construct("blanks or line continuations are not read alike here", node);
            }
            if child.kind() == "comment" {
                self.comment(*child, inner)?;
            }
            end = child.end_byte();
            statements.push(*child);
        }
        statements.pop();
        let directory = self.directory.clone();
        let around = std::mem::take(&mut self.around);
        let result = if let [only] = statements.as_slice()
            && only.kind() == "file_redirect"
        {
            self.simple_command(*only, inner, &[])
        } else {
            self.statements(&statements, inner)
        };
        self.around = around;
        self.directory = directory;
        result.map(|()| node.end_byte())
    }
}

/// The substitutions below `holder` that are not inside another one.
pub(super) fn substitutions(holder: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut cursor = holder.walk();
    loop {
        let node = cursor.node();
        let is_substitution =
            matches!(node.kind(), "command_substitution" | "process_substitution");
        if is_substitution {
            found.push(node);
        }
        if !is_substitution && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}
