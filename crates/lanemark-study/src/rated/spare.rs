//! Spare flash for collection, and the write amplification of steady random writes.

/// The number of superblocks that collection keeps free or is writing.
pub(super) const KEPT_SUPERBLOCKS: f64 = 8.0;

/// Returns the ratio of the spare flash to the used flash. In steady state, the flash needs `each` times as long for a
/// random write as when it is erased; reading a unit takes `read` times as long as programming it.
///
/// Model: if blocks are written at random and collected in turn, the share u of valid data in a collected block
/// satisfies u = exp(-(1 - u) (1 + spare)). Each write then costs 1 / (1 - u) programs and u / (1 - u) reads (Robinson,
/// IBM TR 1996; Desnoyers, SYSTOR 2012).
pub(super) fn spare_for(each: f64, read: f64) -> f64 {
    let programs = ((each + read) / (1.0 + read)).max(1.01);
    let valid = 1.0 - 1.0 / programs;
    (-libm::log(valid) / (1.0 - valid) - 1.0).clamp(0.02, 4.0)
}

/// Returns the write amplification of steady random writes to `superblocks` superblocks, including `spare` spare
/// superblocks, by the model of [`spare_for`].
pub(super) fn amplification(superblocks: f64, spare: f64) -> f64 {
    let used = superblocks - spare;
    let spare = ((spare - KEPT_SUPERBLOCKS).max(0.5) / used).max(0.02);
    let mut valid: f64 = 0.5;
    for _ in 0..200 {
        valid = libm::exp(-(1.0 - valid) * (1.0 + spare));
    }
    1.0 / (1.0 - valid).max(0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the deviation of a share of valid data from the model's equation with this spare flash.
    fn off(valid: f64, spare: f64) -> f64 {
        valid - libm::exp(-(1.0 - valid) * (1.0 + spare))
    }

    #[test]
    fn spare_flash_leaves_the_valid_data_that_the_cost_of_writes_shows() {
        for programs in [1.2, 1.5, 2.0, 3.0, 5.0, 8.0] {
            let valid = 1.0 - 1.0 / programs;
            let spare = spare_for(programs, 0.0);
            assert!(off(valid, spare).abs() < 1e-12, "{programs}: {spare}");
            // Each write also reads valid data, at a fraction of the cost of a program.
            for read in [0.05, 0.5] {
                let each = programs + read * valid / (1.0 - valid);
                assert!((spare_for(each, read) - spare).abs() < 1e-9, "{programs} {read}");
            }
        }
        // Almost no amplification requires more spare flash than drives have, and even extreme amplification requires
        // some.
        assert_eq!((spare_for(1.0, 0.0), spare_for(1e6, 0.0)), (spare_for(1.01, 0.0), 0.02));
        assert!(spare_for(1.01, 0.0) > 3.0 && spare_for(1.01, 0.0) <= 4.0);
    }

    #[test]
    fn amplification_is_the_cost_from_which_the_spare_flash_follows() {
        for programs in [1.5, 2.0, 3.0, 5.0, 8.0] {
            let used = 1_000.0;
            let spare = used * spare_for(programs, 0.0) + KEPT_SUPERBLOCKS;
            let found = amplification(used + spare, spare);
            assert!((found / programs - 1.0).abs() < 1e-5, "{programs}: {found}");
        }
        // One fiftieth of the used flash or more, and half a superblock or more, is spare.
        let least = amplification(1_020.0 + KEPT_SUPERBLOCKS, 20.0 + KEPT_SUPERBLOCKS);
        assert_eq!(amplification(1_000.0, 0.0), least);
        assert_eq!(amplification(10.0, 0.0), amplification(10.0 + 8.5, 8.5));
    }
}
