//! Hints: what a server says about a tool, which may order calls but never grants anything.

use serde::Deserialize;

/// A tool's `annotations` as they come (Model Context Protocol, "Tool annotations"); those that nothing here goes by
/// (`idempotentHint`, `openWorldHint`) are passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Annotations {
    /// A name for people.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// Whether the tool changes nothing.
    #[serde(default)]
    pub(crate) read_only_hint: Option<bool>,
    /// Whether a change may destroy something.
    #[serde(default)]
    pub(crate) destructive_hint: Option<bool>,
}

/// What innerve makes of [`Annotations`]: the words of its tool contract, with the strict value for what is absent.
///
/// A server may lie, so neither of them spares a question: they decide what may run side by side and what a person is
/// told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hints {
    /// The tool says that it changes nothing, so that its calls may run beside other safe calls.
    pub(crate) read_only: bool,
    /// A change may destroy something.
    pub(crate) destructive: bool,
}

impl From<&Annotations> for Hints {
    fn from(annotations: &Annotations) -> Self {
        let read_only = annotations.read_only_hint.unwrap_or(false);
        let destructive = !read_only && annotations.destructive_hint.unwrap_or(true);
        Self { read_only, destructive }
    }
}

impl Default for Hints {
    fn default() -> Self {
        Self::from(&Annotations::default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(annotations: serde_json::Value, read_only: bool, destructive: bool) {
        let annotations: Annotations = serde_json::from_value(annotations).unwrap();
        assert_eq!(Hints::from(&annotations), Hints { read_only, destructive });
    }

    #[test]
    fn what_a_server_does_not_say_has_the_strict_value() {
        check(json!({}), false, true);
        check(json!({"title": "T", "later": 1}), false, true);
        check(json!({"idempotentHint": true, "openWorldHint": false}), false, true);
        assert_eq!(Hints::default(), Hints { read_only: false, destructive: true });
    }

    #[test]
    fn a_tool_that_changes_nothing_destroys_nothing() {
        check(json!({"readOnlyHint": true}), true, false);
        check(json!({"readOnlyHint": true, "destructiveHint": true}), true, false);
    }

    #[test]
    fn a_writer_that_only_adds_still_writes() {
        check(json!({"destructiveHint": false}), false, false);
    }
}
