//! The tables `[flash]`, `[die]`, `[translation]` and `[state]` of a drive file.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_sim::spec::{
    DieSpec, DriveCondition, FlashSpec, MapSpec, PageTimes, PseudoSlcSpec, SuspendSpec, Technology,
    TranslationSpec,
};

use crate::document::Section;
use crate::error::StudyError;

/// Reads the flash of the drive file `root`.
///
/// # Errors
/// Returns the first error in the file.
pub(crate) fn read(root: &Section<'_>) -> Result<FlashSpec, StudyError> {
    let section = root.table("flash")?;
    let technology = section.setting("technology", &Technology::NAMES)?.unwrap_or_default();
    let mut spec = FlashSpec {
        technology,
        channels: section.integer("channels", 1, 256)? as u32,
        dies_per_channel: section.integer("dies_per_channel", 1, 256)? as u32,
        planes: section.integer("planes", 1, 16)? as u32,
        page: section.quantity("page")?,
        pages_per_block: section.integer("pages_per_block", 1, 65_536)? as u32,
        blocks_per_plane: section.integer("blocks_per_plane", 1, 1 << 24)? as u32,
        read: PageTimes::alike(section.quantity("read")?),
        program: PageTimes::alike(section.quantity("program")?),
        erase: section.quantity("erase")?,
        channel_rate: section.quantity("channel_rate")?,
        command_time: section.quantity("command_time")?,
        die: DieSpec::default(),
        translation: TranslationSpec::default(),
        condition: DriveCondition::default(),
        filled: Ratio::ONE,
        cycles: 0,
    };
    let pages = technology.bits();
    if let Some(ratio) = section.optional_parsed("read_ratio", RATIO, |text| ratio(text, pages))? {
        spec.read = PageTimes::in_ratio(spec.read.mean(), &ratio);
    }
    section.finish()?;
    spec.die = die(&root.settings("die")?)?;
    spec.translation = translation(&root.settings("translation")?)?;
    if let Some(section) = root.optional_table("pseudo_slc")? {
        spec.translation.pseudo_slc = pseudo_slc(&section)?;
        section.finish()?;
    }
    let state = root.settings("state")?;
    spec.condition = state.setting("condition", &DriveCondition::NAMES)?.unwrap_or_default();
    if let Some(filled) = filled_share(&state, spec.condition)? {
        spec.filled = filled;
    }
    spec.cycles = state.optional_integer("cycles", 0, 100_000_000)?.unwrap_or(0) as u32;
    state.finish()?;
    Ok(spec)
}

/// The values that `read_ratio` accepts.
pub(crate) const RATIO: &str =
    "one whole number for each page of a cell, such as \"2:3:2\", up to 100 times the smallest";

/// Parses a ratio such as `2:3:2`, with one number for each of the `pages` pages in a cell.
pub(crate) fn ratio(text: &str, pages: usize) -> Option<Vec<u32>> {
    let numbers = text.split(':').map(|number| number.trim().parse::<u32>().ok());
    let numbers: Vec<u32> = numbers.collect::<Option<_>>()?;
    let low = *numbers.iter().min()?;
    let high = *numbers.iter().max()?;
    let fits = numbers.len() == pages && low > 0 && u64::from(high) <= 100 * u64::from(low);
    fits.then_some(numbers)
}

fn share(section: &Section<'_>, key: &str) -> Result<Option<Ratio>, StudyError> {
    section.optional_parsed(key, "a percentage from \"0%\" to \"100%\"", per_cent)
}

/// Reads a share of 1% or more.
fn share_above_nought(section: &Section<'_>, key: &str) -> Result<Option<Ratio>, StudyError> {
    section.optional_parsed(key, "a percentage from \"1%\" to \"100%\"", |text| {
        per_cent(text).filter(|share| share.get() >= 0.01)
    })
}

/// Parses `50%`.
fn per_cent(text: &str) -> Option<Ratio> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    Ratio::new(percent / 100.0)
}

/// Reads `filled`, the share of the drive that has ever been written, for the conditions that require it.
fn filled_share(
    state: &Section<'_>,
    condition: DriveCondition,
) -> Result<Option<Ratio>, StudyError> {
    let filled = share_above_nought(state, "filled")?;
    match condition {
        DriveCondition::Fresh | DriveCondition::Purged if filled.is_some() => {
            let message = "is only for a drive whose condition is `sequential` or `random`";
            Err(state.error("filled", message))
        }
        DriveCondition::Fresh
        | DriveCondition::Purged
        | DriveCondition::Sequential
        | DriveCondition::Random => Ok(filled),
    }
}

fn flag(section: &Section<'_>, key: &str) -> Result<bool, StudyError> {
    Ok(section.setting(key, &[("yes", true), ("no", false)])?.unwrap_or(false))
}

fn die(section: &Section<'_>) -> Result<DieSpec, StudyError> {
    let enter: Option<Duration> = section.optional_quantity("suspend")?;
    let resume: Option<Duration> = section.optional_quantity("resume")?;
    if enter.is_none() && resume.is_some() {
        return Err(section.error("resume", "`resume` has an effect only with `suspend`"));
    }
    let spec = DieSpec {
        independent_planes: flag(section, "independent_planes")?,
        cache_read: flag(section, "cache_read")?,
        cache_program: flag(section, "cache_program")?,
        suspend: enter.map(|enter| SuspendSpec { enter, resume: resume.unwrap_or(Duration::ZERO) }),
    };
    section.finish()?;
    Ok(spec)
}

/// Reads the table `[pseudo_slc]`. A table with a size of 0 states that the drive does not have this cache; it does not
/// need times.
fn pseudo_slc(section: &Section<'_>) -> Result<Option<PseudoSlcSpec>, StudyError> {
    let capacity: Bytes = section.quantity("capacity")?;
    let growth: Bytes = section.optional_quantity("growth")?.unwrap_or_default();
    let read: Option<Duration> = section.optional_quantity("read")?;
    let program: Option<Duration> = section.optional_quantity("program")?;
    const WHEN_FULL: [(&str, bool); 2] = [("bypass", false), ("fold", true)];
    const SWITCH: [(&str, bool); 2] = [("no", false), ("yes", true)];
    if capacity == Bytes::ZERO && growth == Bytes::ZERO && read.is_none() && program.is_none() {
        section.setting("when_full", &WHEN_FULL)?;
        section.setting("emptied_when_idle", &SWITCH)?;
        return Ok(None);
    }
    Ok(Some(PseudoSlcSpec {
        capacity,
        growth,
        read: section.quantity("read")?,
        program: section.quantity("program")?,
        fold_when_full: section.choice("when_full", &WHEN_FULL)?,
        emptied_when_idle: section.setting("emptied_when_idle", &SWITCH)?.unwrap_or(false),
    }))
}

fn translation(section: &Section<'_>) -> Result<TranslationSpec, StudyError> {
    let usual = TranslationSpec::default();
    let spec = TranslationSpec {
        idle_after: section.optional_quantity("idle_after")?.unwrap_or(usual.idle_after),
        map: match section.optional_quantity("map_cached")? {
            Some(cached) => {
                let in_host = section.optional_quantity("map_in_host")?.unwrap_or_default();
                Some(MapSpec { cached, in_host })
            }
            None => None,
        },
        pseudo_slc: None,
        compression: share(section, "compresses_to")?.unwrap_or(usual.compression),
        beside_collection: share_above_nought(section, "beside_collection")?,
    };
    section.finish()?;
    Ok(spec)
}
