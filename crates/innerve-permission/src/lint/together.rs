//! What is wrong with a rule because of the others.

use super::sample::{Bench, Sample, is_allowed};
use super::{Fault, LintCode, inner};
use crate::rule::Spec;
use crate::{Behavior, Origin, PermissionMode, ReasonKind, Rule};

/// What is wrong with the rule at this index because of the others.
pub(super) fn faults(bench: &Bench<'_>, rule: &Rule, index: usize) -> Option<Fault> {
    let samples = bench.samples(rule);
    if rule.behavior() != Behavior::Deny
        && let Some(fault) = shadow(bench, rule, &samples)
    {
        return Some(fault);
    }
    let rules = bench.policy.rules.rules();
    // What stands in another file has its own readers: a team's rules, say, beside one's own.
    let is_neighbour = |other: &&Rule| {
        other.behavior() == rule.behavior()
            && other.origin().source == rule.origin().source
            && other.origin().file == rule.origin().file
            && other.tool() == rule.tool()
    };
    if let Some(first) =
        rules.iter().take(index).filter(is_neighbour).find(|it| says_same(it, rule))
    {
        return Some(Fault::new(
            LintCode::Duplicate,
            format!("says again what `{first}`{} says", at(first.origin())),
        ));
    }
    let wider = rules
        .iter()
        .filter(is_neighbour)
        .filter(|other| !says_same(other, rule) && covers(bench, other, rule, &samples))
        // The narrow rule is what is wanted when the wide one should go.
        .find(|other| super::of_one(bench, other).is_empty())?;
    Some(Fault::new(
        LintCode::Redundant,
        format!("says nothing that `{wider}`{} does not say", at(wider.origin())),
    ))
}

/// A stricter rule, or the engine's own care, that never lets the rule have its say.
fn shadow(bench: &Bench<'_>, rule: &Rule, samples: &[Sample]) -> Option<Fault> {
    let mut stricter = None;
    let mut guarded = None;
    for sample in samples {
        let reason = bench.resolve(sample).reason;
        match (rule.behavior(), reason.kind, reason.code.as_str()) {
            (_, ReasonKind::Rule, "deny_rule")
            | (Behavior::Allow, ReasonKind::Rule, "ask_rule") => stricter = Some(reason),
            (Behavior::Allow, ReasonKind::Safety, _) => guarded = Some(reason),
            _ => return None,
        }
    }
    if let Some(reason) = stricter {
        let behavior = reason.code.trim_end_matches("_rule");
        let file = rule.origin().file.as_ref().map(|file| file.display().to_string());
        let place = match (&reason.file, reason.line) {
            (Some(_), Some(line)) if reason.file == file => format!(" in line {line}"),
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            (None, _) => String::new(),
        };
        let text = reason.rule.unwrap_or_default();
        return Some(Fault::new(
            LintCode::Shadowed,
            format!("never has its say: the {behavior} rule `{text}`{place} speaks of all of it"),
        ));
    }
    let reason = guarded?;
    Some(Fault::new(
        LintCode::NeverWins,
        format!("never spares the question, because it {}", reason.message),
    ))
}

/// Whether both say the same of the same calls.
fn says_same(left: &Rule, right: &Rule) -> bool {
    match (left.spec(), right.spec()) {
        (Some(Spec::Command(left)), Some(Spec::Command(right))) => left.pattern == right.pattern,
        (left, right) => left == right,
    }
}

/// Whether `other` decides all that the rule would decide, in every mode.
fn covers(bench: &Bench<'_>, other: &Rule, rule: &Rule, samples: &[Sample]) -> bool {
    match (other.spec(), rule.spec()) {
        (Some(Spec::Command(wide)), Some(Spec::Command(narrow))) => {
            // Cheap, and nearly always enough to tell that it is not so.
            if !narrow.text.starts_with(wide.pattern.prefix().trim_end()) {
                return false;
            }
        }
        (Some(Spec::Read(wide)), Some(Spec::Read(narrow)))
        | (Some(Spec::Edit(wide)), Some(Spec::Edit(narrow))) => {
            let named = inner(other).trim_start_matches(['.', '/', '~']);
            let named = named.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
            if wide.anchor != narrow.anchor || !inner(rule).contains(named) {
                return false;
            }
        }
        (None, Some(_)) => {}
        _ => return false,
    }
    // Mode `auto` suspends rules that allow anything, so that narrower ones beside them still count.
    !samples.is_empty()
        && samples.iter().all(|sample| {
            [PermissionMode::Default, PermissionMode::Auto].into_iter().all(|mode| {
                let resolution = bench.resolve_alone(other, mode, sample);
                resolution.reason.rule.is_some()
                    && !resolution.reason.code.ends_with("_possible")
                    && (rule.behavior() != Behavior::Allow || is_allowed(&resolution))
            })
        })
}

fn at(origin: &Origin) -> String {
    origin.line.map_or_else(String::new, |line| format!(" in line {line}"))
}
