//! Hints: what a server says about a tool, which may order calls but never grants anything.

use serde::{Deserialize, Serialize};

/// A tool's `annotations` as they come (Model Context Protocol, "Tool annotations"); what is absent has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether a change may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether a second call with the same input changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether the tool reaches things outside the server's own world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// What innerve makes of [`Annotations`]: the words of its tool contract, with the strict value for what is absent.
///
/// A server may lie, so none of them spares a question: they decide what may run side by side and what a person is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five independent properties, each named where it is used"
)]
pub struct Hints {
    /// The tool says that it changes nothing.
    pub read_only: bool,
    /// Calls may run beside other safe calls; so only those that say they change nothing.
    pub concurrency_safe: bool,
    /// A change may destroy something.
    pub destructive: bool,
    /// A second call with the same input changes nothing more.
    pub idempotent: bool,
    /// The tool reaches outside the server's own world.
    pub open_world: bool,
}

impl From<&Annotations> for Hints {
    fn from(annotations: &Annotations) -> Self {
        let read_only = annotations.read_only_hint.unwrap_or(false);
        Self {
            read_only,
            concurrency_safe: read_only,
            destructive: !read_only && annotations.destructive_hint.unwrap_or(true),
            idempotent: annotations.idempotent_hint.unwrap_or(false),
            open_world: annotations.open_world_hint.unwrap_or(true),
        }
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
    fn hints(annotations: serde_json::Value) -> Hints {
        Hints::from(&serde_json::from_value::<Annotations>(annotations).unwrap())
    }

    const STRICT: Hints = Hints {
        read_only: false,
        concurrency_safe: false,
        destructive: true,
        idempotent: false,
        open_world: true,
    };

    #[test]
    fn what_a_server_does_not_say_has_the_strict_value() {
        assert_eq!(hints(json!({})), STRICT);
        assert_eq!(Hints::default(), STRICT);
        assert_eq!(hints(json!({"title": "T", "later": 1})), STRICT);
    }

    #[test]
    fn a_tool_that_changes_nothing_may_run_beside_others_and_destroys_nothing() {
        let expected =
            Hints { read_only: true, concurrency_safe: true, destructive: false, ..STRICT };
        assert_eq!(hints(json!({"readOnlyHint": true})), expected);
        assert_eq!(hints(json!({"readOnlyHint": true, "destructiveHint": true})), expected);
    }

    #[test]
    fn a_writer_that_only_adds_is_still_serial() {
        assert_eq!(
            hints(json!({"destructiveHint": false})),
            Hints { destructive: false, ..STRICT }
        );
        assert_eq!(
            hints(json!({"idempotentHint": true, "openWorldHint": false})),
            Hints { idempotent: true, open_world: false, ..STRICT }
        );
    }

    #[test]
    fn annotations_are_written_as_they_came() {
        let value = json!({"title": "T", "readOnlyHint": false});
        let annotations: Annotations = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(annotations).unwrap(), value);
    }
}
