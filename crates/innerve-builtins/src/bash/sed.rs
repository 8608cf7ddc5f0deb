//! Shows what `sed -i` would make of a file before anybody approves, and then writes exactly that.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use innerve_bash::{Analysis, Context, Word};
use innerve_permission::Preview;
use innerve_tool::port::{ExitStatus, FileKind, OutputSink, ProcessRequest, StdStream};
use innerve_tool::{CallContext, ToolError, ToolOutput};

use super::{BashInput, BashOutput, BashProgress, BashTool, environment};
use crate::access::{Change, FileAccess, content_hash};
use crate::{code, paths};

/// A larger file is not shown beforehand, nor is a larger result.
const MAX_BYTES: u64 = 8 << 20;
/// How long sed may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A command that does nothing but `sed -i` with one expression on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SedEdit {
    /// Options besides `-i` and the expression.
    options: Vec<String>,
    expression: String,
    file: String,
}

impl SedEdit {
    /// Understands a command; `None` for all that is more than this, or not known in every word.
    pub(super) fn of(command: &str) -> Option<Self> {
        let Analysis::Commands(commands) = innerve_bash::analyze(command) else { return None };
        let [command] = commands.as_slice() else { return None };
        let is_plain = command.context == Context::Top
            && command.assignments.is_empty()
            && command.redirections.is_empty()
            && command.unwrapped_from.is_empty();
        if !is_plain || command.name() != Some("sed") {
            return None;
        }
        let words: Option<Vec<&str>> = command.argv.iter().skip(1).map(Word::literal).collect();
        Self::of_words(&words?)
    }

    fn of_words(words: &[&str]) -> Option<Self> {
        let (mut options, mut expressions, mut operands) = (Vec::new(), Vec::new(), Vec::new());
        let mut in_place = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--" => operands.extend(words.by_ref().copied()),
                "--in-place" => in_place = true,
                "--expression" => expressions.push(*words.next()?),
                "--regexp-extended" | "--quiet" | "--silent" | "--null-data" | "--separate" => {
                    options.push((*word).to_owned());
                }
                word if word.starts_with("--") => {
                    expressions.push(word.strip_prefix("--expression=")?);
                }
                word if word.len() > 1 && word.starts_with('-') => {
                    let mut letters = word.strip_prefix('-')?.chars();
                    while let Some(letter) = letters.next() {
                        match letter {
                            // What follows it in the same word is the ending of a copy to keep.
                            'i' if letters.as_str().is_empty() => in_place = true,
                            'e' if letters.as_str().is_empty() => expressions.push(*words.next()?),
                            'e' => {
                                expressions.push(letters.as_str());
                                break;
                            }
                            'E' | 'r' | 'n' | 'z' | 's' | 'u' => options.push(format!("-{letter}")),
                            _ => return None,
                        }
                    }
                }
                word => operands.push(word),
            }
        }
        if expressions.is_empty() && !operands.is_empty() {
            expressions.push(operands.remove(0));
        }
        match (in_place, expressions.as_slice(), operands.as_slice()) {
            (true, [expression], [file]) => Some(Self {
                options,
                expression: (*expression).to_owned(),
                file: (*file).to_owned(),
            }),
            _ => None,
        }
    }
}

impl BashTool {
    /// What the command would write; `None` if it is no [`SedEdit`] or cannot be shown.
    pub(super) async fn sed_preview(
        &self,
        input: &BashInput,
        context: &CallContext,
    ) -> Result<Option<Preview>, ToolError> {
        let (Some(files), Some(sed)) = (&self.files, SedEdit::of(&input.command)) else {
            return Ok(None);
        };
        let path = paths::checked(&sed.file, context)?;
        // sed would put a file in the place of a link.
        let is_link = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        let Ok(meta) = files.files.metadata(&path).await else { return Ok(None) };
        if is_link || meta.kind != FileKind::File || meta.len > MAX_BYTES {
            return Ok(None);
        }
        let Ok(before) = files.files.read(&path, MAX_BYTES).await else { return Ok(None) };
        let Some(after) = self.run_sed(&sed, &before, context).await else { return Ok(None) };
        Ok(Some(Change { before: Some(before), after }.preview(path)))
    }

    /// Runs sed on a copy, from which it can reach nothing else; `None` if it fails, even in part.
    async fn run_sed(
        &self,
        sed: &SedEdit,
        content: &[u8],
        context: &CallContext,
    ) -> Option<Vec<u8>> {
        let copy = tempfile::Builder::new()
            .prefix("innerve-sed-")
            .tempfile_in(&self.options.scratch)
            .ok()?;
        std::fs::write(copy.path(), content).ok()?;
        // In this mode GNU sed refuses the commands that run programs or open other files.
        let mut args = vec!["--sandbox".to_owned()];
        args.extend(sed.options.iter().cloned());
        args.extend(["-e".to_owned(), sed.expression.clone(), "--".to_owned()]);
        args.push(copy.path().to_str()?.to_owned());
        let request = ProcessRequest {
            program: "sed".into(),
            args,
            cwd: context.cwd.clone(),
            env: environment::set(&context.cwd),
            env_remove: environment::removed(),
            tool_use: None,
        };
        let output = Arc::new(Collected::default());
        let sink: Arc<dyn OutputSink> = Arc::<Collected>::clone(&output);
        let mut process = self.processes.spawn(request, sink).await.ok()?;
        let ended = {
            let patience = self.clock.sleep(PATIENCE);
            tokio::select! {
                biased;
                status = process.wait() => status.ok(),
                () = patience => None,
                () = context.cancellation.cancelled() => None,
            }
        };
        if ended.is_none() {
            drop(process.kill().await);
        }
        match ended? {
            ExitStatus::Code(0) => output.take(),
            ExitStatus::Code(_) | ExitStatus::Signal(_) => None,
        }
    }

    /// Writes what was approved, without a shell.
    pub(super) async fn write_approved(
        &self,
        preview: Preview,
        input: &BashInput,
        context: &CallContext<BashProgress>,
    ) -> Result<ToolOutput<BashOutput>, ToolError> {
        let target = SedEdit::of(&input.command)
            .map(|sed| paths::checked(&sed.file, context))
            .transpose()?;
        let (Some(files), Some(path)) = (&self.files, target) else {
            return Err(ToolError::invalid("what was approved is not what the command does"));
        };
        replace(files, &path, preview, context).await?;
        Ok(ToolOutput::new(BashOutput {
            stderr: format!("Changed `{}` exactly as it was shown and approved.", path.display()),
            exit_code: Some(0),
            ..BashOutput::default()
        }))
    }
}

async fn replace(
    files: &FileAccess,
    path: &Path,
    preview: Preview,
    context: &CallContext<BashProgress>,
) -> Result<PathBuf, ToolError> {
    let _lock = files.lock(path).await;
    let change = Change::approved(preview, path)?;
    let Some(before) = &change.before else {
        return Err(ToolError::new(code::STALE, format!("`{}` does not exist", path.display())));
    };
    let (known, was) = (files.ledger.get(path), content_hash(before));
    let mut record = files.make(path, &context.tool_use_id, change).await?;
    // Who knew the file knows what was made of it; who did not has not read it now.
    match known.filter(|known| known.content_hash == was) {
        Some(known) => {
            record.lines = known.lines;
            record.partial = known.partial;
            files.ledger.record(path, record);
        }
        None => files.ledger.forget(path),
    }
    Ok(path.to_owned())
}

/// Standard output, unless it grows too large or there is anything on standard error.
#[derive(Default)]
struct Collected(Mutex<Option<Vec<u8>>>, Mutex<bool>);

impl Collected {
    fn take(&self) -> Option<Vec<u8>> {
        let is_spoiled = *self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        (!is_spoiled).then(|| bytes.unwrap_or_default())
    }
}

impl OutputSink for Collected {
    fn write(&self, stream: StdStream, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get_or_insert_default();
        if stream == StdStream::Err || (kept.len() + bytes.len()) as u64 > MAX_BYTES {
            *self.1.lock().unwrap_or_else(PoisonError::into_inner) = true;
            kept.clear();
        } else {
            kept.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: Option<(&[&str], &str, &str)>) {
        let found = SedEdit::of(command);
        let expected = expected.map(|(options, expression, file)| SedEdit {
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            expression: expression.to_owned(),
            file: file.to_owned(),
        });
        assert_eq!(found, expected, "{command}");
    }

    #[test]
    fn one_expression_on_one_file_is_understood() {
        check("sed -i 's/a/b/' f", Some((&[], "s/a/b/", "f")));
        check("sed -i -e 's/a/b/' f", Some((&[], "s/a/b/", "f")));
        check("sed -Ei \"s/(a)/b/g\" 'a b.txt'", Some((&["-E"], "s/(a)/b/g", "a b.txt")));
        check("sed f -i -n --expression=p", Some((&["-n"], "p", "f")));
        check("sed --in-place -ep -- -f", Some((&[], "p", "-f")));
        check("sed -nie 2p f", None);
    }

    #[test]
    fn what_is_more_is_left_to_the_shell() {
        for command in [
            "sed 's/a/b/' f",
            "sed -i.bak 's/a/b/' f",
            "sed -iE 's/a/b/' f",
            "sed --in-place=.bak 's/a/b/' f",
            "sed -i s/a/b/ f g",
            "sed -i -e p -e p f",
            "sed -i -f script f",
            "sed -i --follow-symlinks p f",
            "sed -i p",
            "sed -i",
            "sed -i p *.txt",
            "sed -i p ~/f",
            "sed -i \"s/$x/b/\" f",
            "sed -i p f; echo",
            "sed -i p f > g",
            "X=1 sed -i p f",
            "cd d && sed -i p f",
            "(sed -i p f)",
            "sed -i p f &",
            "./sed -i p f",
            "env sed -i p f",
        ] {
            check(command, None);
        }
    }
}
