//! `innerve hook`: answers the permission hook of another agent, and never breaks it.
//!
//! Whatever goes wrong, nothing but an answer goes to standard output and the program exits 0: Claude Code takes 2 for a
//! refusal of the call, and any other code for a failure of the hook (Claude Code documentation, "Hooks reference").

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use innerve_permission::{
    Decision, PermissionMode, Policy, ReasonKind, Resolution, RuleSource, Verdict,
};
use innerve_settings::{DiskPaths, Flags, Locations, Settings};
use serde_json::{Value, json};

use crate::args::{HookArguments, HookHost};
use crate::check::explain::because;
use crate::exit::Exit;
use crate::judging::judge;
use crate::output::{complain, note, plain};
use crate::settings;

/// The largest input that is read, in bytes.
const MAX_INPUT: u64 = 64 * 1024 * 1024;
/// The longest reason that is given, in characters; the host takes 10,000.
const MAX_REASON: usize = 2_000;

/// What the host is told, with the sentence that says why.
type Answer = (&'static str, String);

/// Runs the verb.
pub(crate) fn hook(arguments: &HookArguments) -> Exit {
    match arguments.host {
        HookHost::Claude => {}
    }
    let answered = catch_unwind(|| answer(&read()?))
        .unwrap_or_else(|_| Err("it met a defect of its own".to_owned()));
    let answer = match answered {
        Ok(answer) => answer,
        Err(problem) => {
            complain(&format!("innerve hook: {problem}"));
            let asks = catch_unwind(asks_on_error).unwrap_or(false);
            asks.then(|| ("ask", format!("innerve could not judge this call: {problem}")))
        }
    };
    if let Some((decision, reason)) = answer {
        let reason: String = plain(&reason).chars().take(MAX_REASON).collect();
        let output = json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        } });
        // A host that has gone needs no answer.
        let _gone = writeln!(io::stdout(), "{output}");
    }
    Exit::Success
}

/// How the program ends when its flags cannot be understood. A hook that is set up wrongly must not end with 2, or it
/// would refuse every call of the host.
pub(crate) fn exit_for_usage(error: &clap::Error) -> ExitCode {
    // Without a terminal or pipe to print on there is nobody to tell.
    let _gone = error.print();
    let is_hook = std::env::args_os().nth(1).is_some_and(|verb| verb == "hook");
    match u8::try_from(error.exit_code()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(code) if !is_hook => ExitCode::from(code),
        Ok(_) | Err(_) => ExitCode::FAILURE,
    }
}

fn read() -> Result<Vec<u8>, String> {
    let mut input = Vec::new();
    if io::stdin().is_terminal() {
        note(
            "innerve hook reads the JSON of a PreToolUse hook on standard input; see `innerve hook --help`",
        );
    }
    io::stdin()
        .lock()
        .take(MAX_INPUT + 1)
        .read_to_end(&mut input)
        .map_err(|error| format!("standard input cannot be read: {error}"))?;
    if input.len() as u64 > MAX_INPUT {
        return Err(format!("the input is larger than {MAX_INPUT} bytes"));
    }
    Ok(input)
}

/// The answer to an event; `None` says nothing.
fn answer(input: &[u8]) -> Result<Option<Answer>, String> {
    let event: Value = serde_json::from_slice(input)
        .map_err(|error| format!("standard input is no JSON: {error}"))?;
    let text = |field: &str| event.get(field).and_then(Value::as_str);
    if text("hook_event_name").is_some_and(|name| name != "PreToolUse") {
        return Ok(None);
    }
    let tool = text("tool_name").ok_or("the event has no `tool_name`")?;
    let input = event.get("tool_input").ok_or("the event has no `tool_input`")?;
    let cwd = text("cwd").map(Path::new).filter(|cwd| cwd.is_absolute());
    let cwd = cwd.ok_or("the event has no `cwd`, or one that is not absolute")?;
    let mode = text("permission_mode").map(str::parse::<PermissionMode>);
    let mut policy = policy(cwd, mode.clone().and_then(Result::ok).unwrap_or_default())?;
    policy.plan_file = plan_file(&policy, input);
    policy.follow_links(&DiskPaths);
    let resolution = judge(&policy, &DiskPaths, tool, input);
    // What a mode that is not known lets through is not known either.
    let may_allow = !matches!(mode, Some(Err(_)));
    Ok(opinion(&resolution).filter(|(decision, _)| may_allow || *decision != "allow"))
}

/// The policy that holds in the host's session.
fn policy(cwd: &Path, mode: PermissionMode) -> Result<Policy, String> {
    // The session's directory may have changed; the project's settings lie where it started.
    let start = std::env::var_os("CLAUDE_PROJECT_DIR")
        .map(PathBuf::from)
        .filter(|start| start.is_absolute() && start.is_dir())
        .unwrap_or_else(|| cwd.to_path_buf());
    let locations = settings::locations(&start).map_err(|failure| failure.message)?;
    let loaded =
        Settings::load(&locations, &Flags::default()).map_err(|error| error.to_string())?;
    let mut policy = loaded.settings.permissions.policy(&locations.cwd, &locations.home);
    policy.cwd = cwd.to_path_buf();
    policy.mode = mode;
    policy.bypass_available = false;
    // The host knows whom to ask.
    policy.headless = false;
    Ok(policy)
}

/// The host's plan, if that is what the call is about: it lies with others in one folder (Claude Code documentation,
/// "settings", `plansDirectory`).
fn plan_file(policy: &Policy, input: &Value) -> Option<PathBuf> {
    let file = Path::new(input.get("file_path")?.as_str()?);
    let folder = policy.home.join(".claude/plans");
    let is_plan = file.parent() == Some(&folder) && file.extension().is_some_and(|it| it == "md");
    is_plan.then(|| file.to_path_buf())
}

/// What innerve has to say of a call beyond "nothing allows this".
fn opinion(resolution: &Resolution) -> Option<Answer> {
    let reason = &resolution.reason;
    let because = || format!("innerve: {}", because(reason));
    // Whether something speaks against the call, and not only nothing for it.
    let objects = match reason.kind {
        ReasonKind::Rule
        | ReasonKind::Safety
        | ReasonKind::Secret
        | ReasonKind::Analysis
        | ReasonKind::Hook
        | ReasonKind::Validation => true,
        ReasonKind::Mode | ReasonKind::Default | ReasonKind::ReadOnly | ReasonKind::Classifier => {
            false
        }
    };
    match resolution.verdict {
        // In bypassPermissions the host lets everything run by itself; that is no word of innerve's rules.
        Verdict::Decided(Decision::Allow) => {
            (reason.code != "bypass").then(|| ("allow", because()))
        }
        Verdict::Decided(Decision::Ask) => objects.then(|| ("ask", because())),
        Verdict::Decided(Decision::Deny) => objects.then(|| ("deny", because())),
        // The host has a classifier of its own.
        Verdict::NeedsClassifier { .. } | Verdict::Deferred => None,
    }
}

/// Whether the user or the administrator wants a question when innerve fails.
fn asks_on_error() -> bool {
    let Ok(locations) = settings::locations(Path::new("/")) else { return false };
    // No settings lie beneath a device: what a project says, or has broken, does not matter here.
    let nowhere = Path::new("/dev/null");
    let of_user = Locations { cwd: nowhere.to_path_buf(), ..locations };
    let managed = Locations {
        config_home: nowhere.to_path_buf(),
        home: nowhere.to_path_buf(),
        ..of_user.clone()
    };
    let says_ask = |locations: &Locations| {
        let loaded = Settings::load(locations, &Flags::default()).ok()?;
        let layers = loaded
            .settings
            .layers
            .iter()
            .filter(|layer| matches!(layer.source, RuleSource::Policy | RuleSource::User));
        let mut values = layers.filter_map(|layer| layer.value.get("onError")?.as_str());
        values.next().map(|value| value == "ask")
    };
    says_ask(&of_user)
        .or_else(|| says_ask(&managed))
        .unwrap_or_else(|| says_ask_in_text(&of_user.user_settings()))
}

/// The same of a file that is broken: its text is better than nothing.
fn says_ask_in_text(file: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
        let letters: String = line.chars().filter(|letter| !letter.is_whitespace()).collect();
        letters.contains("\"onError\":\"ask\"")
    })
}
