//! Which processors threads are pinned to: those beside the device first.

use std::fs;
use std::io;

use rustix::thread::CpuSet;

/// The processors that this process may use, those of the memory node that `device` hangs on before all others.
///
/// `device` is the kernel's name of a block device. Where the node is not told, the order is the kernel's.
pub(crate) fn processors(device: Option<&str>) -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let near = device.and_then(near).unwrap_or_default();
    let (mut ordered, far): (Vec<usize>, Vec<usize>) =
        all.into_iter().partition(|cpu| near.contains(cpu));
    ordered.extend(far);
    ordered
}

/// Keeps the calling thread on one processor.
pub(crate) fn pin(processor: usize) -> io::Result<()> {
    let mut one = CpuSet::new();
    one.set(processor);
    rustix::thread::sched_setaffinity(None, &one).map_err(io::Error::from)
}

/// The processors of the memory node of a device.
fn near(device: &str) -> Option<Vec<usize>> {
    let node = fs::read_to_string(format!("/sys/class/block/{device}/device/numa_node"))
        .or_else(|_| {
            fs::read_to_string(format!("/sys/class/block/{device}/device/device/numa_node"))
        })
        .ok()?;
    // A machine of one node tells -1.
    let node: u32 = node.trim().parse().ok()?;
    list(fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok()?.trim())
}

/// The numbers of a list, `0-3,8`.
fn list(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(list("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(list(""), Some(vec![]));
        assert_eq!(list("0-x"), None);
    }

    #[test]
    fn there_is_a_processor_and_a_thread_can_be_pinned_to_it() {
        let all = processors(None);
        assert!(!all.is_empty());
        let pinned = std::thread::spawn(move || {
            pin(all[0]).unwrap();
            rustix::thread::sched_getaffinity(None).unwrap().count()
        });
        assert_eq!(pinned.join().unwrap(), 1);
    }
}
