//! Places with rules of their own: protected paths, paths whose removal is critical, and secrets (their list is `innerve-bash`'s).

use std::path::{Component, Path};

use innerve_bash::is_secret_path;

use super::call::{Call, base_name};
use crate::paths::windows;
use crate::{Effect, MayChange, Part, PathStyle, PathTarget, Target};

/// Directories that configure tools which run code later (permission modes, protected paths).
const PROTECTED_DIRECTORIES: &[&str] = &[
    ".git",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".yarn",
    ".mvn",
    ".claude",
    ".innerve",
];

/// Files that do the same.
const PROTECTED_FILES: &[&str] = &[
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_aliases",
    ".bash_logout",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".profile",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".bunfig.toml",
    ".bazelrc",
    ".bazelversion",
    ".bazeliskrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    "gradle-wrapper.properties",
    "maven-wrapper.properties",
    ".devcontainer.json",
    ".ripgreprc",
    "pyrightconfig.json",
    ".mcp.json",
    ".claude.json",
];

/// The target whose change is protected, if there is one.
pub(super) fn protected(call: Call<'_>) -> Option<&PathTarget> {
    let named = call.targets().find_map(|(_, target)| protected_target(call, target));
    let mut parts = call.facts.parts.iter();
    named.or_else(|| parts.find_map(|part| protected_change(call, part)))
}

/// What the part may change, if changing it is protected.
pub(super) fn protected_change<'a>(call: Call<'_>, part: &'a Part) -> Option<&'a PathTarget> {
    // What goes with a directory is not what anybody means to configure.
    let named = part.may_change.iter().filter(|change| !matches!(change, MayChange::Held(_)));
    named.map(MayChange::path).find(|path| either(path, |path| is_protected(call, path)))
}

/// The names of directories and files whose change is protected wherever they are.
pub(crate) fn protected_names() -> impl Iterator<Item = &'static str> {
    PROTECTED_DIRECTORIES.iter().chain(PROTECTED_FILES).copied()
}

/// The target's path, if changing it is protected.
pub(super) fn protected_target<'a>(call: Call<'_>, target: &'a Target) -> Option<&'a PathTarget> {
    match target {
        Target::Write(path) | Target::Delete(path) => {
            (either(path, |path| is_protected(call, path)) && !call.is_plan_file(path))
                .then_some(path)
        }
        Target::Read(_) | Target::Host(_) | Target::Agent(_) => None,
    }
}

pub(super) fn is_protected(call: Call<'_>, path: &Path) -> bool {
    let names = lower_names(path);
    let in_directory = names.iter().enumerate().any(|(index, name)| {
        let next = names.get(index + 1).map(String::as_str);
        // Worktrees are where agents are meant to work.
        let free = matches!(name.as_str(), ".claude" | ".innerve") && next == Some("worktrees");
        (PROTECTED_DIRECTORIES.contains(&name.as_str()) && !free)
            || (name == ".config" && next == Some("git"))
    });
    in_directory
        || names.last().is_some_and(|name| PROTECTED_FILES.contains(&name.as_str()))
        || call
            .policy
            .spellings(&call.policy.home)
            .any(|home| path.starts_with(home.join(".config/innerve")))
}

/// The path whose spelling two programs could read as two files, if there is one: only Windows has such.
pub(super) fn odd(call: Call<'_>) -> Option<&PathTarget> {
    if call.policy.path_style == PathStyle::Posix {
        return None;
    }
    let paths = call.targets().filter_map(|(_, target)| target.path());
    paths.into_iter().find(|path| windows::is_odd(&path.given))
}

/// The removal of a path that nobody wants to lose, if there is one.
pub(super) fn critical(call: Call<'_>) -> Option<String> {
    let named = call.targets().find_map(|(part, target)| {
        let cwd = match part.and_then(|index| call.facts.parts.get(index)) {
            Some(part) => part.cwd.as_deref(),
            None => Some(call.policy.cwd.as_path()),
        };
        critical_target(call, target, cwd)
    });
    named.or_else(|| critical_in_text(call))
}

/// The target's text, if its removal is critical.
pub(super) fn critical_target(
    call: Call<'_>,
    target: &Target,
    cwd: Option<&Path>,
) -> Option<String> {
    let Target::Delete(path) = target else { return None };
    let critical = match &path.path {
        Some(_) => either(path, |path| is_critical(call, path)),
        None => is_critical_pattern(call, &path.given, cwd),
    };
    critical.then(|| path.given.clone())
}

fn is_critical(call: Call<'_>, path: &Path) -> bool {
    let policy = call.policy;
    let depth =
        path.components().filter(|component| matches!(component, Component::Normal(_))).count();
    // A drive is one level more.
    let roots = match policy.path_style {
        PathStyle::Posix => 1,
        PathStyle::Windows => 2,
    };
    let is_system = depth <= roots
        || ["/private/etc", "/private/var", "/private/tmp", "/private/home"]
            .iter()
            .any(|it| path == Path::new(it));
    let holds =
        |directory: &Path| policy.spellings(directory).any(|spelling| spelling.starts_with(path));
    let is_home = policy.spellings(&policy.home).any(|home| home == path);
    is_system || is_home || holds(&policy.cwd) || holds(&policy.original_cwd)
}

/// A pattern that removes all of a critical directory, or all beneath a variable that may be empty.
fn is_critical_pattern(call: Call<'_>, given: &str, cwd: Option<&Path>) -> bool {
    let stem = given.find(['*', '?', '[']).and_then(|at| given.get(..at));
    let directory = match stem {
        Some(stem) => stem.rsplit_once('/').map_or("", |(directory, _)| directory),
        None => match given.strip_suffix('/') {
            Some(directory) => directory,
            None => return false,
        },
    };
    let directory_is_root = directory.is_empty() && given.starts_with('/');
    if let Some(variable) = directory.strip_prefix('$') {
        // `"$DIR"/*` is `/*` when the variable is empty.
        let name = variable.trim_start_matches('{').trim_end_matches('}');
        return !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    }
    // Only a whole level is critical: `/*`, not `/tmp/build-*` or `*.o`.
    let segment = stem.map_or("", |_| given.get(directory.len()..).unwrap_or_default());
    let segment = segment.trim_start_matches('/').split('/').next().unwrap_or_default();
    if !is_any_name(segment) {
        return false;
    }
    let directory = if directory_is_root {
        "/"
    } else if directory.is_empty() {
        "."
    } else {
        directory
    };
    let Some(path) =
        cwd.or(Some(call.policy.cwd.as_path())).and_then(|cwd| call.lexical_path(directory, cwd))
    else {
        return false;
    };
    let holds_additional = call.policy.working_directories().any(|directory| {
        call.policy.spellings(directory).any(|spelling| spelling.starts_with(&path))
    });
    is_critical(call, &path) || holds_additional
}

/// Whether the pattern has no plain character of its own.
fn is_any_name(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' | '?' | '.' => {}
            '[' => {
                characters.by_ref().find(|next| *next == ']');
            }
            _ => return false,
        }
    }
    true
}

/// In a command that could not be analyzed: a word `rm` with a critical path somewhere behind it.
fn critical_in_text(call: Call<'_>) -> Option<String> {
    call.facts.opaque.as_ref()?;
    let plain = super::search::plain(call.facts.command.as_deref()?);
    let mut words =
        plain.split_whitespace().skip_while(|word| !matches!(base_name(word), "rm" | "rmdir"));
    words.next()?;
    let cwd = &call.policy.cwd;
    let home = call.policy.home.to_str()?;
    words.map(|word| word.replace("$HOME", home).replace("$PWD", ".")).find(|word| {
        let looks = word.contains(['/', '~', '.', '*']) && !word.starts_with('-');
        looks
            && (call.lexical_path(word, cwd).is_some_and(|path| is_critical(call, &path))
                || is_critical_pattern(call, word, Some(cwd)))
    })
}

/// The secret that the call would read, if there is one: its text, and whether it is a path.
pub(super) fn secret(call: Call<'_>) -> Option<Secret<'_>> {
    let path = call.targets().find_map(|(part, target)| match target {
        Target::Read(path) if is_secret_target(path) => Some(Secret { part, path: Some(path) }),
        Target::Read(_)
        | Target::Write(_)
        | Target::Delete(_)
        | Target::Host(_)
        | Target::Agent(_) => None,
    });
    path.or_else(|| {
        let dumps = |effects: crate::EffectSet| effects.contains(Effect::Secret);
        let part = call.facts.parts.iter().position(|part| dumps(part.effects));
        (part.is_some() || dumps(call.facts.effects)).then_some(Secret { part, path: None })
    })
}

/// A secret that a call would read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secret<'a> {
    /// The part that reads it.
    pub(super) part: Option<usize>,
    /// Where it lies; `None` if the command itself prints it.
    pub(super) path: Option<&'a PathTarget>,
}

/// Whether the target is likely a secret. Where the path is not known its text counts, patterns and all.
pub(super) fn is_secret_target(path: &PathTarget) -> bool {
    either(path, |path| is_secret_path(&path.to_string_lossy()))
        || (path.path.is_none() && is_secret_path(&path.given))
}

/// Whether the path as given or the place it leads to passes.
fn either(target: &PathTarget, passes: impl Fn(&Path) -> bool) -> bool {
    target.path.as_deref().is_some_and(&passes) || target.real.as_deref().is_some_and(&passes)
}

fn lower_names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect()
}
