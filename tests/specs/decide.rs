//! Asks the engine, and compares what it says with a row.

use innerve_permission::{
    CallFacts, ClassifierWord, Decision, HookVoice, Layer, Need, Objection, Origin, PathFacts as _,
    PathStyle, PathTarget, PermissionMode, Place, Policy, Resolution, Rule, RuleSource, Verdict,
    Voices, facts, merge, resolve,
};
use serde_json::json;

use crate::disk::Disk;
use crate::notation::{Call, CallCase, Fact, RuleCase, Statement, Word};

/// The project, the home and the user's settings.
struct Directories {
    cwd: &'static str,
    home: &'static str,
    user: &'static str,
}

const ON_POSIX: Directories =
    Directories { cwd: "/repo", home: "/home/u", user: "/home/u/.config/innerve" };
const ON_WINDOWS: Directories =
    Directories { cwd: "C:\\Repo", home: "C:\\Users\\u", user: "C:\\Users\\u\\.config\\innerve" };

/// What is wrong with a row of calls: one text for each call and mode that is.
pub(crate) fn check_call(disk: &Disk, case: &CallCase) -> Vec<String> {
    let pairs = case.modes.iter().flat_map(|mode| case.calls.iter().map(move |call| (mode, call)));
    pairs
        .filter_map(|(mode, (text, call))| {
            let problem = ask(disk, case, *mode, call).differs_from(case)?;
            let text: String = text.replace('\n', "⏎").chars().take(200).collect();
            Some(format!("`{text}` in mode {mode}: {problem}"))
        })
        .collect()
}

/// What is wrong with a row of rules.
pub(crate) fn check_rule(case: &RuleCase) -> Vec<String> {
    let mut wrong = Vec::new();
    for text in &case.rules {
        for list in &case.lists {
            let origin = Origin::inline(RuleSource::Project, ON_POSIX.cwd);
            let (kept, words) = match Rule::parse(text, *list, origin) {
                Ok(rule) => (true, rule.remark().unwrap_or_default().to_owned()),
                Err(error) => (false, error.to_string()),
            };
            let place = format!("`{text}` in {}", list.name());
            if kept != case.kept {
                let said = if kept { "kept" } else { "refused" };
                wrong.push(format!("{place}: {said} ({words})"));
            }
            for word in case.words.iter().filter(|word| !words.contains(word.as_str())) {
                wrong.push(format!("{place}: not for the words `{word}` ({words})"));
            }
            if case.kept && case.words.is_empty() && !words.is_empty() {
                wrong.push(format!("{place}: kept, but with a remark ({words})"));
            }
        }
    }
    wrong
}

/// What the engine said.
#[derive(Default)]
struct Said {
    decision: String,
    /// The reason's code; empty where there is no reason.
    code: String,
    message: String,
    /// Whatever else a row may quote.
    others: String,
}

impl Said {
    /// What is wrong with it, seen from a row.
    fn differs_from(&self, case: &CallCase) -> Option<String> {
        let Self { decision, code, message, others } = self;
        let why = format!("{code}: {message}");
        if *decision != case.decision {
            return Some(format!("expected {}, got {decision} ({why})", case.decision));
        }
        if !code.is_empty() && !case.any_reason && !case.codes.contains(code) {
            return Some(format!(
                "{decision} as expected, but the reason's code is not quoted ({why})"
            ));
        }
        let own = if code.is_empty() { case.codes.as_slice() } else { &[] };
        let missing: Vec<&str> = own
            .iter()
            .chain(&case.words)
            .filter(|word| !message.contains(*word) && !others.contains(*word))
            .map(String::as_str)
            .collect();
        if missing.is_empty() {
            return None;
        }
        let missing = missing.join("`, `");
        Some(format!("{decision} as expected, but not for the words `{missing}` ({why})"))
    }
}

fn ask(disk: &Disk, case: &CallCase, mode: PermissionMode, call: &Call) -> Said {
    let directories = match disk.style() {
        PathStyle::Posix => ON_POSIX,
        PathStyle::Windows => ON_WINDOWS,
    };
    let (mut policy, warnings) = match policy(&case.settings, &directories) {
        Ok(made) => made,
        Err(message) => {
            return Said { decision: "no start".to_owned(), message, ..Said::default() };
        }
    };
    let start = policy.mode;
    policy.mode = mode;
    policy.bypass_available |= mode == PermissionMode::BypassPermissions;
    policy.follow_links(disk);
    let mut said = Said { others: warnings, ..Said::default() };
    for warning in policy.rules.warnings() {
        said.others.push_str(&format!("{} {}\n", warning.rule, warning.message));
    }
    let place = Place { cwd: &policy.cwd, home: &policy.home, disk };
    let (tool, input) = match call {
        Call::Use { tool, input } => (tool, input),
        Call::Offer(tool) => {
            let removed = policy.rules.removes_tool(tool);
            return Said {
                decision: if removed { "removed" } else { "offered" }.to_owned(),
                ..said
            };
        }
        Call::Show(path) => {
            let hidden = policy.hides(&PathTarget::new(path, place));
            return Said { decision: if hidden { "hidden" } else { "shown" }.to_owned(), ..said };
        }
        Call::Start => return Said { decision: start.name().to_owned(), ..said },
    };
    let mut facts = facts::from_call(tool, input, place)
        .unwrap_or_else(|| CallFacts::new(tool.as_str(), input.clone()));
    if has(case, &Fact::Interaction) {
        facts.need = Need::Interaction;
    }
    let resolution = resolve(&policy, &facts, &voices(&case.settings));
    let reason = &resolution.reason;
    for text in [&reason.rule, &reason.source].into_iter().flatten() {
        said.others.push_str(&format!("{text}\n"));
    }
    for suggestion in &resolution.suggestions {
        said.others.push_str(&format!("offers {}\n", suggestion.0));
    }
    Said {
        decision: after_classifier(&resolution, &case.settings).to_owned(),
        code: reason.code.clone(),
        message: reason.message.clone(),
        ..said
    }
}

fn has(case: &CallCase, fact: &Fact) -> bool {
    case.settings.iter().any(|it| matches!(it, Statement::Fact(known) if known == fact))
}

/// The policy that the statements make, and what was odd about them.
fn policy(statements: &[Statement], directories: &Directories) -> Result<(Policy, String), String> {
    let is = |fact: &Fact| {
        statements.iter().any(|it| matches!(it, Statement::Fact(known) if known == fact))
    };
    let mut layers: Vec<Layer> = Vec::new();
    for statement in statements {
        let (source, value) = match statement {
            Statement::Rule(source, behavior, rule) => {
                (*source, json!({ "permissions": { behavior.name(): [rule] } }))
            }
            Statement::Settings(source, value) => (*source, value.clone()),
            Statement::Fact(_) => continue,
        };
        let root = if source == RuleSource::User { directories.user } else { directories.cwd };
        let trusted = !is(&Fact::Untrusted);
        layers.push(Layer { trusted, ..Layer::new(source, root, value) });
    }
    let merged = merge(&layers).map_err(|error| error.to_string())?;
    let warnings: String =
        merged.warnings.iter().map(|warning| format!("{} ", warning.reason)).collect();
    // The rows suppose a host that has the sandbox that settings ask for.
    let sandbox = merged.sandbox.clone();
    let mut policy = merged.policy(directories.cwd, directories.home);
    policy.sandbox = sandbox;
    policy.headless = is(&Fact::Headless);
    policy.bypass_available |= is(&Fact::BypassAvailable);
    policy.classifier_available = is(&Fact::ClassifierAvailable);
    for statement in statements {
        match statement {
            Statement::Fact(Fact::Cwd(cwd)) => policy.cwd = cwd.into(),
            Statement::Fact(Fact::PlanFile(file)) => policy.plan_file = Some(file.into()),
            Statement::Rule(..) | Statement::Settings(..) | Statement::Fact(_) => {}
        }
    }
    Ok((policy, warnings))
}

fn voices(statements: &[Statement]) -> Voices {
    let mut voices = Voices::default();
    let why = || "it said so".to_owned();
    for statement in statements {
        match statement {
            Statement::Fact(Fact::Hook(word)) => {
                voices.hook = match word {
                    Word::Allow => Some(HookVoice::Allow),
                    Word::Answer => Some(HookVoice::Answer),
                    Word::Ask => Some(HookVoice::Ask(why())),
                    Word::Deny => Some(HookVoice::Deny(why())),
                    Word::Defer => Some(HookVoice::Defer),
                    Word::Nothing => None,
                }
            }
            Statement::Fact(Fact::Objection(word)) => {
                voices.objection = match word {
                    Word::Ask => Some(Objection::Ask(why())),
                    Word::Deny => Some(Objection::Deny(why())),
                    Word::Allow | Word::Answer | Word::Defer | Word::Nothing => None,
                }
            }
            Statement::Rule(..) | Statement::Settings(..) | Statement::Fact(_) => {}
        }
    }
    voices
}

/// The decision as one word, after the classifier has spoken if the row has it speak.
fn after_classifier(resolution: &Resolution, statements: &[Statement]) -> &'static str {
    let word = statements.iter().find_map(|statement| match statement {
        Statement::Fact(Fact::Classifier(word)) => Some(*word),
        Statement::Rule(..) | Statement::Settings(..) | Statement::Fact(_) => None,
    });
    let name = |decision: Decision| match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    match (resolution.verdict, word) {
        (Verdict::Deferred, _) => "defer",
        (Verdict::NeedsClassifier { .. }, None) => "classify",
        (Verdict::Decided(decision), _) => name(decision),
        (Verdict::NeedsClassifier { .. }, Some(word)) => {
            name(resolution.after_classifier(match word {
                Word::Allow => ClassifierWord::Allow,
                Word::Deny => ClassifierWord::Block,
                Word::Ask | Word::Answer | Word::Defer | Word::Nothing => {
                    ClassifierWord::Unavailable
                }
            }))
        }
    }
}
