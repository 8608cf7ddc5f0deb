//! The tour: a recorded conversation on a scratch copy of a small project; everything but the model's words is real.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use innerve_model::{Recording, Replay};
use innerve_permission::PermissionMode;
use tempfile::TempDir;

use crate::args::{OutputFormat, RunArguments};
use crate::converse::{Task, converse};
use crate::exit::{Exit, Failure};
use crate::output::{BOLD, DIM, note};
use crate::provider::Chosen;
use crate::wire::Workplace;

const RECORDING: &str = include_str!("../tour/recording.jsonl");

/// The folder of the project within the scratch folder.
const FOLDER: &str = "count";

/// The project's files: name and content.
const PROJECT: [(&str, &str); 7] = [
    ("README.md", include_str!("../tour/project/README.md")),
    ("count.sh", include_str!("../tour/project/count.sh")),
    ("report.sh", include_str!("../tour/project/report.sh")),
    ("tests/run.sh", include_str!("../tour/project/tests/run.sh")),
    ("tests/empty.txt", include_str!("../tour/project/tests/empty.txt")),
    ("tests/one.txt", include_str!("../tour/project/tests/one.txt")),
    ("tests/poem.txt", include_str!("../tour/project/tests/poem.txt")),
];

const PROMPT: &str = "count.sh prints wrong numbers. Find out why, fix it and check it.";

/// Plays the tour.
pub(crate) async fn play(arguments: &RunArguments) -> Result<Exit, Failure> {
    let scratch = scratch_copy().map_err(|error| {
        Failure::new(format!(
            "the tour's scratch project cannot be made: {error}; check TMPDIR and the disk"
        ))
    })?;
    let shows_text = arguments.output == OutputFormat::Text;
    if shows_text {
        note(&format!(
            "{BOLD}This is a tour.{BOLD:#} No model is connected, so a recording speaks for it. All else is real: the tools, the\n\
             permission checks, and the files, which are a scratch copy of a small project in {}.\n\n\
             {DIM}> {PROMPT}{DIM:#}\n",
            scratch.path().join(FOLDER).display()
        ));
    }
    let recording = Recording::parse(RECORDING).map_err(|error| {
        Failure::new(format!("the built-in recording is broken: {error}; please report this"))
    })?;
    let pauses =
        if shows_text && std::io::IsTerminal::is_terminal(&std::io::stderr()) { 1.0 } else { 0.0 };
    let name = recording.model().to_owned();
    let chosen = Chosen { model: Arc::new(Replay::new(recording).with_pauses(pauses)), name };

    let workplace = workplace(scratch.path())?;
    let exit =
        converse(workplace, chosen, Task::new(PROMPT), &arguments.session, arguments.output).await;
    if shows_text {
        note(&format!(
            "\n{BOLD}That was a recording.{BOLD:#} To work on your own project with a model:\n\n  \
             export ANTHROPIC_API_KEY=…        then  innerve run \"your task\"\n  \
             export OPENAI_BASE_URL=http://…   then  innerve run --model NAME \"your task\"   (any OpenAI-compatible server)\n"
        ));
    }
    exit
}

/// The tour's own settings: edits run, the tests may run, nothing is removed. No settings file of the machine counts.
fn workplace(root: &Path) -> Result<Workplace, Failure> {
    let mut workplace = Workplace::bare(&root.join(FOLDER))?;
    // What the tour leaves behind goes with the scratch copy.
    workplace.sessions = root.join("sessions");
    workplace.policy.mode = PermissionMode::AcceptEdits;
    workplace.allow("Bash(sh tests/run.sh)")?;
    workplace.deny("Bash(rm *)")?;
    Ok(workplace)
}

fn scratch_copy() -> std::io::Result<TempDir> {
    let scratch = tempfile::Builder::new().prefix("innerve-tour-").tempdir()?;
    for (name, content) in PROJECT {
        let path = scratch.path().join(FOLDER).join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(scratch)
}
