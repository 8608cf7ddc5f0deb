//! What the Bash tool takes, gives and tells while it runs.

use innerve_protocol::{ContentBlock, ImageBlock, ImageSource, ToolResultContent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// A command to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashInput {
    /// The command, as bash reads it.
    pub command: String,
    /// Milliseconds it may take
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// What it does, in 5 to 10 words
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Return at once and let it run on
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_in_background: Option<bool>,
    /// Run outside of the sandbox, if there is one
    #[serde(
        default,
        rename = "dangerouslyDisableSandbox",
        skip_serializing_if = "Option::is_none"
    )]
    pub dangerously_disable_sandbox: Option<bool>,
}

/// What a command gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BashOutput {
    /// Standard output and standard error as they came, as plain text; cut when it is long.
    pub stdout: String,
    /// Whether `stdout` holds only the ends of the output.
    pub is_cut: bool,
    /// What innerve has to say about the run; empty if nothing.
    pub stderr: String,
    /// Always `false`: an interrupted command is an error.
    pub interrupted: bool,
    /// Whether standard output was an image.
    pub is_image: bool,
    /// The image.
    #[serde(skip)]
    pub image: Option<BashImage>,
    /// The exit code; `None` for a command in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What an exit code means that is not 0 and still no failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_code_interpretation: Option<String>,
    /// The task that the command runs on as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_task_id: Option<String>,
    /// How long it was waited for before it was moved to the background, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out_after_ms: Option<u64>,
    /// The file that holds the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persisted_output_path: Option<String>,
    /// The size of that file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persisted_output_size: Option<u64>,
    /// How many bytes the command put out.
    pub bytes: u64,
    /// How many lines they make.
    pub lines: u64,
}

/// An image that a command wrote to standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BashImage {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The bytes in standard base64.
    pub data: String,
}

/// How far a running command is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BashProgress {
    /// The end of the output so far.
    pub tail: String,
    /// How many bytes it put out.
    pub bytes: u64,
    /// How many lines they make.
    pub lines: u64,
    /// How long it has been running, in milliseconds.
    pub elapsed_ms: u64,
}

impl BashOutput {
    /// What the model sees: the image, or the text; then notes.
    pub(super) fn render(&self) -> ToolResultContent {
        let mut parts = vec![self.stdout.trim_end_matches('\n')];
        if self.stdout.trim().is_empty() {
            parts.clear();
            parts.extend(self.return_code_interpretation.as_deref());
        }
        if !self.stderr.is_empty() {
            // Of a long text the conversation gets the first lines only.
            let place = if self.is_cut { 0 } else { parts.len() };
            parts.insert(place, &self.stderr);
        }
        let text = parts.join("\n");
        let Some(image) = &self.image else { return ToolResultContent::Text(text) };
        let source =
            ImageSource::Base64 { media_type: image.media_type.clone(), data: image.data.clone() };
        let mut blocks = vec![ContentBlock::Image(ImageBlock {
            source,
            cache_control: None,
            extra: Map::new(),
        })];
        if !text.is_empty() {
            blocks.push(ContentBlock::text(text));
        }
        ToolResultContent::Blocks(blocks)
    }
}
