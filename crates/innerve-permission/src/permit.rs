//! Permits: the only way to run a tool, made only here, holding the very value that was judged.

use std::path::PathBuf;

use serde_json::Value;

use crate::{CallFacts, Decision, Policy, Resolution, Verdict, Voices, resolve};

/// A resolution bound to the input that it is about.
#[derive(Debug)]
#[must_use = "a call that was judged may not run yet"]
pub struct Judgement {
    facts: CallFacts,
    resolution: Resolution,
}

/// The right to run one tool once with one input; it is consumed by the run.
#[derive(Debug)]
#[must_use = "a permit is for one run"]
pub struct Permit {
    tool: String,
    input: Value,
    preview: Option<Preview>,
    approval: Option<Approval>,
}

/// What a person saw before approving: it is written byte for byte, or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The file that will be written.
    pub path: PathBuf,
    /// Its content before; `None` if there is no such file.
    pub before: Option<Vec<u8>>,
    /// Its content after.
    pub after: Vec<u8>,
    /// A hash of `before`, to be compared right before writing.
    pub base_hash: String,
}

/// Somebody's word on a judgement that was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Who said yes.
    pub by: ApprovedBy,
    /// What they saw.
    pub preview: Option<Preview>,
}

/// Who may say yes to what would be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovedBy {
    /// A person, here or at the parent of a sub-agent.
    Person,
    /// A `PermissionRequest` hook.
    Hook,
    /// A classifier.
    Classifier,
    /// A program that embeds the agent.
    Host,
}

/// No permit: the judgement does not allow it.
#[derive(Debug, thiserror::Error)]
#[error("{} is not permitted: {}", .0.facts.tool(), .0.resolution.reason.message)]
pub struct Refused(pub Box<Judgement>);

/// Judges a call and binds the answer to its input.
pub fn judge(policy: &Policy, facts: CallFacts, voices: &Voices) -> Judgement {
    let resolution = resolve(policy, &facts, voices);
    Judgement { facts, resolution }
}

impl Judgement {
    /// What was decided and why.
    pub fn resolution(&self) -> &Resolution {
        &self.resolution
    }

    /// What was judged.
    pub fn facts(&self) -> &CallFacts {
        &self.facts
    }

    /// The permit of a call that is allowed outright.
    pub fn permit(self) -> Result<Permit, Refused> {
        match self.resolution.verdict {
            Verdict::Decided(Decision::Allow) => Ok(self.into_permit(None)),
            Verdict::Decided(Decision::Ask | Decision::Deny)
            | Verdict::NeedsClassifier { .. }
            | Verdict::Deferred => Err(Refused(Box::new(self))),
        }
    }

    /// The permit of a call that was to be asked about, on somebody's word. What is denied stays denied, and a
    /// classifier cannot answer a question that is meant for a person.
    pub fn approve(self, approval: Approval) -> Result<Permit, Refused> {
        let enough = match self.resolution.verdict {
            Verdict::Decided(Decision::Allow) => true,
            Verdict::NeedsClassifier { .. } => {
                approval.by != ApprovedBy::Classifier || self.resolution.classifier_may_allow()
            }
            Verdict::Decided(Decision::Ask) => approval.by != ApprovedBy::Classifier,
            Verdict::Decided(Decision::Deny) | Verdict::Deferred => false,
        };
        if enough { Ok(self.into_permit(Some(approval))) } else { Err(Refused(Box::new(self))) }
    }

    fn into_permit(self, approval: Option<Approval>) -> Permit {
        let preview = approval.as_ref().and_then(|approval| approval.preview.clone());
        Permit { tool: self.facts.tool, input: self.facts.input, preview, approval }
    }
}

impl Permit {
    /// The tool that may run.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The input that was judged.
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// What was approved byte for byte, if anything.
    pub fn preview(&self) -> Option<&Preview> {
        self.preview.as_ref()
    }

    /// Who approved it; `None` if it was allowed outright.
    pub fn approval(&self) -> Option<&Approval> {
        self.approval.as_ref()
    }

    /// Spends the permit.
    pub fn spend(self) -> (Value, Option<Preview>) {
        (self.input, self.preview)
    }
}
