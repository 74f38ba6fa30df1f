//! The target of a request: a drive of the system, and one of its namespaces.
//!
//! An NVMe drive presents its media as one or more *namespaces* (NVM Express 1.2, 6.1), each with addresses that begin
//! at zero. The namespaces of a drive share the controller, queues, links and flash. A drive with another protocol has
//! one namespace with its whole capacity. Namespaces follow each other on the drive, each starting at a multiple of 4
//! KiB, so that two namespaces never share a mapped slot.
//!
//! Not modelled: namespaces that are shared between controllers or created while the drive is running, formats with
//! metadata, and separate limits or endurance groups for a namespace.

use crate::spec::{AttachmentSpec, ProtocolKind, ProtocolSpec, SLOT, SpecError, SystemSpec};
use lanemark_schema::units::Bytes;

/// Maximum number of namespaces of a drive.
pub const NAMESPACES_MAX: usize = 128;

/// A namespace of a drive. A volume over all drives is the only target of its system, and is addressed as the first
/// namespace of the first drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveNamespace {
    /// The drive, 0 for the first.
    pub drive: u16,
    /// The namespace on the drive, 0 for the first; a drive without separate namespaces has one namespace.
    pub namespace: u16,
}

/// The location of a namespace on its drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceExtent {
    /// First byte of the namespace on its drive.
    pub start: Bytes,
    /// Length of the namespace.
    pub length: Bytes,
}

impl From<u16> for DriveNamespace {
    /// Returns the first namespace of a drive.
    fn from(drive: u16) -> Self {
        Self { drive, namespace: 0 }
    }
}

impl std::fmt::Display for DriveNamespace {
    /// Displayed numbers of namespaces start at 1, as in NVMe.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "namespace {} of drive {}", self.namespace + 1, self.drive + 1)
    }
}

impl NamespaceExtent {
    /// Returns the end of the namespace on its drive.
    pub fn end(&self) -> Bytes {
        self.start + self.length
    }
}

/// Returns the locations of namespaces with these `lengths` on a drive; without lengths, one namespace with the whole
/// `capacity`.
pub fn extents(lengths: &[Bytes], capacity: Bytes) -> Vec<NamespaceExtent> {
    if lengths.is_empty() {
        return vec![NamespaceExtent { start: Bytes::ZERO, length: capacity }];
    }
    let mut start = Bytes::ZERO;
    let place = |&length: &Bytes| {
        let extent = NamespaceExtent { start, length };
        start = Bytes(extent.end().get().next_multiple_of(SLOT.get()));
        extent
    };
    lengths.iter().map(place).collect()
}

impl AttachmentSpec {
    /// Returns the distance from the start of the drive to the end of the data in the last namespace, if the first
    /// `written` bytes of each namespace contain data.
    pub fn written_extent(&self, written: Bytes) -> Bytes {
        let last = extents(&self.namespaces, self.drive.capacity).last().map(|last| last.start);
        match written {
            Bytes::ZERO => Bytes::ZERO,
            written => last.unwrap_or_default() + written,
        }
    }

    /// Checks the namespaces of the drive.
    ///
    /// # Errors
    /// Returns an error for the first namespace that is out of bounds, with the bound.
    pub(crate) fn check_namespaces(&self) -> Result<(), SpecError> {
        let fail = |value: String, bound: String| {
            Err(SpecError { field: "drive.namespaces", value, bound })
        };
        let ProtocolSpec { kind, .. } = self.protocol;
        if !self.namespaces.is_empty() && kind != ProtocolKind::Nvme {
            return fail(kind.name().to_owned(), "only NVMe has namespaces".to_owned());
        }
        if self.namespaces.len() > NAMESPACES_MAX {
            let bound = format!("at most {NAMESPACES_MAX} namespaces");
            return fail(self.namespaces.len().to_string(), bound);
        }
        let capacity = self.drive.capacity;
        for &length in &self.namespaces {
            if length == Bytes::ZERO || !length.get().is_multiple_of(512) || length > capacity {
                let bound = format!("a multiple of 512 B up to {capacity}");
                return fail(length.to_string(), bound);
            }
        }
        // The sum does not overflow, because a drive has less than 16 TiB.
        match extents(&self.namespaces, capacity).last() {
            Some(last) if last.end() > capacity => {
                let bound =
                    format!("at most {capacity} together, each starting at a multiple of {SLOT}");
                fail(last.end().to_string(), bound)
            }
            _ => Ok(()),
        }
    }
}

impl SystemSpec {
    /// Returns the capacities of [`SystemSpec::targets`], in the same order.
    pub fn capacities(&self) -> Vec<Bytes> {
        if let Some(capacity) = self.volume_capacity() {
            return vec![capacity];
        }
        self.attachments
            .iter()
            .flat_map(|attachment| extents(&attachment.namespaces, attachment.drive.capacity))
            .map(|extent| extent.length)
            .collect()
    }

    /// Returns the volume if there is one, and otherwise all namespaces of all drives, in the order of drives.
    pub fn targets(&self) -> Vec<DriveNamespace> {
        if self.volume.is_some() {
            return vec![DriveNamespace::default()];
        }
        self.attachments
            .iter()
            .zip(0..)
            .flat_map(|(one, drive)| {
                (0..one.namespaces.len().max(1))
                    .map(move |index| DriveNamespace { drive, namespace: index as u16 })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::SimError;
    use crate::spec::DriveSpec;
    use crate::spec::submission::Submission;
    use crate::tests::link::read_of;
    use crate::tests::runs::{at_rest, megabytes, nvme, run, small_drive, test, unlimited};
    use lanemark_schema::units::{Duration, Instant};
    use lanemark_schema::workload::{Access, Operation, Pattern};

    fn split(lengths: &[Bytes]) -> SystemSpec {
        system_with(small_drive(), lengths)
    }

    fn system_with(drive: DriveSpec, lengths: &[Bytes]) -> SystemSpec {
        let mut system = nvme(drive);
        system.attachments[0].namespaces = lengths.to_vec();
        system
    }

    fn second(drive: u16) -> DriveNamespace {
        DriveNamespace { drive, namespace: 1 }
    }

    #[test]
    fn namespaces_follow_each_other_at_whole_slots() {
        let capacity = Bytes::mebi(1);
        let whole = NamespaceExtent { start: Bytes::ZERO, length: capacity };
        assert_eq!(extents(&[], capacity), [whole]);
        let seen = extents(&[Bytes(512), Bytes(8192), Bytes(512)], capacity);
        let starts: Vec<u64> = seen.iter().map(|extent| extent.start.get()).collect();
        assert_eq!(starts, [0, 4096, 12_288]);
        assert_eq!(seen[2].end(), Bytes(12_800));
    }

    /// Data that was just written to one namespace is still in the buffer; the data at the same address of the other
    /// namespace is in the flash.
    #[test]
    fn the_same_address_of_two_namespaces_is_two_places() {
        let system = split(&[Bytes::mebi(32), Bytes::mebi(32)]);
        let mut simulator = at_rest(&system, Bytes::mebi(1).into());
        let write = Access { operation: Operation::Write, ..read_of(Bytes::kibi(4)) };
        simulator.submit(Submission::new(Instant::ZERO, write).to(second(0))).unwrap();
        let mut latency_of = |target: DriveNamespace| {
            let now = simulator.advance().unwrap().completed;
            simulator.submit(Submission::new(now, read_of(Bytes::kibi(4))).to(target)).unwrap();
            let read = simulator.advance().unwrap();
            simulator
                .submit(Submission::new(read.completed, read_of(Bytes::kibi(4))).to(target))
                .unwrap();
            assert_eq!(read.access, read_of(Bytes::kibi(4)), "as it was submitted");
            read.completed.since(read.submitted)
        };
        assert!(latency_of(second(0)) < Duration::from_microseconds(20));
        assert!(
            latency_of(DriveNamespace::from(0)) > system.attachments[0].drive.flash().read.mean()
        );
    }

    #[test]
    fn a_request_must_lie_in_its_namespace() {
        let system = split(&[Bytes::mebi(8), Bytes::mebi(16)]);
        let mut simulator = at_rest(&system, Bytes::ZERO.into());
        let mut at = |target: DriveNamespace, offset| {
            let access = Access { offset, ..read_of(Bytes::kibi(4)) };
            simulator.submit(Submission::new(Instant::ZERO, access).to(target))
        };
        assert_eq!(at(second(0), Bytes::mebi(16) - Bytes::kibi(4)), Ok(()));
        let error = at(DriveNamespace::from(0), Bytes::mebi(8)).unwrap_err();
        let expected = "a request at 8 MiB of 4 KiB ends beyond the 8 MiB of namespace 1";
        assert_eq!(error.to_string(), expected);
        assert!(at(second(0), Bytes(u64::MAX - 4096)).is_err());
        for target in
            [DriveNamespace { drive: 0, namespace: 2 }, second(1), DriveNamespace::from(1)]
        {
            assert_eq!(at(target, Bytes::ZERO), Err(SimError::NoTarget { target }));
        }
    }

    #[test]
    fn one_namespace_of_everything_is_the_drive() {
        let test = test(Bytes::kibi(16), Pattern::Uniform, true, 8);
        let capacity = small_drive().capacity;
        assert_eq!(run(&split(&[capacity]), &test), run(&nvme(small_drive()), &test));
    }

    /// A test runs in all namespaces in parallel, with separate threads and separate data.
    #[test]
    fn a_test_runs_in_each_namespace_at_once() {
        let test = test(Bytes::kibi(128), Pattern::Sequential, true, 1);
        let two = run(&split(&[Bytes::mebi(32), Bytes::mebi(32)]), &test);
        let one = run(&nvme(small_drive()), &test);
        assert_eq!(two.bytes(), one.bytes() * 2);
        // At queue depth 1, each namespace waits for the flash most of the time.
        let gain = megabytes(&two) / megabytes(&one);
        assert!((1.2..=2.0).contains(&gain), "{gain}");
        // Together, the namespaces reach only the throughput of the link, which one namespace also saturates by itself.
        let whole = system_with(unlimited(), &[]);
        let halves = system_with(unlimited(), &[Bytes::mebi(32); 2]);
        let deep = crate::tests::runs::test(Bytes::kibi(128), Pattern::Sequential, true, 16);
        let ratio = megabytes(&run(&halves, &deep)) / megabytes(&run(&whole, &deep));
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn namespaces_that_cannot_be_are_reported() {
        let says = |system: SystemSpec, expected: &str| {
            let seen = system.check().unwrap_err().to_string();
            assert!(seen.contains(expected), "{seen}");
        };
        let capacity = small_drive().capacity;
        assert_eq!(split(&[capacity - Bytes(4096), Bytes(4096)]).check(), Ok(()));
        says(split(&[capacity, Bytes(4096)]), "drive.namespaces = 65540 KiB: at most 64 MiB");
        says(split(&[Bytes::ZERO]), "drive.namespaces = 0 B: a multiple of 512 B");
        says(split(&[Bytes(u64::MAX - 511); 2]), "drive.namespaces");
        let mut ahci = crate::tests::runs::sata(small_drive());
        ahci.attachments[0].namespaces = vec![capacity];
        says(ahci, "AHCI: only NVMe");
    }
}
