//! The processor of a host bus adapter, and the cache of a RAID adapter.

use super::bounds::{SpecError, check_step_times, check_within};
use super::flash::SLOT;
use lanemark_schema::units::{Bytes, Duration};

/// The processor of a host bus adapter, which handles the commands for all its drives one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterSpec {
    /// Time for which a command occupies the adapter's processor, from the request to its completion; it determines the
    /// adapter's limit in commands per second.
    pub command_time: Duration,
    /// Cost of commands while too many are outstanding, if the adapter becomes slower.
    pub crowded: Option<OverloadCost>,
    /// Write cache, if the adapter is a RAID adapter with a cache.
    pub cache: Option<AdapterCacheSpec>,
}

/// The write-back cache of a RAID adapter; a battery or flash preserves its data through a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterCacheSpec {
    /// Amount of written data that fits into the cache.
    pub size: Bytes,
    /// Maximum length of a write into which the cache combines adjacent data, unless a drive's maximum command is
    /// smaller.
    pub gather: Bytes,
    /// Maximum number of outstanding writes from the cache to a drive.
    pub depth: u32,
}

/// Cost of commands at an adapter that has too many outstanding commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverloadCost {
    /// Number of outstanding commands above which commands take longer.
    pub above: u32,
    /// Time of a command while more than `above` commands are outstanding.
    pub command_time: Duration,
}

/// Maximum size of an adapter's cache.
pub const ADAPTER_CACHE_MAX: Bytes = Bytes::mebi(64 << 10);
/// Maximum length of a write into which an adapter's cache combines adjacent data.
pub const ADAPTER_CACHE_GATHER_MAX: Bytes = Bytes::mebi(1);
/// Maximum number of outstanding writes from an adapter's cache to a drive: the queue depth of a SAS drive.
pub const ADAPTER_CACHE_DEPTH_MAX: u32 = 256;

/// Maximum accepted value of [`OverloadCost::above`].
pub const CROWDED_MAX: u32 = 65_536;

impl AdapterSpec {
    /// Checks the bounds on which the simulator relies.
    ///
    /// # Errors
    /// Returns an error if a value is out of bounds.
    pub(super) fn check(&self, transfer_max: Bytes) -> Result<(), SpecError> {
        check_step_times([("adapter.command_time", self.command_time)])?;
        self.cache.map_or(Ok(()), |cache| cache.check(transfer_max))?;
        let Some(OverloadCost { above, command_time }) = self.crowded else { return Ok(()) };
        check_within("adapter.crowded", above.into(), 1, CROWDED_MAX.into())?;
        check_step_times([("adapter.crowded_time", command_time)])?;
        if command_time < self.command_time {
            Err(SpecError {
                field: "adapter.crowded_time",
                value: command_time.to_string(),
                bound: format!(
                    "at least the {} of an adapter with few commands",
                    self.command_time
                ),
            })
        } else {
            Ok(())
        }
    }

    /// Returns the time of a command while `outstanding` commands are outstanding.
    pub fn time(&self, outstanding: u32) -> Duration {
        match self.crowded {
            Some(OverloadCost { above, command_time }) if outstanding > above => command_time,
            _ => self.command_time,
        }
    }
}

impl AdapterCacheSpec {
    /// Checks the bounds on which the simulator relies, for an adapter whose maximum command is `transfer_max`.
    ///
    /// # Errors
    /// Returns an error if a value is out of bounds.
    fn check(&self, transfer_max: Bytes) -> Result<(), SpecError> {
        let Self { size, gather, depth } = *self;
        let fail = |field, value: Bytes, bound: String| {
            Err(SpecError { field, value: value.to_string(), bound })
        };
        if size < transfer_max || size > ADAPTER_CACHE_MAX {
            let bound = format!("from {transfer_max}, the largest command, to {ADAPTER_CACHE_MAX}");
            return fail("adapter.cache.size", size, bound);
        }
        if gather < SLOT
            || gather > ADAPTER_CACHE_GATHER_MAX
            || !gather.get().is_multiple_of(SLOT.get())
        {
            let bound = format!("a multiple of {SLOT} up to {ADAPTER_CACHE_GATHER_MAX}");
            return fail("adapter.cache.gather", gather, bound);
        }
        check_within("adapter.cache.depth", depth.into(), 1, ADAPTER_CACHE_DEPTH_MAX.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_microseconds(1);

    fn adapter() -> AdapterSpec {
        let crowded = Some(OverloadCost { above: 100, command_time: MICROSECOND * 3 });
        AdapterSpec { command_time: MICROSECOND, crowded, cache: None }
    }

    #[test]
    fn an_adapter_is_crowded_by_more_than_its_number_of_commands() {
        let adapter = adapter();
        assert_eq!([0, 99, 100].map(|outstanding| adapter.time(outstanding)), [MICROSECOND; 3]);
        assert_eq!([101, 5_000].map(|outstanding| adapter.time(outstanding)), [MICROSECOND * 3; 2]);
        assert_eq!(AdapterSpec { crowded: None, ..adapter }.time(u32::MAX), MICROSECOND);
    }

    #[test]
    fn bounds_of_an_adapter_are_included() {
        let largest = Bytes::kibi(128);
        let crowded = |above, command_time| {
            let crowded = Some(OverloadCost { above, command_time });
            AdapterSpec { crowded, ..adapter() }.check(largest).map_err(|error| error.field)
        };
        assert_eq!([1, CROWDED_MAX].map(|above| crowded(above, MICROSECOND)), [Ok(()); 2]);
        for above in [0, CROWDED_MAX + 1] {
            assert_eq!(crowded(above, MICROSECOND), Err("adapter.crowded"));
        }
        let less = MICROSECOND - Duration::from_picoseconds(1);
        assert_eq!(crowded(1, less), Err("adapter.crowded_time"));
        let cache = |size: Bytes, gather: Bytes, depth| {
            let cache = Some(AdapterCacheSpec { size, gather, depth });
            AdapterSpec { cache, ..adapter() }.check(largest).map_err(|error| error.field)
        };
        for (size, gather, depth, seen) in [
            (largest, SLOT, 1, Ok(())),
            (Bytes(largest.get() - 1), SLOT, 1, Err("adapter.cache.size")),
            (ADAPTER_CACHE_MAX, SLOT, 1, Ok(())),
            (Bytes(ADAPTER_CACHE_MAX.get() + 1), SLOT, 1, Err("adapter.cache.size")),
            (largest, Bytes::ZERO, 1, Err("adapter.cache.gather")),
            (largest, SLOT + Bytes(512), 1, Err("adapter.cache.gather")),
            (largest, ADAPTER_CACHE_GATHER_MAX, 1, Ok(())),
            (largest, ADAPTER_CACHE_GATHER_MAX + SLOT, 1, Err("adapter.cache.gather")),
            (largest, SLOT, 0, Err("adapter.cache.depth")),
            (largest, SLOT, ADAPTER_CACHE_DEPTH_MAX, Ok(())),
            (largest, SLOT, ADAPTER_CACHE_DEPTH_MAX + 1, Err("adapter.cache.depth")),
        ] {
            assert_eq!(cache(size, gather, depth), seen, "{size}, {gather}, {depth}");
        }
    }
}
