//! What the Read tool takes and gives.

use std::path::PathBuf;

use innerve_protocol::{ContentBlock, ImageBlock, ImageSource, ToolResultContent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the model gives to [`super::ReadTool`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInput {
    /// Absolute path of the file or directory
    pub file_path: String,
    /// First line to read, from 1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Number of lines to read (default 2000)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Pages of a PDF: "3" or "1-5"
    #[cfg(feature = "pdf")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
}

/// What [`super::ReadTool`] found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ReadOutput {
    /// Lines of text.
    Text {
        /// The file.
        file_path: PathBuf,
        /// The lines, each behind its number and a tab.
        content: String,
        /// The first line shown, from 1.
        start_line: u64,
        /// How many lines are shown.
        num_lines: u64,
        /// How many lines the file has; `None` if it is too large to be counted.
        total_lines: Option<u64>,
        /// Whether the whole file was asked for and only a part is shown.
        partial: bool,
        /// What the model must know besides the lines.
        note: Option<String>,
    },
    /// The lines are the same as when they were shown last.
    Unchanged {
        /// The file.
        file_path: PathBuf,
    },
    /// The cells of a notebook.
    Notebook {
        /// The file.
        file_path: PathBuf,
        /// The cells with what they have put out.
        content: String,
        /// How many cells the notebook has.
        total_cells: usize,
        /// How many of them, from the first, are shown.
        shown_cells: usize,
    },
    /// The text of a PDF.
    Pdf {
        /// The file.
        file_path: PathBuf,
        /// The pages, each under a line with its number.
        content: String,
        /// How many pages the PDF has.
        total_pages: usize,
        /// The first and the last page read.
        pages: (usize, usize),
        /// Whether the text is longer.
        is_cut: bool,
    },
    /// An image.
    Image {
        /// The file.
        file_path: PathBuf,
        /// Its type, told by its first bytes.
        media_type: String,
        /// Its bytes in base64, scaled down where the file was too large.
        base64: String,
        /// The size of the file in bytes.
        original_size: u64,
    },
    /// The entries of a directory.
    Directory {
        /// The directory.
        file_path: PathBuf,
        /// Names, sorted; those of directories end in `/`.
        entries: Vec<String>,
        /// Whether there are more.
        truncated: bool,
    },
}

impl ReadOutput {
    /// What the model sees.
    pub(super) fn render(&self) -> ToolResultContent {
        match self {
            Self::Text { content, note: None, .. } => content.clone().into(),
            Self::Text { content, note: Some(note), .. } => {
                let gap = if content.is_empty() { "" } else { "\n" };
                format!("{content}{gap}<system-reminder>{note}</system-reminder>").into()
            }
            Self::Unchanged { file_path } => format!(
                "`{}` has not changed since you read these lines; they are as they were shown. Should you have them no \
                 more, read it once more.",
                file_path.display()
            )
            .into(),
            Self::Notebook { content, total_cells, shown_cells, .. } => {
                let mut text = content.clone();
                if *total_cells == 0 {
                    text.push_str("<system-reminder>The notebook has no cells.</system-reminder>");
                } else if shown_cells < total_cells {
                    text.push_str(&format!(
                        "<system-reminder>PARTIAL view: the first {shown_cells} of {total_cells} cells. Read the rest as \
                         lines of the file, with offset and limit.</system-reminder>"
                    ));
                }
                text.into()
            }
            Self::Pdf { content, total_pages, pages: (first, last), is_cut, .. } => {
                let mut text = content.clone();
                if *is_cut || *last < *total_pages {
                    let cut = if *is_cut { ", cut" } else { "" };
                    text.push_str(&format!(
                        "<system-reminder>Pages {first}–{last} of {total_pages}{cut}. Read others with `pages`.</system-reminder>"
                    ));
                }
                text.into()
            }
            Self::Image { media_type, base64, .. } => vec![ContentBlock::Image(ImageBlock {
                source: ImageSource::Base64 {
                    media_type: media_type.clone(),
                    data: base64.clone(),
                },
                cache_control: None,
                extra: serde_json::Map::new(),
            })]
            .into(),
            Self::Directory { file_path, entries, truncated } => {
                let mut text = format!("{} is a directory", file_path.display());
                match (entries.len(), truncated) {
                    (0, _) => text.push_str(" without entries."),
                    (count, true) => text.push_str(&format!("; its first {count} entries:\n")),
                    (count, false) => text.push_str(&format!(" with {count} entries:\n")),
                }
                text.push_str(&entries.join("\n"));
                text.into()
            }
        }
    }
}
