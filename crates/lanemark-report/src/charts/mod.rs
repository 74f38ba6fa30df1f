//! The parts of drawings that pages, paths and sweeps share: SVG elements, axes, line charts, legends and colours.

pub(crate) mod axis;
pub(crate) mod lines;
pub mod palette;
pub(crate) mod picture;
pub(crate) mod svg;
pub(crate) mod theme;
