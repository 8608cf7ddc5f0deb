//! One call under one policy, with what every link of the chain asks about it.

use std::path::{Path, PathBuf};

use crate::paths::{lexical, windows};
use crate::rule::path::Anchor;
use crate::{
    CallFacts, HookVoice, Need, Part, PathStyle, PathTarget, PermissionMode, Policy, Target, Voices,
};

/// Tools whose question a hook may answer in a person's place (Claude Code documentation, "hooks").
const ANSWERABLE: &[&str] = &["AskUserQuestion", "ExitPlanMode"];

/// A call, the policy it is judged by, and the voices about it.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) policy: &'a Policy,
    pub(super) facts: &'a CallFacts,
    pub(super) voices: &'a Voices,
}

impl<'a> Call<'a> {
    /// Whether everything runs that no rule and no critical path holds back.
    pub(super) fn is_unrestricted(self) -> bool {
        match self.policy.mode {
            PermissionMode::BypassPermissions => true,
            PermissionMode::Plan => self.policy.bypass_available,
            PermissionMode::Default
            | PermissionMode::AcceptEdits
            | PermissionMode::Auto
            | PermissionMode::DontAsk
            | PermissionMode::Bubble => false,
        }
    }

    /// Whether a classifier answers in place of a person.
    pub(super) fn is_classified(self) -> bool {
        match self.policy.mode {
            PermissionMode::Auto => true,
            PermissionMode::Plan => {
                self.policy.classifier_available && !self.policy.bypass_available
            }
            PermissionMode::Default
            | PermissionMode::AcceptEdits
            | PermissionMode::DontAsk
            | PermissionMode::BypassPermissions
            | PermissionMode::Bubble => false,
        }
    }

    pub(super) fn hook_allows(self) -> bool {
        matches!(self.voices.hook, Some(HookVoice::Allow | HookVoice::Answer))
    }

    /// Whether a person must take part, and no hook has answered in their place.
    pub(super) fn needs_person(self) -> bool {
        let answered = matches!(self.voices.hook, Some(HookVoice::Answer))
            && ANSWERABLE.contains(&self.facts.tool());
        self.facts.need == Need::Interaction && !answered
    }

    /// Whether the target is the file that the plan is written to, while planning.
    pub(super) fn is_plan_file(self, target: &PathTarget) -> bool {
        let Some(file) = &self.policy.plan_file else { return false };
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return false };
        // The folder may be reached through links; a file that is one leads to something else.
        let is_it = |path: &Option<PathBuf>| {
            path.as_ref().is_some_and(|path| {
                path == file || self.policy.spellings(folder).any(|it| it.join(name) == *path)
            })
        };
        self.policy.mode == PermissionMode::Plan && is_it(&target.path) && is_it(&target.real)
    }

    /// The path that a word names, by text alone; `None` if it has none.
    pub(super) fn lexical_path(self, word: &str, cwd: &Path) -> Option<PathBuf> {
        let path = lexical::expand_tilde(word, &self.policy.home)?;
        match self.policy.path_style {
            PathStyle::Posix => Some(lexical::collapse(&cwd.join(path))),
            PathStyle::Windows => windows::absolute(path.to_str()?, Some(cwd)),
        }
    }

    /// Whether the call runs a shell command.
    pub(super) fn is_shell(self) -> bool {
        self.facts.command.is_some() || !self.facts.parts.is_empty() || self.facts.opaque.is_some()
    }

    /// The tools whose rules speak of the call: its own, and the one whose rules govern such calls.
    pub(super) fn rule_tools(self) -> impl Iterator<Item = &'a str> {
        let own = self.facts.tool();
        let governing = match own {
            "Monitor" if !self.hosts().is_empty() => Some("WebFetch"),
            "Monitor" => Some("Bash"),
            "Write" | "NotebookEdit" | "MultiEdit" => Some("Edit"),
            "Grep" | "Glob" | "LS" | "LSP" => Some("Read"),
            _ => None,
        };
        std::iter::once(own).chain(governing)
    }

    /// The tools whose deny and ask rules speak of the call. Whoever wants no commands wants none of what asks as they do,
    /// and a stream from a host that is not plain may be from one that pages are not fetched from.
    pub(super) fn restricting_tools(self) -> impl Iterator<Item = &'a str> {
        let is_stream = self.facts.tool() == "Monitor" && !self.is_shell();
        let more: &[&str] = if is_stream { &["Bash", "WebFetch"] } else { &[] };
        self.rule_tools().chain(more.iter().copied())
    }

    /// The hosts that the call itself fetches from.
    pub(super) fn hosts(self) -> Vec<&'a str> {
        let hosts = self.facts.targets.iter().filter_map(|target| match target {
            Target::Host(host) => Some(host.as_str()),
            Target::Read(_) | Target::Write(_) | Target::Delete(_) | Target::Agent(_) => None,
        });
        hosts.collect()
    }

    /// Everything that the call touches, with the part that does.
    pub(super) fn targets(self) -> impl Iterator<Item = (Option<usize>, &'a Target)> {
        let own = self.facts.targets.iter().map(|target| (None, target));
        let parts = self.facts.parts.iter().enumerate().flat_map(|(index, part)| {
            part.targets.iter().chain(&part.redirected).map(move |target| (Some(index), target))
        });
        own.chain(parts)
    }

    /// The directories that an anchor of path rules stands for.
    pub(super) fn anchor(self, anchor: &Anchor) -> Vec<PathBuf> {
        let directory = match anchor {
            Anchor::Root => return vec![PathBuf::from("/")],
            Anchor::Home => self.policy.home.as_path(),
            Anchor::Settings(root) => root.as_path(),
            Anchor::Cwd => self.policy.cwd.as_path(),
        };
        self.policy.spellings(directory).map(Path::to_path_buf).collect()
    }

    /// Whether `path` lies in a working directory.
    pub(super) fn is_inside(self, path: &Path) -> bool {
        self.policy.working_directories().any(|directory| {
            self.policy.spellings(directory).any(|spelling| path.starts_with(spelling))
        })
    }

    /// Whether the target lies in a working directory, both as given and where it really is.
    pub(super) fn is_target_inside(self, target: &PathTarget) -> bool {
        let inside =
            |path: &Option<PathBuf>| path.as_deref().is_some_and(|path| self.is_inside(path));
        inside(&target.path) && inside(&target.real)
    }

    /// Whether the part runs in a working directory, so that allow rules speak of it.
    pub(super) fn runs_inside(self, part: &Part) -> bool {
        part.cwd.as_deref().is_some_and(|cwd| self.is_inside(cwd) || cwd == self.policy.cwd)
    }
}

/// The last component of a program's name.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
