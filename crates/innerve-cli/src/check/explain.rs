//! The answer for people: each part, the reason, and what would have allowed it.

use innerve_permission::{Decision, LinkOutcome, Reason, Resolution, Verdict};

use super::Question;
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, outcome_name, plain};

/// The answer as text.
pub(crate) fn for_people(resolution: &Resolution, question: &Question, explain: bool) -> String {
    let (style, word) = match resolution.verdict {
        Verdict::Decided(Decision::Allow) => (GREEN, "allow"),
        Verdict::Decided(Decision::Ask) => (YELLOW, "ask"),
        Verdict::Decided(Decision::Deny) => (RED, "deny"),
        Verdict::NeedsClassifier { .. } => (YELLOW, "classify"),
        Verdict::Deferred => (YELLOW, "defer"),
    };
    let mut out =
        format!("{style}{BOLD}{word}{BOLD:#}{style:#}  {}\n", because(&resolution.reason));
    if !explain && resolution.parts.len() < 2 {
        return out;
    }
    for part in &resolution.parts {
        let word = match part.decision {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        };
        out.push_str(&format!(
            "  {word:<5}  {}\n         {DIM}{}{DIM:#}\n",
            plain(&part.text),
            because(&part.reason)
        ));
    }
    if !explain {
        return out;
    }
    if !resolution.trace.is_empty() {
        out.push_str(&format!("\n{DIM}the chain for {}:{DIM:#}\n", plain(&question.tool)));
        for link in &resolution.trace {
            let mark = if link.outcome == LinkOutcome::None { DIM } else { BOLD };
            out.push_str(&format!(
                "  {:<18} {mark}{}{mark:#}\n",
                link.link,
                outcome_name(link.outcome)
            ));
        }
    }
    if !resolution.suggestions.is_empty() {
        out.push_str("\nwould be allowed by:\n");
        for suggestion in &resolution.suggestions {
            out.push_str(&format!("  {}\n", plain(&suggestion.0)));
        }
    }
    out
}

/// The reason with the place of the rule.
pub(crate) fn because(reason: &Reason) -> String {
    let mut text = plain(&reason.message);
    let mut place = Vec::new();
    if let Some(rule) = reason.rule.as_ref().filter(|rule| !reason.message.contains(rule.as_str()))
    {
        place.push(plain(rule));
    }
    match (&reason.file, reason.line, &reason.source) {
        (Some(file), Some(line), _) => place.push(format!("{}:{line}", plain(file))),
        (Some(file), None, _) => place.push(plain(file)),
        (None, _, Some(source)) if !text.contains(source.as_str()) => place.push(source.clone()),
        (None, _, Some(_) | None) => {}
    }
    if !place.is_empty() {
        text.push_str(&format!(" ({})", place.join(", ")));
    }
    text
}
