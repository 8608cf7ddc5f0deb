//! What path rules speak of, for a host that has to tell it to an operating system.

use std::path::{Path, PathBuf};

use globset::{Candidate, Glob, GlobSet, GlobSetBuilder};

use super::call::Call;
use super::places;
use crate::rule::path::{Anchor, PathPattern};
use crate::rule::{Family, Rule};
use crate::{Behavior, CallFacts, Policy, RuleSource, Voices};

/// What path rules speak of: places that they name, and patterns whose matches only a look at the disk tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathScopes {
    /// Absolute paths, whether anything is there or not; each is meant with all beneath it.
    pub places: Vec<PathBuf>,
    /// As `places`, written as `dir/**`, so that a directory is meant.
    pub directories: Vec<PathBuf>,
    /// Patterns, by the directory that they start at.
    pub patterns: Vec<PathPatterns>,
}

/// Patterns that start at one directory.
#[derive(Clone, Debug)]
pub struct PathPatterns {
    directory: PathBuf,
    starts: Vec<PathBuf>,
    texts: Vec<String>,
    rules: Vec<String>,
    /// `None` if they are too large to compile: then doubt decides.
    globs: Option<GlobSet>,
}

impl PathPatterns {
    /// The directories in which matches may lie, at any depth; none lies in another.
    pub fn starts(&self) -> &[PathBuf] {
        &self.starts
    }

    /// The texts of their rules.
    pub fn rules(&self) -> &[String] {
        &self.rules
    }

    /// Whether a pattern matches this very path; what lies beneath a match is meant as well.
    pub fn matches(&self, path: &Path) -> bool {
        let Ok(relative) = path.strip_prefix(&self.directory) else { return false };
        self.globs.as_ref().is_none_or(|globs| globs.is_match_candidate(&Candidate::new(relative)))
    }
}

impl PartialEq for PathPatterns {
    fn eq(&self, other: &Self) -> bool {
        let Self { directory, starts, texts, rules, globs: _ } = self;
        (directory, starts, texts, rules)
            == (&other.directory, &other.starts, &other.texts, &other.rules)
    }
}

impl Eq for PathPatterns {}

impl Policy {
    /// What deny rules of `Read` keep from being read, and of its kin (`Grep`, `Glob`).
    ///
    /// Rules about every call of a tool are not among it: they take the tool away and speak of no file.
    pub fn unreadable(&self) -> PathScopes {
        self.scopes(Behavior::Deny, Family::Read)
    }

    /// What deny rules of `Edit` keep from being changed, and of its kin (`Write`, `MultiEdit`).
    pub fn unchangeable(&self) -> PathScopes {
        self.scopes(Behavior::Deny, Family::Edit)
    }

    /// The places that allow rules of `Edit` and its kin name.
    ///
    /// Without those whose change is asked about all the same (protected paths), and without patterns, whose matches are
    /// no place. What a skill allows is not among it.
    pub fn changeable(&self) -> Vec<PathBuf> {
        let facts = CallFacts::new("Edit", serde_json::Value::Null);
        let call = Call { policy: self, facts: &facts, voices: &Voices::default() };
        let PathScopes { mut places, directories, .. } = self.scopes(Behavior::Allow, Family::Edit);
        places.extend(directories);
        places.retain(|place| !places::is_protected(call, place));
        places
    }

    fn scopes(&self, behavior: Behavior, family: Family) -> PathScopes {
        let mut scopes = PathScopes::default();
        let mut found: Vec<(PathBuf, Vec<(&Rule, &PathPattern)>)> = Vec::new();
        for (rule, pattern) in self.rules.path_patterns(behavior, family) {
            if behavior == Behavior::Allow && rule.origin().source == RuleSource::Skill {
                continue;
            }
            for directory in self.directories(&pattern.anchor, behavior) {
                match pattern.place(&directory) {
                    Some(place) if pattern.open => scopes.directories.push(place),
                    Some(place) => scopes.places.push(place),
                    None => match found.iter_mut().find(|(known, _)| *known == directory) {
                        Some((_, patterns)) => patterns.push((rule, pattern)),
                        None => found.push((directory, vec![(rule, pattern)])),
                    },
                }
            }
        }
        for places in [&mut scopes.places, &mut scopes.directories] {
            places.sort_unstable();
            places.dedup();
        }
        scopes.patterns =
            found.into_iter().map(|(directory, patterns)| together(directory, &patterns)).collect();
        scopes
    }

    /// The directories that an anchor stands for. A deny rule about the current directory holds where the session
    /// started, too: a command goes from one to the other as it likes.
    fn directories(&self, anchor: &Anchor, behavior: Behavior) -> Vec<PathBuf> {
        let mut directories = vec![match anchor {
            Anchor::Root => Path::new("/"),
            Anchor::Home => self.home.as_path(),
            Anchor::Settings(root) => root.as_path(),
            Anchor::Cwd => self.cwd.as_path(),
        }];
        if *anchor == Anchor::Cwd && behavior != Behavior::Allow {
            directories.push(&self.original_cwd);
        }
        let mut spellings: Vec<PathBuf> = directories
            .into_iter()
            .flat_map(|directory| self.spellings(directory))
            .map(Path::to_path_buf)
            .collect();
        spellings.sort_unstable();
        spellings.dedup();
        spellings
    }
}

fn together(directory: PathBuf, patterns: &[(&Rule, &PathPattern)]) -> PathPatterns {
    let globs: Vec<&Glob> =
        patterns.iter().filter_map(|(_, pattern)| pattern.itself.as_ref()).collect();
    let mut builder = GlobSetBuilder::new();
    for glob in &globs {
        builder.add((*glob).clone());
    }
    let mut starts: Vec<PathBuf> =
        patterns.iter().map(|(_, pattern)| pattern.start(&directory)).collect();
    starts.sort_unstable();
    starts.dedup_by(|next, kept| next.starts_with(kept.as_path()));
    let mut rules: Vec<String> = patterns.iter().map(|(rule, _)| rule.text().to_owned()).collect();
    rules.dedup();
    PathPatterns {
        directory,
        starts,
        texts: globs.iter().map(|glob| glob.glob().to_owned()).collect(),
        rules,
        globs: builder.build().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    fn policy(rules: &[(Behavior, &str)]) -> Policy {
        let mut policy = Policy::new("/repo", "/home/u");
        for (behavior, text) in rules {
            let origin = Origin::inline(RuleSource::User, "/settings");
            policy.rules.push(Rule::parse(text, *behavior, origin).unwrap());
        }
        policy
    }

    #[track_caller]
    fn check(rule: &str, places: &[&str], starts: &[&str]) {
        let scopes = policy(&[(Behavior::Deny, rule)]).unreadable();
        let named = scopes.places.iter().chain(&scopes.directories);
        let found: Vec<&str> = named.map(|path| path.to_str().unwrap()).collect();
        assert_eq!(found, places, "{rule}");
        let found: Vec<&Path> =
            scopes.patterns.iter().flat_map(PathPatterns::starts).map(PathBuf::as_path).collect();
        let expected: Vec<&Path> = starts.iter().map(Path::new).collect();
        assert_eq!(found, expected, "{rule}");
    }

    #[test]
    fn what_is_literal_is_a_place_and_the_rest_is_looked_for() {
        check("Read(./.env)", &["/repo/.env"], &[]);
        check("Read(.env)", &[], &["/repo"]);
        check("Read(a/b.txt)", &["/repo/a/b.txt"], &[]);
        check("Read(a/b/**)", &["/repo/a/b"], &[]);
        check("Read(./dir/**)", &["/repo/dir"], &[]);
        check("Read(dir/**)", &[], &["/repo"]);
        check("Read(**)", &["/repo"], &[]);
        check("Read(./**)", &["/repo"], &[]);
        check("Read(//**)", &["/"], &[]);
        check("Read(//)", &["/"], &[]);
        check("Read(~)", &["/home/u"], &[]);
        check("Read(~/.kube/**)", &["/home/u/.kube"], &[]);
        check("Read(/x/y)", &["/settings/x/y"], &[]);
        check(r"Read(./a\[1\]/**)", &["/repo/a[1]"], &[]);
        check("Read(**/*.pem)", &[], &["/repo"]);
        check("Read(./keys/*.pem)", &[], &["/repo/keys"]);
        check("Read(//srv/*/x/**)", &[], &["/srv"]);
        check("Read", &[], &[]);
        check("Grep(./.env)", &["/repo/.env"], &[]);
        check("Edit(./.env)", &[], &[]);
        let written = policy(&[(Behavior::Deny, "Write(./a)"), (Behavior::Deny, "Edit(./b)")]);
        let places = written.unchangeable().places;
        assert_eq!(places, [Path::new("/repo/a"), Path::new("/repo/b")]);
    }

    #[test]
    fn patterns_match_what_the_rules_match() {
        let policy = policy(&[
            (Behavior::Deny, "Read(**/.env)"),
            (Behavior::Deny, "Read(*.pem)"),
            (Behavior::Deny, "Read(secrets/**)"),
            (Behavior::Deny, "Read(./keys/*/private)"),
        ]);
        let scopes = policy.unreadable();
        let [patterns] = scopes.patterns.as_slice() else { panic!("{scopes:?}") };
        assert_eq!(patterns.starts(), [Path::new("/repo")]);
        for hidden in ["/repo/.env", "/repo/a/b/.env", "/repo/x.pem", "/repo/a/secrets"] {
            assert!(patterns.matches(Path::new(hidden)), "{hidden}");
        }
        assert!(patterns.matches(Path::new("/repo/keys/a/private")));
        for shown in ["/repo/.env.example", "/other/.env", "/repo/a/keys/a/private", "/repo"] {
            assert!(!patterns.matches(Path::new(shown)), "{shown}");
        }
    }

    #[test]
    fn a_deny_about_the_current_directory_holds_where_the_session_started() {
        let mut policy =
            policy(&[(Behavior::Deny, "Read(./.env)"), (Behavior::Allow, "Edit(./x)")]);
        policy.cwd = PathBuf::from("/repo/sub");
        assert_eq!(
            policy.unreadable().places,
            [Path::new("/repo/.env"), Path::new("/repo/sub/.env")]
        );
        assert_eq!(policy.changeable(), [Path::new("/repo/sub/x")]);
    }

    #[test]
    fn an_allow_gives_the_places_that_it_names_and_nothing_protected() {
        let policy = policy(&[
            (Behavior::Allow, "Edit(//data/out/**)"),
            (Behavior::Allow, "Edit(//data/one.txt)"),
            (Behavior::Allow, "Edit(//data/*.txt)"),
            (Behavior::Allow, "Edit(notes.md)"),
            (Behavior::Allow, "Edit(~/.bashrc)"),
            (Behavior::Allow, "Edit(//data/.git/hooks/**)"),
            (Behavior::Allow, "Edit"),
        ]);
        assert_eq!(policy.changeable(), [Path::new("/data/one.txt"), Path::new("/data/out")]);
        let mut skill = self::policy(&[]);
        let origin = Origin::inline(RuleSource::Skill, "/repo");
        skill.rules.push(Rule::parse("Edit(//data/**)", Behavior::Allow, origin).unwrap());
        assert!(skill.changeable().is_empty());
    }
}
