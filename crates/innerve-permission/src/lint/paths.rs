//! What is wrong with a rule about paths.

use super::sample::{Bench, WORD, is_allowed};
use super::{Fault, LintCode, inner, is_rule, spec_text};
use crate::rule::Family;
use crate::rule::path::Anchor;
use crate::{Behavior, PermissionMode, Rule, RuleSource};

/// Directories at the root of a file system: a pattern that begins with one of them looks absolute. Names that projects
/// give to directories of their own, such as `lib`, are left out.
const ROOTS: &[&str] = &[
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "boot",
    "etc",
    "home",
    "mnt",
    "opt",
    "private",
    "proc",
    "root",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
];

/// What is wrong with a rule that has a path.
pub(super) fn faults(bench: &Bench<'_>, rule: &Rule) -> Vec<Fault> {
    let Some((family, pattern)) = rule.path() else { return Vec::new() };
    let spec = spec_text(rule).unwrap_or_default();
    let written = inner(rule).trim();
    let tool = family.tool();
    let mut faults = Vec::new();
    if rule.tool() != tool {
        let why = format!("counts as `{tool}({spec})`, for every tool");
        faults.push(Fault::new(LintCode::CountsAs, why).instead([format!("{tool}({written})")]));
    }
    if let Some(fault) = variable(rule, tool, &spec) {
        faults.push(fault);
        return faults;
    }
    if let Anchor::Settings(root) = &pattern.anchor {
        let rest = written.trim_start_matches('/');
        let first = rest.split('/').next().unwrap_or_default();
        // The directory of the user's settings holds nothing that a project works with.
        let of_user = rule.origin().source == RuleSource::User;
        if ROOTS.contains(&first) || of_user {
            let absolute = format!("{tool}(//{rest})");
            let relative = format!("{tool}({rest})");
            let instead =
                if ROOTS.contains(&first) { vec![absolute] } else { vec![relative, absolute] };
            let why = format!(
                "starts at `{}`, the directory of its settings; `//` is the root of the file system",
                root.display()
            );
            faults.push(Fault::new(LintCode::SettingsRelativePath, why).instead(instead));
        }
    }
    if rule.behavior() != Behavior::Allow
        && let Some(name) = written.strip_prefix("./")
        && !name.contains('/')
        && !name.is_empty()
    {
        let why =
            format!("speaks of `{name}` in the current directory only, not of those below it");
        faults.push(Fault::new(LintCode::OnlyInCwd, why).instead([format!("{tool}({name})")]));
    }
    if rule.behavior() == Behavior::Allow && family == Family::Edit {
        faults.extend(any_file(bench, rule));
    }
    faults
}

/// A variable, which nothing fills in.
fn variable(rule: &Rule, tool: &str, spec: &str) -> Option<Fault> {
    if !spec.contains('$') && !spec.contains('%') {
        return None;
    }
    let at_home = ["$HOME/", "${HOME}/", "%USERPROFILE%/", "%HOME%/"];
    let at_cwd = ["$PWD/", "${PWD}/", "$CLAUDE_PROJECT_DIR/", "${CLAUDE_PROJECT_DIR}/"];
    let bare = spec.trim_start_matches('/');
    let instead = at_home
        .iter()
        .find_map(|home| bare.strip_prefix(home))
        .map(|rest| format!("{tool}(~/{rest})"))
        .or_else(|| {
            let rest = at_cwd.iter().find_map(|cwd| bare.strip_prefix(cwd))?;
            Some(format!("{tool}(./{rest})"))
        });
    let names_one = instead.is_some()
        || spec.split('$').skip(1).any(|rest| {
            rest.starts_with(|letter: char| {
                letter.is_ascii_alphabetic() || matches!(letter, '{' | '_')
            })
        });
    names_one.then(|| {
        Fault::new(LintCode::VariableInPath, "holds a variable, which is literal text in a path")
            .instead(instead.filter(|text| is_rule(text, rule.behavior())))
    })
}

/// An allow rule that lets files be changed far from the work.
pub(super) fn any_file(bench: &Bench<'_>, rule: &Rule) -> Option<Fault> {
    let anywhere = format!("/{WORD}/{WORD}");
    let at_home = bench.policy.home.join(WORD).join(WORD);
    let at_home = at_home.to_str().unwrap_or(&anywhere);
    let place = [(anywhere.as_str(), "anywhere"), (at_home, "anywhere in the home directory")]
        .into_iter()
        .find(|(path, _)| {
            let sample = super::sample::edit(rule.tool(), path);
            let resolution = bench.resolve_alone(rule, PermissionMode::Default, &sample);
            is_allowed(&resolution)
        });
    let (_, place) = place?;
    Some(
        Fault::new(LintCode::AnyFile, format!("lets files be changed {place}"))
            .instead(["Edit(**)".to_owned()]),
    )
}
