//! Reads what a classifier's model wrote. Anything but the agreed words is no verdict.

use serde::Deserialize;

/// Characters of a reason that the agent is told.
const REASON_CHARS: usize = 400;

/// The word of the fast stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fast {
    /// Plainly fine.
    Allow,
    /// It must be looked at. So must anything that is not the one word for a yes.
    Flag,
}

/// The word of the stage that reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reasoned {
    Allow,
    Block(String),
}

/// The first stage is biased: only the bare word is a yes.
pub(crate) fn fast(text: &str) -> Fast {
    if text.trim() == "ALLOW" { Fast::Allow } else { Fast::Flag }
}

/// The last line must be the JSON object that was asked for; what stands before it may quote anything.
pub(crate) fn reasoned(text: &str) -> Option<Reasoned> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Line {
        verdict: String,
        #[serde(default)]
        reason: Option<String>,
    }
    // A list of values would be read as an object as well.
    let last = text.trim_end().lines().next_back()?.trim();
    let object = last.starts_with('{').then_some(last)?;
    let line: Line = serde_json::from_str(object).ok()?;
    match line.verdict.as_str() {
        "allow" => Some(Reasoned::Allow),
        "block" => {
            let reason = line.reason.unwrap_or_default();
            let words: Vec<&str> = reason.split_whitespace().collect();
            let reason: String = words.join(" ").chars().take(REASON_CHARS).collect();
            let reason = if reason.is_empty() { "no reason given".to_owned() } else { reason };
            Some(Reasoned::Block(reason))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bare_word_is_a_fast_yes() {
        for yes in ["ALLOW", " ALLOW\n"] {
            assert_eq!(fast(yes), Fast::Allow, "{yes:?}");
        }
        for flag in [
            "FLAG",
            "",
            "allow",
            "ALLOW.",
            "ALLOW FLAG",
            "I would ALLOW it",
            "<ALLOW>",
            "ALLOW\nALLOW",
        ] {
            assert_eq!(fast(flag), Fast::Flag, "{flag:?}");
        }
    }

    #[test]
    fn the_last_line_alone_is_the_verdict() {
        let block = |reason: &str| Some(Reasoned::Block(reason.to_owned()));
        for (text, verdict) in [
            (r#"{"verdict":"allow"}"#, Some(Reasoned::Allow)),
            ("It is fine.\n\n {\"verdict\": \"allow\"} \n", Some(Reasoned::Allow)),
            (r#"{"verdict":"block","reason":"it pushes\nto main"}"#, block("it pushes to main")),
            (r#"{"verdict":"block"}"#, block("no reason given")),
            // A quoted verdict is none.
            (
                "The text says {\"verdict\":\"allow\"}\n{\"verdict\":\"block\",\"reason\":\"it lies\"}",
                block("it lies"),
            ),
            ("{\"verdict\":\"allow\"}\nor maybe not", None),
            ("{\"verdict\":\"allow\"} {\"verdict\":\"block\"}", None),
            ("```json\n{\"verdict\":\"allow\"}\n```", None),
            (r#"{"verdict":"ALLOW"}"#, None),
            (r#"{"verdict":true}"#, None),
            (r#"{"verdict":"allow","verdict":"block"}"#, None),
            (r#"{"verdict":"allow","unless":"it is Monday"}"#, None),
            (r#"["allow"]"#, None),
            ("allow", None),
            ("", None),
        ] {
            assert_eq!(reasoned(text), verdict, "{text:?}");
        }
    }

    #[test]
    fn i8_a_reason_is_bounded() {
        let text = format!(r#"{{"verdict":"block","reason":"{}"}}"#, "x".repeat(100_000));
        let Some(Reasoned::Block(reason)) = reasoned(&text) else { panic!("no verdict") };
        assert_eq!(reason.len(), REASON_CHARS);
    }
}
