//! A crate's changelog: what is unreleased, and the text after a release.

use crate::Result;

/// The heading under which changes are collected.
const UNRELEASED: &str = "## [Unreleased]";

/// The entries under `[Unreleased]`, without the headings of their kinds.
pub(super) fn entries(text: &str) -> Result<Vec<&str>> {
    let (_, after) = split(text)?;
    Ok(section(after).lines().filter(|line| line.trim_start().starts_with("- ")).collect())
}

/// Whether an entry stands under `### Removed` or is marked as breaking.
pub(super) fn tells_a_break(text: &str) -> bool {
    split(text).is_ok_and(|(_, after)| {
        let section = section(after);
        section.lines().any(|line| line.trim() == "### Removed")
            || section.to_lowercase().contains("**breaking**")
    })
}

/// The text with the collected entries under the version's own heading.
pub(super) fn close(text: &str, version: &str, date: &str) -> Result<String> {
    let (before, after) = split(text)?;
    Ok(format!("{before}{UNRELEASED}\n\n## [{version}] - {date}{after}"))
}

fn split(text: &str) -> Result<(&str, &str)> {
    text.split_once(UNRELEASED)
        .filter(|(before, after)| {
            (before.is_empty() || before.ends_with('\n'))
                && (after.is_empty() || after.starts_with('\n'))
        })
        .ok_or_else(|| format!("the changelog has no heading `{UNRELEASED}`; add it").into())
}

/// Up to the next heading of a version.
fn section(after: &str) -> &str {
    after.find("\n## ").and_then(|end| after.get(..end)).unwrap_or(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing\n  in two lines.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n\n### Removed\n";

    #[test]
    fn only_what_is_unreleased_counts() {
        assert_eq!(entries(TEXT).unwrap(), ["- A thing"]);
        assert!(entries("# Changelog\n").is_err());
        assert!(entries("## [Unreleased]\n\n## [0.1.0]\n- Old").unwrap().is_empty());
    }

    #[test]
    fn a_break_is_told_by_its_heading_or_mark() {
        assert!(!tells_a_break(TEXT));
        assert!(tells_a_break("## [Unreleased]\n### Removed\n- x"));
        assert!(tells_a_break("## [Unreleased]\n- **Breaking**: x"));
    }

    #[test]
    fn a_release_moves_the_entries_below_its_heading_and_keeps_the_rest() {
        let closed = close(TEXT, "0.2.0", "2026-12-01").unwrap();
        assert!(
            closed
                .contains("## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A thing\n")
        );
        assert!(closed.ends_with("## [0.1.0] - 2026-01-01\n\n- Old.\n\n### Removed\n"));
        assert!(entries(&closed).unwrap().is_empty());
    }
}
