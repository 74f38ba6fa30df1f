//! Tests the ceilings and the uses of single hops.

use crate::tests::runs::{ceiling_of, nvme, run, small_drive, test};
use crate::tests::us;
use lanemark_schema::result::HopId;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Pattern;

/// Requests of 16 KiB, split into four commands, occupy the front end for four command times.
#[test]
fn the_ceiling_of_the_front_end_counts_all_commands_of_a_request() {
    let mut system = nvme(small_drive());
    system.attachments[0].protocol.transfer_max = Bytes::kibi(4);
    let front_end = &mut system.attachments[0].drive.front_end;
    front_end.engines = 2;
    front_end.read_time = us(5);
    front_end.write_time = us(10);
    for (reads, per_second) in [(true, 2.0 / 20e-6), (false, 2.0 / 40e-6)] {
        let load = test(Bytes::kibi(16), Pattern::Uniform, reads, 16);
        let ceiling = ceiling_of(&system, &load, HopId::FrontEnd);
        let wanted = per_second * Bytes::kibi(16).get() as f64;
        assert!((ceiling.rate.unwrap().0 as f64 / wanted - 1.0).abs() < 1e-6, "{ceiling:?}");
    }
}

#[test]
fn a_path_contains_only_the_hops_that_were_used() {
    for (reads, is_buffered) in [(true, false), (false, true)] {
        let load = test(Bytes::kibi(4), Pattern::Uniform, reads, 1);
        let path = run(&nvme(small_drive()), &load).path.unwrap();
        assert_eq!(path.hop(HopId::Buffer).is_some(), is_buffered, "{path:?}");
        assert!(path.hop(HopId::Power).is_none(), "the drive does not sleep");
    }
}
