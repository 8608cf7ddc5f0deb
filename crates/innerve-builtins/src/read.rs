//! The Read tool: text by lines, images, directories; nothing that could hang.

use std::path::{Path, PathBuf};
use std::time::Duration;

use innerve_permission::facts::{self, Place};
use innerve_permission::{CallFacts, Preview};
use innerve_protocol::ToolResultContent;
use innerve_tool::port::{FileKind, FileMetadata, ReadRecord};
use innerve_tool::{
    CallContext, InterruptBehavior, ResultLimit, Tool, ToolError, ToolOutput, code as tool_code,
};
use serde_json::Value;

use crate::access::{FileAccess, content_hash};
use crate::text::{Document, Encoding, count_lines};
use crate::{code, paths};

mod data;
mod image;
mod legacy;
mod notebook;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(feature = "media")]
mod resize;
mod seen;
mod window;

use seen::Seen;
use window::Window;

pub use data::{ReadInput, ReadOutput};

/// Lines that are shown when no limit is given.
const DEFAULT_LINES: u64 = 2_000;
/// Tokens of text in one result; a token is taken for four bytes.
const MAX_TOKENS: u64 = 25_000;
/// The same in bytes.
const MAX_BYTES: usize = 100_000;
/// Files up to this size can be edited, so that their hash is worth having; of larger ones only what is asked for is
/// read.
pub(crate) const MAX_EDITABLE: u64 = 1 << 30;
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Where a NUL byte is looked for.
const HEAD: usize = 8 * 1024;
/// A larger notebook is not shown by its cells.
const MAX_NOTEBOOK_BYTES: u64 = 100 << 20;
/// Text that is shorter is shown again when it is asked for again.
const MIN_STUB_BYTES: usize = 1_000;
/// Entries of a directory that are listed.
const MAX_ENTRIES: usize = 1_000;

/// Reads files.
#[derive(Clone, Debug)]
pub struct ReadTool {
    access: FileAccess,
    seen: Seen,
}

impl ReadTool {
    /// Reads through `access`, and notes there what was read.
    pub fn new(access: FileAccess) -> Self {
        Self { access, seen: Seen::default() }
    }

    async fn read(
        &self,
        input: &ReadInput,
        context: &CallContext<()>,
    ) -> Result<ReadOutput, ToolError> {
        let mut path = paths::checked(&input.file_path, context)?;
        refuse_streams(&path)?;
        if path == Path::new("/dev/null") {
            return Ok(empty(path));
        }
        let meta = match self.access.files.metadata(&path).await {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let hidden = self.access.hidden.as_ref();
                let siblings =
                    paths::Siblings::find(self.access.files.as_ref(), &path, hidden).await;
                let Some(same) = &siblings.same else {
                    return Err(siblings.error(&path, &context.cwd));
                };
                path.clone_from(same);
                self.access
                    .files
                    .metadata(&path)
                    .await
                    .map_err(|error| cannot_read(&path, &error))?
            }
            Err(error) => return Err(cannot_read(&path, &error)),
        };
        match meta.kind {
            FileKind::Directory => self.list(path).await,
            FileKind::Special => Err(special(&path)),
            FileKind::File => {
                let asked_for_all = input.offset.is_none() && input.limit.is_none();
                let is_notebook = path
                    .extension()
                    .is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"));
                if is_notebook
                    && asked_for_all
                    && let Some(output) = self.notebook(&path, meta).await?
                {
                    return Ok(output);
                }
                self.file(path, meta, input, context).await
            }
        }
    }

    async fn list(&self, path: PathBuf) -> Result<ReadOutput, ToolError> {
        let (entries, truncated) = self
            .access
            .files
            .list(&path, MAX_ENTRIES)
            .await
            .map_err(|error| cannot_read(&path, &error))?;
        let entries = entries
            .into_iter()
            .filter(|entry| !self.access.is_hidden(&path.join(&entry.name)))
            .map(|entry| if entry.is_directory { format!("{}/", entry.name) } else { entry.name })
            .collect();
        Ok(ReadOutput::Directory { file_path: path, entries, truncated })
    }

    /// The cells of a notebook; `None` if it is none, whatever its name.
    async fn notebook(
        &self,
        path: &Path,
        meta: FileMetadata,
    ) -> Result<Option<ReadOutput>, ToolError> {
        if meta.len > MAX_NOTEBOOK_BYTES {
            let message = format!(
                "the notebook `{}` has {} bytes; at most {MAX_NOTEBOOK_BYTES} are shown: clear its outputs, or read lines of it with offset and limit",
                path.display(),
                meta.len
            );
            return Err(ToolError::new(code::TOO_LARGE, message));
        }
        let files = self.access.files.as_ref();
        let content = files
            .read(path, MAX_NOTEBOOK_BYTES)
            .await
            .map_err(|error| cannot_read(path, &error))?;
        let content_hash = content_hash(&content);
        let len = content.len() as u64;
        let text = Document::new(content).text;
        let Some(cells) = notebook::cells(&text, path, MAX_BYTES) else { return Ok(None) };
        let record = ReadRecord {
            content_hash,
            modified: meta.modified,
            len,
            lines: (1, count_lines(&text)),
            partial: cells.shown < cells.total,
        };
        self.note_read(path, record);
        Ok(Some(ReadOutput::Notebook {
            file_path: path.to_owned(),
            content: cells.text,
            total_cells: cells.total,
            shown_cells: cells.shown,
        }))
    }

    async fn file(
        &self,
        path: PathBuf,
        meta: FileMetadata,
        input: &ReadInput,
        context: &CallContext<()>,
    ) -> Result<ReadOutput, ToolError> {
        let broken = |error: std::io::Error| cannot_read(&path, &error);
        let mut reader = self.access.files.open(&path).await.map_err(broken)?;
        let mut piece = reader.read(PIECE).await.map_err(broken)?;
        if let Some(image) = image::recognise(&piece) {
            return self.image(path, meta, image, piece, reader).await;
        }
        let encoding = Encoding::of(&piece);
        let guess = if encoding == Encoding::Utf8 { legacy::guess(&piece) } else { None };
        let head = piece.get(..HEAD).unwrap_or(&piece);
        #[cfg(feature = "pdf")]
        if piece.starts_with(b"%PDF-") {
            return self.pdf(path, meta, input.pages.as_deref(), piece, reader).await;
        }
        #[cfg(not(feature = "pdf"))]
        if piece.starts_with(b"%PDF-") {
            return Err(ToolError::new(
                code::BINARY,
                format!(
                    "`{}` is a PDF; turn it into text first, as with pdftotext",
                    path.display()
                ),
            ));
        }
        if encoding.is_utf8() && head.contains(&0) {
            return Err(ToolError::new(
                code::BINARY,
                format!(
                    "`{}` is binary ({} bytes); look at it with a program that knows its format",
                    path.display(),
                    meta.len
                ),
            ));
        }

        let first = input.offset.unwrap_or(1).max(1);
        // No lines at all is never what is meant.
        let limit = input.limit.filter(|limit| *limit > 0);
        let limit_or_default = limit.unwrap_or(DEFAULT_LINES);
        let mut window = Window::new(encoding, first, limit_or_default, MAX_BYTES).guessed(guess);
        let mut hasher = blake3::Hasher::new();
        let mut len = 0;
        let mut is_whole = true;
        let mut mark = encoding.mark().len();
        while !piece.is_empty() {
            if context.cancellation.is_cancelled() {
                return Err(ToolError::interrupted());
            }
            hasher.update(&piece);
            len += piece.len() as u64;
            window.feed(piece.get(mark..).unwrap_or_default());
            mark = 0;
            if window.is_done() && meta.len.max(len) > MAX_EDITABLE {
                is_whole = false;
                break;
            }
            piece = reader.read(PIECE).await.map_err(broken)?;
        }
        let total = if is_whole { Some(window.finish()) } else { None };
        if limit.is_some() && window.is_full() {
            return Err(too_large(&window, first, &path));
        }
        let asked_for_all = input.offset.is_none() && input.limit.is_none();
        let partial = asked_for_all && total.is_none_or(|total| window.shown < total);
        let record = ReadRecord {
            content_hash: hasher.finalize().to_hex().to_string(),
            modified: meta.modified,
            len,
            lines: (first, window.shown),
            partial: partial || !is_whole,
        };
        let note = legacy::with_note(note(&window, first, total, partial, meta.len), guess);
        let hash = record.content_hash.clone();
        let is_known = self.access.ledger.get(&path).is_some();
        self.note_read(&path, record);
        if is_whole && window.text.len() >= MIN_STUB_BYTES {
            let again = self.seen.again(&path, (input.offset, input.limit), &hash);
            if again && is_known {
                return Ok(ReadOutput::Unchanged { file_path: path });
            }
        }
        Ok(ReadOutput::Text {
            file_path: path,
            content: window.text,
            start_line: first,
            num_lines: window.shown,
            total_lines: total,
            partial,
            note,
        })
    }

    /// Notes what was read, together with what was read before if the file is still the same and no line lies between.
    fn note_read(&self, path: &Path, mut record: ReadRecord) {
        if let Some(known) = self.access.ledger.get(path)
            && known.content_hash == record.content_hash
        {
            let (first, end) = (record.lines.0, record.lines.0 + record.lines.1);
            let (known_first, known_end) = (known.lines.0, known.lines.0 + known.lines.1);
            if known_first <= end && first <= known_end {
                let first = first.min(known_first);
                record.lines = (first, end.max(known_end) - first);
            }
            record.partial &= known.partial;
        }
        self.access.ledger.record(path, record);
    }
}

/// Refuses what stands for a stream of this very process, whatever it may be connected to.
fn refuse_streams(path: &Path) -> Result<(), ToolError> {
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    match names.as_slice() {
        ["/", "dev", "stdin" | "stdout" | "stderr" | "tty" | "console"]
        | ["/", "dev", "fd", ..]
        | ["/", "proc", _, "fd", _, ..]
        | ["/", "proc", _, "task", _, "fd", _, ..] => Err(special(path)),
        _ => Ok(()),
    }
}

fn special(path: &Path) -> ToolError {
    ToolError::new(
        code::NOT_A_FILE,
        format!(
            "`{}` is a device, FIFO or socket and was not opened: reading it could hang",
            path.display()
        ),
    )
}

fn cannot_read(path: &Path, error: &std::io::Error) -> ToolError {
    ToolError::io(&format!("`{}` cannot be read", path.display()), error)
}

fn empty(path: PathBuf) -> ReadOutput {
    ReadOutput::Text {
        file_path: path,
        content: String::new(),
        start_line: 1,
        num_lines: 0,
        total_lines: Some(0),
        partial: false,
        note: Some(EMPTY.to_owned()),
    }
}

const EMPTY: &str = "The file exists and is empty.";

fn too_large(window: &Window, first: u64, path: &Path) -> ToolError {
    // At least one line fits: lines are cut far below the cap.
    let message = format!(
        "{} lines of `{}` from line {first} on have {} bytes, about {} tokens; at most {MAX_TOKENS} tokens ({MAX_BYTES} bytes) fit in one result: ask for {} lines at most",
        window.lines,
        path.display(),
        window.bytes,
        window.bytes / 4,
        window.shown.max(1),
    );
    ToolError::new(tool_code::INVALID, message)
}

fn note(
    window: &Window,
    first: u64,
    total: Option<u64>,
    partial: bool,
    len: u64,
) -> Option<String> {
    match total {
        Some(0) => return Some(EMPTY.to_owned()),
        Some(total) if first > total => {
            return Some(format!(
                "The file has {total} lines; line {first} lies past its end, so there is nothing to show."
            ));
        }
        Some(_) | None => {}
    }
    let next = first + window.shown;
    let of = match total {
        Some(total) if next > total => return None,
        Some(total) => format!("of {total}"),
        None => format!("of a file of {len} bytes"),
    };
    let last = next - 1;
    Some(if partial {
        format!(
            "PARTIAL view: lines {first}–{last} {of}. Continue with offset: {next}, limit: {}; before an edit, read the lines that it changes.",
            window.shown.max(1)
        )
    } else {
        format!("Lines {first}–{last} {of}; the next is {next}.")
    })
}

impl Tool for ReadTool {
    type Input = ReadInput;
    type Output = ReadOutput;
    type Progress = ();

    fn name(&self) -> &'static str {
        "Read"
    }

    fn description(&self) -> String {
        let pdf = if cfg!(feature = "pdf") { "a PDF as the text of its pages, " } else { "" };
        format!(
            "Reads a file: text as numbered lines (`N<tab>line`), PNG, JPEG, GIF and WebP as images, {pdf}a notebook by \
         its cells, a directory as a list of names. Shows up to 2000 lines from the start; use offset and limit for long files. Lines over 2000 characters \
         are cut. Read a file before you change it."
        )
    }

    async fn call(
        &self,
        input: ReadInput,
        _approved: Option<Preview>,
        context: CallContext<()>,
    ) -> Result<ToolOutput<ReadOutput>, ToolError> {
        let cancellation = context.cancellation.clone();
        match cancellation.run_until_cancelled(self.read(&input, &context)).await {
            Some(result) => result.map(ToolOutput::new),
            None => Err(ToolError::interrupted()),
        }
    }

    fn render(&self, output: &ReadOutput) -> ToolResultContent {
        output.render()
    }

    async fn validate(&self, input: &ReadInput, context: &CallContext) -> Result<(), ToolError> {
        refuse_streams(&paths::checked(&input.file_path, context)?)
    }

    fn prepare(&self, input: &mut Value, context: &CallContext) {
        paths::prepare_field(input, "file_path", context);
    }

    fn facts(&self, input: &Value, _context: &CallContext, place: Place<'_>) -> CallFacts {
        facts::from_call_or_strict(self.name(), input, place)
    }

    fn is_concurrency_safe(&self, _input: &ReadInput) -> bool {
        true
    }

    fn is_read_only(&self, _input: &ReadInput) -> bool {
        true
    }

    fn result_limit(&self) -> ResultLimit {
        ResultLimit::SelfBounded
    }

    fn interrupt_behavior(&self) -> InterruptBehavior {
        InterruptBehavior::Cancel
    }

    fn classifier_input(&self, input: &ReadInput) -> String {
        input.file_path.clone()
    }

    fn accepts_text_scalars(&self) -> bool {
        true
    }

    fn timeout(&self, _input: &ReadInput) -> Option<Duration> {
        Some(Duration::from_mins(2))
    }
}
