//! Whether two systems differ, and the part of a measured deviation that still applies after a change.

use lanemark_schema::result::{ChangeKind, PathSection, PathUse};
use lanemark_study::System;

/// Variance of the effects that a model omits in one figure, relative to the variance of an assumed time: the squares
/// of the logarithms of 1.15 and 1.4, the factors of a drive's own file and of an assumed time.
const OMITTED_VARIANCE: f64 = 0.17;

/// Returns whether two systems are one system with equal values. Two platforms, ports or drives whose files state equal
/// values are different systems, whose ratio is not known exactly.
pub(crate) fn is_same_system(one: &System, two: &System) -> bool {
    let parts = |system: &'_ System| {
        let target = &system.target;
        [&target.drive, &target.platform, &target.port].map(String::clone)
    };
    one.spec == two.spec && parts(one) == parts(two)
}

/// Returns the share of a request's time for which the host works on it, including waits for the host.
#[must_use]
pub fn host_share(path: &PathUse) -> f64 {
    let time = |is_host: bool| -> f64 {
        let of_part = path
            .hops
            .iter()
            .filter(|hop| (PathSection::from_hop(hop.id) == PathSection::Host) == is_host);
        of_part.map(|hop| hop.wait_ns + hop.service_ns).sum()
    };
    let host = time(true);
    host / (host + time(false)).max(1e-9)
}

/// Returns the share of a measured deviation that also applies after `changes`, given the host's share of a request's
/// time.
///
/// Another port keeps the host and the drive, and therefore the whole deviation. Another drive keeps the host's part,
/// and another host the rest. The parts are proportional to the variances that the model expects: the squares of the
/// times of host and drive, whose uncertainties are alike, and the variance of omitted effects, which belong to the
/// drive.
#[must_use]
pub fn carried_share(changes: &[ChangeKind], host_share: f64) -> f64 {
    let host = host_share.clamp(0.0, 1.0);
    let of_host = host * host;
    let of_drive = (1.0 - host) * (1.0 - host) + OMITTED_VARIANCE;
    let part_of_host = of_host / (of_host + of_drive);
    let is_other_host = |kind: &ChangeKind| matches!(kind, ChangeKind::Platform | ChangeKind::Host);
    match (changes.contains(&ChangeKind::Drive), changes.iter().any(is_other_host)) {
        (false, false) => 1.0,
        (true, false) => part_of_host,
        (false, true) => 1.0 - part_of_host,
        (true, true) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_belongs_to_the_parts_that_stay() {
        for host in [0.0, 0.3, 0.9, 1.0] {
            let share = |kinds: &[ChangeKind]| carried_share(kinds, host);
            assert_eq!(share(&[ChangeKind::Port]), 1.0);
            let [drive, platform] = [share(&[ChangeKind::Drive]), share(&[ChangeKind::Platform])];
            assert!((drive + platform - 1.0).abs() < 1e-12, "{host}");
            assert_eq!(share(&[ChangeKind::Host]), platform);
            assert_eq!(share(&[ChangeKind::Drive, ChangeKind::Host]), 0.0);
        }
        assert_eq!(carried_share(&[ChangeKind::Drive], 0.0), 0.0);
        // At equal times, the variances of host and drive are a quarter each, and omitted effects have 0.17.
        let share = carried_share(&[ChangeKind::Drive], 0.5);
        assert!((share - 0.25 / (0.5 + 0.17)).abs() < 1e-12, "{share}");
    }
}
