//! One thing that was looked at.

use serde::Serialize;

/// What was found; the field names are part of the program's contract.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) area: &'static str,
    pub(super) state: State,
    pub(super) text: String,
    /// What to do about it.
    pub(super) mend: Option<String>,
}

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Something will not work.
    Problem,
}

impl Finding {
    pub(super) fn fine(area: &'static str, text: impl Into<String>) -> Self {
        Self { area, state: State::Fine, text: text.into(), mend: None }
    }

    pub(super) fn note(area: &'static str, text: impl Into<String>) -> Self {
        Self { area, state: State::Note, text: text.into(), mend: None }
    }

    pub(super) fn problem(area: &'static str, text: impl Into<String>) -> Self {
        Self { area, state: State::Problem, text: text.into(), mend: None }
    }

    /// Says what to do about it.
    #[must_use]
    pub(super) fn mend(mut self, what: impl Into<String>) -> Self {
        self.mend = Some(what.into());
        self
    }
}
