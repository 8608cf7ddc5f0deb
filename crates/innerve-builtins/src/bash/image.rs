//! Recognises an image on standard output: by its first bytes, or as a `data:` URI.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The largest image in base64, in bytes (Anthropic Messages API, "Vision": 5 MB for one image).
pub(super) const MAX_BASE64: usize = 5 * 1024 * 1024;
/// The longest output that is collected to be read as an image: a URI of the largest one, with white space around it.
pub(super) const MAX_OUTPUT: usize = MAX_BASE64 + 64;

/// How `data:` URIs of images begin.
const DATA_URI: &[u8] = b"data:image/";
const BASE64_MARK: &str = ";base64,";

/// An image as a message holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub(super) media_type: &'static str,
    /// The bytes in standard base64.
    pub(super) data: String,
}

/// What the first bytes of an output say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// An image, or a URI of one.
    Image,
    /// Anything else.
    Text,
    /// Too few bytes to say.
    Unknown,
}

/// Judges an output by its first bytes.
pub(super) fn judge(beginning: &[u8]) -> Beginning {
    if media_type(beginning).is_some() || beginning.starts_with(DATA_URI) {
        return Beginning::Image;
    }
    let patterns: [&[u8]; 6] =
        [b"\x89PNG\r\n\x1A\n", b"\xFF\xD8\xFF", b"GIF87a", b"GIF89a", DATA_URI, b"RIFF"];
    let may_become = patterns.iter().any(|pattern| pattern.starts_with(beginning))
        || (beginning.starts_with(b"RIFF") && beginning.len() < 12);
    if may_become { Beginning::Unknown } else { Beginning::Text }
}

/// The image that a whole output is; `None` if it is none after all.
pub(super) fn read(output: &[u8]) -> Option<Image> {
    if let Some(media_type) = media_type(output) {
        return Some(Image { media_type, data: STANDARD.encode(output) });
    }
    let uri = std::str::from_utf8(output).ok()?.trim();
    let (_, data) = uri.strip_prefix("data:")?.split_once(BASE64_MARK)?;
    let bytes = STANDARD.decode(data).ok()?;
    // The bytes say what they are, whatever the URI claims: a provider refuses a wrong type.
    Some(Image { media_type: media_type(&bytes)?, data: data.to_owned() })
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1A\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xFF\xD8\xFF") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_an_image() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1A\n..."[..], Beginning::Image),
            (b"\xFF\xD8\xFF\xE0", Beginning::Image),
            (b"GIF89a", Beginning::Image),
            (b"RIFF\0\0\0\0WEBPVP8 ", Beginning::Image),
            (b"data:image/png;base64,", Beginning::Image),
            (b"", Beginning::Unknown),
            (b"\x89PN", Beginning::Unknown),
            (b"RIFF\0\0", Beginning::Unknown),
            (b"da", Beginning::Unknown),
            (b"RIFF\0\0\0\0WAVE", Beginning::Text),
            (b"date", Beginning::Text),
            (b"hello", Beginning::Text),
        ] {
            assert_eq!(judge(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_data_uri_is_an_image_only_if_its_bytes_are_one() {
        let gif = STANDARD.encode(b"GIF89a rest");
        let uri = format!("data:image/png;base64,{gif}\n");
        let image = read(uri.as_bytes()).unwrap();
        assert_eq!((image.media_type, image.data.as_str()), ("image/gif", gif.as_str()));
        assert_eq!(read(b"data:image/png;base64,aGVsbG8="), None);
        assert_eq!(read(b"data:image/png;base64,***"), None);
        assert_eq!(read(b"data:image/png"), None);
    }
}
