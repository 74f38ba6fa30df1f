//! Drawings as PNG.
//!
//! This module requires the `full` feature. Text uses the machine's fonts; if there are no fonts, the conversion fails.

use std::path::Path;
use std::sync::Arc;

use lanemark_lab::input;
use lanemark_report::ResultPlot;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::failure::Failure;

/// Program name in the file's text chunk.
const MADE_BY: &str = "Lanemark";
/// Maximum number of pixels: 64 megapixels take 256 MB.
const PIXELS_MAX: f64 = 64e6;

/// Refuses to overwrite a file at `path` that Lanemark did not write.
pub(crate) fn refuse_other(path: &Path) -> Result<(), Failure> {
    let old = input::bytes(path, input::RESULT_MAX).unwrap_or_default();
    let head = &old[..old.len().min(256)];
    let mark = format!("Software\0{MADE_BY}");
    let ours = head.starts_with(b"\x89PNG")
        && head.windows(mark.len()).any(|part| part == mark.as_bytes());
    if std::fs::symlink_metadata(path).is_ok() && !ours {
        let message = format!("{} exists and is not a drawing that Lanemark wrote", path.display());
        return Err(Failure::refused(message).hint("use a different file for --out"));
    }
    Ok(())
}

/// Returns the drawing as PNG, with `scale` PNG pixels per pixel of the drawing.
pub(crate) fn bytes(plot: &ResultPlot, scale: f32) -> Result<Vec<u8>, Failure> {
    let to_failure = |why: String| Failure::run(format!("can't convert the drawing to PNG: {why}"));
    let (width, height) = (plot.width * f64::from(scale), plot.height * f64::from(scale));
    if width * height > PIXELS_MAX {
        let pixels = format!("{width:.0} x {height:.0}");
        return Err(Failure::input(format!(
            "--scale {scale}: {pixels} is more than 64 million pixels"
        ))
        .hint("use a smaller scale, select panels with --panel, or write *.svg"));
    }
    let mut fonts = fontdb::Database::new();
    fonts.load_system_fonts();
    if fonts.is_empty() {
        return Err(Failure::input("no font is installed for the text of a PNG")
            .hint("install one (Debian: fonts-dejavu-core), or write *.svg"));
    }
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree =
        Tree::from_str(&plot.svg, &options).map_err(|error| to_failure(error.to_string()))?;
    let mut pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or_else(|| to_failure("it is empty".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encoded(&pixels).map_err(|error| to_failure(error.to_string()))
}

/// Returns the pixels as PNG. The pixels are opaque, because the background covers the whole drawing.
fn encoded(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.add_text_chunk("Software".to_owned(), MADE_BY.to_owned())?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.data())?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(width: f64, height: f64) -> ResultPlot {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\">\
             <rect width=\"100%\" height=\"100%\" fill=\"#ff0000\"/></svg>"
        );
        ResultPlot { svg, width, height }
    }

    /// Returns the width and the height in a file's header.
    fn size(png: &[u8]) -> [u32; 2] {
        [16, 20].map(|at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()))
    }

    #[test]
    fn a_drawing_has_its_scaled_size_in_whole_pixels() {
        for (scale, wanted) in [(1.0, [11, 5]), (2.0, [21, 9]), (0.5, [6, 3])] {
            match bytes(&plot(10.5, 4.5), scale) {
                Ok(png) => assert_eq!(size(&png), wanted, "{scale}"),
                // A machine without fonts cannot draw.
                Err(failure) => assert!(failure.to_string().contains("no font"), "{failure}"),
            }
        }
        let too_large = bytes(&plot(8_001.0, 8_000.0), 1.0).unwrap_err().to_string();
        assert!(too_large.contains("8001 x 8000 is more than 64 million pixels"), "{too_large}");
        let scaled = bytes(&plot(4_000.0, 4_000.0), 3.0).unwrap_err().to_string();
        assert!(scaled.contains("12000 x 12000 is more than"), "{scaled}");
    }

    #[test]
    fn only_a_drawing_of_this_program_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drawing.png");
        assert!(refuse_other(&path).is_ok(), "nothing is there");
        let own = encoded(&Pixmap::new(3, 2).unwrap()).unwrap();
        assert_eq!(size(&own), [3, 2]);
        let mut foreign = own.clone();
        let at = own.windows(8).position(|part| part == MADE_BY.as_bytes()).unwrap();
        foreign[at] = b'X';
        let late = [b"\x89PNG".as_slice(), &[0; 300], b"Software\0Lanemark"].concat();
        let text = b"Software\0Lanemark".to_vec();
        for (content, is_ours) in [(own, true), (foreign, false), (late, false), (text, false)] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(refuse_other(&path).is_ok(), is_ours);
        }
    }
}
