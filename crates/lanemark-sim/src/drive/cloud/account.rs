//! The operations and bytes that are charged for a request.
//!
//! A request of `b` bytes counts as `ceil(b / unit)` operations. If the volume merges requests, a request that starts
//! at the end of the previous request, in the same direction, first uses up the remainder of that request's last unit.
//! The bursts of one write always continue each other.

use crate::engine::slab::{CommandHandle, Handle};
use crate::spec::CloudSpec;
use lanemark_schema::units::{Bytes, Duration};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChargedAmounts {
    pub(super) operations: u64,
    pub(super) bytes: u64,
}

/// The last data that was counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequentialRun {
    /// The write whose remaining bursts have not arrived.
    pub(super) command: CommandHandle,
    pub(super) latency: Duration,
    writes: bool,
    end: Bytes,
    /// Unused rest of the last unit, in bytes.
    rest: u64,
}

impl SequentialRun {
    /// The initial state, without any counted data.
    pub(super) const NONE: Self = Self {
        command: Handle::NONE,
        latency: Duration::ZERO,
        writes: false,
        end: Bytes(u64::MAX),
        rest: 0,
    };

    /// Returns whether a burst belongs to the write that was counted last.
    pub(super) fn continues(&self, command: CommandHandle) -> bool {
        command != Handle::NONE && self.command == command
    }

    /// Counts `length` bytes from `offset` onward, and returns the charged amounts. `is_same` states that these bytes
    /// belong to the same write as the previous data.
    pub(super) fn charge(
        &mut self,
        spec: &CloudSpec,
        writes: bool,
        offset: Bytes,
        length: Bytes,
        is_same: bool,
    ) -> ChargedAmounts {
        let follows = self.writes == writes && self.end == offset;
        let rest = if follows && (spec.merges || is_same) { self.rest } else { 0 };
        let operations = spec.units(Bytes(length.get().saturating_sub(rest)));
        let units = operations * spec.unit.get();
        (self.writes, self.end) = (writes, offset + length);
        self.rest = (rest + units).saturating_sub(length.get());
        ChargedAmounts { operations, bytes: if spec.whole_units { units } else { length.get() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::cloud::tests::plain_volume;

    const KIB: u64 = 1 << 10;

    fn charges(spec: &CloudSpec, requests: &[(bool, u64, u64)]) -> Vec<(u64, u64)> {
        let mut run = SequentialRun::NONE;
        let charge = |&(writes, offset, length): &(bool, u64, u64)| {
            let ChargedAmounts { operations, bytes } =
                run.charge(spec, writes, Bytes(offset * KIB), Bytes(length * KIB), false);
            (operations, bytes / KIB)
        };
        requests.iter().map(charge).collect()
    }

    #[test]
    fn a_request_counts_as_many_operations_as_it_fills_units() {
        let spec = plain_volume();
        let requests = [(false, 0, 4), (false, 4, 256), (true, 512, 257), (true, 4_096, 1_024)];
        assert_eq!(charges(&spec, &requests), [(1, 4), (1, 256), (2, 257), (4, 1_024)]);
    }

    /// Eight sequential requests of 32 KiB count as one operation of 256 KiB; eight random requests count as eight
    /// operations.
    #[test]
    fn sequential_requests_share_units_if_the_volume_merges() {
        let merging = CloudSpec { merges: true, ..plain_volume() };
        let sequential: Vec<_> = (0..16).map(|index| (false, 32 * index, 32)).collect();
        let random: Vec<_> = (0..16).map(|index| (false, 64 * index, 32)).collect();
        let operations = |spec: &CloudSpec, requests: &[_]| -> u64 {
            charges(spec, requests).iter().map(|(operations, _)| operations).sum()
        };
        assert_eq!(operations(&merging, &sequential), 2);
        assert_eq!(operations(&merging, &random), 16);
        assert_eq!(operations(&plain_volume(), &sequential), 16);
        // A write does not continue a read.
        assert_eq!(charges(&merging, &[(false, 0, 4), (true, 4, 4)]), [(1, 4), (1, 4)]);
    }

    #[test]
    fn the_throughput_of_a_disk_counts_whole_units() {
        let spec =
            CloudSpec { unit: Bytes::mebi(1), merges: true, whole_units: true, ..plain_volume() };
        assert_eq!(charges(&spec, &[(false, 0, 16), (false, 8_192, 16)]), [(1, 1_024); 2]);
        let sequential: Vec<_> = (0..128).map(|index| (false, 16 * index, 16)).collect();
        let total: u64 = charges(&spec, &sequential).iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(total, 2_048);
    }
}
