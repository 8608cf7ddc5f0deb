//! Compound commands: groups, subshells, conditionals, loops and functions.

use tree_sitter::Node;

use super::{Around, Blanks, Reader, Scope, Simple, Step, has_newline};
use crate::directory::Directory;
use crate::{Context, OpaqueCode, commands, judge, variables};

impl Reader<'_> {
    /// Reads a compound command with the redirections behind it.
    pub(super) fn compound(
        &mut self,
        node: Node<'_>,
        scope: Scope,
        redirects: &[Node<'_>],
    ) -> Step {
        let span = self.span(node.start_byte(), node.end_byte());
        let mut own =
            Simple { words: Vec::new(), assignments: Vec::new(), redirections: Vec::new(), span };
        for redirect in redirects {
            self.redirect(*redirect, scope, &mut own)?;
        }
        if !own.words.is_empty() {
            return self.construct("words follow a redirection of a compound command", node);
        }
        if !own.redirections.is_empty() {
            self.compare(node, &own);
        }
        let outer = self.around.len();
        let before = self.findings.found.len();
        for redirection in &own.redirections {
            self.around.push(Around {
                redirection: redirection.clone(),
                directory: self.directory.clone(),
            });
        }
        let result = self.compound_body(node, scope);
        self.around.truncate(outer);
        result?;
        // Commands in substitutions and functions are run without the redirections.
        let carried = self
            .findings
            .found
            .iter()
            .skip(before)
            .any(|found| found.command.redirections.ends_with(&own.redirections));
        if !own.redirections.is_empty() && !carried {
            return self.run(own, scope);
        }
        Ok(())
    }

    fn compound_body(&mut self, node: Node<'_>, scope: Scope) -> Step {
        match node.kind() {
            "subshell" => {
                if self.node_text(node).starts_with("((") {
                    return self.construct("`((` may be arithmetic", node);
                }
                let children = self.children(node, Blanks::AndNewlines, scope)?;
                let [open, body @ .., close] = children.as_slice() else {
                    return self.construct("a subshell is empty", node);
                };
                if open.kind() != "(" || close.kind() != ")" {
                    return self.construct("a subshell is not of a known form", node);
                }
                let directory = self.directory.clone();
                let result = self.statements(body, scope.within(Context::Subshell));
                self.directory = directory;
                result
            }
            "compound_statement" => {
                let children = self.children(node, Blanks::AndNewlines, scope)?;
                let [open, body @ .., close] = children.as_slice() else {
                    return self.construct("a group is empty", node);
                };
                let blank_inside = matches!(self.byte(open.end_byte()), b' ' | b'\t' | b'\n');
                if open.kind() != "{" || close.kind() != "}" || !blank_inside {
                    return self.construct("a group is not of a known form", node);
                }
                self.body(body, *close, scope)
            }
            "if_statement" => self.conditional(node, scope.within(Context::Condition).not_last()),
            "while_statement" => {
                let children = self.children(node, Blanks::AndNewlines, scope)?;
                match children.as_slice() {
                    [keyword, condition @ .., group]
                        if matches!(keyword.kind(), "while" | "until") =>
                    {
                        self.looped(condition, *group, scope)
                    }
                    _ => self.construct("a loop is not of a known form", node),
                }
            }
            "for_statement" => self.for_loop(node, scope),
            "case_statement" => self.case(node, scope.within(Context::Condition).not_last()),
            kind => self.construct(format!("`{kind}` is not analyzed"), node),
        }
    }

    /// Reads statements whose last one must be terminated before `keyword`.
    fn body(&mut self, nodes: &[Node<'_>], keyword: Node<'_>, scope: Scope) -> Step {
        match nodes.last() {
            None => self.construct("a body is empty", keyword),
            Some(last)
                if last.is_named()
                    && !has_newline(self.slice(last.end_byte(), keyword.start_byte())) =>
            {
                self.construct("a body ends without a terminator", keyword)
            }
            Some(_) => self.statements(nodes, scope),
        }
    }

    fn conditional(&mut self, node: Node<'_>, scope: Scope) -> Step {
        let children = self.children(node, Blanks::AndNewlines, scope)?;
        let Some((keyword, rest)) = children.split_first() else {
            return self.construct("a conditional is empty", node);
        };
        if keyword.kind() != "if" {
            return self.construct("a conditional is not of a known form", node);
        }
        let clauses = rest
            .iter()
            .position(|child| matches!(child.kind(), "elif_clause" | "else_clause" | "fi"));
        let Some((head, tail)) = clauses.and_then(|position| rest.split_at_checked(position))
        else {
            return self.construct("a conditional does not end", node);
        };
        let Some((close, clauses)) = tail.split_last() else {
            return self.construct("a conditional does not end", node);
        };
        if close.kind() != "fi" {
            return self.construct("a conditional is not of a known form", node);
        }
        let mut ends = Vec::new();
        self.branch(head, tail.first().copied().unwrap_or(*close), scope, &mut ends)?;
        let mut exhaustive = false;
        for (index, clause) in clauses.iter().enumerate() {
            let following = clauses.get(index + 1).copied().unwrap_or(*close);
            let children = self.children(*clause, Blanks::AndNewlines, scope)?;
            let Some((keyword, rest)) = children.split_first() else {
                return self.construct("a branch is empty", *clause);
            };
            match (clause.kind(), keyword.kind()) {
                ("elif_clause", "elif") if !exhaustive => {
                    self.branch(rest, following, scope, &mut ends)?;
                }
                ("else_clause", "else") if !exhaustive => {
                    self.body(rest, following, scope)?;
                    ends.push(self.directory.clone());
                    exhaustive = true;
                }
                _ => return self.construct("a branch is not of a known form", *clause),
            }
        }
        for end in ends {
            self.directory = self.directory.merge(&end);
        }
        Ok(())
    }

    /// Reads `condition; then body`, and goes back to where the condition left the shell.
    fn branch(
        &mut self,
        nodes: &[Node<'_>],
        following: Node<'_>,
        scope: Scope,
        ends: &mut Vec<Directory>,
    ) -> Step {
        let then = nodes.iter().position(|child| child.kind() == "then");
        let Some((condition, [then, body @ ..])) =
            then.and_then(|position| nodes.split_at_checked(position))
        else {
            return self.construct("a condition has no `then`", following);
        };
        self.body(condition, *then, scope)?;
        let before = self.directory.clone();
        self.body(body, following, scope)?;
        ends.push(std::mem::replace(&mut self.directory, before));
        Ok(())
    }

    /// Reads a loop; when a round changes directory, where the next round starts is not known.
    fn looped(&mut self, condition: &[Node<'_>], group: Node<'_>, scope: Scope) -> Step {
        let scope = scope.within(Context::Loop).not_last();
        let before = self.directory.clone();
        let found = self.findings.found.len();
        self.round(condition, group, scope)?;
        if self.directory != before && !self.adrift {
            self.findings.found.truncate(found);
            self.adrift = true;
            self.directory = Directory::unknown();
            let result = self.round(condition, group, scope);
            self.adrift = false;
            self.directory = Directory::unknown();
            return result;
        }
        Ok(())
    }

    fn round(&mut self, condition: &[Node<'_>], group: Node<'_>, scope: Scope) -> Step {
        if group.kind() != "do_group" {
            return self.construct("a loop is not of a known form", group);
        }
        let children = self.children(group, Blanks::AndNewlines, scope)?;
        let [open, body @ .., close] = children.as_slice() else {
            return self.construct("a loop is empty", group);
        };
        if open.kind() != "do" || close.kind() != "done" {
            return self.construct("a loop is not of a known form", group);
        }
        if !condition.is_empty() {
            self.body(condition, group, scope)?;
        }
        self.body(body, *close, scope)
    }

    fn for_loop(&mut self, node: Node<'_>, scope: Scope) -> Step {
        let children = self.children(node, Blanks::AndNewlines, scope)?;
        let [keyword, variable, of, words @ .., group] = children.as_slice() else {
            return self.construct("a `for` without `in` is not analyzed", node);
        };
        if keyword.kind() == "select" {
            return self.construct("`select` is not analyzed", node);
        }
        let name = self.node_text(*variable);
        if keyword.kind() != "for" || of.kind() != "in" || !variables::is_name(name) {
            return self.construct("a `for` of this form is not analyzed", node);
        }
        if variables::is_read_by_programs(name)
            || !matches!(
                variables::kind(name),
                variables::VariableKind::Inert | variables::VariableKind::Plain
            )
        {
            return Err(self.refusal(
                OpaqueCode::ChangesState,
                format!("the loop assigns `{name}`"),
                *variable,
            ));
        }
        let mut end = of.end_byte();
        let mut terminated = false;
        for word in words {
            if matches!(word.kind(), ";" | "\n") && !terminated {
                terminated = true;
                continue;
            }
            if terminated || !self.gap(end, word.start_byte(), Blanks::Only) {
                return self.construct("the words of a `for` are not of a known form", node);
            }
            let value = self.word(*word, scope.not_last())?;
            self.remember(name, &value);
            end = word.end_byte();
        }
        if !terminated && !has_newline(self.slice(end, group.start_byte())) {
            return self.construct("the words of a `for` are not terminated", node);
        }
        self.looped(&[], *group, scope)
    }

    fn case(&mut self, node: Node<'_>, scope: Scope) -> Step {
        let children = self.children(node, Blanks::AndNewlines, scope)?;
        let [keyword, word, of, items @ .., close] = children.as_slice() else {
            return self.construct("a `case` is empty", node);
        };
        if keyword.kind() != "case"
            || of.kind() != "in"
            || close.kind() != "esac"
            || scope.substitutions > 0
            || has_newline(self.slice(keyword.end_byte(), of.start_byte()))
        {
            return self.construct("a `case` of this form is not analyzed", node);
        }
        self.word(*word, scope)?;
        let before = self.directory.clone();
        let mut after = before.clone();
        let mut terminated = true;
        for item in items {
            if item.kind() == "\n" {
                continue;
            }
            if item.kind() != "case_item" || !terminated {
                return self.construct("a `case` of this form is not analyzed", *item);
            }
            terminated = self.case_item(*item, *close, scope)?;
            // `;&` falls through, so a later branch may start where an earlier one ended.
            after = after.merge(&self.directory);
            self.directory = if after == before { before.clone() } else { Directory::unknown() };
        }
        self.directory = after;
        Ok(())
    }

    /// Reads `pattern) statements ;;`; gives whether it is terminated.
    fn case_item(&mut self, item: Node<'_>, close: Node<'_>, scope: Scope) -> Step<bool> {
        let mut at = item.start_byte();
        if self.byte(at) == b'(' {
            at = self.skip_blanks(at + 1);
        }
        loop {
            let (_, end) = self.word_at(at, item, scope)?;
            if self.slice(at, end) == "esac" {
                return self.construct("a pattern is a reserved word", item);
            }
            at = self.skip_blanks(end);
            match self.byte(at) {
                b'|' => at = self.skip_blanks(at + 1),
                b')' => break,
                _ => return self.construct("a pattern is not of a known form", item),
            }
        }
        let children = self.children(item, Blanks::AndNewlines, scope)?;
        let Some(position) =
            children.iter().position(|child| child.kind() == ")" && child.start_byte() == at)
        else {
            return self.construct("bash and the grammar disagree on a pattern", item);
        };
        let rest = children.get(position + 1..).unwrap_or_default();
        let (body, terminated) = match rest.split_last() {
            Some((last, body)) if matches!(last.kind(), ";;" | ";&" | ";;&") => (body, true),
            _ => (rest, false),
        };
        if terminated {
            self.statements(body, scope)?;
        } else if !body.is_empty() {
            self.body(body, close, scope)?;
        }
        Ok(terminated)
    }

    pub(super) fn skip_blanks(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\t') {
            at += 1;
        }
        at
    }

    /// Reads a function; its body is reported where it is defined.
    pub(super) fn function(&mut self, node: Node<'_>, scope: Scope) -> Step {
        let children = self.children(node, Blanks::AndNewlines, scope)?;
        let kinds: Vec<&str> = children.iter().map(Node::kind).collect();
        let known = matches!(
            kinds.as_slice(),
            ["word", "(", ")", "compound_statement" | "subshell"]
                | ["function", "word", "compound_statement"]
                | ["function", "word", "(", ")", "compound_statement"]
        );
        let name_node = children.iter().find(|child| child.kind() == "word");
        let (Some(name_node), Some(body), true) = (name_node, children.last(), known) else {
            return self.construct("a function of this form is not analyzed", node);
        };
        let name = self.node_text(*name_node);
        if !variables::is_name(name)
            || has_newline(self.slice(node.start_byte(), body.start_byte()))
        {
            return self.construct("the name of a function is not plain", node);
        }
        if name == "command_not_found_handle"
            || judge::is_reserved(name)
            || commands::is_known(name)
        {
            let message = format!("a function takes the place of `{name}`");
            return Err(self.refusal(OpaqueCode::ChangesState, message, node));
        }
        let directory = std::mem::replace(&mut self.directory, Directory::unknown());
        let around = std::mem::take(&mut self.around);
        let result = self.compound(*body, scope.within(Context::Function).not_last(), &[]);
        if self.directory != Directory::unknown() {
            self.adrift = true;
        }
        self.around = around;
        self.directory = if self.adrift { Directory::unknown() } else { directory };
        result?;
        self.findings.define(name, scope);
        Ok(())
    }
}
