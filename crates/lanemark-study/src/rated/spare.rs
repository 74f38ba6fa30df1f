//! Spare flash for collection, and the write amplification of steady random writes.

/// The number of superblocks that collection keeps free or to which it writes.
pub(super) const KEPT_SUPERBLOCKS: f64 = 8.0;

/// Returns the ratio of the spare flash to the used flash. A random write in steady state takes the flash `each`
/// times as long as on erased flash, and reading a unit takes `read` times as long as programming it.
///
/// Model: blocks that are written at random and collected in turn contain a share u of valid data at their collection,
/// with u = exp(-(1 - u) (1 + spare)). Each write then costs 1 / (1 - u) programs and u / (1 - u) reads (Robinson, IBM
/// TR 1996; Desnoyers, SYSTOR 2012).
pub(super) fn spare_for(each: f64, read: f64) -> f64 {
    let programs = ((each + read) / (1.0 + read)).max(1.01);
    let valid = 1.0 - 1.0 / programs;
    (-valid.ln() / (1.0 - valid) - 1.0).clamp(0.02, 4.0)
}

/// Returns the write amplification of steady random writes to `superblocks`, including `spare` ones, by the model of
/// [`spare_for`].
pub(super) fn amplification(superblocks: f64, spare: f64) -> f64 {
    let used = superblocks - spare;
    let spare = ((spare - KEPT_SUPERBLOCKS).max(0.5) / used).max(0.02);
    let mut valid: f64 = 0.5;
    for _ in 0..200 {
        valid = (-(1.0 - valid) * (1.0 + spare)).exp();
    }
    1.0 / (1.0 - valid).max(0.01)
}
