//! The state `random` is the steady state of a load, for the flash drives of the library.
//!
//! The drives have fewer pages per block, and less data in proportion, so that a run of seconds shows their behaviour.

use lanemark_schema::result::{DrivePhases, DriveUse, Series};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{SeriesInterval, Test};
use lanemark_sim::run_test;
use lanemark_sim::spec::{DriveSpec, FlashSpec, MediaSpec, SystemSpec};
use lanemark_study::Library;
use lanemark_study::library::LibraryKind;

mod systems;
use systems::with_settings;

/// Number of pages per block of the drives.
const PAGES: u32 = 24;

/// Returns the system of a small drive like `drive` in the state `condition`, or `None` if it is not of flash.
fn small(drive: &str, condition: &str) -> Option<SystemSpec> {
    let condition = [("drive.state.condition", condition)];
    let system = ["pcie", "sata", "sas"]
        .iter()
        .find_map(|port| with_settings(&format!("{drive}@data-sheet:{port}"), &condition).ok())?;
    let mut spec = SystemSpec::clone(&system.spec);
    let drive = &mut spec.attachments[0].drive;
    let MediaSpec::Flash(flash) = &mut drive.media else { return None };
    if flash.technology.in_place() || flash.pages_per_block < PAGES {
        return None;
    }
    let scaled = |bytes: Bytes| {
        let pages = u64::from(flash.pages_per_block);
        Bytes(
            (u128::from(bytes.get()) * u128::from(PAGES) / u128::from(pages)) as u64 / 4096 * 4096,
        )
    };
    (drive.capacity, drive.buffer) = (scaled(drive.capacity), drive.buffer.min(Bytes::mebi(1)));
    let translation = &mut flash.translation;
    if let Some(cache) = &mut translation.pseudo_slc {
        (cache.capacity, cache.growth) = (scaled(cache.capacity), scaled(cache.growth));
    }
    if let Some(map) = &mut translation.map {
        (map.cached, map.in_host) = (scaled(map.cached), scaled(map.in_host));
    }
    flash.erase = flash.erase / u64::from(flash.pages_per_block / PAGES);
    flash.pages_per_block = PAGES;
    Some(spec)
}

fn flash(spec: &SystemSpec) -> &FlashSpec {
    let DriveSpec { media: MediaSpec::Flash(flash), .. } = &spec.attachments[0].drive else {
        panic!("a drive of flash")
    };
    flash
}

/// Writes as much as `superblocks` superblocks contain, at random places in a part of the drive.
fn written(spec: &SystemSpec, superblocks: u64, part: u64) -> (DriveUse, Series) {
    let span = Bytes(spec.attachments[0].drive.capacity.get() / part / 8192 * 8192);
    let volume = flash(spec).superblock() * superblocks;
    let test = Test::random_write("8 KiB").span(span).queue_depth(32).volume(volume);
    let interval = SeriesInterval::Fixed { interval: Duration::from_microseconds(2_000) };
    let test = Test { interval: Some(interval), ..test.build().unwrap().into_test() };
    let spec = spec.clone().checked().unwrap();
    let sample = run_test(&spec, &test.checked().unwrap(), StreamKey::from_seed(1)).unwrap();
    (sample.drive.unwrap(), sample.series.unwrap())
}

/// One in eight drives of the library, if it is of flash, and a pair with equal flash.
fn drives(library: &Library) -> Vec<String> {
    let is_flash = |name: &String| small(name, "fresh").is_some();
    let some = library.names(LibraryKind::Drive).into_iter().step_by(8).filter(is_flash);
    some.chain(["samsung-980-1tb", "samsung-980-pro-1tb"].map(str::to_owned)).collect()
}

/// Returns the write amplification of the data that reaches the flash outside the pseudo-SLC cache.
fn amplification(spec: &SystemSpec, used: &DriveUse) -> f64 {
    let folds = flash(spec).translation.pseudo_slc.is_some_and(|cache| cache.fold_when_full);
    let stored = if folds { used.folded } else { used.host_written };
    1.0 + used.moved.get() as f64 / stored.get() as f64
}

/// Returns the drive with as much flash for its data as `spec`, without its pseudo-SLC cache, and the number of
/// superblocks that the cache takes on a full drive: its fixed part, or half of the spare superblocks.
fn without_cache(mut spec: SystemSpec) -> (SystemSpec, u32) {
    let capacity = spec.attachments[0].drive.capacity.get();
    let DriveSpec { media: MediaSpec::Flash(flash), .. } = &mut spec.attachments[0].drive else {
        panic!("a drive of flash")
    };
    let superblock = flash.superblock().get();
    let each = superblock / flash.technology.bits() as u64;
    let cache = flash.translation.pseudo_slc.take();
    let fixed = cache.map_or(0, |cache| cache.capacity.get().div_ceil(each)) as u32;
    let spare = flash.blocks_per_plane - capacity.div_ceil(superblock) as u32;
    let kept = fixed.min(spare / 2);
    flash.blocks_per_plane -= kept;
    (spec, kept)
}

#[test]
fn the_state_of_random_writes_is_steady_from_the_first_write() {
    let library = Library::built_in();
    let drives = drives(&library);
    assert!(drives.len() > 20, "{drives:?}");
    let mut wrong = Vec::new();
    for name in &drives {
        let spec = small(name, "random").unwrap();
        let (used, series) = written(&spec, 6, 4);
        let half = series.points.len() / 2;
        let rate = |from: usize| {
            let (sum, elapsed) = series.sum(from, from + half);
            sum.requests() as f64 / elapsed.as_seconds()
        };
        let change = rate(half) / rate(0) - 1.0;
        // With little spare flash, the small drive collects in bursts of many superblocks.
        let allowed = if amplification(&spec, &used) > 8.0 { 0.3 } else { 0.08 };
        if change.abs() > allowed || used.erased_used > Bytes::ZERO {
            wrong.push(format!("{name}: {change:+.3}, uses up {}", used.erased_used));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn equal_flash_has_equal_write_amplification_with_and_without_a_cache() {
    let library = Library::built_in();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for name in &drives(&library) {
        let spec = small(name, "random").unwrap();
        let (other, kept) = without_cache(spec.clone());
        if kept == 0 {
            continue;
        }
        let [with, without] =
            [&spec, &other].map(|spec| amplification(spec, &written(spec, 6, 1).0));
        if !(0.9..1.1).contains(&(with / without)) {
            wrong.push(format!("{name}: {with:.2}, {without:.2} without the cache of {kept}"));
        }
        compared += 1;
    }
    assert!(compared > 15, "{compared} drives have a cache");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_drive_that_still_fills_erased_flash_is_not_called_steady() {
    let library = Library::built_in();
    for name in drives(&library) {
        for condition in ["fresh", "sequential"] {
            let spec = small(&name, condition).unwrap();
            let (used, series) = written(&spec, 2, 4);
            let phases = DrivePhases::from_series(&series);
            let is_collected = used.moved + used.folded > Bytes::ZERO;
            assert!(
                is_collected || (phases.uses_up_flash && phases.steady_from.is_none()),
                "{name}, {condition}: {phases:?}, {used:?}"
            );
        }
    }
}
