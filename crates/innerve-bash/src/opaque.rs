//! Every way of not understanding a command, each with a stable code.

use crate::Span;

/// Why a command could not be analyzed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueReason {
    /// The stable code.
    pub code: OpaqueCode,
    /// A sentence for people: what was met and why it is not analyzed.
    pub message: String,
    /// Where, in bytes of the text.
    pub span: Span,
}

/// The kinds of text that the analyzer does not see through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpaqueCode {
    /// Longer than the cap, too deeply nested, too many commands, or parsing took too long.
    TooLarge,
    /// A control character, an invisible character or an odd blank.
    Characters,
    /// bash would refuse it, or the grammar could not read it.
    Syntax,
    /// Valid bash of a kind that is not on the positive list.
    Construct,
    /// The name of the program is not statically known.
    DynamicCommand,
    /// Data that bash would evaluate as code (arithmetic, subscripts, `printf -v`, `${x@P}`).
    EvaluatesData,
    /// A builtin that changes what later text means (`alias`, `eval`, `trap`, `source`).
    ChangesState,
    /// The command inside a wrapper (`env`, `xargs`, `sh`) cannot be told.
    Wrapper,
    /// The two readers of this crate do not find the same commands, words and redirections.
    Disagreement,
}

impl OpaqueCode {
    /// The stable name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Characters => "characters",
            Self::Syntax => "syntax",
            Self::Construct => "construct",
            Self::DynamicCommand => "dynamic_command",
            Self::EvaluatesData => "evaluates_data",
            Self::ChangesState => "changes_state",
            Self::Wrapper => "wrapper",
            Self::Disagreement => "disagreement",
        }
    }
}

/// A refusal on its way out of the walk.
pub(crate) type Refusal = OpaqueReason;

/// Longest message, in characters: it may quote the text.
const MAX_MESSAGE_CHARS: usize = 200;

impl OpaqueReason {
    pub(crate) fn new(code: OpaqueCode, message: impl Into<String>, span: Span) -> Self {
        let mut message = message.into();
        if let Some((cut, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
            message.truncate(cut);
            message.push('…');
        }
        Self { code, message, span }
    }
}
