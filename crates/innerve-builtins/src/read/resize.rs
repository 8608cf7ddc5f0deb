//! Makes an image small enough to be sent.

use std::io::Cursor;

use ::image::codecs::jpeg::JpegEncoder;
use ::image::{DynamicImage, ImageFormat, ImageReader, Limits};

/// The longer side of what comes out: more is scaled down on the other end (Anthropic Messages API, "vision").
const SIDE: u32 = 1_568;
/// Memory that decoding may take, in bytes.
const MAX_MEMORY: u64 = 512 << 20;
/// How good a JPEG is, of 100.
const QUALITY: u8 = 80;

/// The image scaled down and encoded again, at most `max_bytes` long, and its type; the error says what is wrong.
pub(super) fn fit(bytes: &[u8], max_bytes: u64) -> Result<(Vec<u8>, &'static str), String> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| format!("cannot be decoded ({error})"))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let image = reader.decode().map_err(|error| format!("cannot be decoded ({error})"))?;
    let image =
        if image.width().max(image.height()) > SIDE { image.thumbnail(SIDE, SIDE) } else { image };
    // Transparency is kept where it fits.
    if image.color().has_alpha() {
        let mut png = Vec::new();
        image
            .write_to(&mut Cursor::new(&mut png), ImageFormat::Png)
            .map_err(|error| format!("cannot be encoded ({error})"))?;
        if png.len() as u64 <= max_bytes {
            return Ok((png, "image/png"));
        }
    }
    let mut jpeg = Vec::new();
    DynamicImage::ImageRgb8(image.to_rgb8())
        .write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, QUALITY))
        .map_err(|error| format!("cannot be encoded ({error})"))?;
    if jpeg.len() as u64 > max_bytes {
        return Err(format!("has {} bytes even when scaled down", jpeg.len()));
    }
    Ok((jpeg, "image/jpeg"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::image::{GenericImageView as _, Rgb, RgbImage, Rgba, RgbaImage};

    fn png(image: &DynamicImage) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
        bytes
    }

    #[test]
    fn the_shape_is_kept_and_transparency_too() {
        let opaque = png(&RgbImage::from_pixel(3_136, 20, Rgb([200, 0, 0])).into());
        let (bytes, media_type) = fit(&opaque, 100_000).unwrap();
        assert_eq!(media_type, "image/jpeg");
        let image = ::image::load_from_memory(&bytes).unwrap();
        assert_eq!(image.dimensions(), (1_568, 10));

        let clear = png(&RgbaImage::from_pixel(30, 3_136, Rgba([0, 0, 200, 0])).into());
        let (bytes, media_type) = fit(&clear, 100_000).unwrap();
        assert_eq!(media_type, "image/png");
        let image = ::image::load_from_memory(&bytes).unwrap();
        assert_eq!((image.dimensions(), image.get_pixel(0, 0)[3]), ((15, 1_568), 0));
    }

    #[test]
    fn what_cannot_be_made_fit_is_an_error() {
        let image = png(&RgbImage::from_pixel(100, 100, Rgb([1, 2, 3])).into());
        assert!(fit(&image, 10).unwrap_err().contains("even when scaled down"));
        assert!(fit(&image[..40], 100_000).unwrap_err().contains("cannot be decoded"));
        assert!(fit(b"text", 100_000).unwrap_err().contains("cannot be decoded"));
    }
}
