//! The flash writes of a simulated drive per byte that the host wrote.

use lanemark_schema::result::{DriveUse, TestResult};
use lanemark_schema::units::Bytes;

use crate::text::number::fixed;

/// Returns a sentence such as `Flash took 3.42 bytes per byte that the host wrote: moved 12.00 GB; 31 superblocks were
/// erased.`, over all repeats; `None` if the host wrote nothing, or if the flash writes are not known.
pub(crate) fn sentence(test: &TestResult) -> Option<String> {
    let mut sum = DriveUse::default();
    test.samples.iter().filter_map(|sample| sample.drive).for_each(|drive| sum.add(&drive));
    let amplified = sum.write_amplification()?;
    let parts: Vec<String> = [
        ("moved", sum.moved),
        ("folded out of the pseudo-SLC cache", sum.folded),
        ("left empty", sum.padded),
        ("pages of the map", sum.map_written),
    ]
    .into_iter()
    .filter(|&(_, bytes)| bytes > Bytes::ZERO)
    .map(|(what, bytes)| format!("{what} {} GB", fixed(bytes.get() as f64 / 1e9, 2)))
    .collect();
    let amplified = fixed(amplified, 2);
    let erased = sum.superblocks_erased;
    Some(match (parts.is_empty(), erased) {
        (true, 0) => return None,
        (true, _) => format!("No data had to be moved; {erased} superblocks were erased."),
        (false, _) => format!(
            "Flash took {amplified} bytes per byte that the host wrote: {}; {erased} superblocks were erased.",
            parts.join(", ")
        ),
    })
}
