//! Many rules, compiled once and indexed by behavior, tool and first word.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use globset::{Candidate, Glob, GlobSet, GlobSetBuilder};

use super::domain::normalize;
use super::path::{Anchor, PathPattern};
use super::{Behavior, NamePattern, Origin, Rule, Spec, tools};
use crate::{PathStyle, Place};

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
        let found = self.path_patterns(behavior, family).find(|(_, pattern)| {
            given.is_none_or(|given| {
                anchors(&pattern.anchor).iter().any(|directory| pattern.may_touch(given, directory))
            })
        });
        found.map(|(rule, _)| rule)
    }

    /// A path rule about a place in `directory` that it names.
    pub(crate) fn path_beneath(
        &self,
        behavior: Behavior,
        family: Family,
        directory: &Path,
        anchors: Anchors<'_>,
    ) -> Option<&Rule> {
        let found = self.path_patterns(behavior, family).find(|(_, pattern)| {
            anchors(&pattern.anchor).iter().any(|anchor| pattern.lies_beneath(directory, anchor))
        });
        found.map(|(rule, _)| rule)
    }

    /// A path rule about a place that it names in a directory which is only known by the glob `given`.
    pub(crate) fn path_beneath_glob(
        &self,
        behavior: Behavior,
        family: Family,
        given: &str,
        anchors: Anchors<'_>,
    ) -> Option<&Rule> {
        let found = self.path_patterns(behavior, family).find(|(_, pattern)| {
            anchors(&pattern.anchor).iter().any(|anchor| pattern.lies_beneath_glob(given, anchor))
        });
        found.map(|(rule, _)| rule)
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
        let found = self.path_patterns(behavior, family).find(|(_, pattern)| {
            anchors(&pattern.anchor)
                .iter()
                .any(|anchor| pattern.may_lie_in(directory, anchor, visible))
        });
        found.map(|(rule, _)| rule)
    }

    /// The path rules of one kind, with their patterns, those that links lead to among them.
    fn path_patterns(
        &self,
        behavior: Behavior,
        family: Family,
    ) -> impl Iterator<Item = (&Rule, &PathPattern)> {
        let patterns = self.index().patterns.iter();
        patterns.filter_map(|(index, pattern)| Some((self.rules.get(*index)?, pattern))).filter(
            move |(rule, _)| {
                rule.behavior() == behavior && rule.path().is_some_and(|(kind, _)| kind == family)
            },
        )
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
        let index = self.index();
        match behavior {
            Behavior::Allow => &index.allow,
            Behavior::Ask => &index.ask,
            Behavior::Deny => &index.deny,
        }
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

/// The rules by behavior.
#[derive(Debug, Default)]
struct Index {
    allow: Table,
    ask: Table,
    deny: Table,
    /// All path patterns as they are compared, with the index of their rule.
    patterns: Vec<(usize, PathPattern)>,
}

/// The rules of one behavior.
#[derive(Debug, Default)]
struct Table {
    blankets: BTreeMap<String, Vec<usize>>,
    blanket_globs: Vec<usize>,
    commands: BTreeMap<String, CommandTable>,
    read: PathTable,
    edit: PathTable,
    scoped: BTreeMap<String, Vec<usize>>,
    scoped_globs: Vec<usize>,
    /// Rules about one host.
    by_host: BTreeMap<String, Vec<usize>>,
}

/// Command rules by their first word.
#[derive(Debug, Default)]
struct CommandTable {
    by_word: BTreeMap<String, Vec<usize>>,
    /// Rules that do not fix the first word.
    open: Vec<usize>,
}

/// Path rules by anchor.
#[derive(Debug, Default)]
struct PathTable {
    groups: Vec<(Anchor, PathGroup)>,
}

/// The path rules of one anchor, as one set of globs.
#[derive(Debug, Default)]
struct PathGroup {
    /// `None` if the set is too large to compile: then doubt decides.
    globs: Option<GlobSet>,
    /// For each glob: the rule, and whether it is the root of a `dir/**`.
    owners: Vec<(usize, bool)>,
    /// Rules about the anchor itself, in the same form.
    anchored: Vec<(usize, bool)>,
}

impl Index {
    fn new(rules: &[Rule], linked: &[(usize, PathPattern)], style: PathStyle) -> Self {
        let mut index = Self::default();
        for (position, rule) in rules.iter().enumerate() {
            let table = index.table(rule.behavior());
            match rule.spec() {
                None => match rule.name() {
                    NamePattern::Exact(name) | NamePattern::Server(name) => {
                        table.blankets.entry(name.clone()).or_default().push(position);
                    }
                    NamePattern::Glob(..) => table.blanket_globs.push(position),
                },
                Some(Spec::Command(spec)) => {
                    let commands = table.commands.entry(rule.tool().to_owned()).or_default();
                    match spec
                        .pattern
                        .first_word()
                        .filter(|_| !spec.spans && spec.unquoted.is_none())
                    {
                        Some(word) => {
                            commands.by_word.entry(word.to_owned()).or_default().push(position);
                        }
                        None => commands.open.push(position),
                    }
                }
                Some(Spec::Read(pattern) | Spec::Edit(pattern)) => {
                    index.patterns.push((position, pattern.clone()));
                }
                Some(
                    spec
                    @ (Spec::Domain(_) | Spec::Agent(_) | Spec::Skill(_) | Spec::Parameter(..)),
                ) => {
                    let list = match (spec, rule.name()) {
                        (Spec::Domain(pattern), _) if let Some(host) = pattern.only_host() => {
                            table.by_host.entry(host.to_owned()).or_default()
                        }
                        (_, NamePattern::Exact(name)) => {
                            table.scoped.entry(name.clone()).or_default()
                        }
                        (_, NamePattern::Server(_) | NamePattern::Glob(..)) => {
                            &mut table.scoped_globs
                        }
                    };
                    list.push(position);
                }
                Some(Spec::Unused) => {}
            }
        }
        index.patterns.extend_from_slice(linked);
        let mut paths: BTreeMap<PathKey, Vec<(usize, PathPattern)>> = BTreeMap::new();
        for (position, pattern) in &mut index.patterns {
            let Some(rule) = rules.get(*position) else { continue };
            if style == PathStyle::Windows {
                *pattern = pattern.on_windows(rule.behavior());
            }
            let family = rule.path().map_or(Family::Read, |(family, _)| family);
            let key = (rule.behavior(), family, pattern.anchor.clone());
            paths.entry(key).or_default().push((*position, pattern.clone()));
        }
        for ((behavior, family, anchor), patterns) in paths {
            let table = index.table(behavior);
            let table = match family {
                Family::Read => &mut table.read,
                Family::Edit => &mut table.edit,
            };
            table.groups.push((anchor, PathGroup::new(&patterns)));
        }
        index
    }

    fn table(&mut self, behavior: Behavior) -> &mut Table {
        match behavior {
            Behavior::Allow => &mut self.allow,
            Behavior::Ask => &mut self.ask,
            Behavior::Deny => &mut self.deny,
        }
    }
}

type PathKey = (Behavior, Family, Anchor);

impl Table {
    fn paths(&self, family: Family) -> &PathTable {
        match family {
            Family::Read => &self.read,
            Family::Edit => &self.edit,
        }
    }
}

impl PathGroup {
    fn new(patterns: &[(usize, PathPattern)]) -> Self {
        let mut group = Self::default();
        let mut globs: Vec<Glob> = Vec::new();
        for &(position, ref pattern) in patterns {
            match &pattern.itself {
                Some(glob) => {
                    globs.push(glob.clone());
                    group.owners.push((position, pattern.open));
                }
                None => group.anchored.push((position, pattern.open)),
            }
            globs.push(pattern.beneath.clone());
            group.owners.push((position, false));
        }
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            builder.add(glob);
        }
        group.globs = builder.build().ok();
        group
    }

    fn collect(&self, relative: &str, behavior: Behavior, roots: Roots, found: &mut Vec<usize>) {
        let mut add = |(position, is_root): (usize, bool)| {
            if !is_root || roots == Roots::Included {
                found.push(position);
            }
        };
        if relative.is_empty() {
            self.anchored.iter().copied().for_each(add);
            return;
        }
        match &self.globs {
            Some(globs) => {
                for index in globs.matches_candidate(&Candidate::new(relative)) {
                    self.owners.get(index).copied().into_iter().for_each(&mut add);
                }
            }
            // Too many globs to compile: a deny or ask holds, an allow does not.
            None if behavior == Behavior::Allow => {}
            None => self.owners.iter().copied().for_each(add),
        }
    }
}
