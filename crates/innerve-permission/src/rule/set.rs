//! Many rules: what is asked of them together.

mod index;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::domain::normalize;
use super::path::{Anchor, PathPattern};
use super::{Behavior, NamePattern, Origin, Rule, tools};
use crate::{PathStyle, Place};
use index::{Index, Table};

/// Many rules, compiled once.
///
/// The order in which rules are added decides nothing: it only picks which of several equal rules is named as the reason.
#[derive(Clone, Debug, Default)]
pub struct Ruleset {
    rules: Vec<Rule>,
    /// Patterns for where the paths of deny and ask rules lead to through links, with the index of their rule.
    linked: Vec<(usize, PathPattern)>,
    style: PathStyle,
    index: OnceLock<Arc<Index>>,
}

/// Something odd about a rule that is in force all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleWarning {
    /// The rule's text.
    pub rule: String,
    /// Where it stands.
    pub origin: Origin,
    /// What is odd about it.
    pub message: String,
}

/// Whether a path rule speaks of reading or of changing files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Read,
    Edit,
}

impl Family {
    /// The tool whose rules speak of it.
    pub(crate) fn tool(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Edit => "Edit",
        }
    }
}

/// Whether `dir/**` also speaks of `dir` itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    Included,
    Excluded,
}

/// Gives the directories that an anchor stands for: as written, and with links resolved.
type Anchors<'a> = &'a dyn Fn(&Anchor) -> Vec<PathBuf>;

impl Ruleset {
    /// Adds a rule.
    pub fn push(&mut self, rule: Rule) {
        self.rules.push(rule);
        self.index = OnceLock::new();
    }

    /// The rules in the order in which they were added.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Removes the rules that `keep` says no to, such as those of a scope whose file has changed.
    pub fn retain(&mut self, keep: impl FnMut(&Rule) -> bool) {
        self.rules.retain(keep);
        self.linked.clear();
        self.index = OnceLock::new();
    }

    /// Whether a deny rule forbids every call of the tool, so that it must not be offered to a model at all.
    pub fn removes_tool(&self, name: &str) -> bool {
        !self.blankets(Behavior::Deny, tools::canonical(name)).is_empty()
    }

    /// What is odd about rules that are in force: each is worth a warning at the start.
    pub fn warnings(&self) -> Vec<RuleWarning> {
        let remarks = self.rules.iter().filter_map(|rule| {
            let message = rule.remark().map(ToOwned::to_owned).or_else(|| self.shadow(rule))?;
            Some(RuleWarning {
                rule: rule.text().to_owned(),
                origin: rule.origin().clone(),
                message,
            })
        });
        remarks.collect()
    }

    /// Lets deny and ask rules also cover what their paths lead to through links, as the disk says now, and compares
    /// paths as that disk does.
    pub fn follow_links(&mut self, place: Place<'_>) {
        self.style = place.disk.style();
        self.linked.clear();
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.behavior() == Behavior::Allow {
                continue;
            }
            if let Some((_, pattern)) = rule.path()
                && let Some(target) = pattern.through_links(rule.behavior(), place)
            {
                self.linked.push((index, target));
            }
        }
        self.index = OnceLock::new();
    }

    /// The stricter rule that never lets an allow or ask rule have its say.
    fn shadow(&self, rule: &Rule) -> Option<String> {
        let NamePattern::Exact(tool) = rule.name() else { return None };
        let stricter = self.rules.iter().find(|other| {
            other.behavior() > rule.behavior()
                && (other.text() == rule.text() && other.origin().root == rule.origin().root
                    || (other.is_blanket() && other.name().matches(tool)))
        })?;
        Some(format!("never wins against the {} rule `{stricter}`", stricter.behavior().name()))
    }

    /// The rules about every call of a tool.
    pub(crate) fn blankets(&self, behavior: Behavior, tool: &str) -> Vec<&Rule> {
        let table = self.table(behavior);
        let server = NamePattern::server_of(tool).and_then(|server| table.blankets.get(server));
        let exact = table.blankets.get(tool).into_iter().chain(server).flatten();
        let named = table.blanket_globs.iter().filter(move |index| {
            self.rules.get(**index).is_some_and(|rule| rule.name().matches(tool))
        });
        self.pick(exact.chain(named).copied().collect())
    }

    /// The command rules of a tool that may speak of a command with one of these first words.
    pub(crate) fn commands(&self, behavior: Behavior, tool: &str, words: &[&str]) -> Vec<&Rule> {
        let mut found = Vec::new();
        if let Some(table) = self.table(behavior).commands.get(tool) {
            found.extend(&table.open);
            for word in words {
                found.extend(table.by_word.get(*word).into_iter().flatten());
            }
        }
        self.pick(found)
    }

    /// All command rules of a tool.
    pub(crate) fn all_commands(&self, behavior: Behavior, tool: &str) -> Vec<&Rule> {
        let table = self.table(behavior).commands.get(tool);
        let found =
            table.into_iter().flat_map(|table| table.by_word.values().flatten().chain(&table.open));
        self.pick(found.copied().collect())
    }

    /// The remaining rules with a specifier about this tool: agents, skills, parameters, and the hosts among which `hosts`
    /// may be; all hosts if that is empty.
    pub(crate) fn scoped(&self, behavior: Behavior, tool: &str, hosts: &[&str]) -> Vec<&Rule> {
        let table = self.table(behavior);
        let mut found = table.scoped.get(tool).cloned().unwrap_or_default();
        found.extend(&table.scoped_globs);
        if hosts.is_empty() {
            found.extend(table.by_host.values().flatten());
        }
        for host in hosts {
            found.extend(table.by_host.get(&normalize(host)).into_iter().flatten());
        }
        let mut rules = self.pick(found);
        rules.retain(|rule| rule.name().matches(tool));
        rules
    }

    /// A path rule that may match a file which is only known by the glob `given`; by nothing at all, if that is `None`.
    pub(crate) fn path_maybe(
        &self,
        behavior: Behavior,
        family: Family,
        given: Option<&str>,
        anchors: Anchors<'_>,
    ) -> Option<&Rule> {
        self.path_rule(behavior, family, |pattern| {
            given.is_none_or(|given| {
                anchors(&pattern.anchor).iter().any(|directory| pattern.may_touch(given, directory))
            })
        })
    }

    /// A path rule about a place in `directory` that it names.
    pub(crate) fn path_beneath(
        &self,
        behavior: Behavior,
        family: Family,
        directory: &Path,
        anchors: Anchors<'_>,
    ) -> Option<&Rule> {
        self.path_rule(behavior, family, |pattern| {
            anchors(&pattern.anchor).iter().any(|anchor| pattern.lies_beneath(directory, anchor))
        })
    }

    /// A path rule about a place that it names in a directory which is only known by the glob `given`.
    pub(crate) fn path_beneath_glob(
        &self,
        behavior: Behavior,
        family: Family,
        given: &str,
        anchors: Anchors<'_>,
    ) -> Option<&Rule> {
        self.path_rule(behavior, family, |pattern| {
            anchors(&pattern.anchor).iter().any(|anchor| pattern.lies_beneath_glob(given, anchor))
        })
    }

    /// A path rule that may speak of a file somewhere in `directory`.
    pub(crate) fn path_within(
        &self,
        behavior: Behavior,
        family: Family,
        directory: &Path,
        visible: bool,
        anchors: Anchors<'_>,
    ) -> Option<&Rule> {
        self.path_rule(behavior, family, |pattern| {
            let anchors = anchors(&pattern.anchor);
            anchors.iter().any(|anchor| pattern.may_lie_in(directory, anchor, visible))
        })
    }

    /// The first path rule of one kind whose pattern, or one that a link leads to, is as wanted.
    fn path_rule(
        &self,
        behavior: Behavior,
        family: Family,
        wanted: impl Fn(&PathPattern) -> bool,
    ) -> Option<&Rule> {
        self.path_patterns(behavior, family)
            .find_map(|(rule, pattern)| wanted(pattern).then_some(rule))
    }

    /// The path patterns of one kind with their rules, among them those that links lead to.
    pub(crate) fn path_patterns(
        &self,
        behavior: Behavior,
        family: Family,
    ) -> impl Iterator<Item = (&Rule, &PathPattern)> {
        self.index().patterns().filter_map(move |(position, pattern)| {
            let rule = self.rules.get(*position)?;
            let is_of_kind =
                rule.behavior() == behavior && rule.path().is_some_and(|(kind, _)| kind == family);
            is_of_kind.then_some((rule, pattern))
        })
    }

    /// The path rules that match `path`.
    pub(crate) fn paths(
        &self,
        behavior: Behavior,
        family: Family,
        path: &Path,
        roots: Roots,
        anchors: Anchors<'_>,
    ) -> Vec<&Rule> {
        let mut found = Vec::new();
        for (anchor, group) in &self.table(behavior).paths(family).groups {
            for directory in anchors(anchor) {
                if let Some(relative) = crate::paths::lexical::relative(path, &directory) {
                    group.collect(&relative, behavior, roots, &mut found);
                }
            }
        }
        self.pick(found)
    }

    /// The rules of these indices, highest source first.
    fn pick(&self, mut found: Vec<usize>) -> Vec<&Rule> {
        found.sort_unstable();
        found.dedup();
        let mut rules: Vec<&Rule> =
            found.into_iter().filter_map(|index| self.rules.get(index)).collect();
        rules.sort_by_key(|rule| rule.origin().source);
        rules
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Arc::new(Index::new(&self.rules, &self.linked, self.style)))
    }

    fn table(&self, behavior: Behavior) -> &Table {
        self.index().table(behavior)
    }
}

impl Extend<Rule> for Ruleset {
    fn extend<T: IntoIterator<Item = Rule>>(&mut self, rules: T) {
        self.rules.extend(rules);
        self.index = OnceLock::new();
    }
}

impl FromIterator<Rule> for Ruleset {
    fn from_iter<T: IntoIterator<Item = Rule>>(rules: T) -> Self {
        let mut set = Self::default();
        set.extend(rules);
        set
    }
}
