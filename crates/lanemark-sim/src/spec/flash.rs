//! The specification of a solid-state drive's media and translation layer.

use super::bounds::{SpecError, check_step_times, check_within};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};

/// The unit in which a drive maps logical to physical addresses.
pub const SLOT: Bytes = Bytes::kibi(4);

/// Number of erased superblocks below which collection begins. Assumed: no source states the number for a drive.
pub const ERASED_MIN: u32 = 4;

lanemark_schema::named_enum! {
    /// The technology of memory cells.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Technology {
        /// NAND, one bit per cell.
        Slc = "slc",
        /// NAND, two bits per cell.
        #[default]
        Mlc = "mlc",
        /// NAND, three bits per cell.
        Tlc = "tlc",
        /// NAND, four bits per cell.
        Qlc = "qlc",
        /// 3D XPoint, which is overwritten in place and not erased.
        XPoint = "3d-xpoint",
    }
}

impl Technology {
    /// Returns the number of bits per cell, which equals the number of kinds of pages: lower, middle, upper, top.
    pub fn bits(self) -> usize {
        match self {
            Self::Slc | Self::XPoint => 1,
            Self::Mlc => 2,
            Self::Tlc => 3,
            Self::Qlc => 4,
        }
    }

    /// Returns whether new data overwrites old data in place.
    pub fn in_place(self) -> bool {
        self == Self::XPoint
    }
}

/// A time for each kind of page that shares a cell; page p of a block has the kind `p mod bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTimes {
    times: [Duration; 4],
    kinds: u8,
}

impl PageTimes {
    /// Returns the same time for all kinds of pages.
    pub const fn alike(time: Duration) -> Self {
        Self { times: [time; 4], kinds: 1 }
    }

    /// Returns one time for each of one to four kinds.
    pub fn from_kinds(times: &[Duration]) -> Self {
        let mut kinds = [times[0]; 4];
        kinds[..times.len()].copy_from_slice(times);
        Self { times: kinds, kinds: times.len() as u8 }
    }

    /// Returns a time for each kind, in the proportions of one to four numbers `ratio`, with the mean `mean`.
    pub fn in_ratio(mean: Duration, ratio: &[u32]) -> Self {
        let mut parts = [0; 4];
        parts.iter_mut().zip(ratio).for_each(|(part, &number)| *part = number.into());
        Self::divided(mean, &parts[..ratio.len().min(4)])
    }

    /// Returns times in the same proportions, with the mean `mean`.
    #[must_use]
    pub fn with_mean(self, mean: Duration) -> Self {
        Self::divided(mean, &self.times.map(Duration::picoseconds)[..usize::from(self.kinds)])
    }

    /// Returns a time for each of up to four `parts`, in the proportions of the parts, with the mean `mean`.
    fn divided(mean: Duration, parts: &[u64]) -> Self {
        let whole: u128 = parts.iter().copied().map(u128::from).sum();
        if whole == 0 {
            return Self::alike(mean);
        }
        let total = u128::from(mean.picoseconds()) * parts.len() as u128;
        let mut times = [Duration::ZERO; 4];
        let mut sum = 0;
        let mut begin = 0;
        for (time, &part) in times.iter_mut().zip(parts) {
            // Each time is the difference of two rounded sums, so that the mean is exact.
            sum += u128::from(part);
            let end = total * sum / whole;
            *time = Duration::from_picoseconds((end - begin) as u64);
            begin = end;
        }
        Self::from_kinds(&times[..parts.len()])
    }

    /// Returns the time of page `page` of a block.
    #[inline]
    pub fn page_time(&self, page: u32) -> Duration {
        match self.kinds {
            1 => self.times[0],
            kinds => self.times[(page % u32::from(kinds)) as usize],
        }
    }

    /// Returns the mean over the kinds.
    pub fn mean(&self) -> Duration {
        let kinds = usize::from(self.kinds);
        self.times[..kinds].iter().copied().sum::<Duration>() / kinds as u64
    }

    /// Returns half of each time.
    #[must_use]
    pub fn halved(self) -> Self {
        Self { times: self.times.map(|time| time / 2), ..self }
    }

    /// Returns the maximum of the times.
    pub fn longest(&self) -> Duration {
        self.times.into_iter().max().unwrap_or_default()
    }

    /// Returns whether all kinds take the same time.
    pub(crate) fn are_alike(&self) -> bool {
        self.kinds == 1
    }
}

/// The flash of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashSpec {
    /// Technology of the cells.
    pub technology: Technology,
    /// Number of channels.
    pub channels: u32,
    /// Number of dies on each channel.
    pub dies_per_channel: u32,
    /// Number of planes of a die, which are programmed and erased together.
    pub planes: u32,
    /// Size of a page of one plane.
    pub page: Bytes,
    /// Number of pages in a block.
    pub pages_per_block: u32,
    /// Number of blocks in a plane.
    pub blocks_per_plane: u32,
    /// Time from the array to the page register (tR).
    pub read: PageTimes,
    /// Time from the page register to the array (tPROG).
    pub program: PageTimes,
    /// Time of a block erase (tBERS).
    pub erase: Duration,
    /// Data rate of a channel.
    pub channel_rate: BytesPerSecond,
    /// Time of the command and address cycles on a channel, per array operation.
    pub command_time: Duration,
    /// Optional capabilities of a die, beyond the execution of one operation at a time.
    pub die: DieSpec,
    /// The layer that maps logical to physical addresses.
    pub translation: TranslationSpec,
    /// Condition of the drive before the run.
    pub condition: DriveCondition,
    /// Share of the drive's capacity, from its beginning, that contains data, for a sequential or random condition.
    /// Space that was never written, or has been trimmed since, is spare space for garbage collection.
    pub filled: Ratio,
    /// Number of program and erase cycles that each block has completed.
    pub cycles: u32,
}

/// Optional capabilities of a die, beyond the execution of one operation at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieSpec {
    /// Whether each plane reads independently.
    pub independent_planes: bool,
    /// Whether the die has a cache register, so that it can sense the next page while the previous page is transferred.
    pub cache_read: bool,
    /// Whether the data of the next page can be transferred while the previous page is programmed.
    pub cache_program: bool,
    /// Times of suspension, if a program or erase in progress is suspended for reads.
    pub suspend: Option<SuspendSpec>,
}

/// Times for the suspension of a program or an erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendSpec {
    /// Time from the command until the array can be read.
    pub enter: Duration,
    /// Time of the resumption, in addition to the remaining time of the operation.
    pub resume: Duration,
}

lanemark_schema::named_enum! {
    /// Condition of a drive before the run: the data that was written to it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DriveCondition {
        /// The test's span was written sequentially; the rest of the drive is erased.
        #[default]
        Fresh = "fresh",
        /// The whole drive is erased, as after a purge.
        Purged = "purged",
        /// The whole drive, or the share `filled`, was written sequentially.
        Sequential = "sequential",
        /// The whole drive, or the share `filled`, was written randomly until its state was steady.
        Random = "random",
    }
}

/// The translation layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TranslationSpec {
    /// Time for which the drive must have been idle before it works in the background.
    pub idle_after: Duration,
    /// Sizes of the map caches, if the map is only partly in memory.
    pub map: Option<MapSpec>,
    /// The pseudo-SLC cache, if there is one.
    pub pseudo_slc: Option<PseudoSlcSpec>,
    /// Ratio of stored to original size that the most compressible data reaches; 1 disables compression.
    pub compression: Ratio,
    /// Share of programmed data that the host wrote while data arrived in random order: the inverse of write
    /// amplification. This share is set if the cost of collection was measured and collection is not simulated.
    pub beside_collection: Option<Ratio>,
}

impl Default for TranslationSpec {
    /// Returns a layer with the whole map in memory.
    fn default() -> Self {
        Self {
            idle_after: Duration::from_microseconds(10_000),
            map: None,
            pseudo_slc: None,
            compression: Ratio::ONE,
            beside_collection: None,
        }
    }
}

/// A map that is only partly in the drive's memory: 4 bytes per 4 KiB of data, in pages of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapSpec {
    /// Size of the map cache in the drive.
    pub cached: Bytes,
    /// Size of the map cache in the host's memory (NVMe host memory buffer), or zero.
    pub in_host: Bytes,
}

/// A pseudo-SLC cache: blocks that are written with one bit per cell and later folded into other blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PseudoSlcSpec {
    /// Minimum amount of data that the blocks store.
    pub capacity: Bytes,
    /// Amount of data that the blocks store beyond `capacity`, to the extent that this part of the drive's capacity is
    /// free.
    pub growth: Bytes,
    /// tR of these blocks.
    pub read: Duration,
    /// tPROG of these blocks.
    pub program: Duration,
    /// Whether writes wait for folding when the blocks are full; otherwise they bypass the blocks.
    pub fold_when_full: bool,
    /// Whether data beyond `capacity` has been folded before a run begins, because the drive folds while it is idle.
    pub emptied_when_idle: bool,
}

/// Returns the number of superblocks that a pseudo-SLC cache with a fixed part of `fixed` superblocks always has while
/// `spare` superblocks are not needed for the drive's data. The fixed part shrinks if it would take more than half of
/// them, because collection needs flash too. Assumed: no source states the limit.
pub(crate) fn kept_pseudo_slc(fixed: u64, spare: u64) -> u64 {
    fixed.min(spare / 2)
}

impl FlashSpec {
    /// Returns the number of dies.
    pub fn dies(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.dies_per_channel)
    }

    /// Returns the amount of data that one die programs at once: a page of each plane.
    pub fn unit(&self) -> Bytes {
        self.page * u64::from(self.planes)
    }

    /// Returns the amount of data that one die reads at once: a unit, or a page if the planes read independently.
    pub(crate) fn read_unit(&self) -> Bytes {
        if self.die.independent_planes { self.page } else { self.unit() }
    }

    /// Returns the size of a superblock, the unit of erasing: one block from every plane of every die.
    pub fn superblock(&self) -> Bytes {
        self.unit() * self.dies() * u64::from(self.pages_per_block)
    }

    /// Returns the time for which each unit that collection moves occupies a die, if the host's data is `share` of all
    /// programmed data. The share of valid data in the victims is `1 - share`, so several units must be read to gather
    /// one unit, and all programmed data is erased once.
    pub(crate) fn moving_time(&self, share: Ratio) -> Duration {
        let valid = (1.0 - share.get()).max(0.01);
        let slots = self.unit().get() as f64 / SLOT.get() as f64;
        let reads = self.read.mean().picoseconds() as f64 * (1.0 / valid).min(slots);
        let erase = self.erase.picoseconds() as f64 / f64::from(self.pages_per_block) / valid;
        self.program.mean() + Duration::from_picoseconds((reads + erase) as u64)
    }

    /// Returns the capacity of the flash.
    pub fn capacity(&self) -> Bytes {
        self.superblock() * u64::from(self.blocks_per_plane)
    }

    /// Returns the number of superblocks needed in addition to the data of a drive of `capacity`: an open superblock
    /// for each stream, the superblocks that collection keeps erased, and the pseudo-SLC cache.
    pub fn superblocks_spare(&self) -> u64 {
        if self.technology.in_place() {
            return 0;
        }
        // The host's data and moved data each fill a superblock.
        2 + u64::from(ERASED_MIN) + self.pseudo_slc_superblocks()
    }

    /// Returns the number of superblocks of the fixed part of the pseudo-SLC cache.
    pub(crate) fn pseudo_slc_superblocks(&self) -> u64 {
        let cache = self.translation.pseudo_slc;
        cache.map_or(0, |cache| self.pseudo_slc_of(cache.capacity))
    }

    /// Returns the number of superblocks that the pseudo-SLC cache always has while the drive's data needs `filled`
    /// superblocks.
    pub(crate) fn pseudo_slc_kept(&self, filled: u64) -> u64 {
        let spare = u64::from(self.blocks_per_plane).saturating_sub(filled);
        kept_pseudo_slc(self.pseudo_slc_superblocks(), spare)
    }

    /// Returns the number of superblocks by which the pseudo-SLC cache can grow while they are erased.
    pub(crate) fn pseudo_slc_growth(&self) -> u64 {
        let cache = self.translation.pseudo_slc;
        cache.map_or(0, |cache| self.pseudo_slc_of(cache.growth))
    }

    /// Returns the number of superblocks that store `data` with one bit per cell.
    fn pseudo_slc_of(&self, data: Bytes) -> u64 {
        let each = self.superblock().get() / self.technology.bits() as u64;
        data.get().div_ceil(each.max(1))
    }

    /// Checks that a measured cost of collection is plausible, and that collection is not also simulated.
    fn check_collection(&self) -> Result<(), SpecError> {
        let Some(share) = self.translation.beside_collection else { return Ok(()) };
        let is_simulated =
            !matches!(self.condition, DriveCondition::Fresh | DriveCondition::Purged);
        let bound = match share {
            _ if self.technology.in_place() => "not for 3D XPoint, which is written in place",
            _ if is_simulated => {
                "for fresh and purged drives: if the condition is `sequential` or `random`, collection is simulated"
            }
            share if share.get() < 0.01 => "from 1% to 100%",
            _ => return Ok(()),
        };
        Err(SpecError {
            field: "drive.translation.beside_collection",
            value: share.to_string(),
            bound: bound.to_owned(),
        })
    }

    /// Checks that all pages take the same time or that each page of a cell has its own time.
    fn check_pages(&self) -> Result<(), SpecError> {
        let pages = self.technology.bits();
        let both = [("drive.flash.read", self.read), ("drive.flash.program", self.program)];
        let has_all_kinds = |times: PageTimes| {
            let kinds = usize::from(times.kinds);
            kinds == 1 || (kinds == pages && !times.times.contains(&Duration::ZERO))
        };
        let Some((field, times)) = both.into_iter().find(|(_, times)| !has_all_kinds(*times))
        else {
            return Ok(());
        };
        let each = times.times.iter().take(usize::from(times.kinds)).map(Duration::to_string);
        let value = each.collect::<Vec<_>>().join(", ");
        let bound = format!("one time, or a time above 0 for each of the {pages} pages of a cell");
        Err(SpecError { field, value, bound })
    }

    fn check_times(&self) -> Result<(), SpecError> {
        let suspend = self.die.suspend;
        let cache = self.translation.pseudo_slc;
        check_step_times([
            ("drive.flash.read", self.read.longest()),
            ("drive.flash.program", self.program.longest()),
            ("drive.flash.erase", self.erase),
            ("drive.flash.command_time", self.command_time),
            ("drive.die.suspend", suspend.map_or(Duration::ZERO, |suspend| suspend.enter)),
            ("drive.die.resume", suspend.map_or(Duration::ZERO, |suspend| suspend.resume)),
            ("drive.pseudo_slc.read", cache.map_or(Duration::ZERO, |cache| cache.read)),
            ("drive.pseudo_slc.program", cache.map_or(Duration::ZERO, |cache| cache.program)),
        ])
    }

    /// Checks all bounds on which the simulator relies, for a drive of `capacity`.
    ///
    /// # Errors
    /// Returns an error for the first value that is out of bounds, with the bound.
    pub fn check(&self, capacity: Bytes) -> Result<(), SpecError> {
        let fail = |field, value: String, bound: String| Err(SpecError { field, value, bound });
        check_within("drive.flash.channels", self.channels.into(), 1, 256)?;
        check_within("drive.flash.dies_per_channel", self.dies_per_channel.into(), 1, 256)?;
        check_within("drive.flash.planes", self.planes.into(), 1, 16)?;
        check_within("drive.flash.pages_per_block", self.pages_per_block.into(), 1, 65_536)?;
        check_within("drive.flash.blocks_per_plane", self.blocks_per_plane.into(), 1, 1 << 24)?;
        let page = self.page;
        if page < SLOT || !page.get().is_multiple_of(SLOT.get()) || page > Bytes::kibi(64) {
            let bound = "a multiple of 4 KiB up to 64 KiB".to_owned();
            return fail("drive.flash.page", page.to_string(), bound);
        }
        if self.technology.in_place() && self.unit() != SLOT {
            let bound = "4 KiB and one plane, because 3D XPoint is written in place".to_owned();
            return fail("drive.flash.page", self.unit().to_string(), bound);
        }
        if self.channel_rate.0 < 1_000_000 {
            let bound = "at least 1 MB/s".to_owned();
            return fail("drive.flash.channel_rate", self.channel_rate.to_string(), bound);
        }
        let least = self.translation.compression;
        if least <= Ratio::ZERO {
            let bound = "above 0%, up to 100%".to_owned();
            return fail("drive.translation.compression", least.to_string(), bound);
        }
        self.check_collection()?;
        self.check_pages()?;
        self.check_times()?;
        let raw = self.capacity();
        let spare = self.superblocks_spare();
        if capacity == Bytes::ZERO || capacity + self.superblock() * spare > raw {
            let most = Bytes(raw.get().saturating_sub(self.superblock().get() * spare));
            let bound = format!("at most {most}: the flash less {spare} superblocks");
            return fail("drive.capacity", capacity.to_string(), bound);
        }
        // Slots are numbered in 32 bits, and compression packs more slots into the same flash.
        let slots = raw.get() as f64 / SLOT.get() as f64 / least.get();
        if slots >= f64::from(u32::MAX) {
            return fail("drive.flash", raw.to_string(), "less than 16 TiB of flash".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
