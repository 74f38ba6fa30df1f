//! The processor of a host bus adapter, and the cache of a RAID adapter.

use super::bounds::{SpecError, check_step_times, within};
use super::flash::SLOT;
use crate::units::{Bytes, Duration};

/// The processor of a host bus adapter, through which the commands for all drives behind it go, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterSpec {
    /// Time that a command keeps the adapter's processor, from the request to its completion: the adapter's limit in
    /// commands a second.
    pub command_time: Duration,
    /// Number of commands outstanding above which the adapter is crowded; none where no number crowds it.
    pub crowded: Option<Crowded>,
    /// Cache for writes, which RAID adapters have.
    pub cache: Option<AdapterCacheSpec>,
}

/// The write-back cache of a RAID adapter, whose data outlives a power cut by a battery or by flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterCacheSpec {
    /// Data of writes that the cache holds.
    pub size: Bytes,
    /// Length of the largest write into which the cache gathers neighbours, where a drive's largest command is not less.
    pub gather: Bytes,
    /// Writes of the cache that a drive has outstanding at most.
    pub depth: u32,
}

/// The cost of commands at an adapter that holds too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded {
    /// The most commands outstanding that do not crowd the adapter.
    pub above: u32,
    /// Time of a command while more are outstanding.
    pub command_time: Duration,
}

/// The largest cache of an adapter.
pub const ADAPTER_CACHE_MAX: Bytes = Bytes::mebi(64 << 10);
/// The longest write into which an adapter's cache gathers neighbours.
pub const ADAPTER_CACHE_GATHER_MAX: Bytes = Bytes::mebi(1);
/// The most writes of an adapter's cache that a drive has outstanding: what a SAS drive holds.
pub const ADAPTER_CACHE_DEPTH_MAX: u32 = 256;

/// The most commands that can be said not to crowd an adapter.
pub const CROWDED_MAX: u32 = 65_536;

impl AdapterSpec {
    /// Checks what the simulator relies on.
    ///
    /// # Errors
    /// A value out of its bound.
    pub(super) fn check(&self, transfer_max: Bytes) -> Result<(), SpecError> {
        check_step_times([("adapter.command_time", self.command_time)])?;
        self.cache.map_or(Ok(()), |cache| cache.check(transfer_max))?;
        let Some(Crowded { above, command_time }) = self.crowded else { return Ok(()) };
        within("adapter.crowded", above.into(), 1, CROWDED_MAX.into())?;
        check_step_times([("adapter.crowded_time", command_time)])?;
        match command_time < self.command_time {
            true => Err(SpecError {
                field: "adapter.crowded_time",
                value: command_time.to_string(),
                bound: format!(
                    "at least the {} of an adapter with few commands",
                    self.command_time
                ),
            }),
            false => Ok(()),
        }
    }

    /// Time of a command while so many are outstanding.
    pub fn time(&self, outstanding: u32) -> Duration {
        match self.crowded {
            Some(Crowded { above, command_time }) if outstanding > above => command_time,
            _ => self.command_time,
        }
    }
}

impl AdapterCacheSpec {
    /// Checks what the simulator relies on, of an adapter whose largest command is `transfer_max`.
    ///
    /// # Errors
    /// A value out of its bound.
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
        within("adapter.cache.depth", depth.into(), 1, ADAPTER_CACHE_DEPTH_MAX.into())
    }
}
