//! The fourteen steps by name, in their order.

use std::fmt;

/// One of the fourteen steps of a tool use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// 1: look the tool up by name, then by former name.
    LookUp,
    /// 2: stop if the turn was aborted.
    CheckAbort,
    /// 3: check the input against the schema.
    Parse,
    /// 4: check what a schema cannot say.
    Validate,
    /// 5: start the classifier early.
    StartClassifier,
    /// 6: fill in derived fields on a copy.
    Prepare,
    /// 7: let `PreToolUse` hooks speak.
    PreHooks,
    /// 8: resolve the permission.
    Resolve,
    /// 9: handle a refusal.
    HandleRefusal,
    /// 10: run.
    Run,
    /// 11: fit the result to the budget.
    FitResult,
    /// 12: let `PostToolUse` hooks speak.
    PostHooks,
    /// 13: attach messages and session changes.
    Attach,
    /// 14: classify the error and report.
    Classify,
}

impl Step {
    /// All steps in their order.
    pub const ALL: [Self; 14] = [
        Self::LookUp,
        Self::CheckAbort,
        Self::Parse,
        Self::Validate,
        Self::StartClassifier,
        Self::Prepare,
        Self::PreHooks,
        Self::Resolve,
        Self::HandleRefusal,
        Self::Run,
        Self::FitResult,
        Self::PostHooks,
        Self::Attach,
        Self::Classify,
    ];

    /// What happens in it, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Self::LookUp => "finds the tool by name, then by a former name",
            Self::CheckAbort => "stops if the turn was aborted",
            Self::Parse => "checks the input against the schema",
            Self::Validate => "checks what a schema cannot say",
            Self::StartClassifier => "asks the classifier early where it will be needed",
            Self::Prepare => "fills in derived fields on a copy of the input",
            Self::PreHooks => "lets `PreToolUse` hooks speak, once",
            Self::Resolve => "resolves the permission, and asks where it must",
            Self::HandleRefusal => "words a refusal for the model",
            Self::Run => "runs the tool on its permit",
            Self::FitResult => "fits the result to the conversation",
            Self::PostHooks => "lets `PostToolUse` hooks speak",
            Self::Attach => "attaches messages and changes of the session",
            Self::Classify => "classifies the error and reports",
        }
    }

    /// Its number, from 1.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::LookUp => "look_up",
            Self::CheckAbort => "check_abort",
            Self::Parse => "parse",
            Self::Validate => "validate",
            Self::StartClassifier => "start_classifier",
            Self::Prepare => "prepare",
            Self::PreHooks => "pre_hooks",
            Self::Resolve => "resolve",
            Self::HandleRefusal => "handle_refusal",
            Self::Run => "run",
            Self::FitResult => "fit_result",
            Self::PostHooks => "post_hooks",
            Self::Attach => "attach",
            Self::Classify => "classify",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:>2} {}", self.number(), self.name())
    }
}
