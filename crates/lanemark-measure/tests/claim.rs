//! A device that is written is claimed from the start to the end of the run, and no longer.
//!
//! This test is a separate program, because a child process that another thread starts shares all open files until it
//! executes its own program, and would prolong the claim.

mod workloads;

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lanemark_measure::Bench;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Test;
use lanemark_testbed::LoopDevice;
use workloads::{content, workload, write};

const MIB: usize = 1 << 20;

#[test]
fn an_offered_device_is_written_inside_the_span_and_cannot_be_mounted_meanwhile() {
    let before = content(4 * MIB);
    let Some(device) = LoopDevice::with_content(&before, false) else { return };
    let test = Test { offset: Bytes::mebi(1), ..write() };
    let workload = workload([test.clone()]);
    let stop = AtomicBool::new(false);
    let offered = Some(device.node());
    let run = Bench { offered, ..Bench::new(device.node(), &workload, 3, &stop) };
    let mut claimed = Vec::new();
    run.run(&mut |_| claimed.push(is_claimed(device.node()))).unwrap();
    assert!(!claimed.is_empty() && claimed.iter().all(|&claimed| claimed), "{claimed:?}");
    assert!(!is_claimed(device.node()), "the claim outlasts the run");
    let after = fs::read(device.node()).unwrap();
    let end = test.end().get() as usize;
    assert!(after[end..] == before[end..], "written behind the span");
    assert!(after[..end] != before[..end]);
}

fn is_claimed(node: &Path) -> bool {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::EXCL;
    rustix::fs::open(node, flags, Mode::empty()).is_err_and(|e| e == rustix::io::Errno::BUSY)
}
