//! Decisions and why they were made.

use serde::Serialize;

/// What becomes of a tool use, ordered by strictness: combining decisions is `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may run.
    Allow,
    /// Somebody must be asked.
    Ask,
    /// It must not run.
    Deny,
}

/// A decision, or the need for a classifier's word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Decided.
    Decided(Decision),
    /// A hook wants the call to be deferred; the turn ends without an answer.
    Deferred,
    /// A classifier decides; without its verdict this holds.
    NeedsClassifier {
        /// What holds without a verdict.
        otherwise: Decision,
    },
}

/// What a classifier says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassifierWord {
    /// It may run.
    Allow,
    /// It must not.
    Block,
    /// There is no verdict.
    Unavailable,
}

/// A decision with everything that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a decision counts only where it is obeyed"]
pub struct Resolution {
    /// What was decided.
    pub verdict: Verdict,
    /// The reason that decided.
    pub reason: Reason,
    /// For shell commands: each part on its own.
    pub parts: Vec<PartResolution>,
    /// The links of the chain in the order in which they were tried.
    pub trace: Vec<Link>,
    /// Rules that would have allowed it, shortest first.
    pub suggestions: Vec<Suggestion>,
}

impl Resolution {
    /// Whether a classifier's yes is enough: what a hook wants to be asked is asked all the same, unless it is blocked.
    pub fn classifier_may_allow(&self) -> bool {
        matches!(self.verdict, Verdict::NeedsClassifier { .. })
            && self.reason.kind != ReasonKind::Hook
    }

    /// What becomes of the call once a classifier has spoken; without need of one, what was decided.
    pub fn after_classifier(&self, word: ClassifierWord) -> Decision {
        match (self.verdict, word) {
            (Verdict::Decided(decision), _) => decision,
            (Verdict::Deferred, _) | (Verdict::NeedsClassifier { .. }, ClassifierWord::Block) => {
                Decision::Deny
            }
            (Verdict::NeedsClassifier { .. }, ClassifierWord::Allow)
                if self.classifier_may_allow() =>
            {
                Decision::Allow
            }
            (
                Verdict::NeedsClassifier { otherwise },
                ClassifierWord::Allow | ClassifierWord::Unavailable,
            ) => otherwise,
        }
    }
}

/// Why a decision was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The kind.
    pub kind: ReasonKind,
    /// The rule's text, if a rule decided.
    pub rule: Option<String>,
    /// The rule's source, such as `project`.
    pub source: Option<String>,
    /// The file that holds the rule.
    pub file: Option<String>,
    /// The line in that file, from 1.
    pub line: Option<u32>,
    /// A stable code, such as `secret_path` or an analysis finding's code.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// The kinds of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// A rule matched.
    Rule,
    /// The mode decides such calls.
    Mode,
    /// A hook said so.
    Hook,
    /// A protected or critical path, or the tool's own objection.
    Safety,
    /// The shell analysis found something, or could not read the command.
    Analysis,
    /// It would read a secret.
    Secret,
    /// It only reads.
    ReadOnly,
    /// A classifier said so.
    Classifier,
    /// The input is not valid.
    Validation,
    /// Nothing else decided.
    Default,
}

/// The decision on one part of a shell command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartResolution {
    /// The part's text.
    pub text: String,
    /// What was decided on it alone.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Link {
    /// The link's stable name, such as `deny_rules`.
    pub link: &'static str,
    /// What it said.
    pub outcome: LinkOutcome,
}

/// What a link of the chain said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkOutcome {
    /// Nothing.
    None,
    /// Allow.
    Allow,
    /// Ask.
    Ask,
    /// Deny.
    Deny,
    /// Ask a classifier.
    Classify,
    /// Defer.
    Defer,
}

/// A rule that would have allowed the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Suggestion(pub String);
