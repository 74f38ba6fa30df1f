//! The processors to which threads are pinned: first the processors of the device's NUMA node.

use std::fs;
use std::io;
use std::path::Path;

use rustix::thread::CpuSet;

/// Returns the processors that this process may use, starting with the NUMA node of `device`.
///
/// `device` is the name of a block device. If the node is not known, the kernel's order is used.
pub(crate) fn processors(device: Option<&str>) -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let near = device.and_then(processors_near).unwrap_or_default();
    let (mut ordered, far): (Vec<usize>, Vec<usize>) =
        all.into_iter().partition(|cpu| near.contains(cpu));
    ordered.extend(far);
    ordered
}

/// Pins the calling thread to one processor.
pub(crate) fn pin(processor: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor);
    rustix::thread::sched_setaffinity(None, &set).map_err(io::Error::from)
}

/// Returns the processors of a device's NUMA node.
fn processors_near(device: &str) -> Option<Vec<usize>> {
    let node = node(&fs::canonicalize(format!("/sys/class/block/{device}")).ok()?)?;
    list(fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).ok()?.trim())
}

/// Returns the NUMA node of the device in `folder`: the nearest `numa_node` in that folder or above it in the device
/// tree. For a multipath device, or a device that consists of other devices, this is the node of the first underlying
/// device that has one.
fn node(folder: &Path) -> Option<u32> {
    // A machine with one node reports -1.
    let node_of =
        |at: &Path| fs::read_to_string(at.join("numa_node")).ok()?.trim().parse::<u32>().ok();
    if let Some(node) = folder.ancestors().find_map(node_of) {
        return Some(node);
    }
    let parts =
        [folder.join("slaves"), folder.parent()?.to_owned()].into_iter().filter_map(|parts| {
            let is_joined = parts.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                name == "slaves" || name.starts_with("nvme-subsys")
            });
            fs::read_dir(parts).ok().filter(|_| is_joined)
        });
    let links = parts.flatten().flatten().filter(|entry| entry.path().is_symlink());
    links
        .filter_map(|link| fs::canonicalize(link.path()).ok())
        .find_map(|part| part.ancestors().find_map(node_of))
}

/// Parses a list of numbers such as `0-3,8`.
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
        assert_eq!(processors_near("a device that does not exist"), None);
    }

    #[test]
    fn the_node_of_a_device_its_parents_or_its_paths_is_found() {
        let tree = tempfile::tempdir().unwrap();
        let at = |path: &str| tree.path().join(path);
        let file = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        };
        file("pci/0000:01:00.0/numa_node", "1\n");
        file("pci/0000:01:00.0/nvme/nvme0/numa_node", "-1\n");
        fs::create_dir_all(at("pci/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2")).unwrap();
        assert_eq!(node(&at("pci/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2")), Some(1));
        file("pci/0000:02:00.0/nvme/nvme1/numa_node", "3\n");
        fs::create_dir_all(at("virtual/nvme-subsys1/nvme1n1")).unwrap();
        assert_eq!(node(&at("virtual/nvme-subsys1/nvme1n1")), None);
        let controller = at("pci/0000:02:00.0/nvme/nvme1");
        std::os::unix::fs::symlink(controller, at("virtual/nvme-subsys1/nvme1")).unwrap();
        assert_eq!(node(&at("virtual/nvme-subsys1/nvme1n1")), Some(3));
        fs::create_dir_all(at("virtual/md0/slaves")).unwrap();
        let member = at("pci/0000:01:00.0/nvme/nvme0/nvme0n1");
        std::os::unix::fs::symlink(member, at("virtual/md0/slaves/nvme0n1")).unwrap();
        assert_eq!(node(&at("virtual/md0")), Some(1));
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
