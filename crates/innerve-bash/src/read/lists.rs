//! Lists and pipelines, put together again by bash's precedence.
//!
//! The grammar hangs redirections and pipes on whole lists (`a && b > f | c` is a pipeline of a redirected list there),
//! so lists are taken apart into operands and operators and read as bash reads them.

use tree_sitter::Node;

use super::{Blanks, Reader, Scope, Step};
use crate::directory::Directory;

/// Commands that hardly ever fail, so that the exit code of `x && y` is that of `y`.
const HARDLY_FAIL: &[&str] = &["cd", "echo", "printf", "true", ":", "pwd", "export", "set"];

/// An operand with the redirections that belong to it, and the operator before it.
#[derive(Debug)]
struct Operand<'t> {
    operator: Operator,
    node: Node<'t>,
    redirects: Vec<Node<'t>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    First,
    And,
    Or,
    Pipe,
}

impl Reader<'_> {
    /// Reads a list, a pipeline or a redirected statement.
    pub(super) fn chain(&mut self, node: Node<'_>, scope: Scope, redirects: &[Node<'_>]) -> Step {
        let mut operands = Vec::new();
        self.take_apart(node, Operator::First, scope, &mut operands)?;
        if let Some(last) = operands.last_mut() {
            last.redirects.extend_from_slice(redirects);
        }
        let mut pipelines: Vec<Vec<Operand<'_>>> = Vec::new();
        for operand in operands {
            match pipelines.last_mut() {
                Some(pipeline) if operand.operator == Operator::Pipe => pipeline.push(operand),
                _ => pipelines.push(vec![operand]),
            }
        }
        let last_known = pipelines.iter().rev().skip(1).all(|pipeline| {
            matches!(pipeline.as_slice(), [operand] if HARDLY_FAIL.contains(&self.first_word(operand.node)))
        });
        let count = pipelines.len();
        // Where the shell stands after success, after a failure, and after a failure of `cd` alone.
        let mut success = self.directory.clone();
        let mut failure: Option<Directory> = None;
        let mut failed_cd: Option<Directory> = None;
        for (index, pipeline) in pipelines.iter().enumerate() {
            let operator = pipeline.first().map_or(Operator::First, |operand| operand.operator);
            let before = match operator {
                Operator::Or => {
                    either(failure.as_ref(), failed_cd.as_ref()).unwrap_or_else(|| success.clone())
                }
                Operator::First | Operator::And | Operator::Pipe => success.clone(),
            };
            self.directory = before.clone();
            let last = scope.last && last_known && index + 1 == count;
            self.pipeline(pipeline, Scope { last, ..scope });
            let after = self.directory.clone();
            let name = match pipeline.as_slice() {
                [operand] => self.first_word(operand.node),
                _ => "",
            };
            let is_cd = name == "cd";
            match operator {
                Operator::Or => {
                    if name == "exit" {
                        // Nothing goes on from there.
                        (failure, failed_cd) = (None, None);
                    } else {
                        success = success.merge(&after);
                        failure = (!is_cd).then_some(after);
                        failed_cd = is_cd.then_some(before);
                    }
                }
                Operator::First | Operator::And | Operator::Pipe => {
                    if is_cd {
                        failed_cd = either(failed_cd.as_ref(), Some(&before));
                    } else {
                        failure = either(failure.as_ref(), Some(&after));
                    }
                    success = after;
                }
            }
        }
        self.directory = match failure {
            Some(failure) => success.merge(&failure),
            None => success,
        };
        Ok(())
    }

    /// The text of the first word below `node`, as written.
    fn first_word(&self, node: Node<'_>) -> &str {
        let text = self.node_text(node);
        text.split([' ', '\t', '\n', ';', ')']).next().unwrap_or_default()
    }

    fn take_apart<'t>(
        &mut self,
        node: Node<'t>,
        operator: Operator,
        scope: Scope,
        operands: &mut Vec<Operand<'t>>,
    ) -> Step {
        match node.kind() {
            "list" | "pipeline" => {
                let children = self.children(node, Blanks::AndNewlines, scope)?;
                let mut next = operator;
                let mut end = node.start_byte();
                let mut expects_operand = true;
                for child in children {
                    if expects_operand {
                        self.take_apart(child, next, scope, operands)?;
                    } else {
                        if !self.gap(end, child.start_byte(), Blanks::Only) {
                            return self.construct("a line ends before an operator", child);
                        }
                        next = match (node.kind(), child.kind()) {
                            ("list", "&&") => Operator::And,
                            ("list", "||") => Operator::Or,
                            ("pipeline", "|" | "|&") => Operator::Pipe,
                            (_, kind) => {
                                return self
                                    .construct(format!("`{kind}` is not analyzed here"), child);
                            }
                        };
                    }
                    expects_operand = !expects_operand;
                    end = child.end_byte();
                }
                if expects_operand {
                    return self.construct("an operator has no right side", node);
                }
                Ok(())
            }
            "redirected_statement" => {
                let children = match self.lost_dash(node) {
                    Some(children) => children,
                    None => self.children(node, Blanks::Only, scope)?,
                };
                let Some((body, redirects)) = children.split_first() else {
                    return self.construct("a redirection is empty", node);
                };
                if is_redirect(*body) {
                    operands.push(Operand { operator, node, redirects: Vec::new() });
                    return Ok(());
                }
                if !redirects.iter().all(|redirect| is_redirect(*redirect)) {
                    return self.construct(
                        "a redirected statement has parts that are not redirections",
                        node,
                    );
                }
                self.take_apart(*body, operator, scope, operands)?;
                if let Some(last) = operands.last_mut() {
                    last.redirects.extend_from_slice(redirects);
                }
                match redirects.last() {
                    Some(last) if last.kind() == "heredoc_redirect" => {
                        self.heredoc_tail(*last, scope, operands)
                    }
                    _ => Ok(()),
                }
            }
            "negated_command" if operator == Operator::Pipe => {
                self.construct("`!` stands inside a pipeline", node)
            }
            _ if !node.is_named() => {
                self.construct("an operator stands where a command is expected", node)
            }
            _ => {
                operands.push(Operand { operator, node, redirects: Vec::new() });
                Ok(())
            }
        }
    }

    /// The commands that go on behind the delimiter of a here-document (`cat <<X | sort`).
    fn heredoc_tail<'t>(
        &mut self,
        heredoc: Node<'t>,
        scope: Scope,
        operands: &mut Vec<Operand<'t>>,
    ) -> Step {
        let mut cursor = heredoc.walk();
        let tail: Vec<Node<'t>> = heredoc
            .children(&mut cursor)
            .skip_while(|child| !matches!(child.kind(), "pipeline" | "&&" | "||"))
            .take_while(|child| !matches!(child.kind(), "heredoc_body" | "heredoc_end" | "\n"))
            .collect();
        let (operator, statement) = match tail.as_slice() {
            [] => return Ok(()),
            [pipeline] if pipeline.kind() == "pipeline" => {
                let children = self.children(*pipeline, Blanks::Only, scope)?;
                match children.as_slice() {
                    [pipe, statement] if matches!(pipe.kind(), "|" | "|&") => {
                        (Operator::Pipe, *statement)
                    }
                    _ => {
                        return self.construct(
                            "a pipeline behind a here-document is not of a known form",
                            *pipeline,
                        );
                    }
                }
            }
            [and, statement] if and.kind() == "&&" => (Operator::And, *statement),
            [or, statement] if or.kind() == "||" => (Operator::Or, *statement),
            _ => {
                return self
                    .construct("what follows a here-document is not of a known form", heredoc);
            }
        };
        self.continued_heredocs.push(heredoc.start_byte());
        self.take_apart(statement, operator, scope, operands)
    }

    /// The children of `command - <<X`: the grammar loses the dash.
    fn lost_dash<'t>(&self, node: Node<'t>) -> Option<Vec<Node<'t>>> {
        let mut cursor = node.walk();
        let children: Vec<Node<'t>> = node.children(&mut cursor).collect();
        let [command, heredoc] = children.as_slice() else { return None };
        let lost = command.kind() == "command"
            && heredoc.kind() == "heredoc_redirect"
            && command.start_byte() == node.start_byte()
            && heredoc.end_byte() == node.end_byte()
            && is_lost_dash(self.slice(command.end_byte(), heredoc.start_byte()));
        lost.then_some(children)
    }

    fn pipeline(&mut self, pipeline: &[Operand<'_>], scope: Scope) {
        let count = pipeline.len();
        let before = self.directory.clone();
        for (index, operand) in pipeline.iter().enumerate() {
            let last = scope.last && index + 1 == count && (count == 1 || !self.findings.pipefail);
            let scope = Scope { last, ..scope };
            let result = if operand.node.kind() == "redirected_statement" {
                self.simple_command(operand.node, scope, &operand.redirects)
            } else {
                self.statement(operand.node, scope, &operand.redirects)
            };
            if let Err(refusal) = result {
                self.findings.refuse(refusal);
            }
            if count > 1 {
                // Every part of a pipeline has a shell of its own.
                self.directory = before.clone();
            }
        }
    }

    pub(super) fn negated(&mut self, node: Node<'_>, scope: Scope, redirects: &[Node<'_>]) -> Step {
        let children = self.children(node, Blanks::Only, scope)?;
        match children.as_slice() {
            [bang, command]
                if bang.kind() == "!"
                    && bang.end_byte() < command.start_byte()
                    && matches!(command.kind(), "command" | "test_command" | "subshell") =>
            {
                self.statement(*command, scope.not_last(), redirects)
            }
            _ => self.construct("this form of `!` is not analyzed", node),
        }
    }
}

pub(super) fn is_redirect(node: Node<'_>) -> bool {
    matches!(node.kind(), "file_redirect" | "herestring_redirect" | "heredoc_redirect")
}

/// Whether a gap holds a word `-` and blanks.
pub(super) fn is_lost_dash(gap: &str) -> bool {
    let blank =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
    gap.split_once('-').is_some_and(|(before, after)| blank(before) && blank(after))
}

fn either(left: Option<&Directory>, right: Option<&Directory>) -> Option<Directory> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.merge(right)),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    }
}
