//! Parsing with tree-sitter: a fresh parser per text, bounded work, no error nodes, bounded depth.

use std::borrow::Cow;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::opaque::Refusal;
use crate::{OpaqueCode, Span};

/// Deepest tree that is walked; the walk recurses, so this bounds its stack.
const MAX_DEPTH: usize = 150;

/// Most progress reports of the parser (one per hundred steps) before it is stopped.
///
/// Counting steps instead of time keeps the answer the same on every machine.
const MAX_PROGRESS: u32 = 20_000;

/// Parses `text`, or says why there is no tree.
pub(crate) fn parse(text: &str) -> Result<Tree, Refusal> {
    let whole = Span { start: 0, end: text.len() };
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Err(Refusal::new(OpaqueCode::Syntax, "the grammar does not fit the parser", whole));
    }
    let mut reports = 0_u32;
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let masked = mask(text);
    let mut rest = |offset: usize, _| masked.get(offset..).unwrap_or_default();
    parser
        .parse_with_options(&mut rest, None, Some(options))
        .ok_or_else(|| Refusal::new(OpaqueCode::TooLarge, "parsing took too many steps", whole))
}

/// The bytes for the parser: all but printable ASCII, tabs and newlines is a letter there.
///
/// The grammar's scanner hands characters to C's `isdigit`, which reads out of bounds for large ones and may crash the
/// process. To bash these characters are parts of words, as letters are; where a letter would be read otherwise (in
/// names and delimiters), the walk looks at the text itself.
fn mask(text: &str) -> Cow<'_, [u8]> {
    let plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    if text.bytes().all(plain) {
        return Cow::Borrowed(text.as_bytes());
    }
    text.bytes().map(|byte| if plain(byte) { byte } else { b'X' }).collect()
}

/// What is wrong with a tree.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It holds an error or missing node; the rest of it can still be walked.
    Syntax(Refusal),
    /// It is too deep to be walked.
    Depth(Refusal),
}

/// Refuses trees that are too deep, and trees with error or missing nodes.
pub(crate) fn check(tree: &Tree) -> Result<(), Fault> {
    let mut syntax = None;
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let span = Span { start: node.start_byte(), end: node.end_byte() };
        if cursor.depth() as usize > MAX_DEPTH {
            return Err(Fault::Depth(Refusal::new(
                OpaqueCode::TooLarge,
                "the text is nested too deeply",
                span,
            )));
        }
        if syntax.is_none() && (node.is_error() || node.is_missing()) {
            syntax =
                Some(Refusal::new(OpaqueCode::Syntax, "the text could not be read as bash", span));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return syntax.map_or(Ok(()), |refusal| Err(Fault::Syntax(refusal)));
            }
        }
    }
}
