//! What brush-parser finds in a text: every simple command with its words.

use std::io::Cursor;

use brush_parser::ast::{
    AndOr, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, Pipeline, Program,
    RedirectList, SimpleCommand, Word,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

/// A word: its text, if that depends on nothing.
pub type Text = Option<String>;

/// The commands of `text`, or why it is not understood.
pub fn commands(text: &str) -> Result<Vec<Vec<Text>>, String> {
    let mut judge = Judge { options: ParserOptions::default(), found: Vec::new() };
    judge.text(text)?;
    Ok(judge.found)
}

struct Judge {
    options: ParserOptions,
    found: Vec<Vec<Text>>,
}

type Done = Result<(), String>;

impl Judge {
    fn text(&mut self, text: &str) -> Done {
        let mut parser = Parser::new(Cursor::new(text), &self.options);
        let program: Program = parser.parse_program().map_err(|error| error.to_string())?;
        program.complete_commands.iter().try_for_each(|list| self.list(list))
    }

    fn list(&mut self, list: &CompoundList) -> Done {
        for item in &list.0 {
            self.pipeline(&item.0.first)?;
            for other in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = other;
                self.pipeline(pipeline)?;
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Done {
        pipeline.seq.iter().try_for_each(|command| self.command(command))
    }

    fn command(&mut self, command: &Command) -> Done {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref())?;
                self.compound(compound)
            }
            Command::Function(function) => {
                self.redirects(function.body.1.as_ref())?;
                self.compound(&function.body.0)
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref())?;
                self.test(&test.expr)
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Done {
        match compound {
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {
                Err("arithmetic".to_owned())
            }
            CompoundCommand::Coprocess(_) => Err("coprocess".to_owned()),
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                for word in clause.values.iter().flatten() {
                    self.word(word)?;
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value)?;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(pattern)?;
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list)?;
                    }
                }
                Ok(())
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.list(&clause.then)?;
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition)?;
                    }
                    self.list(&other.body)?;
                }
                Ok(())
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0)?;
                self.list(&clause.1.list)
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Done {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner)
            }
            ExtendedTestExpr::UnaryTest(_, word) => self.word(word).map(drop),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(left)?;
                self.word(right).map(drop)
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Done {
        let mut words = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut words)?;
        }
        // What stands before the name is no word of the command.
        words.clear();
        if let Some(name) = &simple.word_or_name {
            words.push(self.word(name)?);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut words)?;
        }
        if !words.is_empty() {
            self.found.push(words);
        }
        Ok(())
    }

    fn item(&mut self, item: &Item, words: &mut Vec<Text>) -> Done {
        match item {
            Item::IoRedirect(redirect) => self.redirect(redirect),
            Item::Word(word) => {
                words.push(self.word(word)?);
                Ok(())
            }
            Item::AssignmentWord(assignment, word) => {
                if let AssignmentValue::Array(_) = assignment.value {
                    return Err("array".to_owned());
                }
                words.push(self.word(word)?);
                Ok(())
            }
            Item::ProcessSubstitution(_, subshell) => {
                words.push(None);
                self.list(&subshell.list)
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) -> Done {
        redirects.iter().flat_map(|list| &list.0).try_for_each(|redirect| self.redirect(redirect))
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Done {
        match redirect {
            IoRedirect::File(_, _, target) => match target {
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                    self.word(word).map(drop)
                }
                IoFileRedirectTarget::Fd(_) => Ok(()),
                IoFileRedirectTarget::ProcessSubstitution(_, subshell) => self.list(&subshell.list),
            },
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    let pieces = word::parse_heredoc(&document.doc.value, &self.options)
                        .map_err(|error| error.to_string())?;
                    self.pieces(&pieces, &mut Some(String::new()))?;
                }
                Ok(())
            }
            IoRedirect::HereString(_, word) | IoRedirect::OutputAndError(word, _) => {
                self.word(word).map(drop)
            }
        }
    }

    fn word(&mut self, word: &Word) -> Result<Text, String> {
        let pieces = word::parse(&word.value, &self.options).map_err(|error| error.to_string())?;
        let mut text = Some(String::new());
        self.pieces(&pieces, &mut text)?;
        Ok(text)
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], text: &mut Text) -> Done {
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(plain) if plain.contains(['*', '?', '[', '{', '~']) => *text = None,
                WordPiece::Text(plain) | WordPiece::SingleQuotedText(plain) => {
                    if let Some(text) = text {
                        text.push_str(plain);
                    }
                }
                WordPiece::EscapeSequence(escape) => {
                    if let Some(text) = text {
                        text.push_str(escape.strip_prefix('\\').unwrap_or(escape));
                    }
                }
                WordPiece::DoubleQuotedSequence(inner) => {
                    for piece in inner {
                        match &piece.piece {
                            WordPiece::Text(plain) => {
                                if let Some(text) = text {
                                    text.push_str(plain)
                                }
                            }
                            _ => self.pieces(std::slice::from_ref(piece), text)?,
                        }
                    }
                }
                WordPiece::CommandSubstitution(inner)
                | WordPiece::BackquotedCommandSubstitution(inner) => {
                    *text = None;
                    self.text(inner)?;
                }
                WordPiece::AnsiCQuotedText(_)
                | WordPiece::TildeExpansion(_)
                | WordPiece::ParameterExpansion(_)
                | WordPiece::ArithmeticExpression(_) => *text = None,
                WordPiece::GettextDoubleQuotedSequence(_) => return Err("catalogue".to_owned()),
            }
        }
        Ok(())
    }
}
