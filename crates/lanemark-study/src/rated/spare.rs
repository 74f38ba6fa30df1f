//! Flash that is spare to collection, and what steady random writes make of it.

/// Superblocks that collection keeps free or writes to.
pub(super) const KEPT_SUPERBLOCKS: f64 = 8.0;

/// Returns the share that collection has spare beside so much data, where a random write that is steady takes the flash
/// `each` times as long as one of erased flash, and a unit is read in `read` of the time that it takes to be
/// programmed.
///
/// Law: blocks that are written at random and collected in turn hold a share u of valid data when their turn comes, with
/// u = exp(-(1 - u) (1 + spare)); each write then costs 1 / (1 - u) programs and u / (1 - u) reads (Robinson, IBM TR 1996;
/// Desnoyers, SYSTOR 2012).
pub(super) fn spare_for(each: f64, read: f64) -> f64 {
    let programs = ((each + read) / (1.0 + read)).max(1.01);
    let valid = 1.0 - 1.0 / programs;
    (-valid.ln() / (1.0 - valid) - 1.0).clamp(0.02, 4.0)
}

/// Returns the number of times that steady random writes program data where so many `superblocks`, of which some are `spare`, hold
/// it, by the law of [`spare_for`].
pub(super) fn amplification(superblocks: f64, spare: f64) -> f64 {
    let used = superblocks - spare;
    let spare = ((spare - KEPT_SUPERBLOCKS).max(0.5) / used).max(0.02);
    let mut valid: f64 = 0.5;
    for _ in 0..200 {
        valid = (-(1.0 - valid) * (1.0 + spare)).exp();
    }
    1.0 / (1.0 - valid).max(0.01)
}
