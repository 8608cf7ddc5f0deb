//! Runs a search in parallel and keeps the page that was asked for.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::WalkState;
use innerve_permission::facts;
use innerve_tool::{ToolError, code as tool_code};

use super::collect::{Collect, Line};
use super::query::{Lines, Query};
use super::{GrepOutput, OutputMode, page};
use crate::code;
use crate::paths::shown;
use crate::search::{Best, IgnoreFiles, Limits, PATIENCE, walk};

/// Text that is kept, whatever the page.
const MAX_BYTES: usize = 16 << 20;
/// Bytes of a line, or of a file if a pattern may match across lines, that one thread holds.
const MAX_LINE: usize = 16 << 20;
const MAX_MULTILINE_FILE: usize = 64 << 20;
/// So many entries are looked at for files that ignore files hide, whatever the time, when nothing was found.
const IGNORED_ENTRIES: usize = 2_000;

/// What comes first on a page: the newest file, where files are listed, else the first path.
type Key = (Reverse<Option<SystemTime>>, PathBuf);

/// What was found so far.
pub(super) struct Tally {
    pub(super) best: Best<Key, (usize, Vec<Line>)>,
    /// Files with a match.
    pub(super) files: usize,
    /// Matches in all files.
    pub(super) matches: usize,
    failed: usize,
    first_failure: Option<String>,
}

struct Search<'a> {
    query: &'a Query,
    limits: &'a Limits,
    tally: Mutex<Tally>,
    /// Files that were searched.
    searched: AtomicUsize,
    /// Files that were left out because they likely hold secrets.
    secret: AtomicUsize,
    window: usize,
}

pub(super) fn run(query: &Query, limits: &Limits) -> Result<GrepOutput, ToolError> {
    let begun = Instant::now();
    let root = query.root.metadata().map_err(|error| {
        ToolError::io(&format!("`{}` cannot be searched", query.root.display()), &error)
    })?;
    let window = query.limit.map_or(usize::MAX, |limit| query.offset.saturating_add(limit));
    let tally = Tally {
        best: Best::new(window, MAX_BYTES),
        files: 0,
        matches: 0,
        failed: 0,
        first_failure: None,
    };
    let search = Search {
        query,
        limits,
        tally: Mutex::new(tally),
        searched: AtomicUsize::new(0),
        secret: AtomicUsize::new(0),
        window,
    };
    if root.is_dir() {
        search.directory();
    } else if root.is_file() {
        search.single()?;
    } else {
        let message =
            format!("`{}` is a device, FIFO or socket, not a regular file", query.root.display());
        return Err(ToolError::new(code::NOT_A_FILE, message));
    }
    let searched = search.searched.into_inner();
    let secret = search.secret.into_inner();
    let tally = search.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = limits.error().filter(|_| tally.files == 0 || !limits.timed_out()) {
        return Err(error);
    }
    let mut notes = Vec::new();
    if limits.timed_out() {
        notes.push(format!(
            "The search was ended after {} seconds; there may be more results.",
            PATIENCE.as_secs()
        ));
    }
    if let Some(first) = &tally.first_failure {
        notes.push(format!(
            "{} could not be searched, such as {first}.",
            plural(tally.failed, "file")
        ));
    }
    if secret > 0 {
        notes.push(format!(
            "{} that likely hold secrets were not searched; give a path to search it.",
            plural(secret, "file")
        ));
    }
    if tally.files == 0 && root.is_dir() {
        // Knowing it may cost a tenth of the search.
        notes.extend(note_on_ignored(query, searched + secret, begun.elapsed() / 10));
    }
    Ok(page::page(query, tally, notes))
}

pub(super) fn plural(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "match") => format!("{count} matches"),
        (_, _) => format!("{count} {what}s"),
    }
}

impl Search<'_> {
    fn directory(&self) {
        self.walk(IgnoreFiles::Obey).build_parallel().run(|| {
            let mut searcher = self.searcher();
            Box::new(move |entry| {
                if self.limits.is_over() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => {
                        if entry.file_type().is_some_and(|kind| kind.is_file())
                            && !self.leaves_out(entry.path())
                        {
                            self.file(&mut searcher, entry.path());
                        }
                    }
                    // A broken line of an ignore file must not stop the search.
                    Err(error) if error.is_partial() => {}
                    Err(error) => self.failed(&error.to_string()),
                }
                WalkState::Continue
            })
        });
    }

    /// Whether the file likely holds a secret that nobody was asked about.
    fn leaves_out(&self, path: &Path) -> bool {
        let is_secret = !self.query.names_secrets && facts::is_secret_path(&path.to_string_lossy());
        if is_secret {
            self.secret.fetch_add(1, Ordering::Relaxed);
        }
        is_secret
    }

    fn walk(&self, ignore_files: IgnoreFiles) -> ignore::WalkBuilder {
        let mut builder = walk(&self.query.root, ignore_files, self.query.hidden.clone());
        narrow(&mut builder, self.query);
        builder
    }

    fn single(&self) -> Result<(), ToolError> {
        let is_hidden = self.query.hidden.as_ref().is_some_and(|hidden| hidden(&self.query.root));
        if is_hidden {
            return Err(ToolError::new(
                tool_code::NOT_FOUND,
                format!("`{}` may not be read", self.query.root.display()),
            ));
        }
        let fits_glob = self
            .query
            .globs
            .as_ref()
            .is_none_or(|globs| !globs.matched(&self.query.root, false).is_ignore());
        let fits_type = self
            .query
            .types
            .as_ref()
            .is_none_or(|types| !types.matched(&self.query.root, false).is_ignore());
        if fits_glob && fits_type {
            self.file(&mut self.searcher(), &self.query.root);
        }
        Ok(())
    }

    fn searcher(&self) -> Searcher {
        let (memory, line_end) = match self.query.lines {
            Lines::Lf => (MAX_LINE, LineTerminator::byte(b'\n')),
            Lines::CrLf => (MAX_LINE, LineTerminator::crlf()),
            Lines::Spanned => (MAX_MULTILINE_FILE, LineTerminator::byte(b'\n')),
        };
        SearcherBuilder::new()
            .line_terminator(line_end)
            .line_number(self.query.mode == OutputMode::Content)
            .multi_line(self.query.lines == Lines::Spanned)
            .before_context(self.query.before)
            .after_context(self.query.after)
            .heap_limit(Some(memory))
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }

    fn file(&self, searcher: &mut Searcher, path: &Path) {
        self.searched.fetch_add(1, Ordering::Relaxed);
        let key = self.key(path);
        // Lines that could not be on the page are counted only.
        let has_room = self.query.mode != OutputMode::Content
            || key.as_ref().is_none_or(|key| self.tally().best.has_room_for(key));
        let kept = if has_room { self.window } else { 0 };
        let mut found = Collect::new(self.query, self.limits, kept, MAX_BYTES);
        let result = File::open(path).and_then(|file| {
            let reader = Watched { file, limits: self.limits };
            searcher.search_reader(&self.query.matcher, reader, &mut found)
        });
        if let Err(error) = result {
            if !self.limits.is_over() {
                self.failed(&format!("`{}` ({error})", shown(path, &self.query.cwd)));
                return;
            }
            if found.matches == 0 {
                return;
            }
        }
        if found.is_binary && self.query.mode != OutputMode::FilesWithMatches {
            found.matches = 0;
        }
        if found.is_binary && path == self.query.root {
            self.failed(&format!("`{}` (it is binary)", shown(path, &self.query.cwd)));
        }
        if found.matches == 0 {
            return;
        }
        let key = key.unwrap_or_else(|| {
            let modified = path.metadata().and_then(|meta| meta.modified()).ok();
            (Reverse(modified), path.to_path_buf())
        });
        let (units, bytes) = match self.query.mode {
            OutputMode::Content => (found.matches, found.bytes),
            OutputMode::FilesWithMatches | OutputMode::Count => (1, key.1.as_os_str().len() + 64),
        };
        let mut tally = self.tally();
        tally.files += 1;
        tally.matches += found.matches;
        if tally.best.has_room_for(&key) {
            tally.best.insert(key, (found.matches, found.lines), units, bytes);
        }
    }

    /// Where the results of a file come, if that is known before it is searched.
    fn key(&self, path: &Path) -> Option<Key> {
        match self.query.mode {
            OutputMode::FilesWithMatches => None,
            OutputMode::Content | OutputMode::Count => Some((Reverse(None), path.to_path_buf())),
        }
    }

    fn failed(&self, what: &str) {
        let mut tally = self.tally();
        tally.failed += 1;
        tally.first_failure.get_or_insert_with(|| what.to_owned());
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn narrow(builder: &mut ignore::WalkBuilder, query: &Query) {
    if let Some(globs) = &query.globs {
        builder.overrides(globs.clone());
    }
    if let Some(types) = &query.types {
        builder.types(types.clone());
    }
}

/// Says whether there are more files than were searched once ignore files do not count.
fn note_on_ignored(query: &Query, searched: usize, patience: Duration) -> Option<String> {
    let end = Instant::now() + patience;
    let mut builder = walk(&query.root, IgnoreFiles::Disregard, query.hidden.clone());
    narrow(&mut builder, query);
    let mut files = 0;
    for (index, entry) in builder.build().enumerate() {
        if entry.is_ok_and(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
            files += 1;
        }
        let more = if files > searched {
            ""
        } else if index > IGNORED_ENTRIES && Instant::now() > end {
            ", if there are any,"
        } else {
            continue;
        };
        return Some(format!(
            "Files that .gitignore and other ignore files name{more} were not searched; give their path to search them."
        ));
    }
    None
}

/// A file whose reading ends with the search.
struct Watched<'a> {
    file: File,
    limits: &'a Limits,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.limits.is_over() {
            return Err(io::Error::other("the search was ended"));
        }
        self.file.read(buffer)
    }
}
