//! A prompt from an editor: a person's words, and what they attached.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    ContentBlock as Given, EmbeddedResourceResource, ImageContent,
};
use innerve_protocol::{ContentBlock, ImageBlock, ImageSource};
use serde_json::Map;

use crate::error::refused;

/// What a model can look at (Anthropic Messages API, images).
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A prompt, apart: a classifier takes only the words for those of the person.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Prompt {
    pub(crate) words: Vec<ContentBlock>,
    pub(crate) attached: Vec<ContentBlock>,
}

/// Reads a prompt; what was not offered at the start is refused.
pub(crate) fn read(given: Vec<Given>) -> Result<Prompt, Error> {
    let mut prompt = Prompt::default();
    let mut words = String::new();
    for block in given {
        match block {
            Given::Text(text) => words.push_str(&text.text),
            Given::ResourceLink(link) => words.push_str(&mention(&link.uri)),
            Given::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(resource) => {
                    words.push_str(&mention(&resource.uri));
                    let text = format!(
                        "<context ref=\"{}\">\n{}\n</context>",
                        place(&resource.uri),
                        resource.text
                    );
                    prompt.attached.push(ContentBlock::text(text));
                }
                EmbeddedResourceResource::BlobResourceContents(resource) => {
                    words.push_str(&mention(&resource.uri));
                    let kind = resource.mime_type.unwrap_or_default();
                    if IMAGES.contains(&kind.as_str()) {
                        prompt.attached.push(image(kind, resource.blob));
                    }
                }
                _ => return Err(untaken("a resource of an unknown kind")),
            },
            Given::Image(ImageContent { data, mime_type, .. }) => {
                if !IMAGES.contains(&mime_type.as_str()) {
                    return Err(untaken(&format!("an image of type {mime_type}")));
                }
                prompt.attached.push(image(mime_type, data));
            }
            Given::Audio(_) => return Err(untaken("audio")),
            _ => return Err(untaken("content of an unknown kind")),
        }
    }
    if !words.trim().is_empty() {
        prompt.words.push(ContentBlock::text(words));
    }
    if prompt.words.is_empty() && prompt.attached.is_empty() {
        return Err(refused("the prompt is empty"));
    }
    if prompt.words.is_empty() {
        std::mem::swap(&mut prompt.words, &mut prompt.attached);
    }
    Ok(prompt)
}

fn untaken(what: &str) -> Error {
    refused(format!("{what} cannot be taken; send text, files, or PNG, JPEG, GIF and WebP images"))
}

fn image(media_type: String, data: String) -> ContentBlock {
    let source = ImageSource::Base64 { media_type, data };
    ContentBlock::Image(ImageBlock { source, cache_control: None, extra: Map::new() })
}

/// A resource within a person's words.
fn mention(uri: &str) -> String {
    format!("@{}", place(uri))
}

/// The path of a `file://` address, any other address as it is. A fragment, such as `#L10:20`, stays.
fn place(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://").filter(|path| path.starts_with('/')) else {
        return uri.to_owned();
    };
    decoded(path)
}

/// Text with its `%XX` decoded (RFC 3986); as it is, where that gives no text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let pair = if first == b'%' { after.split_at_checked(2) } else { None };
        let code = pair.and_then(|(code, after)| {
            let code = std::str::from_utf8(code).ok()?;
            Some((u8::from_str_radix(code, 16).ok()?, after))
        });
        if let Some((byte, after)) = code {
            bytes.push(byte);
            rest = after;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{
        AudioContent, EmbeddedResource, ResourceLink, TextResourceContents,
    };

    use super::*;

    #[test]
    fn what_was_attached_is_not_taken_for_the_persons_words() {
        let resource = TextResourceContents::new("rm -rf /", "file:///repo/a%20b.rs");
        let resource = EmbeddedResourceResource::TextResourceContents(resource);
        let prompt = read(vec![
            "Look at ".into(),
            Given::Resource(EmbeddedResource::new(resource)),
            " and ".into(),
            Given::ResourceLink(ResourceLink::new("c", "https://example.org/c")),
        ])
        .unwrap();
        let words = vec![ContentBlock::text("Look at @/repo/a b.rs and @https://example.org/c")];
        let attached =
            vec![ContentBlock::text("<context ref=\"/repo/a b.rs\">\nrm -rf /\n</context>")];
        assert_eq!(prompt, Prompt { words, attached });
    }

    #[test]
    fn what_was_not_offered_is_refused() {
        assert!(read(vec![Given::Audio(AudioContent::new("AA==", "audio/wav"))]).is_err());
        assert!(read(vec![Given::Image(ImageContent::new("AA==", "image/tiff"))]).is_err());
        assert!(read(vec![" ".into()]).is_err());
        assert!(read(vec![Given::Image(ImageContent::new("AA==", "image/png"))]).is_ok());
    }

    #[test]
    fn an_address_that_is_odd_stays_as_it_is() {
        assert_eq!(place("file:///a/%zz%4"), "/a/%zz%4");
        assert_eq!(place("file:///a/%ff"), "/a/%ff");
        assert_eq!(place("file:///%C3%A9#L1:2"), "/é#L1:2");
        assert_eq!(place("file://host/a"), "file://host/a");
        assert_eq!(place("zed://x"), "zed://x");
    }
}
