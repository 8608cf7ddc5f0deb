//! `innerve check`: would this tool use be allowed, and why.

pub(crate) mod explain;
pub(crate) mod lines;

use std::io::{self, Write as _};
use std::path::PathBuf;

use innerve_permission::facts::{Place, from_call};
use innerve_permission::{
    CallFacts, ClassifierWord, Decision, HookVoice, LinkOutcome, PathFacts, Policy, Reason,
    ReasonKind, Resolution, Verdict, Voices, resolve,
};
use innerve_tool::{Lookup, ToolPool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::CheckArguments;
use crate::exit::{Exit, Failure};
use crate::output::{self, broken_pipe_is_success, warn};
use crate::wire::Workplace;

/// What is asked about.
pub(crate) struct Question {
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) hook: Option<HookAnswer>,
    pub(crate) classifier: Option<Classifier>,
}

/// What a hook is supposed to have said.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HookAnswer {
    decision: Option<HookDecision>,
    updated_input: Option<Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HookDecision {
    Allow,
    Ask,
    Deny,
    Defer,
}

/// What a classifier is supposed to have said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Classifier {
    Allow,
    Block,
    Unavailable,
}

/// Runs the verb.
pub(crate) fn check(arguments: &CheckArguments) -> Result<Exit, Failure> {
    if arguments.jsonl {
        return broken_pipe_is_success(lines::answer_all(&arguments.policy)?);
    }
    let mut workplace = Workplace::find(&arguments.policy)?;
    if let Some(mode) = arguments.mode {
        workplace.set_mode(mode);
    }
    // Whether somebody could be asked is not known here: what would be asked is told as a question.
    workplace.policy.headless = false;
    for warning in &workplace.warnings {
        warn(warning);
    }
    let question = question(arguments)?;
    let resolution =
        judge(&workplace.policy, workplace.disk.as_ref(), &workplace.pool_for_show(), &question);
    let printed = if arguments.json {
        output::print_json(&Value::Object(answer(&resolution, &question)))
    } else {
        let text = explain::for_people(&resolution, &question, arguments.explain);
        anstream::stdout().write_all(text.as_bytes())
    };
    broken_pipe_is_success(printed)?;
    Ok(match resolution.verdict {
        Verdict::Decided(Decision::Allow) => Exit::Success,
        Verdict::Decided(Decision::Ask) | Verdict::NeedsClassifier { .. } | Verdict::Deferred => {
            Exit::Ask
        }
        Verdict::Decided(Decision::Deny) => Exit::Denied,
    })
}

fn question(arguments: &CheckArguments) -> Result<Question, Failure> {
    let (tool, input) = match (&arguments.command, &arguments.tool, &arguments.input) {
        (Some(command), _, _) => ("Bash".to_owned(), json!({ "command": command })),
        (None, Some(tool), Some(input)) => {
            let input = serde_json::from_str(input)
                .map_err(|error| Failure::usage(format!("--input is no JSON: {error}")))?;
            (tool.clone(), input)
        }
        (None, _, _) => {
            return Err(Failure::usage(
                "say what to check: a command, or --tool NAME --input JSON",
            ));
        }
    };
    Ok(Question { tool, input, hook: None, classifier: None })
}

/// The engine's word, after the input was checked as the pipeline would check it.
pub(crate) fn judge(
    policy: &Policy,
    disk: &dyn PathFacts,
    pool: &ToolPool,
    question: &Question,
) -> Resolution {
    let changed = question.hook.as_ref().and_then(|hook| hook.updated_input.as_ref());
    let raw = changed.unwrap_or(&question.input);
    let (tool, input) = match pool.find(&question.tool) {
        Lookup::Found(tool) | Lookup::Removed(tool) => match tool.parse(raw.clone()) {
            Ok(input) => (tool.name().to_owned(), input),
            Err(issues) => {
                let problems: Vec<String> = issues.iter().map(ToString::to_string).collect();
                return invalid(tool.name(), &problems.join("; "));
            }
        },
        Lookup::Unknown { .. } => (question.tool.clone(), raw.clone()),
    };
    let place = Place { cwd: &policy.cwd, home: &policy.home, disk };
    let facts =
        from_call(&tool, &input, place).unwrap_or_else(|| CallFacts::new(tool.as_str(), input));
    let facts = facts.with_parameters_of(raw);
    let hook = question.hook.as_ref().and_then(|hook| hook.decision).map(|decision| {
        let why = || "a hook said so".to_owned();
        match decision {
            // With the input it fills in what a person would have answered.
            HookDecision::Allow if changed.is_some() => HookVoice::Answer,
            HookDecision::Allow => HookVoice::Allow,
            HookDecision::Ask => HookVoice::Ask(why()),
            HookDecision::Deny => HookVoice::Deny(why()),
            HookDecision::Defer => HookVoice::Defer,
        }
    });
    let mut resolution = resolve(policy, &facts, &Voices { hook, objection: None });
    if matches!(resolution.verdict, Verdict::NeedsClassifier { .. }) {
        settle_by_classifier(&mut resolution, question.classifier);
    }
    resolution
}

fn settle_by_classifier(resolution: &mut Resolution, classifier: Option<Classifier>) {
    let (word, message) = match classifier {
        None => return,
        Some(Classifier::Allow) => (ClassifierWord::Allow, "the classifier allows it"),
        Some(Classifier::Block) => (ClassifierWord::Block, "the classifier blocks it"),
        Some(Classifier::Unavailable) => {
            (ClassifierWord::Unavailable, "the classifier gave no verdict")
        }
    };
    let decision = resolution.after_classifier(word);
    resolution.verdict = Verdict::Decided(decision);
    if decision == Decision::Ask {
        // A person is still asked what was to be asked.
        return;
    }
    resolution.reason = Reason {
        kind: ReasonKind::Classifier,
        code: "classifier".to_owned(),
        message: message.to_owned(),
        ..resolution.reason.clone()
    };
}

fn invalid(tool: &str, problems: &str) -> Resolution {
    Resolution {
        verdict: Verdict::Decided(Decision::Deny),
        reason: Reason {
            kind: ReasonKind::Validation,
            rule: None,
            source: None,
            file: None,
            line: None,
            code: "invalid_input".to_owned(),
            message: format!("the input does not fit {tool}: {problems}"),
        },
        parts: Vec::new(),
        trace: Vec::new(),
        suggestions: Vec::new(),
    }
}

/// The answer as JSON; the field names are part of the program's contract.
pub(crate) fn answer(resolution: &Resolution, question: &Question) -> Map<String, Value> {
    let decision = match resolution.verdict {
        Verdict::Decided(Decision::Allow) => "allow",
        Verdict::Decided(Decision::Ask) => "ask",
        Verdict::Decided(Decision::Deny) => "deny",
        Verdict::NeedsClassifier { .. } => "classify",
        Verdict::Deferred => "defer",
    };
    let trace: Vec<Value> = resolution
        .trace
        .iter()
        .map(|link| {
            let outcome = if link.outcome == LinkOutcome::None {
                "none"
            } else {
                output::outcome_name(link.outcome)
            };
            json!({ "link": link.link, "outcome": outcome })
        })
        .collect();
    let mut fields = Map::new();
    fields.insert("tool".to_owned(), json!(question.tool));
    fields.insert("decision".to_owned(), json!(decision));
    fields.insert("reason".to_owned(), json!(resolution.reason));
    fields.insert("parts".to_owned(), json!(resolution.parts));
    fields.insert("trace".to_owned(), Value::Array(trace));
    fields.insert("suggestions".to_owned(), json!(resolution.suggestions));
    fields
}

/// A directory from a request: absolute ones as they are, none other.
fn absolute(path: &str, field: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(format!("`{field}` must be an absolute path, not `{}`", path.display()))
    }
}

/// Reading input or printing failed.
type Printed = io::Result<()>;
