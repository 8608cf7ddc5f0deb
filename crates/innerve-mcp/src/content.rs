//! What a server answers, as content for a model: text, images that a model takes, everything else as a file.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innerve_protocol::{
    ContentBlock, ImageBlock, ImageSource, TextBlock, ToolResultContent, ToolUseId,
};
use serde_json::{Map, Value};

/// Blocks of one answer that are looked at; a model is told of the rest in a sentence.
const MAX_BLOCKS: usize = 200;
/// Images of one answer that go to the model.
const MAX_IMAGES: usize = 20;
/// The largest image that goes to the model, in characters of base64 (Anthropic documentation, "Vision": 5 MB).
const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// Images that models take (Anthropic Messages API, "image").
const IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A folder for what cannot be shown to a model; private to the user, nothing in it is ever overwritten.
#[derive(Clone, Debug)]
pub(crate) struct Attachments {
    folder: PathBuf,
}

impl Attachments {
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn save(&self, id: &ToolUseId, extension: &str, content: &[u8]) -> io::Result<PathBuf> {
        let stem: String =
            id.as_str().chars().filter(char::is_ascii_alphanumeric).take(64).collect();
        private_dir(&self.folder)?;
        for number in 0..1_000_u32 {
            let path = self.folder.join(format!("{stem}-{number}.{extension}"));
            match private_file(&path) {
                Ok(mut file) => {
                    return match file.write_all(content) {
                        Ok(()) => Ok(path),
                        Err(error) => {
                            // Half a file must not be taken for the whole.
                            let _gone = std::fs::remove_file(&path);
                            Err(error)
                        }
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

fn private_file(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// A server's answer as it is told to a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) content: ToolResultContent,
    /// Whether the server calls it an error.
    pub(crate) is_error: bool,
}

/// Reads the result of `tools/call` (Model Context Protocol, "Tools").
pub(crate) fn answer(result: &Value, attachments: &Attachments, id: &ToolUseId) -> Answer {
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let blocks = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut reader = Reader { attachments, id, images: 0, content: Vec::new() };
    for block in blocks.iter().take(MAX_BLOCKS) {
        reader.read(block);
    }
    let left = blocks.len().saturating_sub(MAX_BLOCKS);
    if left > 0 {
        reader.text(format!("[{left} more blocks of this answer are left out]"));
    }
    // Servers that fill in `structuredContent` are asked to say the same as text; some do not.
    if let Some(structured) = result.get("structuredContent").filter(|value| !value.is_null())
        && reader.content.is_empty()
    {
        reader.text(structured.to_string());
    }
    Answer { content: reader.finish(), is_error }
}

struct Reader<'a> {
    attachments: &'a Attachments,
    id: &'a ToolUseId,
    images: usize,
    content: Vec<ContentBlock>,
}

impl Reader<'_> {
    fn read(&mut self, block: &Value) {
        let text = |field: &str| block.get(field).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => self.text(text("text").to_owned()),
            "image" | "audio" => self.bytes(text("mimeType"), text("data")),
            "resource" => self.resource(block.get("resource").unwrap_or(&Value::Null)),
            "resource_link" => {
                let mut words = format!("[Resource {}: {}", text("name"), text("uri"));
                if !text("description").is_empty() {
                    words.push_str(&format!(" ({})", text("description")));
                }
                self.text(words + "]");
            }
            other => self.text(format!("[a block of type `{}` is left out]", shortened(other))),
        }
    }

    fn resource(&mut self, resource: &Value) {
        let text = |field: &str| resource.get(field).and_then(Value::as_str);
        match (text("text"), text("blob")) {
            (Some(words), _) => {
                let uri = text("uri").unwrap_or_default();
                self.text(format!("[Resource {uri}]\n{words}"));
            }
            (None, Some(data)) => self.bytes(text("mimeType").unwrap_or_default(), data),
            (None, None) => self.text("[an empty resource]".to_owned()),
        }
    }

    /// An image that a model takes is shown; anything else is a file that is named.
    fn bytes(&mut self, mime: &str, data: &str) {
        let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_shown = IMAGE_TYPES.contains(&mime.as_str())
            && data.len() <= MAX_IMAGE
            && self.images < MAX_IMAGES
            && STANDARD.decode(data).is_ok_and(|bytes| is_image(&bytes));
        if is_shown {
            self.images += 1;
            let source = ImageSource::Base64 { media_type: mime, data: data.to_owned() };
            self.content.push(ContentBlock::Image(ImageBlock {
                source,
                cache_control: None,
                extra: Map::new(),
            }));
            return;
        }
        let words = match STANDARD.decode(data) {
            Err(_) => {
                format!("[data of type {} that cannot be decoded is left out]", shortened(&mime))
            }
            Ok(bytes) => match self.attachments.save(self.id, extension(&mime), &bytes) {
                Ok(path) => format!(
                    "[{} bytes of type {} are saved in {}]",
                    bytes.len(),
                    shortened(&mime),
                    path.display()
                ),
                Err(error) => format!(
                    "[{} bytes of type {} cannot be saved: {error}]",
                    bytes.len(),
                    shortened(&mime)
                ),
            },
        };
        self.text(words);
    }

    fn text(&mut self, text: String) {
        self.content.push(ContentBlock::Text(TextBlock { text, ..TextBlock::default() }));
    }

    /// Plain text where there is nothing else; blank blocks are none, since no API takes them.
    fn finish(mut self) -> ToolResultContent {
        self.content.retain(|block| block.as_text().is_none_or(|text| !text.trim().is_empty()));
        if self.content.is_empty() {
            return "(The tool gave no output.)".into();
        }
        let texts: Option<Vec<&str>> = self.content.iter().map(ContentBlock::as_text).collect();
        match texts {
            Some(texts) => ToolResultContent::Text(texts.join("\n")),
            None => ToolResultContent::Blocks(self.content),
        }
    }
}

/// Whether the bytes begin as an image does that models take, whatever the server calls them.
fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n")
        || bytes.starts_with(b"\xff\xd8\xff")
        || bytes.starts_with(b"GIF8")
        || (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"))
}

fn extension(mime: &str) -> &'static str {
    match mime {
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/ogg" => "ogg",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "text/plain" => "txt",
        "text/html" => "html",
        "text/csv" => "csv",
        "video/mp4" => "mp4",
        _ => "bin",
    }
}

fn shortened(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests;
