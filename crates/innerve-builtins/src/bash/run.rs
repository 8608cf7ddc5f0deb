//! Runs a command in the foreground: start, watch, and make a result of what came.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use innerve_bash::Class;
use innerve_tool::port::{ExitStatus, OutputSink, ProcessRequest, RunningProcess, TaskId};
use innerve_tool::{CallContext, SessionChange, Spooled, ToolError, ToolOutput, code};
use serde_json::Value;

use super::background::{self, Work};
use super::capture::{Capture, Captured, Raw, TAIL_CHARS};
use super::directory::{self, Next};
use super::exit;
use super::startup::Started;
use super::text::last_chars;
use super::{
    BashImage, BashInput, BashOutput, BashProgress, BashTool, Confined, environment, notes,
};

/// How often progress is told at most.
const PROGRESS: Duration = Duration::from_millis(200);
/// How much of the output progress tells, in characters.
const PROGRESS_CHARS: usize = 400;
/// How much of the end stands before the beginning when output is cut, in characters: so that it is seen in a preview.
const ENDING_CHARS: usize = 600;

/// How much of the output so far is told of a command that is moved to the background, in characters.
const MOVED_CHARS: usize = 2_000;

/// How a watched command ended.
enum Ended {
    Exit(ExitStatus),
    TimedOut,
    Interrupted,
    Lost(std::io::Error),
}

/// Where a command starts.
pub(super) struct Start {
    pub(super) cwd: PathBuf,
    /// What to say when that is not the session's directory.
    note: Option<String>,
}

impl BashTool {
    pub(super) async fn run(
        &self,
        input: &BashInput,
        context: &CallContext<BashProgress>,
    ) -> Result<ToolOutput<BashOutput>, ToolError> {
        if context.cancellation.is_cancelled() {
            return Err(ToolError::interrupted());
        }
        let start = match start(input, context)? {
            Ok(start) => start,
            Err(refused) => return Ok(refused),
        };
        // A sub-agent's directory never moves, hence it need not be known.
        let is_followed = context.session.agent_id.is_none();
        let mut started = self.startup.begin();
        let capture = Arc::new(Capture::new(
            Arc::clone(&self.spool),
            context.tool_use_id.clone(),
            self.options.max_output_chars,
        ));
        let told = started
            .as_ref()
            .map(|started| if is_followed { started.followed() } else { started.unfollowed() });
        let Confined { request, mut lease } = self.request(input, &start.cwd, told, context)?;
        let sink: Arc<dyn OutputSink> = Arc::<Capture>::clone(&capture);
        let mut process = self.spawn(request, sink, context).await?;
        let limit = self.limit(input);
        let ended = self.watch(process.as_mut(), &capture, limit, context).await;
        if matches!(ended, Ended::TimedOut)
            && exit::may_go_on(&input.command)
            && let Some(tasks) = &self.tasks
            && let Some(path) = capture.spool()
        {
            let output = Arc::clone(&capture);
            let work = Work { process, output, path: path.clone(), started, lease };
            match background::register(Arc::clone(tasks), input, work) {
                Ok(id) => return Ok(moved_on(&id, &path, &capture, start, limit, context)),
                Err(returned) => Work { process, started, lease, .. } = returned.1,
            }
        }
        if !matches!(ended, Ended::Exit(_)) {
            // An error means that it does not end although it was forced to; there is nothing left to do.
            drop(process.kill().await);
        }
        drop(process);
        let refused = notes(lease.as_deref());
        drop(lease);

        let end = started.as_ref().and_then(Started::end_directory);
        let captured = capture
            .finish()
            .ok_or_else(|| ToolError::new(code::IO, "the output of the command is lost"))?;
        Finished { input, context, start, end, refused, captured }.into_result(&ended, limit)
    }

    /// What to start for a call of this tool.
    pub(super) fn request(
        &self,
        input: &BashInput,
        cwd: &Path,
        told: Option<Vec<(String, String)>>,
        context: &CallContext<BashProgress>,
    ) -> Result<Confined, ToolError> {
        let call = serde_json::to_value(input).unwrap_or_default();
        self.request_for("Bash", &call, &input.command, (cwd, told), context)
    }

    /// What to start for a call of a tool that runs shell commands.
    pub(super) fn request_for(
        &self,
        tool: &str,
        call: &Value,
        command: &str,
        (cwd, told): (&Path, Option<Vec<(String, String)>>),
        context: &CallContext<BashProgress>,
    ) -> Result<Confined, ToolError> {
        let mut env = environment::set(cwd);
        env.extend(told.unwrap_or_default());
        let request = ProcessRequest {
            program: self.options.shell.clone(),
            args: ["--noprofile", "--norc", "-c", command].map(str::to_owned).to_vec(),
            cwd: cwd.to_owned(),
            env,
            env_remove: environment::removed(),
            tool_use: Some(context.tool_use_id.clone()),
        };
        match &self.confinement {
            Some(confinement) => confinement.confine(request, tool, call, &context.typed()),
            None => Ok(request.into()),
        }
    }

    pub(super) async fn spawn(
        &self,
        request: ProcessRequest,
        sink: Arc<dyn OutputSink>,
        context: &CallContext<BashProgress>,
    ) -> Result<Box<dyn RunningProcess>, ToolError> {
        let what = format!("{} cannot be started", request.program.display());
        tokio::select! {
            biased;
            // An editor may take its time for a terminal, and what is cancelled meanwhile must not run.
            () = context.cancellation.cancelled() => Err(ToolError::interrupted()),
            started = self.processes.spawn(request, sink) => {
                started.map_err(|error| ToolError::io(&what, &error))
            }
        }
    }

    /// Waits for the end, tells progress, and ends the command when its time is over or the call is cancelled.
    async fn watch(
        &self,
        process: &mut dyn RunningProcess,
        capture: &Capture,
        limit: Duration,
        context: &CallContext<BashProgress>,
    ) -> Ended {
        let started = self.clock.instant();
        let mut timer = self.clock.sleep(limit);
        let mut tick = self.clock.sleep(PROGRESS);
        let mut told = 0;
        let mut exit = process.wait();
        loop {
            tokio::select! {
                biased;
                status = &mut exit => break match status {
                    Ok(status) => Ended::Exit(status),
                    Err(error) => Ended::Lost(error),
                },
                () = context.cancellation.cancelled() => break Ended::Interrupted,
                () = &mut timer => break Ended::TimedOut,
                () = &mut tick => {
                    tick = self.clock.sleep(PROGRESS);
                    let (tail, counts) = capture.tail(PROGRESS_CHARS);
                    if counts.bytes != told {
                        told = counts.bytes;
                        let elapsed = self.clock.instant().saturating_duration_since(started);
                        context.progress.report(&BashProgress {
                            tail,
                            bytes: counts.bytes,
                            lines: counts.lines(),
                            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
                        });
                    }
                }
            }
        }
    }
}

/// Where the command starts: the session's directory, or the one the session began in when that is gone.
///
/// A command that was judged for the lost directory and might change something is not run in another one: `rm -r *`
/// must not hit the project instead. The session goes back, so that the next attempt is judged for where it runs.
pub(super) fn start(
    input: &BashInput,
    context: &CallContext<BashProgress>,
) -> Result<Result<Start, ToolOutput<BashOutput>>, ToolError> {
    let session = &context.session;
    if context.cwd.is_dir() {
        return Ok(Ok(Start { cwd: context.cwd.clone(), note: None }));
    }
    let gone = format!("The shell's directory {} no longer exists", context.cwd.display());
    let original = session.original_cwd.clone();
    if context.cwd == original || !original.is_dir() {
        return Err(ToolError::new(
            code::NOT_FOUND,
            format!("{gone}, so that nothing can run there"),
        ));
    }
    if innerve_bash::analyze(&input.command).class() <= Class::ReadOnly {
        let note = format!("{gone}. Shell cwd was reset to {}", original.display());
        return Ok(Ok(Start { cwd: original, note: Some(note) }));
    }
    let words = format!(
        "{gone}. The command was not run, since it was meant for that directory. Shell cwd was reset to {}",
        original.display()
    );
    if session.agent_id.is_some() {
        return Err(ToolError::new(code::NOT_FOUND, words));
    }
    let mut output = ToolOutput::new(BashOutput { stderr: words, ..BashOutput::default() });
    output.changes.push(SessionChange::SetCwd(original));
    Ok(Err(output))
}

/// The result of a command that did not end in time and goes on as a task.
fn moved_on(
    id: &TaskId,
    path: &Path,
    capture: &Capture,
    start: Start,
    limit: Duration,
    context: &CallContext<BashProgress>,
) -> ToolOutput<BashOutput> {
    let (so_far, counts) = capture.tail(MOVED_CHARS);
    capture.detach();
    let mut stdout = format!(
        "The command did not end within {} and goes on in the background as task {}. Its output goes to {}. Changes of \
         directory do not apply.",
        exit::spoken(limit),
        id.as_str(),
        path.display()
    );
    if counts.bytes > 0 {
        stdout.push_str(&format!("\nIts output so far ({counts}) ends with:\n{so_far}"));
    }
    let mut output = ToolOutput::new(BashOutput {
        stdout,
        background_task_id: Some(id.to_string()),
        timed_out_after_ms: u64::try_from(limit.as_millis()).ok(),
        persisted_output_path: Some(path.display().to_string()),
        bytes: counts.bytes,
        lines: counts.lines(),
        ..BashOutput::default()
    });
    if let Some(note) = start.note {
        output.data.stderr = note;
        if context.session.agent_id.is_none() {
            output.changes.push(SessionChange::SetCwd(start.cwd));
        }
    }
    output
}

/// A command that has ended, on its way to a result.
struct Finished<'a> {
    input: &'a BashInput,
    context: &'a CallContext<BashProgress>,
    start: Start,
    /// The directory it ended in, if it told.
    end: Option<PathBuf>,
    /// What its sandbox refused to it.
    refused: Vec<String>,
    captured: Captured,
}

impl Finished<'_> {
    fn into_result(
        self,
        ended: &Ended,
        limit: Duration,
    ) -> Result<ToolOutput<BashOutput>, ToolError> {
        match *ended {
            Ended::Exit(ExitStatus::Code(0)) => Ok(self.success(0, None)),
            Ended::Exit(ExitStatus::Code(exit_code)) => {
                let meaning = if exit_code == 1 { exit::benign(&self.input.command) } else { None };
                match meaning {
                    Some(meaning) => Ok(self.success(exit_code, Some(meaning))),
                    None => Err(self.failure(code::FAILED, &format!("Exit code {exit_code}"))),
                }
            }
            Ended::Exit(ExitStatus::Signal(signal)) => {
                let mut words = exit::killed_by(signal);
                words.push_str(exit::own_doing(&self.input.command).unwrap_or_default());
                Err(self.failure(code::FAILED, &words))
            }
            Ended::TimedOut => {
                let words = format!("Command timed out after {}", exit::spoken(limit));
                Err(self.failure(code::TIMED_OUT, &words))
            }
            Ended::Interrupted => {
                let words = ToolError::interrupted();
                Err(self.failure(code::INTERRUPTED, words.message()))
            }
            Ended::Lost(ref error) => {
                Err(self
                    .failure(code::IO, &format!("the end of the command is not known: {error}")))
            }
        }
    }

    /// Where the session goes, whether the command succeeded or not: `cd sub; false` has moved.
    fn moved(&mut self) -> (Vec<SessionChange>, Vec<String>) {
        let mut notes: Vec<String> = self.start.note.take().into_iter().collect();
        let mut changes = Vec::new();
        let session = &self.context.session;
        if session.agent_id.is_some() {
            return (changes, notes);
        }
        let original = &session.original_cwd;
        let end = self.end.take();
        let next = end.map_or(Next::Stay, |end| directory::next(&self.start.cwd, &end, session));
        match next {
            Next::Stay if !notes.is_empty() => {
                changes.push(SessionChange::SetCwd(original.clone()));
            }
            Next::Stay => {}
            Next::Move(directory) => changes.push(SessionChange::SetCwd(directory)),
            Next::Reset => {
                if self.context.cwd != *original {
                    changes.push(SessionChange::SetCwd(original.clone()));
                }
                notes.push(format!("Shell cwd was reset to {}", original.display()));
            }
        }
        (changes, notes)
    }

    fn failure(mut self, code: &'static str, what: &str) -> ToolError {
        let (changes, mut notes) = self.moved();
        notes.append(&mut self.refused);
        let captured = self.captured;
        if captured.image.is_some() || captured.has_large_image {
            notes.push("The output was an image".to_owned());
        }
        let message = exit::failure(what, &captured.text, captured.counts, &notes);
        captured.raw.discard();
        ToolError::new(code, message).with_changes(changes)
    }

    fn success(mut self, exit_code: i32, meaning: Option<&str>) -> ToolOutput<BashOutput> {
        let (changes, mut notes) = self.moved();
        notes.append(&mut self.refused);
        let captured = self.captured;
        let counts = captured.counts;
        let mut data = BashOutput {
            is_image: captured.image.is_some(),
            exit_code: Some(exit_code),
            return_code_interpretation: meaning.map(str::to_owned),
            bytes: counts.bytes,
            lines: counts.lines(),
            ..BashOutput::default()
        };
        let mut kept = Kept::default();
        if captured.is_cut || captured.has_large_image {
            kept = keep(captured.raw);
            notes.extend(kept.note);
        } else {
            captured.raw.discard();
        }
        data.is_cut = captured.is_cut;
        data.stdout = match captured.text.whole() {
            Some(whole) => whole.to_owned(),
            None => cut(&captured.text, &counts.to_string()),
        };
        if captured.has_large_image {
            notes.push(match &kept.spooled {
                Some(spooled) => format!(
                    "The output is an image that is too large to be shown; it is in {}",
                    spooled.path.display()
                ),
                None => "The output is an image that is too large to be shown".to_owned(),
            });
        }
        if let Some(spooled) = &kept.spooled {
            data.persisted_output_path = Some(spooled.path.display().to_string());
            data.persisted_output_size = Some(spooled.bytes);
        }
        data.image = captured
            .image
            .map(|image| BashImage { media_type: image.media_type.to_owned(), data: image.data });
        data.stderr = notes.join("\n");
        ToolOutput { data, messages: Vec::new(), changes, spooled: kept.spooled }
    }
}

/// What became of the bytes.
#[derive(Default)]
struct Kept {
    spooled: Option<Spooled>,
    note: Option<String>,
}

fn keep(raw: Raw) -> Kept {
    let lost = |reason: &str| Kept {
        spooled: None,
        note: Some(format!("The full output could not be kept: {reason}")),
    };
    match raw {
        Raw::File(file) => {
            let path = file.path();
            let (given, bytes) = file.counts();
            if let Err(error) = file.keep() {
                return lost(&error.to_string());
            }
            Kept { spooled: Some(Spooled { path, bytes, total: given }), note: None }
        }
        Raw::Lost(reason) => lost(&reason),
        Raw::Memory(_) => Kept::default(),
    }
}

/// Text that is too long for a conversation: how much it is and how it ends, since a preview shows only the first lines
/// of this; then its beginning and its end.
fn cut(text: &super::text::Window, counts: &str) -> String {
    let (first, left_out, last) = text.ends(usize::MAX, TAIL_CHARS);
    let ending = last_chars(last.trim_end_matches('\n'), ENDING_CHARS);
    let whole_lines = ending.split_once('\n').map_or(ending, |(_, lines)| lines);
    format!(
        "Output of {counts}. Its last lines:\n{whole_lines}\n\nFrom the start:\n{first}\n{}\n{last}",
        exit::truncated(left_out)
    )
}
