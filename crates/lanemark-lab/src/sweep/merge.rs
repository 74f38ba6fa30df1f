//! Merging the parts of a sweep.
//!
//! The provenance file of a part identifies the sweep and states its number of points. Both determine the key of each
//! row. With this information, the merge checks that every point of the sweep is present exactly once.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use lanemark_schema::result::{Provenance, Sweep};
use lanemark_study::sweep::{POINTS_MAX, key, rows};

use super::journal::{open_locked, write_error};
use super::provenance::{self, SweepProvenance};
use crate::error::LabError;
use crate::{input, reserved};

/// The maximum number of ranges of missing points that a message lists.
const TOLD_MAX: usize = 5;

/// A part of a sweep, as read.
struct SweepPart<'p> {
    path: &'p Path,
    text: String,
    beside: SweepProvenance,
}

/// Merges the points of `parts` into the file `out`, in order. The file is identical to the file of a single run of all
/// points. `provenance` describes the merging program; the parts determine the seed and the inputs.
///
/// # Errors
/// Returns an error if a part cannot be read, is damaged or belongs to another sweep; if a point is in two parts or in
/// no part; or if `out` contains anything other than this sweep.
pub fn merge(parts: &[PathBuf], out: &Path, provenance: Provenance) -> Result<Sweep, LabError> {
    let parts = parts.iter().map(|path| SweepPart::read(path)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = parts.first() else {
        return Err(LabError::input("there are no parts to merge")
            .hint("use files that `lanemark sweep --points` wrote"));
    };
    let (sweep, points) = (&first.beside.sweep, first.beside.points);
    for part in &parts {
        if part.beside.sweep != *sweep
            || part.beside.points != points
            || part.head() != first.head()
        {
            let message = format!(
                "{} and {} belong to different sweeps: system, workload, library, seed, settings, axes or \
                 version differ",
                first.path.display(),
                part.path.display()
            );
            return Err(LabError::input(message).hint("merge the parts of one sweep"));
        }
    }
    let lines = lines(&parts, points)?;
    let length = first.head().len() + lines.iter().map(|line| line.len() + 1).sum::<usize>();
    if length as u64 > input::RESULT_MAX {
        let message = format!("{}: the sweep is too long to be read again", out.display());
        return Err(LabError::run(message));
    }
    let mut text = first.head().to_owned();
    for line in lines {
        text += line;
        text.push('\n');
    }
    let spoilt =
        |line| LabError::run(format!("line {line} of the merged sweep is not a row of a sweep"));
    let merged = rows::read(&text).map_err(spoilt)?;
    merged.check().map_err(|error| LabError::input(format!("the merged sweep: {error}")))?;
    write(out, &text, sweep)?;
    let (seed, inputs) = (first.beside.provenance.seed, first.beside.provenance.inputs.clone());
    let axes = first.beside.axes.clone();
    provenance::note(out, sweep, points, axes, Provenance { seed, inputs, ..provenance })?;
    Ok(merged)
}

impl<'p> SweepPart<'p> {
    fn read(path: &'p Path) -> Result<Self, LabError> {
        let name = path.display();
        let text = input::text(path, input::RESULT_MAX)?;
        let head = text.split_inclusive('\n').next().unwrap_or_default();
        let axes = head.strip_suffix('\n').and_then(rows::axes);
        if axes.is_none() {
            return Err(LabError::input(format!("{name} is not a part of a sweep"))
                .hint("use files that `lanemark sweep --points` wrote"));
        }
        let noted = provenance::provenance_path(path);
        let beside = provenance::read_complete(path)
            .filter(|beside| (1..=POINTS_MAX).contains(&beside.points))
            .ok_or_else(|| {
                let message =
                    format!("{name}: {} does not state the sweep of the part", noted.display());
                LabError::input(message).hint(
                    "keep the .provenance.json that `lanemark sweep` writes next to each part",
                )
            })?;
        if rows::header(&beside.axes) != head {
            let message = format!("{name}:1: its axes differ from the axes in {}", noted.display());
            return Err(LabError::input(message).hint("run the part again, into a different file"));
        }
        Ok(Self { path, text, beside })
    }

    /// Returns the first line, including its line end.
    fn head(&self) -> &str {
        self.text.split_inclusive('\n').next().unwrap_or_default()
    }
}

/// Returns the lines of all points in order, without their line ends.
fn lines<'t>(parts: &'t [SweepPart<'_>], points: u64) -> Result<Vec<&'t str>, LabError> {
    let mut held: Vec<Option<(&SweepPart<'_>, &str)>> = vec![None; points as usize];
    for part in parts {
        let name = part.path.display();
        // A torn line at the end is not a row.
        let whole = part.text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        for (index, line) in whole.enumerate().skip(1) {
            let id = rows::id(line, part.beside.axes.len()).ok_or_else(|| {
                LabError::input(format!("{name}:{}: not a row of a sweep", index + 1))
                    .hint("run the part again, into a different file")
            })?;
            let is_own_key = key(&part.beside.sweep, id.number, &id.values) == id.key;
            let Some(place) = held.get_mut(id.number as usize).filter(|_| is_own_key) else {
                let message = format!("{name}:{}: not a point of this sweep", index + 1);
                return Err(
                    LabError::input(message).hint("run the part again, into a different file")
                );
            };
            if let Some((other, _)) = place {
                let (number, other) = (id.number, other.path.display());
                let message = format!("{name}:{}: point {number} is also in {other}", index + 1);
                return Err(LabError::input(message)
                    .hint("use parts in which every point appears only once"));
            }
            *place = Some((part, line));
        }
    }
    let missing = ranges((0..points).filter(|&number| held[number as usize].is_none()));
    let Some(first) = missing.first() else {
        return Ok(held.into_iter().flatten().map(|(_, line)| line).collect());
    };
    let range_text = |range: &RangeInclusive<u64>| format!("{}..{}", range.start(), range.end());
    let mut all: Vec<String> = missing.iter().take(TOLD_MAX).map(range_text).collect();
    if missing.len() > TOLD_MAX {
        all.push("…".to_owned());
    }
    let message = format!("no part contains the points {} of 0..{}", all.join(", "), points - 1);
    Err(LabError::input(message).hint(format!(
        "run them, `lanemark sweep … --points {}`, and merge all parts",
        range_text(first)
    )))
}

/// Returns sorted numbers as ranges.
fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == number => *last = *last.start()..=number,
            _ => ranges.push(number..=number),
        }
    }
    ranges
}

/// Writes `text` to `out`, if the path is free or contains a file of the same sweep.
fn write(out: &Path, text: &str, sweep: &str) -> Result<(), LabError> {
    let fail = |error: std::io::Error| write_error(out, &error);
    let there = std::fs::symlink_metadata(out).is_ok_and(|there| there.len() > 0);
    if there && provenance::read_complete(out).is_none_or(|beside| beside.sweep != sweep) {
        let message = format!("{} exists and belongs to another sweep", out.display());
        return Err(LabError::refused(message).hint("use a different --out, or remove the file"));
    }
    let locked = open_locked(out)?;
    reserved::replace(out, text.as_bytes(), false).map_err(fail)?;
    drop(locked);
    Ok(())
}
