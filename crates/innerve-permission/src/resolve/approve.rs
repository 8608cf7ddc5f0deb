//! Approvals: what lets a call run without a question. Every part and every redirected file needs its own.

use super::call::{Call, base_name};
use super::reasons::{Certainty, by_rule, reason};
use super::{never, places, rules};
use crate::rule::{CommandSpec, Family, Roots, Rule, Spec};
use crate::{
    Behavior, Effect, EffectSet, Need, Part, PathTarget, PermissionMode, ReadScope, Reason,
    ReasonKind, RuleSource, Target,
};

/// Commands that mode `acceptEdits` runs inside the working directories.
const EDITING_COMMANDS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];

/// Wrappers that allow rules see through, when their options were read in full.
const TRANSPARENT: &[&str] = &["timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin"];

/// The kinds of approval, from the one that says least about the call to the one that says most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It needs no permission.
    Free,
    /// An allow rule covers it.
    Rule,
    /// The mode runs such calls.
    Mode,
}

/// What lets a call or a part of it run.
#[derive(Clone, Debug)]
pub(super) struct Approval {
    pub(super) kind: Kind,
    pub(super) reason: Reason,
}

/// What lets the whole call run without a question, if anything does.
pub(super) fn of_call(call: Call<'_>) -> Option<Approval> {
    if call.is_shell() {
        return of_shell(call);
    }
    if let Some(approval) = of_tool_rules(call) {
        return Some(approval);
    }
    match call.facts.need {
        Need::Never => Some(free("no_permission_needed", "the tool needs no permission")),
        Need::Always | Need::Interaction => None,
        Need::ByTargets => of_targets(call),
    }
}

/// An exact-text rule, or one for every command: these cover also what could not be analyzed.
pub(super) fn of_whole_command(call: Call<'_>) -> Option<Approval> {
    let rules = &call.policy.rules;
    for tool in call.rule_tools() {
        if let Some(rule) =
            rules.blankets(Behavior::Allow, tool).into_iter().find(|rule| in_force(call, rule))
        {
            return Some(rule_approval(rule));
        }
    }
    let command = call.facts.command.as_deref()?.trim_matches([' ', '\t', '\n']);
    let first = command.split(' ').next().unwrap_or_default();
    let mut exact =
        call.rule_tools().flat_map(|tool| rules.commands(Behavior::Allow, tool, &[first]));
    let rule = exact.find(|rule| {
        in_force(call, rule)
            && rule.command().is_some_and(|spec| spec.is_exact() && spec.pattern.matches(command))
    })?;
    Some(rule_approval(rule))
}

/// What lets part `index` run, its redirected files included.
pub(super) fn of_part(call: Call<'_>, index: usize) -> Option<Approval> {
    let part = call.facts.parts.get(index)?;
    let command = of_command(call, index, part)?;
    let mut strongest = command;
    for target in &part.redirected {
        let approval = of_redirection(call, target)?;
        if approval.kind > strongest.kind {
            strongest = approval;
        }
    }
    Some(strongest)
}

/// What lets the part's command run, its redirected files aside.
pub(super) fn of_command_alone(call: Call<'_>, part: &Part) -> Option<Approval> {
    let index = call.facts.parts.iter().position(|other| std::ptr::eq(other, part))?;
    of_command(call, index, part)
}

fn of_shell(call: Call<'_>) -> Option<Approval> {
    if let Some(approval) = of_whole_command(call) {
        return Some(approval);
    }
    if call.facts.opaque.is_some() || call.facts.parts.is_empty() {
        return None;
    }
    let mut strongest: Option<Approval> = None;
    for index in 0..call.facts.parts.len() {
        let approval = of_part(call, index)?;
        if strongest.as_ref().is_none_or(|known| approval.kind > known.kind) {
            strongest = Some(approval);
        }
    }
    // What the call touches beyond its parts is not covered by any of them.
    if call.facts.targets.iter().all(|target| of_redirection(call, target).is_some()) {
        strongest
    } else {
        None
    }
}

fn of_command(call: Call<'_>, index: usize, part: &Part) -> Option<Approval> {
    if let Some(outer) = exact_outer(call, index, part) {
        return Some(rule_approval(outer));
    }
    if let Some(rule) = allow_rules(call, part).first() {
        return Some(rule_approval(rule));
    }
    if is_free(call, part) {
        return Some(free("read_only", format!("`{}` only reads", part.text)));
    }
    // The command inside is a part of its own, and the wrapper adds nothing to it.
    if is_transparent(part)
        && part.targets.is_empty()
        && has_inner(call, index, part)
        && part.assignments.iter().all(|(_, harmless)| *harmless)
    {
        return Some(free("wrapper", format!("`{}` is judged by the command inside", part.text)));
    }
    accepts_edits(call, part).then(|| Approval {
        kind: Kind::Mode,
        reason: reason(
            ReasonKind::Mode,
            "accept_edits",
            "mode acceptEdits runs edits inside the working directories",
        ),
    })
}

/// Whether the part reads only, and only what may be read without a question.
fn is_free(call: Call<'_>, part: &Part) -> bool {
    let name = part.argv.first().and_then(Option::as_deref);
    // `"git status"` in quotes is a program of that name.
    if !part.read_only || name.is_some_and(|name| name.contains(char::is_whitespace)) {
        return false;
    }
    let moves = rules::moves(part);
    let bounded = moves || call.policy.bash_read_scope == ReadScope::WorkingDirectories;
    part.targets.iter().all(|target| match target {
        Target::Read(path) => {
            !bounded
                || call.is_target_inside(path)
                || (moves && path.path.as_ref() == Some(&call.policy.cwd))
                || path_rule(call, Family::Read, path).is_some()
        }
        // A part that only reads names nothing else, or what it names is among its redirections.
        Target::Write(written) | Target::Delete(written) => {
            let path = |target: &Target| target.path().map(|path| path.path.clone());
            part.redirected.iter().any(|target| path(target) == Some(written.path.clone()))
        }
        Target::Host(_) | Target::Agent(_) => true,
    })
}

fn accepts_edits(call: Call<'_>, part: &Part) -> bool {
    let name = part.argv.first().and_then(Option::as_deref);
    call.policy.mode == PermissionMode::AcceptEdits
        && name.is_some_and(|name| EDITING_COMMANDS.contains(&name))
        && part.complete
        && part.effects.is_subset(EffectSet::of(&[Effect::Read, Effect::Write, Effect::Delete]))
        && part.assignments.iter().all(|(_, harmless)| *harmless)
        && !part.targets.is_empty()
        && part.may_change.iter().all(|change| call.is_target_inside(change.path()))
        && part
            .targets
            .iter()
            .all(|target| target.path().is_some_and(|path| call.is_target_inside(path)))
}

/// The allow rules that cover the part's command; not its redirected files.
fn allow_rules<'a>(call: Call<'a>, part: &Part) -> Vec<&'a Rule> {
    let Some(program) = part.argv.first().and_then(Option::as_deref) else { return Vec::new() };
    let odd = program.is_empty() || program.contains(char::is_whitespace);
    if odd || !part.assignments.iter().all(|(_, harmless)| *harmless) || !call.runs_inside(part) {
        return Vec::new();
    }
    let plain = plain_git(call, part);
    let mut found: Vec<&Rule> = call
        .rule_tools()
        .flat_map(|tool| call.policy.rules.commands(Behavior::Allow, tool, &[program]))
        .collect();
    found.retain(|rule| {
        let Some(spec) = rule.command().filter(|_| in_force(call, rule)) else { return false };
        let fits = |text: &str| spec.patterns().any(|pattern| pattern.matches(text));
        let by_prefix = spec.is_exact() || (!part.expands && !never::by_prefix(part));
        by_prefix && (fits(&part.text) || plain.as_deref().is_some_and(fits))
    });
    found
}

/// `git -C dir log` as `git log`, where `dir` is a working directory or below.
fn plain_git(call: Call<'_>, part: &Part) -> Option<String> {
    let mut words = part.argv.iter().map(Option::as_deref);
    if words.next()?? != "git" {
        return None;
    }
    let mut words = words.peekable();
    let mut removed = false;
    while let Some(Some(option)) = words.peek().copied() {
        match option {
            "--no-pager" => words.next(),
            "-C" => {
                words.next();
                let directory = words.next()??;
                part.targets.iter().find(|target| {
                    matches!(target, Target::Read(path) if path.given == directory && call.is_target_inside(path))
                })?;
                None
            }
            _ => break,
        };
        removed = true;
    }
    let rest: Option<Vec<&str>> = words.collect();
    rest.filter(|_| removed).map(|rest| format!("git {}", rest.join(" ")))
}

/// The exact-text rule that covers a wrapper around the part, and with it the part.
fn exact_outer<'a>(call: Call<'a>, index: usize, part: &Part) -> Option<&'a Rule> {
    let (wrapper, around) = part.unwrapped_from.split_last()?;
    // Only the nearest command before it with that name, peeled just as far, can be the wrapper.
    let (outer_index, outer) =
        call.facts.parts.iter().enumerate().take(index).rev().find(|(_, outer)| {
            outer.unwrapped_from == around && program_name(outer) == Some(base_name(wrapper))
        })?;
    let exact = allow_rules(call, outer)
        .into_iter()
        .find(|rule| rule.command().is_some_and(CommandSpec::is_exact));
    exact.or_else(|| exact_outer(call, outer_index, outer))
}

fn program_name(part: &Part) -> Option<&str> {
    part.argv.first().and_then(Option::as_deref).map(base_name)
}

/// Whether the wrapper is one that allow rules see through.
fn is_transparent(part: &Part) -> bool {
    let name = part.argv.first().and_then(Option::as_deref);
    match name {
        Some("xargs") => part
            .argv
            .get(1)
            .is_some_and(|word| word.as_deref().is_some_and(|word| !word.starts_with('-'))),
        Some(name) => TRANSPARENT.contains(&name),
        None => false,
    }
}

/// Whether the command inside the wrapper is the next part.
fn has_inner(call: Call<'_>, index: usize, part: &Part) -> bool {
    call.facts.parts.get(index + 1).is_some_and(|inner| {
        inner.unwrapped_from.len() == part.unwrapped_from.len() + 1
            && inner.unwrapped_from.starts_with(&part.unwrapped_from)
            && inner.unwrapped_from.last().map(|name| base_name(name)) == program_name(part)
    })
}

/// What lets a file be read or written beside a command: no rule about the command says anything of it.
fn of_redirection(call: Call<'_>, target: &Target) -> Option<Approval> {
    match target {
        Target::Read(path) => {
            let bounded = call.policy.bash_read_scope == ReadScope::WorkingDirectories;
            (!bounded || call.is_target_inside(path)).then(|| free("read_only", "only reads"))
        }
        Target::Write(path) | Target::Delete(path) => {
            of_edit(call, path, &[PermissionMode::AcceptEdits])
        }
        Target::Host(_) | Target::Agent(_) => None,
    }
}

/// What lets a file be changed: a rule about editing, or one of these modes in the working directories.
fn of_edit(call: Call<'_>, path: &PathTarget, modes: &[PermissionMode]) -> Option<Approval> {
    let mode = call.policy.mode;
    if let Some(rule) = path_rule(call, Family::Edit, path) {
        return Some(rule_approval(rule));
    }
    (modes.contains(&mode) && call.is_target_inside(path)).then(|| Approval {
        kind: Kind::Mode,
        reason: reason(
            ReasonKind::Mode,
            "accept_edits",
            format!("mode {mode} runs edits inside the working directories"),
        ),
    })
}

/// Rules about the tool itself, its hosts, agents and skills.
fn of_tool_rules(call: Call<'_>) -> Option<Approval> {
    let rules = &call.policy.rules;
    let mut blankets = call.rule_tools().flat_map(|tool| rules.blankets(Behavior::Allow, tool));
    if let Some(rule) = blankets.find(|rule| in_force(call, rule)) {
        return Some(rule_approval(rule));
    }
    let hosts = call.hosts();
    let mut scoped = call
        .rule_tools()
        .flat_map(|tool| rules.scoped(Behavior::Allow, tool, &hosts))
        .filter(|rule| in_force(call, rule));
    let targets = &call.facts.targets;
    let rule = scoped.find(|rule| match rule.spec() {
        Some(Spec::Domain(pattern)) => {
            let hosts = call.hosts();
            !hosts.is_empty()
                && hosts.len() == targets.len()
                && hosts.iter().all(|host| pattern.matches(host))
        }
        Some(Spec::Agent(name)) => {
            !targets.is_empty() && targets.iter().all(|it| *it == Target::Agent(name.clone()))
        }
        Some(Spec::Skill(pattern)) => rules::skill(call).is_some_and(|text| pattern.matches(&text)),
        Some(
            Spec::Command(_) | Spec::Read(_) | Spec::Edit(_) | Spec::Parameter(..) | Spec::Unused,
        )
        | None => false,
    })?;
    Some(rule_approval(rule))
}

/// What lets every target be touched.
fn of_targets(call: Call<'_>) -> Option<Approval> {
    if !call.facts.complete && call.facts.targets.is_empty() {
        return None;
    }
    let mut strongest = free("read_only", "it reads inside the working directories only");
    for target in &call.facts.targets {
        let approval = match target {
            Target::Read(path) => of_read(call, path)?,
            Target::Write(path) | Target::Delete(path) => {
                of_edit(call, path, &[PermissionMode::AcceptEdits, PermissionMode::Auto])?
            }
            Target::Host(_) => return None,
            Target::Agent(_) if call.policy.mode == PermissionMode::Auto => return None,
            Target::Agent(_) => free("agent", "a sub-agent's own calls are judged one by one"),
        };
        if approval.kind > strongest.kind {
            strongest = approval;
        }
    }
    Some(strongest)
}

fn of_read(call: Call<'_>, path: &PathTarget) -> Option<Approval> {
    if call.is_target_inside(path) {
        return Some(free("read_only", "it reads inside the working directories only"));
    }
    // Who may edit a file may read it.
    let rule = path_rule(call, Family::Read, path).or_else(|| edit_rule_for_read(call, path));
    if let Some(rule) = rule {
        return Some(rule_approval(rule));
    }
    (call.policy.mode == PermissionMode::Auto && path.path.is_some()).then(|| Approval {
        kind: Kind::Mode,
        reason: reason(ReasonKind::Mode, "auto", "mode auto reads anywhere"),
    })
}

fn edit_rule_for_read<'a>(call: Call<'a>, path: &PathTarget) -> Option<&'a Rule> {
    both(call, Family::Edit, Roots::Included, path)
}

/// An allow rule that covers the path both as given and where it really is.
pub(super) fn path_rule<'a>(call: Call<'a>, family: Family, path: &PathTarget) -> Option<&'a Rule> {
    let roots = match family {
        Family::Read => Roots::Included,
        Family::Edit => Roots::Excluded,
    };
    let blanket = call
        .policy
        .rules
        .blankets(Behavior::Allow, family.tool())
        .into_iter()
        .find(|rule| in_force(call, rule));
    blanket.or_else(|| both(call, family, roots, path))
}

/// A rule with a path that covers it both as given and where it really is.
pub(super) fn both<'a>(
    call: Call<'a>,
    family: Family,
    roots: Roots,
    path: &PathTarget,
) -> Option<&'a Rule> {
    let at = |path| {
        let rules = &call.policy.rules;
        rules
            .paths(Behavior::Allow, family, path, roots, &|anchor| call.anchor(anchor))
            .first()
            .copied()
    };
    let given = path.path.as_deref()?;
    let real = path.real.as_deref()?;
    at(given).filter(|_| real == given || at(real).is_some())
}

/// Whether the allow rule counts in this mode: mode `auto` suspends those that allow anything at all.
pub(super) fn in_force(call: Call<'_>, rule: &Rule) -> bool {
    if call.policy.mode != PermissionMode::Auto {
        return true;
    }
    match rule.tool() {
        "Bash" | "PowerShell" => {
            !call.policy.classify_all_shell
                && rule.command().is_some_and(|spec| !never::in_auto(spec))
        }
        "Agent" | "Monitor" => false,
        _ => true,
    }
}

/// Whether the call reads or writes the file that the plan is written to, while planning, and touches nothing else.
pub(super) fn touches_only_the_plan(call: Call<'_>) -> bool {
    let is_plan = |target: &Target| match target {
        Target::Read(path) | Target::Write(path) => call.is_plan_file(path),
        Target::Delete(_) | Target::Host(_) | Target::Agent(_) => false,
    };
    let targets = &call.facts.targets;
    !call.is_shell() && call.facts.complete && !targets.is_empty() && targets.iter().all(is_plan)
}

/// Whether a grant given in this session covers the change of a protected path.
pub(super) fn granted_in_session(call: Call<'_>, path: &PathTarget) -> bool {
    both(call, Family::Edit, Roots::Excluded, path)
        .is_some_and(|rule| rule.origin().source == RuleSource::Session)
}

fn rule_approval(rule: &Rule) -> Approval {
    Approval { kind: Kind::Rule, reason: by_rule(rule, Certainty::Certain) }
}

fn free(code: &str, message: impl Into<String>) -> Approval {
    Approval { kind: Kind::Free, reason: reason(ReasonKind::ReadOnly, code, message) }
}

/// Whether every secret that the call reads is named by a rule: its path, or the command that prints it.
pub(super) fn names_secrets(call: Call<'_>) -> bool {
    let named = |path: &PathTarget| {
        both(call, Family::Read, Roots::Included, path)
            .or_else(|| both(call, Family::Edit, Roots::Included, path))
            .is_some()
    };
    let secrets = |target: &Target| match target {
        Target::Read(path) => !places::is_secret_target(path) || named(path),
        Target::Write(_) | Target::Delete(_) | Target::Host(_) | Target::Agent(_) => true,
    };
    let whole = of_whole_command(call)
        .is_some_and(|approval| approval.reason.rule.is_some_and(|rule| rule.contains('(')));
    if whole {
        return true;
    }
    let own = call.facts.targets.iter().all(secrets)
        && !call.facts.effects_beyond_parts().contains(Effect::Secret);
    own && call.facts.parts.iter().all(|part| {
        let covering = allow_rules(call, part);
        let is_exact = |rule: &&Rule| rule.command().is_some_and(CommandSpec::is_exact);
        if covering.iter().any(is_exact) {
            return true;
        }
        let has_path =
            part.targets.iter().chain(&part.redirected).any(
                |target| matches!(target, Target::Read(path) if places::is_secret_target(path)),
            );
        let prints = part.effects.contains(Effect::Secret) && !has_path;
        part.targets.iter().chain(&part.redirected).all(secrets)
            && (!prints || !covering.is_empty())
    })
}
