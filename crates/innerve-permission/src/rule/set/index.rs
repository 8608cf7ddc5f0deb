//! The rules as they are looked up: by behavior, tool, first word, host and anchor.

use std::collections::BTreeMap;

use globset::{Candidate, Glob, GlobSet, GlobSetBuilder};

use super::{Family, Roots};
use crate::PathStyle;
use crate::rule::path::{Anchor, PathPattern};
use crate::rule::{Behavior, NamePattern, Rule, Spec};

/// The rules by behavior.
#[derive(Debug, Default)]
pub(super) struct Index {
    allow: Table,
    ask: Table,
    deny: Table,
    /// All path patterns as they are compared, with the index of their rule.
    patterns: Vec<(usize, PathPattern)>,
}

/// The rules of one behavior.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) blankets: BTreeMap<String, Vec<usize>>,
    pub(super) blanket_globs: Vec<usize>,
    pub(super) commands: BTreeMap<String, CommandTable>,
    read: PathTable,
    edit: PathTable,
    pub(super) scoped: BTreeMap<String, Vec<usize>>,
    pub(super) scoped_globs: Vec<usize>,
    /// Rules about one host.
    pub(super) by_host: BTreeMap<String, Vec<usize>>,
}

/// Command rules by their first word.
#[derive(Debug, Default)]
pub(super) struct CommandTable {
    pub(super) by_word: BTreeMap<String, Vec<usize>>,
    /// Rules that do not fix the first word.
    pub(super) open: Vec<usize>,
}

/// Path rules by anchor.
#[derive(Debug, Default)]
pub(super) struct PathTable {
    pub(super) groups: Vec<(Anchor, PathGroup)>,
}

/// The path rules of one anchor, as one set of globs.
#[derive(Debug, Default)]
pub(super) struct PathGroup {
    /// `None` if the set is too large to compile: then doubt decides.
    globs: Option<GlobSet>,
    /// For each glob: the rule, and whether it is the root of a `dir/**`.
    owners: Vec<(usize, bool)>,
    /// Rules about the anchor itself, in the same form.
    anchored: Vec<(usize, bool)>,
}

impl Index {
    pub(super) fn new(rules: &[Rule], linked: &[(usize, PathPattern)], style: PathStyle) -> Self {
        let mut index = Self::default();
        for (position, rule) in rules.iter().enumerate() {
            let table = index.table_mut(rule.behavior());
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
            let table = index.table_mut(behavior);
            let table = match family {
                Family::Read => &mut table.read,
                Family::Edit => &mut table.edit,
            };
            table.groups.push((anchor, PathGroup::new(&patterns)));
        }
        index
    }

    pub(super) fn table(&self, behavior: Behavior) -> &Table {
        match behavior {
            Behavior::Allow => &self.allow,
            Behavior::Ask => &self.ask,
            Behavior::Deny => &self.deny,
        }
    }

    /// All path patterns as they are compared, with the index of their rule.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &(usize, PathPattern)> {
        self.patterns.iter()
    }

    fn table_mut(&mut self, behavior: Behavior) -> &mut Table {
        match behavior {
            Behavior::Allow => &mut self.allow,
            Behavior::Ask => &mut self.ask,
            Behavior::Deny => &mut self.deny,
        }
    }
}

type PathKey = (Behavior, Family, Anchor);

impl Table {
    pub(super) fn paths(&self, family: Family) -> &PathTable {
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

    pub(super) fn collect(
        &self,
        relative: &str,
        behavior: Behavior,
        roots: Roots,
        found: &mut Vec<usize>,
    ) {
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
