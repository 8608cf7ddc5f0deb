//! The facts of well-known tools, read from their input.

use innerve_bash::is_secret_path;
use serde_json::Value;

use super::{CallFacts, Effect, Need, PathTarget, Place, Target, hosts, shell};
use crate::PathStyle;
use crate::paths::windows;
use crate::rule::tools;

/// Reads the facts of a well-known tool (Bash, Read, Edit, Write, Grep, Glob, Agent, …) from its input.
///
/// `None` for other tools: they state their facts themselves. An input that misses what the tool needs gives the
/// strictest facts. Old names such as `Task` are understood.
pub fn from_call(tool: &str, input: &Value, place: Place<'_>) -> Option<CallFacts> {
    let tool = tools::canonical(tool);
    let strict = CallFacts::new(tool, input.clone());
    let facts = match tool {
        "Monitor" if given(input, "ws") => watching(strict, input),
        "Bash" | "Monitor" => match text(input, "command") {
            Some(command) => shell::facts(strict, command, place),
            None => strict,
        },
        "Read" | "LSP" => reading(strict, path(input, "file_path", place)),
        "Grep" => grepping(strict, input, place),
        "LS" => reading(strict, path_or_cwd(input, place)),
        "Glob" => globbing(strict, input, place),
        "Edit" | "MultiEdit" | "Write" => writing(strict, path(input, "file_path", place)),
        "NotebookEdit" => writing(strict, path(input, "notebook_path", place)),
        "WebFetch" => fetching(strict, text(input, "url").and_then(hosts::host)),
        "WebSearch" => strict.with_effects(&[Effect::Network]),
        "Agent" => {
            let agent = text(input, "subagent_type").unwrap_or("general-purpose");
            strict.with_need(Need::ByTargets).with_target(Target::Agent(agent.to_owned()))
        }
        "AskUserQuestion" | "ExitPlanMode" => strict.with_need(Need::Interaction).with_effects(&[]),
        "TodoWrite" | "TodoRead" | "ToolSearch" | "EnterPlanMode" | "TaskCreate" | "TaskGet"
        | "TaskList" | "TaskOutput" | "TaskStop" | "TaskUpdate" | "BashOutput" | "KillShell" => {
            strict.with_need(Need::Never).with_effects(&[])
        }
        "Skill" => strict,
        _ => return None,
    };
    Some(facts)
}

/// Reads the facts of any tool use: those of [`from_call`], or for another tool the strictest, which claim nothing.
pub fn from_call_or_strict(tool: &str, input: &Value, place: Place<'_>) -> CallFacts {
    from_call(tool, input, place).unwrap_or_else(|| CallFacts::new(tool, input.clone()))
}

fn text<'a>(input: &'a Value, field: &str) -> Option<&'a str> {
    input.get(field)?.as_str()
}

fn given(input: &Value, field: &str) -> bool {
    input.get(field).is_some_and(|value| !value.is_null())
}

fn fetching(strict: CallFacts, host: Option<String>) -> CallFacts {
    let Some(host) = host else { return strict };
    strict.with_effects(&[Effect::Network]).with_target(Target::Host(host))
}

/// A stream from a host in place of a command; what names both has said neither.
fn watching(strict: CallFacts, input: &Value) -> CallFacts {
    if given(input, "command") {
        return strict;
    }
    let url = input.get("ws").and_then(|socket| text(socket, "url"));
    fetching(strict, url.and_then(hosts::websocket_host))
}

fn path(input: &Value, field: &str, place: Place<'_>) -> Option<PathTarget> {
    let given = text(input, field).filter(|given| !given.is_empty())?;
    Some(PathTarget::new(given, place))
}

/// The `path` of a search; a missing one is the current directory, one of a wrong kind is not known.
fn path_or_cwd(input: &Value, place: Place<'_>) -> Option<PathTarget> {
    match input.get("path") {
        None | Some(Value::Null) => Some(PathTarget::new(".", place)),
        Some(Value::String(given)) if given.is_empty() => Some(PathTarget::new(".", place)),
        Some(_) => path(input, "path", place),
    }
}

fn reading(strict: CallFacts, path: Option<PathTarget>) -> CallFacts {
    let Some(path) = path else { return strict };
    strict.with_need(Need::ByTargets).with_effects(&[Effect::Read]).with_target(Target::Read(path))
}

fn writing(strict: CallFacts, path: Option<PathTarget>) -> CallFacts {
    let Some(path) = path else { return strict };
    strict
        .with_need(Need::ByTargets)
        .with_effects(&[Effect::Write])
        .with_target(Target::Write(path))
}

/// A search that is narrowed to the names of likely secrets reads these.
fn grepping(strict: CallFacts, input: &Value, place: Place<'_>) -> CallFacts {
    let Some(base) = path_or_cwd(input, place) else { return strict };
    let secrets = secrets_among(text(input, "glob").unwrap_or_default());
    let secrets = secrets.map(|name| PathTarget::within(&name, base.path.as_deref(), place));
    let secrets: Vec<PathTarget> = secrets.collect();
    let facts = reading(strict, Some(base));
    secrets.into_iter().fold(facts, |facts, path| facts.with_target(Target::Read(path)))
}

/// Those of the globs, separated by blanks or commas, that name likely secrets. A search leaves out secrets that neither
/// its globs nor its path name, since it is not asked about then.
pub fn secrets_among(globs: &str) -> impl Iterator<Item = String> {
    let names = globs.split_whitespace().flat_map(alternatives);
    names.filter(|name| is_secret_path(name))
}

/// The globs that a glob with braces stands for; of many braces the last.
fn alternatives(glob: &str) -> Vec<String> {
    let braces = glob.rsplit_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        Some((before, inside, after))
    });
    match braces {
        Some((before, inside, after)) => {
            inside.split(',').map(|one| format!("{before}{one}{after}")).collect()
        }
        None => glob.split(',').map(ToOwned::to_owned).collect(),
    }
}

/// A glob can leave its directory through an absolute pattern or `..`: then its fixed beginning is what is read.
fn globbing(strict: CallFacts, input: &Value, place: Place<'_>) -> CallFacts {
    let Some(base) = path_or_cwd(input, place) else { return strict };
    let Some(pattern) = text(input, "pattern") else { return strict };
    let slashes = match place.disk.style() {
        PathStyle::Posix => pattern.to_owned(),
        PathStyle::Windows => pattern.replace('\\', "/"),
    };
    let pattern = slashes.as_str();
    let leaves = pattern.starts_with(['/', '~'])
        || windows::drive_prefix(pattern).is_some()
        || pattern.split('/').any(|segment| segment == "..");
    if !leaves {
        return reading(strict, Some(base));
    }
    let fixed: Vec<&str> =
        pattern.split('/').take_while(|segment| !segment.contains(['*', '?', '[', '{'])).collect();
    // Nothing says what `*/../..` reads.
    let climbs_later = pattern.split('/').skip(fixed.len()).any(|segment| segment == "..");
    let mut fixed = fixed.join("/");
    if (pattern.starts_with('/') && fixed.is_empty())
        || windows::drive_prefix(pattern).is_some() && fixed.len() == 2
    {
        fixed.push('/');
    }
    let given = fixed.as_str();
    let target = if climbs_later {
        PathTarget::unknown(pattern)
    } else {
        PathTarget::within(given, base.path.as_deref(), place)
    };
    reading(strict, Some(base)).with_target(Target::Read(target))
}
