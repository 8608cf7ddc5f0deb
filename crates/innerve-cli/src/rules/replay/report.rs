//! What a replay found: counts, groups of calls that came out for the same reason, and what flips.

use std::collections::BTreeMap;

use innerve_permission::{Reason, Resolution};
use serde_json::{Value, json};

use super::super::cases::called;
use super::transcript::Past;
use crate::check::explain::because;
use crate::judging::verdict_name;
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, plain};

/// Examples that a group keeps.
const MAX_EXAMPLES: usize = 3;
/// Groups of one decision that people are shown.
const MAX_SHOWN: usize = 20;

/// What was found.
#[derive(Default)]
pub(super) struct Report {
    pub(super) files: usize,
    pub(super) skipped_lines: usize,
    /// Tool uses of directories whose settings are broken.
    pub(super) not_judged: usize,
    decisions: BTreeMap<&'static str, usize>,
    groups: BTreeMap<Key, Group>,
    /// `None` when nothing is compared.
    flips: Option<BTreeMap<Key, Group>>,
}

/// What the calls of a group have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// What was decided before, for flips.
    from: Option<&'static str>,
    decision: &'static str,
    tool: String,
    why: String,
}

struct Group {
    count: usize,
    reason: Reason,
    suggestions: Vec<String>,
    examples: Vec<String>,
}

impl Report {
    /// Adds a tool use that was judged, and what the other settings say of it.
    pub(super) fn add(&mut self, past: &Past, now: &Resolution, other: Option<&Resolution>) {
        *self.decisions.entry(verdict_name(now.verdict)).or_default() += 1;
        insert(&mut self.groups, None, past, now);
        let Some(other) = other else { return };
        let flips = self.flips.get_or_insert_default();
        if verdict_name(now.verdict) != verdict_name(other.verdict) {
            insert(flips, Some(verdict_name(now.verdict)), past, other);
        }
    }

    /// The report as JSON; the field names are part of the program's contract.
    pub(super) fn as_json(&self) -> Value {
        let count = |name: &str| self.decisions.get(name).copied().unwrap_or(0);
        let mut report = json!({
            "files": self.files,
            "tool_uses": self.decisions.values().sum::<usize>(),
            "decisions": {
                "allow": count("allow"), "ask": count("ask"), "deny": count("deny"),
                "classify": count("classify"),
            },
            "not_judged": self.not_judged,
            "skipped_lines": self.skipped_lines,
            "groups": sorted(&self.groups).into_iter().map(group_json).collect::<Vec<_>>(),
        });
        if let (Some(flips), Some(fields)) = (&self.flips, report.as_object_mut()) {
            let flips = sorted(flips).into_iter().map(group_json).collect();
            fields.insert("flips".to_owned(), Value::Array(flips));
        }
        report
    }

    /// The report as text.
    pub(super) fn for_people(&self) -> String {
        let mut counts: Vec<String> = Vec::new();
        for decision in ["allow", "ask", "deny", "classify"] {
            if let Some(count) = self.decisions.get(decision) {
                counts.push(format!("{count} {decision}"));
            }
        }
        if self.not_judged > 0 {
            counts.push(format!("{} not judged", self.not_judged));
        }
        let uses: usize = self.decisions.values().sum();
        let mut text = format!(
            "{BOLD}{uses} tool uses in {} {}{BOLD:#}: {}\n",
            self.files,
            if self.files == 1 { "file" } else { "files" },
            if counts.is_empty() { "nothing to judge".to_owned() } else { counts.join(", ") }
        );
        for decision in ["deny", "ask", "classify", "allow"] {
            let groups: Vec<_> = sorted(&self.groups)
                .into_iter()
                .filter(|(key, _)| key.decision == decision)
                .collect();
            if !groups.is_empty() {
                text.push_str(&format!("\n{}\n", styled(decision)));
            }
            add_groups(&mut text, &groups);
        }
        if let Some(flips) = &self.flips {
            let groups = sorted(flips);
            let count: usize = groups.iter().map(|(_, group)| group.count).sum();
            text.push_str(&format!("\n{BOLD}{count} come out differently{BOLD:#}\n"));
            add_groups(&mut text, &groups);
        }
        text
    }
}

fn insert(
    groups: &mut BTreeMap<Key, Group>,
    from: Option<&'static str>,
    past: &Past,
    resolution: &Resolution,
) {
    let suggestions: Vec<String> =
        resolution.suggestions.iter().map(|suggestion| suggestion.0.clone()).collect();
    let reason = &resolution.reason;
    // What one rule decides, or one rule would allow, belongs together.
    let why = match &reason.rule {
        Some(_) => because(reason),
        None if !suggestions.is_empty() => {
            format!("would be allowed by {}", plain(&suggestions.join(" and ")))
        }
        None => reason.code.clone(),
    };
    let decision = verdict_name(resolution.verdict);
    let key = Key { from, decision, tool: plain(&past.tool), why };
    let group = groups.entry(key).or_insert_with(|| Group {
        count: 0,
        reason: reason.clone(),
        suggestions,
        examples: Vec::new(),
    });
    group.count += 1;
    let example = called(&past.tool, &past.input);
    if group.examples.len() < MAX_EXAMPLES && !group.examples.contains(&example) {
        group.examples.push(example);
    }
}

/// The groups, the largest first.
fn sorted(groups: &BTreeMap<Key, Group>) -> Vec<(&Key, &Group)> {
    let mut groups: Vec<_> = groups.iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    groups
}

fn group_json((key, group): (&Key, &Group)) -> Value {
    let mut fields = json!({
        "decision": key.decision,
        "tool": key.tool,
        "count": group.count,
        "reason": group.reason,
        "suggestions": group.suggestions,
        "examples": group.examples,
    });
    if let (Some(from), Some(fields)) = (key.from, fields.as_object_mut()) {
        fields.insert("from".to_owned(), json!(from));
    }
    fields
}

fn add_groups(text: &mut String, groups: &[(&Key, &Group)]) {
    for (key, group) in groups.iter().take(MAX_SHOWN) {
        let flip = match key.from {
            Some(from) => format!("{} → {}  ", styled(from), styled(key.decision)),
            None => String::new(),
        };
        text.push_str(&format!("{:>6}  {flip}{}  {}\n", group.count, key.tool, key.why));
        for example in &group.examples {
            text.push_str(&format!("        {DIM}{example}{DIM:#}\n"));
        }
    }
    if groups.len() > MAX_SHOWN {
        text.push_str(&format!("        {DIM}… {} more{DIM:#}\n", groups.len() - MAX_SHOWN));
    }
}

fn styled(decision: &str) -> String {
    let style = match decision {
        "allow" => GREEN,
        "deny" => RED,
        _ => YELLOW,
    };
    format!("{style}{decision}{style:#}")
}
