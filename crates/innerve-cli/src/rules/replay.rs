//! `innerve rules replay`: past tool uses, judged by the rules as they are now.

mod report;
mod transcript;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use innerve_permission::{Policy, merge};
use innerve_settings::{DiskPaths, Locations};

use super::cases::of_file;
use super::current_dir;
use crate::args::{PolicyArguments, RulesReplayArguments};
use crate::exit::{Exit, Failure};
use crate::judging::judge;
use crate::output::{self, broken_pipe_is_success, warn};
use crate::wire::{Workplace, warning_text};
use crate::{sessions, settings};
use report::Report;
use transcript::{Past, Transcript};

/// Runs the verb.
pub(super) fn replay(arguments: &RulesReplayArguments) -> Result<Exit, Failure> {
    let cwd = current_dir()?;
    let files = files(arguments)?;
    let against = arguments.against.as_ref().map(|file| cwd.join(file));
    let mut policies = Policies::new(&cwd, &arguments.report.policy, against)?;
    let mut report = Report::default();
    let mut seen = transcript::Seen::default();
    for file in &files {
        let mut transcript = Transcript::open(file, &mut seen)
            .map_err(|error| Failure::usage(format!("`{}`: {error}", file.display())))?;
        report.files += 1;
        while let Some(past) = transcript.next() {
            judge_past(&past, &mut policies, &mut report);
        }
        report.skipped_lines += transcript.skipped;
    }
    if report.skipped_lines > 0 {
        warn(&format!("{} lines were skipped, because they are no JSON", report.skipped_lines));
    }
    let printed = if arguments.report.json {
        output::print_json(&report.as_json())
    } else {
        anstream::stdout().write_all(report.for_people().as_bytes())
    };
    broken_pipe_is_success(printed)
}

fn judge_past(past: &Past, policies: &mut Policies<'_>, report: &mut Report) {
    let Some((now, then)) = policies.at(past.start.as_deref(), past.cwd.as_deref()) else {
        report.not_judged += 1;
        return;
    };
    let resolution = judge(&now, &DiskPaths, &past.tool, &past.input);
    let other = then.map(|policy| judge(&policy, &DiskPaths, &past.tool, &past.input));
    report.add(past, &resolution, other.as_ref());
}

/// The files to read: those named, those in the directories named, or the sessions of this directory.
fn files(arguments: &RulesReplayArguments) -> Result<Vec<PathBuf>, Failure> {
    let sessions = || Ok::<_, Failure>(Workplace::find(&arguments.report.policy)?.sessions);
    let mut files = Vec::new();
    if arguments.sources.is_empty() {
        let folder = sessions()?;
        for session in entries(&folder) {
            add_session(&session, &mut files);
        }
        if files.is_empty() {
            return Err(Failure::new(format!(
                "there is no session of this directory in {}; name a transcript",
                folder.display()
            )));
        }
        return Ok(files);
    }
    for source in &arguments.sources {
        let path = Path::new(source);
        if path.is_dir() {
            let before = files.len();
            files.extend(entries(path).into_iter().filter(|file| is_transcript(file)));
            if files.len() == before {
                return Err(Failure::usage(format!("`{source}` holds no `.jsonl` file")));
            }
        } else if path.exists() || source.contains('/') {
            files.push(path.to_path_buf());
        } else {
            let session = sessions::find(&sessions()?, source)
                .map_err(|failure| Failure::usage(failure.message))?;
            add_session(&session, &mut files);
        }
    }
    Ok(files)
}

/// The log of a session and those of its sub-agents.
fn add_session(folder: &Path, files: &mut Vec<PathBuf>) {
    let log = folder.join("log.jsonl");
    if log.is_file() {
        files.push(log);
        files
            .extend(entries(&folder.join("agents")).into_iter().filter(|file| is_transcript(file)));
    }
}

fn is_transcript(file: &Path) -> bool {
    file.is_file() && file.extension().is_some_and(|extension| extension == "jsonl")
}

/// What a directory holds, sorted; nothing if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    entries.sort();
    entries
}

/// The policy now, and the other one if there is one.
type Pair = (Rc<Policy>, Option<Rc<Policy>>);

/// The policies of the directories that past sessions started in.
struct Policies<'a> {
    here: PathBuf,
    locations: Locations,
    arguments: &'a PolicyArguments,
    against: Option<PathBuf>,
    /// By the directory of the start and the one of the call; `None` if the settings there are broken.
    known: BTreeMap<(PathBuf, PathBuf), Option<Pair>>,
    /// What was told of the settings.
    told: BTreeSet<String>,
}

impl<'a> Policies<'a> {
    fn new(
        here: &Path,
        arguments: &'a PolicyArguments,
        against: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let locations = settings::locations(here)?;
        let policies = Self {
            told: BTreeSet::new(),
            here: here.to_path_buf(),
            locations,
            arguments,
            against,
            known: BTreeMap::new(),
        };
        // What is wrong with the other settings is wrong everywhere.
        policies.other(here).map_err(Failure::usage)?;
        Ok(policies)
    }

    fn at(&mut self, start: Option<&Path>, cwd: Option<&Path>) -> Option<Pair> {
        let start = start.unwrap_or(&self.here).to_path_buf();
        let cwd = cwd.unwrap_or(&start).to_path_buf();
        let key = (start, cwd);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let pair = self.load(&key.0, &key.1).map_err(|problem| self.tell(problem)).ok();
        self.known.insert(key, pair.clone());
        pair
    }

    fn tell(&mut self, text: String) {
        if !self.told.contains(&text) {
            warn(&text);
            self.told.insert(text);
        }
    }

    fn load(&mut self, start: &Path, cwd: &Path) -> Result<Pair, String> {
        let at = |mut policy: Policy| {
            policy.cwd = cwd.to_path_buf();
            policy.headless = false;
            policy.follow_links(&DiskPaths);
            Rc::new(policy)
        };
        let locations = Locations { cwd: start.to_path_buf(), ..self.locations.clone() };
        let loaded =
            settings::load(&locations, self.arguments, false).map_err(|error| error.to_string())?;
        for warning in &loaded.warnings {
            self.tell(warning_text(warning));
        }
        let mut now = loaded.settings.permissions.policy(start, &locations.home);
        if let Some(mode) = self.arguments.permission_mode {
            now.mode = mode;
        }
        let mode = now.mode;
        let then = self.other(start)?.map(|policy| at(Policy { mode, ..policy }));
        Ok((at(now), then))
    }

    /// The policy of the settings that are compared with, taken alone.
    fn other(&self, start: &Path) -> Result<Option<Policy>, String> {
        let Some(file) = &self.against else { return Ok(None) };
        let merged = merge(&[of_file(file, start)?]).map_err(|error| error.to_string())?;
        Ok(Some(merged.policy(start, &self.locations.home)))
    }
}
