//! Finds on the disk what the patterns of rules match, and remembers directories, so that the next look costs little.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use innerve_permission::PathPatterns;

/// Entries that one look goes through, at most.
const MAX_ENTRIES: usize = 300_000;
/// Of these so many behind links that lead outside: a link to everything must not use up what the rest needs.
const MAX_ELSEWHERE: usize = 30_000;
/// Matches that one look tells of, at most.
const MAX_MATCHES: usize = 20_000;
/// How long one look takes, at most.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Files behind links that stay hidden although the link is gone, at most.
const MAX_TARGETS: usize = 1_000;
/// A directory that has changed so shortly before it was read may change again without a new time.
const UNSETTLED: Duration = Duration::from_millis(100);

/// Where matches of some patterns lie.
#[derive(Debug)]
pub(super) struct Search {
    patterns: PathPatterns,
    known: HashMap<PathBuf, Listing>,
    /// The matches of the last look: whoever makes so many files that the next one does not come to them uncovers nothing.
    last: Vec<PathBuf>,
    /// Files that links with a matching name led to: whoever removes the link must not uncover them.
    targets: BTreeSet<PathBuf>,
}

/// What a look has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) matches: Vec<PathBuf>,
    /// Whether everything was looked at.
    pub(super) is_complete: bool,
}

/// What matters of one directory.
#[derive(Debug)]
struct Listing {
    /// `None` if it cannot be relied on.
    stamp: Option<Stamp>,
    entries: usize,
    matches: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    /// Links to directories outside, and where they really are.
    elsewhere: Vec<(PathBuf, PathBuf)>,
}

/// What changes when entries of a directory come, go or are renamed. Unlike the time of modification, that of change
/// cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Search {
    pub(super) fn new(patterns: PathPatterns) -> Self {
        Self { patterns, known: HashMap::new(), last: Vec::new(), targets: BTreeSet::new() }
    }

    pub(super) fn patterns(&self) -> &PathPatterns {
        &self.patterns
    }

    /// Looks at the disk as it is now.
    pub(super) fn look(&mut self) -> Found {
        let begun = Instant::now();
        let roots: Vec<PathBuf> =
            self.patterns.starts().iter().filter_map(|start| start.canonicalize().ok()).collect();
        let mut known = std::mem::take(&mut self.known);
        let mut kept = HashMap::with_capacity(known.len());
        let mut found = Found { matches: Vec::new(), is_complete: true };
        let mut open: VecDeque<PathBuf> = self.patterns.starts().iter().cloned().collect();
        let mut elsewhere = VecDeque::new();
        let mut followed = HashSet::new();
        let (mut entries, mut most) = (0, MAX_ENTRIES);
        loop {
            // Level by level, so that what is cut off is what lies deepest; and what lies outside comes last.
            let Some(directory) = open.pop_front() else {
                if elsewhere.is_empty() {
                    break;
                }
                open.append(&mut elsewhere);
                most = most.min(entries + MAX_ELSEWHERE);
                continue;
            };
            if entries > most || found.matches.len() > MAX_MATCHES || begun.elapsed() > MAX_TIME {
                found.is_complete = false;
                break;
            }
            let before = known.remove(&directory);
            let Some(listing) = self.listing(&directory, before, &roots) else { continue };
            entries += 1 + listing.entries;
            found.matches.extend_from_slice(&listing.matches);
            open.extend(listing.directories.iter().cloned());
            for (link, real) in &listing.elsewhere {
                if followed.insert(real.clone()) {
                    elsewhere.push_back(link.clone());
                }
            }
            kept.insert(directory, listing);
        }
        self.known = kept;
        if !found.is_complete {
            let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
            found.matches.extend(self.last.drain(..).filter(is_there));
            found.matches.sort_unstable();
            found.matches.dedup();
        }
        self.last.clone_from(&found.matches);
        found.matches.extend(self.targets.iter().cloned());
        found
    }

    fn listing(
        &mut self,
        directory: &Path,
        before: Option<Listing>,
        roots: &[PathBuf],
    ) -> Option<Listing> {
        let now = Stamp::of(directory)?;
        if let Some(before) = before
            && before.stamp == Some(now)
        {
            return Some(before);
        }
        let mut listing = Listing {
            stamp: now.is_settled().then_some(now),
            entries: 0,
            matches: Vec::new(),
            directories: Vec::new(),
            elsewhere: Vec::new(),
        };
        // What this user may not list, no command of this user lists.
        for entry in fs::read_dir(directory).ok()?.filter_map(Result::ok) {
            listing.entries += 1;
            if listing.entries > MAX_ENTRIES {
                break;
            }
            self.add(&entry, &mut listing, roots);
        }
        Some(listing)
    }

    fn add(&mut self, entry: &DirEntry, listing: &mut Listing, roots: &[PathBuf]) {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { return };
        if self.patterns.matches(&path) {
            if kind.is_symlink()
                && self.targets.len() < MAX_TARGETS
                && let Ok(real) = path.canonicalize()
                && real.is_file()
            {
                self.targets.insert(real);
            }
            listing.matches.push(path);
        } else if kind.is_dir() {
            if !is_passed_over(&path) {
                listing.directories.push(path);
            }
        } else if kind.is_symlink()
            && let Ok(real) = path.canonicalize()
            && real.is_dir()
            && !roots.iter().any(|root| real.starts_with(root))
            && !is_passed_over(&real)
        {
            listing.elsewhere.push((path, real));
        }
    }
}

impl Stamp {
    #[cfg(unix)]
    fn of(directory: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        let meta = fs::metadata(directory).ok()?;
        meta.is_dir().then(|| Self {
            device: meta.dev(),
            inode: meta.ino(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }

    #[cfg(not(unix))]
    fn of(directory: &Path) -> Option<Self> {
        directory.is_dir().then_some(Self { device: 0, inode: 0, changed: (i64::MAX, 0) })
    }

    fn is_settled(self) -> bool {
        let Ok(seconds) = u64::try_from(self.changed.0) else { return false };
        let nanos = u64::try_from(self.changed.1).unwrap_or_default();
        let changed = Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        now.checked_sub(changed).is_some_and(|age| age > UNSETTLED)
    }
}

/// Whether nothing is looked for in a directory: git's own store of what is not called by its name, and what is no disk.
fn is_passed_over(directory: &Path) -> bool {
    directory.ends_with(".git/objects")
        || ["/proc", "/sys", "/dev"].iter().any(|place| directory == Path::new(place))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use innerve_permission::{Behavior, Origin, Policy, Rule, RuleSource};

    use super::*;

    fn search(root: &Path, rules: &[&str]) -> Search {
        let mut policy = Policy::new(root, "/nonexistent/home");
        for rule in rules {
            let origin = Origin::inline(RuleSource::User, root);
            policy.rules.push(Rule::parse(rule, Behavior::Deny, origin).unwrap());
        }
        let mut patterns = policy.unreadable().patterns;
        assert_eq!(patterns.len(), 1);
        Search::new(patterns.remove(0))
    }

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[track_caller]
    fn check(search: &mut Search, root: &Path, expected: &[&str]) {
        let mut found = search.look();
        found.matches.sort_unstable();
        let names: Vec<String> = found
            .matches
            .iter()
            .map(|path| path.strip_prefix(root).unwrap_or(path).display().to_string())
            .collect();
        assert_eq!(names, expected);
        assert!(found.is_complete);
    }

    #[test]
    fn matches_are_found_where_git_and_dots_would_hide_them_and_not_in_gits_store() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in ["a/.env", "node_modules/p/.env", ".hidden/.env", "src/main.rs", "b/x.pem"] {
            write(&root.join(file));
        }
        write(&root.join(".git/objects/aa/.env"));
        write(&root.join(".gitignore"));
        fs::write(root.join(".gitignore"), ".env\nnode_modules\n").unwrap();
        let mut search = search(&root, &["Read(.env)", "Read(**/*.pem)"]);
        check(&mut search, &root, &[".hidden/.env", "a/.env", "b/x.pem", "node_modules/p/.env"]);
    }

    #[test]
    fn what_comes_and_goes_between_two_looks_is_seen_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(&root.join("a/b/one.txt"));
        let mut search = search(&root, &["Read(.env)"]);
        check(&mut search, &root, &[]);
        for round in 0..20 {
            let name = format!("a/b/d{round}/.env");
            write(&root.join(&name));
            check(&mut search, &root, &[&name]);
            fs::rename(root.join(format!("a/b/d{round}")), root.join("moved")).unwrap();
            check(&mut search, &root, &["moved/.env"]);
            fs::remove_dir_all(root.join("moved")).unwrap();
            check(&mut search, &root, &[]);
        }
    }

    #[test]
    fn links_are_followed_to_where_they_lead_outside_and_never_in_circles() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, other) = (root.join("work"), root.join("other"));
        write(&other.join("deep/.env"));
        write(&work.join("src/a"));
        write(&root.join("elsewhere.txt"));
        symlink(&other, work.join("link")).unwrap();
        symlink(&other, other.join("deep/again")).unwrap();
        symlink(&work, work.join("src/self")).unwrap();
        symlink("loop", work.join("loop")).unwrap();
        symlink("../elsewhere.txt", work.join(".env")).unwrap();
        let mut search = search(&work, &["Read(**/.env)"]);
        let target = root.join("elsewhere.txt").display().to_string();
        check(&mut search, &work, &[&target, ".env", "link/deep/.env"]);
        // Whoever takes the link away does not uncover the file.
        fs::remove_file(work.join(".env")).unwrap();
        check(&mut search, &work, &[&target, "link/deep/.env"]);
    }

    #[test]
    fn a_link_to_everything_uses_up_nothing_that_the_rest_needs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(&root.join("a/b/c/d/e/f/g/.env"));
        symlink("/", root.join("everything")).unwrap();
        let found = search(&root, &["Read(.env)"]).look();
        assert!(found.matches.contains(&root.join("a/b/c/d/e/f/g/.env")), "{found:?}");
    }

    #[test]
    fn what_was_found_once_is_not_lost_behind_a_flood_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(&root.join("a/b/c/.env"));
        let mut search = search(&root, &["Read(.env)", "Read(*.pem)"]);
        check(&mut search, &root, &["a/b/c/.env"]);
        for index in 0..=MAX_MATCHES {
            write(&root.join(format!("{index}.pem")));
        }
        let found = search.look();
        assert!(!found.is_complete && found.matches.contains(&root.join("a/b/c/.env")));
        fs::remove_dir_all(root.join("a")).unwrap();
        assert!(!search.look().matches.contains(&root.join("a/b/c/.env")));
    }

    #[test]
    fn names_that_are_no_text_match_as_well() {
        use std::os::unix::ffi::OsStrExt as _;

        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let name = std::ffi::OsStr::from_bytes(b"b\xff\nad.pem");
        write(&root.join(name));
        let found = search(&root, &["Read(*.pem)"]).look();
        assert_eq!(found.matches, [root.join(name)]);
    }
}
