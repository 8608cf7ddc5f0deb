//! `innerve rules test`: a team's own cases, judged.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use innerve_permission::{Layer, PermissionMode, Policy, Resolution, RuleSource, merge};
use innerve_settings::{DiskPaths, Document, Locations, SettingsError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::current_dir;
use crate::args::{PolicyArguments, RulesTestArguments};
use crate::check::explain::because;
use crate::check::lines::{Source, layer};
use crate::exit::{Exit, Failure};
use crate::judging::{judge, verdict_name};
use crate::output::{self, BOLD, DIM, GREEN, RED, broken_pipe_is_success, headline, plain};
use crate::settings;

/// One case as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<String>,
    command: Option<String>,
    tool: Option<String>,
    input: Option<Value>,
    mode: Option<String>,
    cwd: Option<PathBuf>,
    settings: Option<Value>,
    expect: Expected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Allow,
    Ask,
    Deny,
    Classify,
}

/// A case that was judged.
struct Judged {
    name: String,
    line: Option<u32>,
    expected: &'static str,
    resolution: Resolution,
}

impl Judged {
    fn decision(&self) -> &'static str {
        verdict_name(self.resolution.verdict)
    }

    fn passed(&self) -> bool {
        self.decision() == self.expected
    }
}

/// Runs the verb.
pub(super) fn test(arguments: &RulesTestArguments) -> Result<Exit, Failure> {
    let cwd = current_dir()?;
    let locations = settings::locations(&cwd)?;
    let file = &arguments.file;
    let parsed = read(file).map_err(Failure::usage)?;
    let broken = |line: Option<u32>, problem: String| {
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        Failure::usage(format!("{}{line}: {problem}", file.display()))
    };
    let (cases, pointer, shared) = match &parsed.value {
        Value::Array(cases) => (cases, "", None),
        Value::Object(fields) => {
            if let Some(odd) =
                fields.keys().find(|key| !matches!(key.as_str(), "settings" | "cases"))
            {
                let line = parsed.lines.get(&format!("/{odd}")).copied();
                return Err(broken(line, format!("unknown field `{odd}`; use settings and cases")));
            }
            let Some(Value::Array(cases)) = fields.get("cases") else {
                return Err(broken(None, "`cases` is no list".to_owned()));
            };
            (cases, "/cases", fields.get("settings"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(broken(None, "it holds neither a list of cases nor an object".to_owned()));
        }
    };
    if cases.is_empty() {
        return Err(broken(None, "it holds no cases".to_owned()));
    }
    let stage = Stage {
        locations: &locations,
        arguments: &arguments.report.policy,
        folder: file.parent().unwrap_or(Path::new("")),
    };
    let mut judged = Vec::new();
    let mut on_disk = None;
    for (index, case) in cases.iter().enumerate() {
        let line = parsed.lines.get(&format!("{pointer}/{index}")).copied();
        let written =
            Written::deserialize(case).map_err(|error| broken(line, error.to_string()))?;
        let case =
            stage.judge(written, shared, &mut on_disk).map_err(|problem| broken(line, problem))?;
        judged.push(Judged { line, ..case });
    }
    let failed = judged.iter().filter(|case| !case.passed()).count();
    let printed = if arguments.report.json {
        output::print_json(&as_json(&judged))
    } else {
        anstream::stdout().write_all(for_people(&judged, file).as_bytes())
    };
    broken_pipe_is_success(printed)?;
    Ok(if failed == 0 { Exit::Success } else { Exit::Failure })
}

/// Where cases are judged.
struct Stage<'a> {
    locations: &'a Locations,
    arguments: &'a PolicyArguments,
    /// The folder of the file, where paths in it start.
    folder: &'a Path,
}

impl Stage<'_> {
    fn judge(
        &self,
        case: Written,
        shared: Option<&Value>,
        on_disk: &mut Option<Policy>,
    ) -> Result<Judged, String> {
        let (tool, input) = match (case.command, case.tool, case.input) {
            (Some(command), None, None) => ("Bash".to_owned(), json!({ "command": command })),
            (None, Some(tool), Some(input)) => (tool, input),
            (Some(command), Some(tool), None) => (tool, json!({ "command": command })),
            (Some(_), _, Some(_)) => return Err("it has both `command` and `input`".to_owned()),
            (None, None, _) => return Err("it has neither `command` nor `tool`".to_owned()),
            (None, Some(_), None) => return Err("it has a `tool` and no `input`".to_owned()),
        };
        let here = &self.locations.cwd;
        let cwd = case.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
        let mut policy = match case.settings.as_ref().or(shared) {
            Some(settings) => self.of_settings(settings, &cwd)?,
            None => match on_disk {
                Some(policy) => policy.clone(),
                None => on_disk.insert(self.of_disk()?).clone(),
            },
        };
        policy.cwd = cwd;
        policy.headless = false;
        policy.mode = match &case.mode {
            Some(mode) => {
                mode.parse().map_err(|error: innerve_permission::UnknownMode| error.to_string())?
            }
            None => self.arguments.permission_mode.unwrap_or_default(),
        };
        policy.bypass_available |= policy.mode == PermissionMode::BypassPermissions;
        policy.follow_links(&DiskPaths);
        let resolution = judge(&policy, &DiskPaths, &tool, &input);
        let name = case.name.unwrap_or_else(|| called(&tool, &input));
        let expected = match case.expect {
            Expected::Allow => "allow",
            Expected::Ask => "ask",
            Expected::Deny => "deny",
            Expected::Classify => "classify",
        };
        Ok(Judged { name, line: None, expected, resolution })
    }

    /// The policy that counts here, once the workspace is trusted: its own rules are what is tested.
    fn of_disk(&self) -> Result<Policy, String> {
        let loaded = settings::load(self.locations, self.arguments, true)
            .map_err(|error| error.to_string())?;
        for warning in &loaded.warnings {
            output::warn(&crate::wire::warning_text(warning));
        }
        Ok(loaded.settings.policy(self.locations, &DiskPaths))
    }

    /// The policy of settings that stand in the case.
    fn of_settings(&self, settings: &Value, cwd: &Path) -> Result<Policy, String> {
        let home = &self.locations.home;
        let source = |value: &Value| {
            Source::deserialize(value)
                .map_err(|error| format!("`settings`: {error}"))
                .and_then(|source| layer(&source, true, cwd, home))
        };
        let layers = match settings {
            Value::Object(_) => vec![source(settings)?],
            Value::Array(sources) => sources.iter().map(source).collect::<Result<_, _>>()?,
            Value::String(path) => vec![of_file(&self.folder.join(path), cwd)?],
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                return Err("`settings` is an object, a list or a path".to_owned());
            }
        };
        let merged = merge(&layers).map_err(|error| error.to_string())?;
        Ok(merged.policy(cwd, home))
    }
}

/// The largest file that is read, in bytes.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// Reads a file of JSON with comments; the error is a sentence that names it.
pub(super) fn read(file: &Path) -> Result<Document, String> {
    Document::read(file, MAX_SIZE).map_err(|error| {
        let name = file.display();
        if let SettingsError::Syntax { place, problem } = error {
            format!("{place} is not valid: {problem}")
        } else if let SettingsError::Read { source, .. } = error {
            format!("`{name}` cannot be read: {source}")
        } else {
            error.to_string()
        }
    })
}

/// A settings file as the project's, trusted.
pub(super) fn of_file(file: &Path, root: &Path) -> Result<Layer, String> {
    let parsed = read(file)?;
    if !parsed.value.is_object() {
        return Err(format!("`{}` holds no object", file.display()));
    }
    Ok(Layer {
        file: Some(file.to_path_buf()),
        lines: parsed.lines,
        ..Layer::new(RuleSource::Project, root, parsed.value)
    })
}

/// A tool use in one line.
pub(super) fn called(tool: &str, input: &Value) -> String {
    let field =
        ["command", "file_path", "notebook_path", "url", "path", "pattern", "subagent_type"]
            .iter()
            .find_map(|field| input.get(*field).and_then(Value::as_str));
    match (tool, field) {
        ("Bash", Some(command)) => headline(command, 100),
        (tool, Some(field)) => format!("{} {}", plain(tool), headline(field, 100)),
        (tool, None) => plain(tool),
    }
}

/// The outcome; the field names are part of the program's contract.
fn as_json(judged: &[Judged]) -> Value {
    let cases: Vec<Value> = judged
        .iter()
        .map(|case| {
            json!({
                "name": case.name,
                "line": case.line,
                "passed": case.passed(),
                "expect": case.expected,
                "decision": case.decision(),
                "reason": case.resolution.reason,
                "parts": case.resolution.parts,
                "suggestions": case.resolution.suggestions,
            })
        })
        .collect();
    let passed = judged.iter().filter(|case| case.passed()).count();
    json!({ "passed": passed, "failed": judged.len() - passed, "cases": cases })
}

fn for_people(judged: &[Judged], file: &Path) -> String {
    let mut text = String::new();
    let failed: Vec<&Judged> = judged.iter().filter(|case| !case.passed()).collect();
    for case in &failed {
        let place = plain(&file.display().to_string());
        let line = case.line.map_or_else(String::new, |line| format!(":{line}"));
        text.push_str(&format!(
            "{RED}failed{RED:#} {BOLD}{}{BOLD:#} {DIM}({place}{line}){DIM:#}\n    expected {}, got {}: {}\n",
            plain(&case.name),
            case.expected,
            case.decision(),
            because(&case.resolution.reason)
        ));
        if case.resolution.parts.len() > 1 {
            for part in &case.resolution.parts {
                let decision = verdict_name(innerve_permission::Verdict::Decided(part.decision));
                text.push_str(&format!(
                    "      {decision:<5}  {}  {DIM}{}{DIM:#}\n",
                    headline(&part.text, 80),
                    because(&part.reason)
                ));
            }
        }
        for suggestion in &case.resolution.suggestions {
            text.push_str(&format!("    would be allowed by {}\n", plain(&suggestion.0)));
        }
    }
    let style = if failed.is_empty() { GREEN } else { RED };
    text.push_str(&format!(
        "{style}{} passed, {} failed{style:#}\n",
        judged.len() - failed.len(),
        failed.len()
    ));
    text
}
