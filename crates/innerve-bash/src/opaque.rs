//! Every way of not understanding a command, each with a stable code.

use crate::Span;

/// Why a command could not be analyzed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

    /// A sentence for people on what the code stands for.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::TooLarge => {
                "The text is longer than 10,000 characters, holds more than 100 commands, is nested too deeply, or takes the parser too many steps."
            }
            Self::Characters => {
                "A control character, an invisible character or an odd blank, which bash, the grammar or a reader's eye take differently."
            }
            Self::Syntax => {
                "bash would refuse the text, or the grammar cannot read it although bash may."
            }
            Self::Construct => {
                "Valid bash that is not on the positive list: arrays, `select`, `coproc`, `((…))`, odd quoting and continued lines."
            }
            Self::DynamicCommand => {
                "The name of the program is not known before the text runs: `$CMD`, `\"$EDITOR\" f`, `xargs -I{} {}`."
            }
            Self::EvaluatesData => {
                "bash would evaluate data as code or as a name: subscripts, `let`, `[ -v x ]`, `printf -v`, `${!x}`, `${x@P}`."
            }
            Self::ChangesState => {
                "A builtin or variable that changes what later text means: `eval`, `source`, `alias`, `trap`, `shopt`, `PATH=…`."
            }
            Self::Wrapper => {
                "The command inside a wrapper cannot be told: options that are not known, a script on a shell's input, `flock`, `env -S`."
            }
            Self::Disagreement => {
                "The two readers do not find the same commands, words and redirections."
            }
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
