//! `--jsonl`: one question per line, each with settings of its own.

use std::path::Path;

use innerve_permission::{Layer, PermissionMode, Policy, RuleSource, merge};
use innerve_tool::ToolPool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Classifier, HookAnswer, Printed, Question, absolute, answer, judge};
use crate::args::PolicyArguments;
use crate::exit::Failure;
use crate::jsonl::answer_lines;
use crate::output;
use crate::wire::{Workplace, warning_text};

/// One question; absent fields take the defaults that `--help` names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the contract's independent flags")]
struct Line {
    #[serde(default)]
    id: Value,
    #[serde(default = "bash")]
    tool: String,
    input: Value,
    mode: Option<String>,
    cwd: Option<String>,
    original_cwd: Option<String>,
    home: Option<String>,
    settings: Option<Vec<Source>>,
    #[serde(default)]
    headless: bool,
    #[serde(default)]
    bypass_available: bool,
    #[serde(default = "yes")]
    trusted: bool,
    hook: Option<HookAnswer>,
    #[serde(default)]
    classifier_available: bool,
    classifier: Option<Classifier>,
}

/// The settings of one source, given in the line.
#[derive(Deserialize)]
pub(crate) struct Source {
    #[serde(rename = "source", default = "project")]
    kind: String,
    root: Option<String>,
    /// Whatever a settings file may hold.
    #[serde(flatten)]
    value: serde_json::Map<String, Value>,
}

fn bash() -> String {
    "Bash".to_owned()
}

fn project() -> String {
    "project".to_owned()
}

fn yes() -> bool {
    true
}

/// Answers every line; one that is not valid is told and the run goes on.
pub(super) fn answer_all(arguments: &PolicyArguments) -> Result<Printed, Failure> {
    let workplace = Workplace::bare(&std::env::current_dir().map_err(|error| {
        Failure::new(format!("the current directory cannot be read: {error}"))
    })?)?;
    let pool = workplace.pool_for_show();
    Ok(answer_lines(|text, output| {
        let answered = serde_json::from_slice::<Line>(text)
            .map_err(|error| error.to_string())
            .and_then(|line| answer_line(line, &workplace, &pool, arguments));
        let value = answered.unwrap_or_else(|problem| output::line_error(text, &problem));
        Ok(serde_json::to_writer(output, &value)?)
    }))
}

fn answer_line(
    line: Line,
    workplace: &Workplace,
    pool: &ToolPool,
    arguments: &PolicyArguments,
) -> Result<Value, String> {
    let (policy, warnings) = policy(&line, workplace, arguments)?;
    let question = Question {
        tool: line.tool,
        input: line.input,
        hook: line.hook,
        classifier: line.classifier,
    };
    let resolution = judge(&policy, workplace.disk.as_ref(), pool, &question);
    let mut fields = serde_json::Map::new();
    fields.insert("id".to_owned(), line.id);
    fields.extend(answer(&resolution, &question));
    fields.insert("warnings".to_owned(), json!(warnings));
    Ok(Value::Object(fields))
}

fn policy(
    line: &Line,
    workplace: &Workplace,
    arguments: &PolicyArguments,
) -> Result<(Policy, Vec<String>), String> {
    let directory = |given: &Option<String>, field, default: &Path| match given {
        Some(path) => absolute(path, field),
        None => Ok(default.to_path_buf()),
    };
    let cwd = directory(&line.cwd, "cwd", &workplace.policy.cwd)?;
    let original_cwd = directory(&line.original_cwd, "original_cwd", &cwd)?;
    let home = directory(&line.home, "home", &workplace.policy.home)?;
    let (mut policy, warnings) = match &line.settings {
        None => {
            let found =
                Workplace::find_in(&original_cwd, arguments).map_err(|failure| failure.message)?;
            (found.policy, found.warnings)
        }
        Some(sources) => {
            let layers: Result<Vec<Layer>, String> = sources
                .iter()
                .map(|source| layer(source, line.trusted, &original_cwd, &home))
                .collect();
            let merged = merge(&layers?).map_err(|error| error.to_string())?;
            let warnings = merged.warnings.iter().map(warning_text).collect();
            // What is asked is what would be, so the sandbox of the settings is taken to be there.
            let sandbox = merged.sandbox.clone();
            let mut policy = merged.policy(original_cwd.clone(), home.clone());
            policy.sandbox = sandbox;
            (policy, warnings)
        }
    };
    policy.cwd = cwd;
    policy.original_cwd = original_cwd;
    policy.home = home;
    policy.headless = line.headless;
    policy.classifier_available = line.classifier_available;
    policy.bypass_available |= line.bypass_available;
    if let Some(mode) = &line.mode {
        policy.mode =
            mode.parse().map_err(|error: innerve_permission::UnknownMode| error.to_string())?;
        policy.bypass_available |= policy.mode == PermissionMode::BypassPermissions;
    }
    policy.follow_links(workplace.disk.as_ref());
    Ok((policy, warnings))
}

/// The source as a layer of settings.
pub(crate) fn layer(
    source: &Source,
    trusted: bool,
    cwd: &Path,
    home: &Path,
) -> Result<Layer, String> {
    let (rule_source, default_root) = match source.kind.as_str() {
        "policy" => (RuleSource::Policy, cwd.to_path_buf()),
        "cli" => (RuleSource::Cli, cwd.to_path_buf()),
        "local" => (RuleSource::Local, cwd.to_path_buf()),
        "project" => (RuleSource::Project, cwd.to_path_buf()),
        "user" => (RuleSource::User, home.join(".config/innerve")),
        "session" => (RuleSource::Session, cwd.to_path_buf()),
        "skill" => (RuleSource::Skill, cwd.to_path_buf()),
        other => {
            return Err(format!(
                "unknown settings source `{other}`; use policy, cli, local, project, user, session or skill"
            ));
        }
    };
    let root = match &source.root {
        Some(root) => absolute(root, "root")?,
        None => default_root,
    };
    let layer = Layer::new(rule_source, root, Value::Object(source.value.clone()));
    Ok(Layer { trusted, ..layer })
}
