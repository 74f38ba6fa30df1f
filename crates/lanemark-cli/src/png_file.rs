//! Drawings as PNG.
//!
//! This requires the feature `full`. Text uses the machine's fonts; a machine without fonts is an error.

use std::path::Path;
use std::sync::Arc;

use lanemark_lab::input;
use lanemark_report::Plot;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::failure::Failure;

/// Program name in the file's text chunk.
const MADE_BY: &str = "Lanemark";
/// Maximum number of pixels: 64 megapixels are 256 MB.
const PIXELS_MAX: f64 = 64e6;

/// Refuses to write over a file at `path` that Lanemark did not write.
pub(crate) fn refuse_other(path: &Path) -> Result<(), Failure> {
    let old = input::bytes(path, input::RESULT_MAX).unwrap_or_default();
    let head = &old[..old.len().min(256)];
    let mark = format!("Software\0{MADE_BY}");
    let ours = head.starts_with(b"\x89PNG")
        && head.windows(mark.len()).any(|part| part == mark.as_bytes());
    if std::fs::symlink_metadata(path).is_ok() && !ours {
        let message =
            format!("{}: exists and is not a drawing that Lanemark wrote", path.display());
        return Err(Failure::refused(message).hint("give another file to --out"));
    }
    Ok(())
}

/// Returns the drawing as PNG, with `scale` pixels for each pixel of the drawing.
pub(crate) fn bytes(plot: &Plot, scale: f32) -> Result<Vec<u8>, Failure> {
    let failed = |why: String| Failure::run(format!("can't convert the drawing to PNG: {why}"));
    let (width, height) = (plot.width * f64::from(scale), plot.height * f64::from(scale));
    if width * height > PIXELS_MAX {
        let pixels = format!("{width:.0} x {height:.0}");
        return Err(Failure::input(format!("--scale {scale}: {pixels} exceed 64 million pixels"))
            .hint("use a smaller scale, select panels with --panel, or write *.svg"));
    }
    let mut fonts = fontdb::Database::new();
    fonts.load_system_fonts();
    if fonts.is_empty() {
        return Err(Failure::input("no font is installed for the text of a PNG")
            .hint("install one (Debian: fonts-dejavu-core), or write *.svg"));
    }
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(&plot.svg, &options).map_err(|error| failed(error.to_string()))?;
    let mut pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or_else(|| failed("it is empty".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encoded(&pixels).map_err(|error| failed(error.to_string()))
}

/// Returns the pixels as PNG. The pixels are opaque, because the background is below all marks.
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
