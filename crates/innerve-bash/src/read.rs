//! The verified walk over the syntax tree.
//!
//! The grammar was made for editors and reads much as bash does not, so the walk believes nothing: every node kind has
//! a function that knows its exact children, every byte between two nodes must be a blank that bash skips too, words
//! are read again from the text by [`words`], and whatever is not known to be read alike is refused.

mod compounds;
pub(crate) mod conditions;
mod expansions;
mod heredocs;
mod lists;
mod redirects;
mod simple;
mod substitutions;
mod words;

use tree_sitter::Node;

use crate::directory::Directory;
use crate::judge::Found;
use crate::opaque::Refusal;
use crate::second::SecondOpinion;
use crate::tree::Fault;
use crate::variables::Values;
use crate::{Context, OpaqueCode, Redirection, Span, raw, tree};

pub(crate) use simple::{Argument, Simple};

/// Most simple commands of one text.
const MAX_COMMANDS: usize = 100;
/// Most levels of text inside text (`sh -c 'sh -c …'`).
const MAX_LEVELS: usize = 4;

/// Most statements around a statement, over all texts inside texts: this bounds the stack.
const MAX_STATEMENTS_AROUND: usize = 64;
/// Longest text, in bytes, in which commands are looked for although it is refused.
const MAX_SEARCHED: usize = 100_000;

/// The outcome of one step of the walk.
pub(crate) type Step<T = ()> = Result<T, Refusal>;

/// What is collected over a text and the texts inside it.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The commands, in the order of the walk.
    pub(crate) found: Vec<Found>,
    /// The first thing that was not understood.
    pub(crate) refusal: Option<Refusal>,
    /// What variables are known to hold.
    pub(crate) values: Values,
    /// Functions that are certain to be defined.
    pub(crate) functions: Vec<String>,
    /// How many statements are around the one that is read.
    depth: usize,
    /// Whether `set -o pipefail` was met.
    pub(crate) pipefail: bool,
}

impl Findings {
    /// Remembers the first refusal.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.refusal.get_or_insert(refusal);
    }

    /// Remembers a function that was read; only one at the top of the text is certain to be defined from then on.
    fn define(&mut self, name: &str, scope: Scope) {
        if self.depth == 1 && scope.context == Context::Top {
            self.functions.push(name.to_owned());
        }
    }
}

/// Where a statement stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// The innermost place.
    pub(crate) context: Context,
    /// Whether the statement gives the exit code of the whole.
    pub(crate) last: bool,
    /// How many substitutions are around it.
    pub(crate) substitutions: usize,
    /// Whether one of them is in backticks.
    pub(crate) backtick: bool,
}

impl Scope {
    /// The scope of a whole text.
    pub(crate) fn top() -> Self {
        Self { context: Context::Top, last: true, substitutions: 0, backtick: false }
    }

    fn within(self, context: Context) -> Self {
        Self { context, ..self }
    }

    /// The same place, where the exit code does not matter.
    pub(crate) fn not_last(self) -> Self {
        Self { last: false, ..self }
    }
}

/// A redirection of a compound, with its path as of where the compound began.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    pub(crate) redirection: Redirection,
    pub(crate) directory: Directory,
}

/// Reads one text.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) findings: &'a mut Findings,
    text: &'a str,
    /// How many texts are around this one.
    pub(crate) level: usize,
    /// The span to report for everything, for a text inside a word.
    fixed_span: Option<Span>,
    /// The directory in which the whole started, when it is known.
    pub(crate) cwd: Option<&'a str>,
    /// The wrappers around this text, outermost first.
    pub(crate) wrappers: Vec<String>,
    /// The simulated directory.
    pub(crate) directory: Directory,
    /// Whether code elsewhere changes directory at times that are not known, so that `cd` cannot be followed.
    pub(crate) adrift: bool,
    /// Redirections of the compounds around the current statement.
    pub(crate) around: Vec<Around>,
    /// Here-documents met in this text.
    heredocs: usize,
    /// Where the here-documents start whose lines go on with commands that are read elsewhere.
    continued_heredocs: Vec<usize>,
    /// What the other reader found in this text; nothing where the text is refused anyway.
    second: Option<SecondOpinion<'a>>,
}

impl<'a> Reader<'a> {
    /// A reader for a whole text.
    pub(crate) fn new(findings: &'a mut Findings, text: &'a str, cwd: Option<&'a str>) -> Self {
        Self {
            findings,
            text,
            level: 0,
            fixed_span: None,
            cwd,
            wrappers: Vec::new(),
            directory: Directory::start(),
            adrift: false,
            around: Vec::new(),
            heredocs: 0,
            continued_heredocs: Vec::new(),
            second: None,
        }
    }

    /// Reads the text; what is not understood is remembered in the findings.
    pub(crate) fn read(&mut self, scope: Scope) {
        if let Err(refusal) = self.read_text(scope) {
            self.findings.refuse(refusal);
        }
    }

    fn read_text(&mut self, scope: Scope) -> Step {
        if let Err(refusal) = raw::check(self.text) {
            let refusal = self.moved(refusal);
            if self.text.len() > MAX_SEARCHED {
                return Err(refusal);
            }
            self.findings.refuse(refusal);
        }
        let tree = tree::parse(self.text).map_err(|refusal| self.moved(refusal))?;
        match tree::check(&tree) {
            Ok(()) => {}
            Err(Fault::Syntax(refusal)) => {
                let refusal = self.moved(refusal);
                self.findings.refuse(refusal);
            }
            Err(Fault::Depth(refusal)) => return Err(self.moved(refusal)),
        }
        let root = tree.root_node();
        if root.kind() != "program"
            || !is_gap(self.slice(0, root.start_byte()), Blanks::AndNewlines)
            || !is_gap(self.slice(root.end_byte(), self.text.len()), Blanks::AndNewlines)
        {
            self.findings.refuse(self.refusal(
                OpaqueCode::Syntax,
                "the text could not be read as bash",
                root,
            ));
        }
        if self.findings.refusal.is_none() {
            self.second = Some(SecondOpinion::of(self.text));
        }
        let before = self.findings.found.len();
        let children = self.children(root, Blanks::AndNewlines, scope)?;
        self.statements(&children, scope)?;
        let dispute = self.second.as_ref().and_then(SecondOpinion::dispute);
        if self.findings.found.len() == before && self.findings.refusal.is_none() {
            return Err(self.refusal(OpaqueCode::Syntax, "there is no command in the text", root));
        }
        if let Some(start) = dispute {
            return Err(Refusal::new(
                OpaqueCode::Disagreement,
                "two ways of reading this text do not find the same commands",
                self.span(start, self.text.len()),
            ));
        }
        Ok(())
    }

    /// Reads `text`, which stands inside a word of this text and is run by `wrapper`.
    pub(crate) fn read_inner(
        &mut self,
        text: &str,
        span: Span,
        wrappers: Vec<String>,
        scope: Scope,
    ) -> Step {
        if self.level >= MAX_LEVELS {
            return Err(Refusal::new(OpaqueCode::TooLarge, "too many texts inside texts", span));
        }
        let mut inner = Reader {
            findings: &mut *self.findings,
            text,
            level: self.level + 1,
            fixed_span: Some(span),
            cwd: self.cwd,
            wrappers,
            directory: self.directory.clone(),
            adrift: self.adrift,
            around: Vec::new(),
            heredocs: 0,
            continued_heredocs: Vec::new(),
            second: None,
        };
        inner.read(scope);
        Ok(())
    }

    fn moved(&self, refusal: Refusal) -> Refusal {
        Refusal { span: self.fixed_span.unwrap_or(refusal.span), ..refusal }
    }

    /// The span to report for the bytes from `start` to `end`.
    fn span(&self, start: usize, end: usize) -> Span {
        self.fixed_span.unwrap_or(Span { start, end })
    }

    fn refusal(&self, code: OpaqueCode, message: impl Into<String>, node: Node<'_>) -> Refusal {
        Refusal::new(code, message, self.span(node.start_byte(), node.end_byte()))
    }

    /// Has the other reader compare what stands at `node` with what it found there.
    fn compare(&mut self, node: Node<'_>, simple: &Simple<'_>) {
        if let Some(second) = &mut self.second {
            second.compare(node.start_byte(), simple);
        }
    }

    /// Refuses `node` as a construct that is not on the positive list.
    fn construct<T>(&self, message: impl Into<String>, node: Node<'_>) -> Step<T> {
        Err(self.refusal(OpaqueCode::Construct, message, node))
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn node_text(&self, node: Node<'_>) -> &'a str {
        self.slice(node.start_byte(), node.end_byte())
    }

    /// The byte at `index`; zero at the end, which the raw checks keep out of texts.
    fn byte(&self, index: usize) -> u8 {
        self.text.as_bytes().get(index).copied().unwrap_or(0)
    }

    fn byte_before(&self, index: usize) -> u8 {
        index.checked_sub(1).map_or(0, |index| self.byte(index))
    }

    /// Whether everything between two places is skipped by bash.
    fn gap(&self, start: usize, end: usize, blanks: Blanks) -> bool {
        start <= end && self.text.get(start..end).is_some_and(|gap| is_gap(gap, blanks))
    }

    /// The children of `node` without comments, every gap between them checked.
    fn children<'t>(&self, node: Node<'t>, blanks: Blanks, scope: Scope) -> Step<Vec<Node<'t>>> {
        let mut children = Vec::new();
        let mut end = node.start_byte();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if !self.gap(end, child.start_byte(), blanks) {
                return self
                    .construct("blanks or line continuations are not read alike here", node);
            }
            end = child.end_byte();
            let is_keyword = !child.is_named()
                && child.kind().starts_with(|byte: char| byte.is_ascii_lowercase());
            if is_keyword && !is_separator(self.byte(end)) {
                return self.construct("a keyword touches what follows it", child);
            }
            if child.kind() == "comment" {
                self.comment(child, scope)?;
            } else {
                children.push(child);
            }
        }
        if !self.gap(end, node.end_byte(), blanks) {
            return self.construct("blanks or line continuations are not read alike here", node);
        }
        Ok(children)
    }

    /// Accepts a comment only where bash sees one too.
    fn comment(&self, node: Node<'_>, scope: Scope) -> Step {
        let start = node.start_byte();
        let at_word_start =
            start == 0 || matches!(self.byte_before(start), b' ' | b'\t' | b'\n' | b';');
        let text = self.node_text(node);
        let to_line_end = matches!(self.byte(node.end_byte()), 0 | b'\n');
        if !at_word_start
            || !to_line_end
            || !text.starts_with('#')
            || text.contains('\n')
            || text.ends_with('\\')
            || scope.substitutions > 0
        {
            return self.construct("a comment stands where it is not read alike", node);
        }
        Ok(())
    }

    /// Reads statements with terminators between them.
    fn statements(&mut self, nodes: &[Node<'_>], scope: Scope) -> Step {
        let mut rest = nodes.iter().copied().peekable();
        let mut previous: Option<Node<'_>> = None;
        let last_statement = nodes.iter().rposition(tree_sitter::Node::is_named);
        let mut position = 0;
        while let Some(node) = rest.next() {
            let here = position;
            position += 1;
            if !node.is_named() {
                let expected = match node.kind() {
                    "\n" => true,
                    ";" | "&" => previous.is_some(),
                    _ => false,
                };
                if !expected {
                    return self.construct("an operator stands where no statement ends", node);
                }
                previous = None;
                continue;
            }
            if let Some(previous) = previous
                && !has_newline(self.slice(previous.end_byte(), node.start_byte()))
            {
                return self.construct("two statements stand together without a terminator", node);
            }
            let background = rest.peek().is_some_and(|next| next.kind() == "&");
            let last = scope.last && Some(here) == last_statement && !background;
            let context = if background { Context::Background } else { scope.context };
            let directory = background.then(|| self.directory.clone());
            if let Err(refusal) = self.statement(node, Scope { context, last, ..scope }, &[]) {
                self.findings.refuse(refusal);
            }
            if let Some(directory) = directory {
                self.directory = directory;
            }
            if self.findings.found.len() > MAX_COMMANDS {
                return Err(self.refusal(OpaqueCode::TooLarge, "more than 100 commands", node));
            }
            previous = Some(node);
        }
        Ok(())
    }

    /// Reads one statement, unless too many are around it.
    fn statement(&mut self, node: Node<'_>, scope: Scope, redirects: &[Node<'_>]) -> Step {
        if self.findings.depth >= MAX_STATEMENTS_AROUND {
            return Err(self.refusal(OpaqueCode::TooLarge, "the text is nested too deeply", node));
        }
        self.findings.depth += 1;
        let result = self.any_statement(node, scope, redirects);
        self.findings.depth -= 1;
        result
    }

    /// Reads one statement; `redirects` are the redirection nodes that the grammar hung on something around it.
    fn any_statement(&mut self, node: Node<'_>, scope: Scope, redirects: &[Node<'_>]) -> Step {
        match node.kind() {
            "command" | "variable_assignment" | "variable_assignments" | "declaration_command" => {
                self.simple_command(node, scope, redirects)
            }
            "list" | "pipeline" | "redirected_statement" => self.chain(node, scope, redirects),
            "negated_command" => self.negated(node, scope, redirects),
            "test_command" => self.condition(node, scope, redirects),
            "subshell" | "compound_statement" | "if_statement" | "while_statement"
            | "for_statement" | "case_statement" => self.compound(node, scope, redirects),
            "function_definition" if redirects.is_empty() => self.function(node, scope),
            "function_definition" => {
                self.construct("a function with redirections is not analyzed", node)
            }
            "c_style_for_statement" => self.construct("`for ((…))` is not analyzed", node),
            "unset_command" => self.construct("`unset` is not analyzed", node),
            kind => self.construct(format!("`{kind}` is not analyzed"), node),
        }
    }
}

/// Whether a byte ends an unquoted word.
fn is_separator(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Which blanks are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blanks {
    /// Spaces and tabs.
    Only,
    /// Newlines as well.
    AndNewlines,
}

/// Whether bash skips all of `gap`.
///
/// A line continuation counts only straight after a real blank: bash deletes it before it splits words, so elsewhere it
/// can glue (`a\⏎#b` is one word).
fn is_gap(gap: &str, blanks: Blanks) -> bool {
    let mut bytes = gap.bytes();
    let mut after_blank = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' => after_blank = true,
            b'\n' if blanks == Blanks::AndNewlines => after_blank = true,
            b'\\' if after_blank && bytes.next() == Some(b'\n') => {}
            _ => return false,
        }
    }
    true
}

/// Whether a gap holds a newline that is not continued.
fn has_newline(gap: &str) -> bool {
    let mut previous = 0;
    for byte in gap.bytes() {
        if byte == b'\n' && previous != b'\\' {
            return true;
        }
        previous = byte;
    }
    false
}
