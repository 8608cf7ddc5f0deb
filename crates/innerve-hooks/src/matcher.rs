//! Matchers: which subjects of an event a group of hooks is for.

use fancy_regex::{Regex, RegexBuilder};

use crate::HooksError;
use crate::event::EventName;

/// The most steps a pattern may go back; beyond it the subject counts as matched.
const BACKTRACKING: usize = 100_000;

/// The most bytes a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;

/// A matcher, read once (Claude Code, "Hooks reference", matcher patterns).
///
/// Absent, empty and `*` match everything. A text of plain name characters is a name, or several divided by `|` or
/// commas, each compared whole. Anything else is a regular expression that may match anywhere in the subject. Case
/// counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher {
    form: Form,
}

#[derive(Clone, Debug, Default)]
enum Form {
    #[default]
    Everything,
    Names(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    /// Reads the matcher of an event; on an event without a subject every matcher means everything.
    pub(crate) fn parse(event: EventName, text: Option<&str>) -> Result<Self, HooksError> {
        let text = match (event.subject(), text) {
            (None, _) | (_, None | Some("" | "*")) => return Ok(Self::default()),
            (Some(_), Some(text)) => text,
        };
        let (marks, separators) =
            if matches!(event, EventName::FileChanged | EventName::StopFailure) {
                ("_|", "|")
            } else {
                ("_- ,|", ",|")
            };
        if text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || marks.contains(character))
        {
            let names = text.split(|character| separators.contains(character));
            let names = names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
            return Ok(Self { form: Form::Names(names.collect()) });
        }
        RegexBuilder::new(text)
            .backtrack_limit(BACKTRACKING)
            .delegate_size_limit(PATTERN_SIZE)
            .build()
            .map(|pattern| Self { form: Form::Pattern(pattern) })
            .map_err(|cause| HooksError::Matcher {
                matcher: text.to_owned(),
                cause: cause.to_string(),
            })
    }

    /// Whether the hooks run for this subject.
    ///
    /// A pattern that gives up matches: a hook too many is a lesser harm than a guard that was left out.
    pub(crate) fn matches(&self, subject: &str) -> bool {
        match &self.form {
            Form::Everything => true,
            Form::Names(names) => names.iter().any(|name| name == subject),
            Form::Pattern(pattern) => pattern.is_match(subject).unwrap_or(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        event: EventName,
        matcher: impl Into<Option<&'static str>>,
        hits: &[&str],
        misses: &[&str],
    ) {
        let matcher = Matcher::parse(event, matcher.into()).unwrap();
        for subject in hits {
            assert!(matcher.matches(subject), "{matcher:?} misses {subject}");
        }
        for subject in misses {
            assert!(!matcher.matches(subject), "{matcher:?} hits {subject}");
        }
    }

    const TOOL: EventName = EventName::PreToolUse;

    #[test]
    fn absent_empty_and_star_match_everything() {
        for matcher in [None, Some(""), Some("*")] {
            check(TOOL, matcher, &["Bash", ""], &[]);
        }
    }

    #[test]
    fn a_plain_text_is_a_whole_name() {
        check(TOOL, "Edit", &["Edit"], &["NotebookEdit", "edit", "Edit "]);
        check(
            EventName::SubagentStop,
            "code-reviewer",
            &["code-reviewer"],
            &["senior-code-reviewer"],
        );
    }

    #[test]
    fn a_list_is_divided_by_bars_or_commas() {
        check(TOOL, "Bash, PowerShell", &["Bash", "PowerShell"], &["Bash, PowerShell", ""]);
        check(TOOL, "Edit|Write", &["Edit", "Write"], &["Edit|Write", ""]);
        check(TOOL, "Edit|", &["Edit"], &[""]);
    }

    #[test]
    fn a_server_alone_matches_no_tool_of_it() {
        check(TOOL, "mcp__memory", &[], &["mcp__memory__read"]);
        check(TOOL, "mcp__memory__.*", &["mcp__memory__read"], &["mcp__memory2__read"]);
    }

    #[test]
    fn anything_else_is_a_pattern_that_matches_anywhere() {
        check(TOOL, "Edit.*", &["Edit", "NotebookEdit"], &["edit"]);
        check(TOOL, "^(?!Bash$).*", &["Edit", "BashOutput"], &["Bash"]);
    }

    #[test]
    fn file_names_and_error_kinds_know_no_comma_lists() {
        check(
            EventName::FileChanged,
            "Makefile|Dockerfile",
            &["Makefile", "Dockerfile"],
            &["Makefile.am"],
        );
        check(
            EventName::StopFailure,
            "rate_limit, overloaded",
            &["rate_limit, overloaded"],
            &["rate_limit"],
        );
        check(EventName::FileChanged, ".envrc|.env", &[".envrc", ".env", "x.env"], &["env"]);
    }

    #[test]
    fn a_matcher_is_ignored_where_there_is_no_subject() {
        check(EventName::Stop, "(", &["anything", ""], &[]);
    }

    #[test]
    fn a_broken_pattern_is_an_error_that_names_it() {
        let error = Matcher::parse(TOOL, Some("Edit(")).unwrap_err();
        assert_eq!(error.code(), "hooks.matcher");
        assert!(error.to_string().contains("`Edit(`"), "{error}");
    }

    #[test]
    fn a_pattern_that_gives_up_still_runs_its_hooks() {
        let matcher = Matcher::parse(TOOL, Some(r"^(a|a)*\1{0}$(?=b)")).unwrap();
        assert!(matcher.matches(&"a".repeat(200)));
    }
}
