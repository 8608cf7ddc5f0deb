//! Images: told by their first bytes and their size in pixels, and read if they can be sent.

use std::path::PathBuf;

use base64::Engine as _;
use innerve_tool::ToolError;
use innerve_tool::port::{FileMetadata, FileReader};

use super::{PIECE, ReadOutput, ReadTool, cannot_read};
use crate::code;

/// Bytes of an image that a request takes (Anthropic Messages API, "vision": 5 MB of base64).
const MAX_IMAGE_BYTES: u64 = 3_932_160;
/// Bytes of an image file that are taken: with feature `media` a larger image is scaled down.
const MAX_IMAGE_FILE: u64 = if cfg!(feature = "media") { 64 << 20 } else { MAX_IMAGE_BYTES };
/// Larger images are encoded again where that makes them smaller, since every byte is sent with each request.
#[cfg(feature = "media")]
const RECODED_BYTES: u64 = 500_000;
/// Pixels on each side that a request takes (Anthropic Messages API, "vision").
const MAX_IMAGE_SIDE: u32 = 8_000;

/// The kind and size of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) media_type: &'static str,
    /// Width and height, if they can be told.
    pub(super) pixels: Option<(u32, u32)>,
}

/// The image that begins with these bytes; the name of a file says nothing.
pub(super) fn recognise(bytes: &[u8]) -> Option<Image> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let pixels = be32(bytes, 16).zip(be32(bytes, 20));
        return Some(Image { media_type: "image/png", pixels });
    }
    if bytes.starts_with(b"\xFF\xD8\xFF") {
        return Some(Image { media_type: "image/jpeg", pixels: jpeg(bytes) });
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        let pixels = le16(bytes, 6).zip(le16(bytes, 8));
        return Some(Image { media_type: "image/gif", pixels });
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some(Image { media_type: "image/webp", pixels: webp(bytes) });
    }
    None
}

/// Walks the segments up to a frame header (ITU T.81, annex B).
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        while bytes.get(at)? == &0xFF && bytes.get(at + 1)? == &0xFF {
            at += 1;
        }
        let marker = *bytes.get(at + 1)?;
        let is_frame = matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC);
        if is_frame {
            return Some((be16(bytes, at + 7)?, be16(bytes, at + 5)?));
        }
        at += 2 + usize::try_from(be16(bytes, at + 2)?).ok()?.max(2);
    }
}

/// The three forms of the first chunk (WebP container specification).
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((le24(bytes, 24)? + 1, le24(bytes, 27)? + 1)),
        b"VP8 " => Some((le16(bytes, 26)? & 0x3FFF, le16(bytes, 28)? & 0x3FFF)),
        b"VP8L" => {
            let packed = le16(bytes, 21)? | le16(bytes, 23)? << 16;
            Some(((packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1))
        }
        _ => None,
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|two| u32::from(u16::from_be_bytes(two)))
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(|two| u32::from(u16::from_le_bytes(two)))
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    let [low, middle, high] = array(bytes, at)?;
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

impl ReadTool {
    /// Reads an image whose first bytes are `head`.
    pub(super) async fn image(
        &self,
        path: PathBuf,
        meta: FileMetadata,
        image: Image,
        head: Vec<u8>,
        mut reader: Box<dyn FileReader>,
    ) -> Result<ReadOutput, ToolError> {
        let refused = |problem: &str| {
            let message = format!("the image `{}` {problem}; scale it down first", path.display());
            ToolError::new(code::TOO_LARGE, message)
        };
        let too_heavy =
            |len: u64| refused(&format!("has {len} bytes; at most {MAX_IMAGE_FILE} are taken"));
        let too_wide = image.pixels.filter(|(width, height)| *width.max(height) > MAX_IMAGE_SIDE);
        if meta.len > MAX_IMAGE_FILE {
            return Err(too_heavy(meta.len));
        }
        if let Some((width, height)) = too_wide
            && cfg!(not(feature = "media"))
        {
            return Err(refused(&format!(
                "has {width} × {height} pixels; at most {MAX_IMAGE_SIDE} on each side can be sent"
            )));
        }
        let mut content = head;
        loop {
            let piece = reader.read(PIECE).await.map_err(|error| cannot_read(&path, &error))?;
            if piece.is_empty() {
                break;
            }
            content.extend_from_slice(&piece);
            if content.len() as u64 > MAX_IMAGE_FILE {
                return Err(too_heavy(content.len() as u64));
            }
        }
        let original_size = content.len() as u64;
        #[cfg(not(feature = "media"))]
        let media_type = image.media_type;
        #[cfg(feature = "media")]
        let (content, media_type) = if too_wide.is_some() || original_size > RECODED_BYTES {
            let content = std::sync::Arc::new(content);
            let original = std::sync::Arc::clone(&content);
            let fitted =
                tokio::task::spawn_blocking(move || super::resize::fit(&content, MAX_IMAGE_BYTES))
                    .await
                    .unwrap_or_else(|_| Err("could not be scaled down".to_owned()));
            let may_stay = too_wide.is_none() && original_size <= MAX_IMAGE_BYTES;
            match fitted {
                Ok((fitted, media_type)) if !may_stay || fitted.len() < original.len() => {
                    (fitted, media_type)
                }
                Ok(_) => (original.to_vec(), image.media_type),
                Err(_) if may_stay => (original.to_vec(), image.media_type),
                Err(problem) => return Err(refused(&problem)),
            }
        } else {
            (content, image.media_type)
        };
        Ok(ReadOutput::Image {
            media_type: media_type.to_owned(),
            base64: base64::engine::general_purpose::STANDARD.encode(&content),
            original_size,
            file_path: path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], media_type: &'static str, pixels: (u32, u32)) {
        assert_eq!(recognise(bytes), Some(Image { media_type, pixels: Some(pixels) }));
        for length in 12..bytes.len() {
            // A cut file has no size, or the same, and never panics.
            let cut = recognise(&bytes[..length]);
            assert!(cut.is_some_and(|image| image.pixels.is_none_or(|found| found == pixels)));
        }
    }

    #[test]
    fn sizes_are_read_from_headers() {
        check(
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\0\x03\x04",
            "image/png",
            (0x102, 0x304),
        );
        check(b"GIF89a\x02\x01\x04\x03\0\0", "image/gif", (0x102, 0x304));
        check(
            b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xFF\xC2\0\x0B\x08\x03\x04\x01\x02\x01\0\0\0",
            "image/jpeg",
            (0x102, 0x304),
        );
        check(
            b"RIFF\0\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x01\x01\0\x03\x03\0",
            "image/webp",
            (0x102, 0x304),
        );
        assert_eq!(recognise(b"plain text"), None);
    }
}
