//! What permission rules say of paths, as places that an operating system can be told.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use innerve_permission::{PathPatterns, PathScopes, Policy};

use super::search::{Found, Search};

/// Matches that are treated one by one, at most: each costs a mount, and the time for them grows with the square.
const MAX_MATCHES: usize = 250;
/// Rules that a sentence names.
const MAX_NAMED: usize = 3;

/// The rules of one agent's policy, and where their matches lay when it was last looked.
#[derive(Debug, Default)]
pub(in crate::wire::sandbox) struct RulePaths {
    last: Mutex<Option<Seen>>,
}

/// The places that rules speak of at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) write: Vec<PathBuf>,
    pub(super) deny_write: Vec<PathBuf>,
    pub(super) deny_read: Vec<PathBuf>,
    /// What could not be held, as sentences without a dot.
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
struct Seen {
    policy: Arc<Policy>,
    write: Vec<PathBuf>,
    change: Scope,
    read: Scope,
}

/// What deny rules of one kind speak of.
#[derive(Debug, Default)]
struct Scope {
    places: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    searches: Vec<Search>,
}

impl RulePaths {
    /// The places now; an error says why a rule cannot be held at all.
    pub(super) fn now(&self, policy: &Arc<Policy>) -> Result<Places, String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = match last.take() {
            Some(seen) if Arc::ptr_eq(&seen.policy, policy) => seen,
            before => Seen::new(policy, before),
        };
        let mut places = Places { write: seen.write.clone(), ..Places::default() };
        let change = seen.change.now(&mut places.notes);
        let read = seen.read.now(&mut places.notes);
        places.deny_read.clone_from(&seen.read.places);
        places.deny_read.extend_from_slice(&seen.read.directories);
        places.deny_write.clone_from(&seen.change.directories);
        // A file that is not there cannot be kept from being made without making it.
        places.deny_write.extend(seen.change.places.iter().filter(|path| path.exists()).cloned());
        *last = Some(seen);
        places.deny_read.extend(read?);
        places.deny_write.extend(change?);
        Ok(places)
    }
}

impl Seen {
    fn new(policy: &Arc<Policy>, before: Option<Self>) -> Self {
        let (change, read) = before.map(|before| (before.change, before.read)).unwrap_or_default();
        Self {
            write: policy.changeable(),
            change: change.renewed(policy.unchangeable()),
            read: read.renewed(policy.unreadable()),
            policy: Arc::clone(policy),
        }
    }
}

impl Scope {
    /// The scope for other rules; what is known of patterns that are still there is kept.
    fn renewed(mut self, scopes: PathScopes) -> Self {
        let PathScopes { places, directories, patterns } = scopes;
        let mut search = |patterns: PathPatterns| {
            let known = self.searches.iter().position(|known| *known.patterns() == patterns);
            known.map_or_else(|| Search::new(patterns), |index| self.searches.swap_remove(index))
        };
        let searches = patterns.into_iter().map(&mut search).collect();
        Self { places, directories, searches }
    }

    /// What the patterns match now.
    fn now(&mut self, notes: &mut Vec<String>) -> Result<Vec<PathBuf>, String> {
        let mut matches = Vec::new();
        for search in &mut self.searches {
            let found = search.look();
            if !found.is_complete {
                let rules = named(search.patterns());
                notes.push(format!(
                    "Not all places were looked at for what the sandbox keeps back by {rules}: there are too many files. \
                     Files that lie deep may be open to this command"
                ));
            }
            matches.extend(folded(found, search.patterns(), notes)?);
        }
        Ok(matches)
    }
}

/// The matches, or directories that hold them where there are too many: then more is kept back than the rules say, and not
/// less.
fn folded(
    found: Found,
    patterns: &PathPatterns,
    notes: &mut Vec<String>,
) -> Result<Vec<PathBuf>, String> {
    let mut places = found.matches;
    places.sort_unstable();
    places.dedup();
    if places.len() <= MAX_MATCHES {
        return Ok(places);
    }
    let count = places.len();
    while places.len() > MAX_MATCHES {
        let depth = |path: &PathBuf| path.components().count();
        let deepest = places.iter().map(depth).max().unwrap_or_default();
        let is_start = |path: &Path| patterns.starts().iter().any(|start| start.starts_with(path));
        for path in places.iter_mut().filter(|path| depth(path) == deepest) {
            let parent = path.parent().filter(|parent| !is_start(parent)).ok_or_else(|| {
                format!(
                    "{} matches {count} files, which is more than a sandbox can keep back one by one; write rules for \
                     directories, such as `Read(./dir/**)`",
                    named(patterns)
                )
            })?;
            *path = parent.to_path_buf();
        }
        places.sort_unstable();
        places.dedup_by(|next, kept| next.starts_with(kept.as_path()));
    }
    let names: Vec<String> =
        places.iter().take(MAX_NAMED).map(|path| format!("`{}`", path.display())).collect();
    notes.push(format!(
        "{} matches {count} files, too many to keep back one by one, so that the sandbox keeps whole directories back, \
         such as {}",
        named(patterns),
        names.join(", ")
    ));
    Ok(places)
}

fn named(patterns: &PathPatterns) -> String {
    let rules = patterns.rules();
    let names: Vec<String> = rules.iter().take(MAX_NAMED).map(|rule| format!("`{rule}`")).collect();
    let more = if rules.len() > MAX_NAMED { " and others" } else { "" };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use innerve_permission::{Behavior, Origin, Rule, RuleSource};

    use super::*;

    fn with(policy: &Policy, behavior: Behavior, text: &str) -> Arc<Policy> {
        let mut policy = policy.clone();
        let origin = Origin::inline(RuleSource::Session, "/");
        policy.rules.push(Rule::parse(text, behavior, origin).unwrap());
        Arc::new(policy)
    }

    #[test]
    fn answers_of_the_session_and_changed_rules_count_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("a.pem"), "").unwrap();
        let rules = RulePaths::default();
        let first = Arc::new(Policy::new(&root, "/nonexistent"));
        assert_eq!(rules.now(&first), Ok(Places::default()));
        let denied = with(&first, Behavior::Deny, "Read(*.pem)");
        assert_eq!(rules.now(&denied).unwrap().deny_read, [root.join("a.pem")]);
        let kept = with(&denied, Behavior::Deny, "Edit(./a.pem)");
        let kept = with(&kept, Behavior::Deny, "Edit(./none)");
        let allowed = with(&kept, Behavior::Allow, "Edit(//data/**)");
        let places = rules.now(&allowed).unwrap();
        assert_eq!(places.write, [Path::new("/data")]);
        assert_eq!(places.deny_write, [root.join("a.pem")], "what is not there is not kept");
        assert_eq!(rules.now(&first), Ok(Places::default()));
    }

    #[test]
    fn many_matches_become_directories_and_never_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let policy = with(&Policy::new(&root, "/nonexistent"), Behavior::Deny, "Read(*.pem)");
        let mut patterns = policy.unreadable().patterns;
        let patterns = patterns.remove(0);
        let fold = |names: Vec<String>| {
            let matches = names.into_iter().map(|name| root.join(name)).collect();
            let mut notes = Vec::new();
            let found = Found { matches, is_complete: true };
            folded(found, &patterns, &mut notes).map(|places| (places, notes.len()))
        };
        let few = fold((0..MAX_MATCHES).map(|index| format!("d/{index}.pem")).collect());
        assert_eq!(few.map(|(places, notes)| (places.len(), notes)), Ok((MAX_MATCHES, 0)));
        let mut names: Vec<String> =
            (0..=MAX_MATCHES).map(|index| format!("a/d/{index}.pem")).collect();
        names.push("top.pem".to_owned());
        let (places, notes) = fold(names).unwrap();
        assert_eq!(places, [root.join("a/d"), root.join("top.pem")]);
        assert_eq!(notes, 1);
        let everywhere = fold((0..=MAX_MATCHES).map(|index| format!("{index}.pem")).collect());
        assert!(everywhere.unwrap_err().contains("`Read(*.pem)`"));
    }
}
