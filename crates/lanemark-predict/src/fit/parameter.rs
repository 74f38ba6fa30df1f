//! The values of a drive's model that a fit can vary.
//!
//! Each value is fitted as its logarithm, or as the logarithm of the value plus an offset if zero is a usual value.
//! Steps are therefore relative, and no value falls below its bound. The prior is a normal distribution with the
//! deviation [`PRIOR_SD`] around the template's value. It states only that similar drives differ by up to a factor of
//! about five, and it determines the values that the measurements leave open.
//!
//! The fit does not vary `front_end.engines`, because a measurement determines only the ratio of the number of engines
//! to their time. It also does not vary the buffer, or any value that has an effect only in the long run ([`UNSEEN`]).

use lanemark_schema::units::{BytesPerSecond, Duration, Ratio};
use lanemark_sim::spec::{DriveSpec, MediaSpec, PageTimes, PseudoSlcSpec};

use super::disk;

/// The standard deviation of the prior of a logarithm.
pub(super) const PRIOR_SD: f64 = 0.8;

/// A value that a fit can vary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    /// The path of the value, as for `--set`.
    pub(super) name: &'static str,
    pub(super) unit: ParameterUnit,
    /// Offset that is added before the logarithm is taken.
    pub(super) offset: f64,
    /// The minimum and maximum value that is tried.
    pub(super) bounds: (f64, f64),
    pub(super) shows: AffectedTests,
    /// Measurement that would determine the value.
    pub(super) needs: &'static str,
    pub(super) get: fn(&DriveSpec) -> Option<f64>,
    pub(super) set: fn(&mut DriveSpec, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterUnit {
    Microseconds,
    Megabytes,
    Percent,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AffectedTests {
    Reads,
    Writes,
    Both,
}

/// The values that a fit can vary, those that affect reads first.
const ALL: [Parameter; 11] = [
    Parameter {
        name: "drive.front_end.read_time",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (0.05, 500.0),
        shows: AffectedTests::Reads,
        needs: "small random reads by enough threads that the drive's processor is the limit \
                instead of a core or link: RND4K Q32T4 read with more threads, or in a faster port",
        get: |drive| Some(drive.front_end.read_time.as_microseconds()),
        set: |drive, us| drive.front_end.read_time = time(us),
    },
    Parameter {
        name: "drive.front_end.read_latency",
        unit: ParameterUnit::Microseconds,
        offset: 5.0,
        bounds: (0.0, 2000.0),
        shows: AffectedTests::Reads,
        needs: "random reads at all depths until the dies are the limit, RND4K Q1T1 to Q64T1 read: \
                one depth shows only its sum with flash.read",
        get: |drive| Some(drive.front_end.read_latency.as_microseconds()),
        set: |drive, us| drive.front_end.read_latency = time(us),
    },
    Parameter {
        name: "drive.flash.read",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (1.0, 3000.0),
        shows: AffectedTests::Reads,
        needs: "RND4K Q1T1 read, and reads deep enough that they queue at the dies",
        get: |drive| Some(flash(drive)?.read.mean().as_microseconds()),
        set: |drive, us| change(drive, |flash| flash.read = flash.read.with_mean(time(us))),
    },
    Parameter {
        name: "drive.pseudo_slc.read",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (1.0, 3000.0),
        shows: AffectedTests::Reads,
        needs: "RND4K Q1T1 read, and reads deep enough that they queue at the dies",
        get: |drive| Some(flash(drive)?.translation.pseudo_slc?.read.as_microseconds()),
        set: |drive, us| change_cache(drive, |cache| cache.read = time(us)),
    },
    Parameter {
        name: "drive.flash.channel_rate",
        unit: ParameterUnit::Megabytes,
        offset: 0.0,
        bounds: (20.0, 20_000.0),
        shows: AffectedTests::Both,
        needs: "RND16K and RND64K Q1T1 read, if no link takes more time per byte than a channel",
        get: |drive| Some(flash(drive)?.channel_rate.as_megabytes()),
        set: |drive, rate| change(drive, |flash| flash.channel_rate = megabytes(rate)),
    },
    Parameter {
        name: "drive.data_path.read",
        unit: ParameterUnit::Megabytes,
        offset: 0.0,
        bounds: (2.0, 100_000.0),
        shows: AffectedTests::Reads,
        needs: "SEQ128K Q32T1 read in a faster port",
        get: |drive| Some(drive.data_path_read?.as_megabytes()),
        set: |drive, rate| drive.data_path_read = Some(megabytes(rate)),
    },
    Parameter {
        name: "drive.front_end.write_time",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (0.05, 2000.0),
        shows: AffectedTests::Writes,
        needs: "small random writes by enough threads that the drive's processor is the limit \
                instead of a core or link: RND4K Q32T4 write with more threads, or in a faster \
                port",
        get: |drive| Some(drive.front_end.write_time.as_microseconds()),
        set: |drive, us| drive.front_end.write_time = time(us),
    },
    Parameter {
        name: "drive.front_end.write_latency",
        unit: ParameterUnit::Microseconds,
        offset: 5.0,
        bounds: (0.0, 20_000.0),
        shows: AffectedTests::Writes,
        needs: "RND4K Q1T1 write",
        get: |drive| Some(drive.front_end.write_latency.as_microseconds()),
        set: |drive, us| drive.front_end.write_latency = time(us),
    },
    Parameter {
        name: "drive.data_path.write",
        unit: ParameterUnit::Megabytes,
        offset: 0.0,
        bounds: (2.0, 100_000.0),
        shows: AffectedTests::Writes,
        needs: "SEQ128K Q32T1 write in a faster port, and to faster flash",
        get: |drive| Some(drive.data_path_write?.as_megabytes()),
        set: |drive, rate| drive.data_path_write = Some(megabytes(rate)),
    },
    Parameter {
        name: "drive.pseudo_slc.program",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (5.0, 20_000.0),
        shows: AffectedTests::Writes,
        needs: "SEQ128K Q32T1 write in a port that is faster than the flash",
        get: |drive| Some(flash(drive)?.translation.pseudo_slc?.program.as_microseconds()),
        set: |drive, us| change_cache(drive, |cache| cache.program = time(us)),
    },
    Parameter {
        name: "drive.flash.program",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (5.0, 50_000.0),
        shows: AffectedTests::Writes,
        needs: "SEQ128K Q32T1 write in a port that is faster than the flash",
        get: |drive| Some(flash(drive)?.program.mean().as_microseconds()),
        set: |drive, us| change(drive, |flash| flash.program = PageTimes::alike(time(us))),
    },
];

/// The share of random writes in all programmed data during collection. A fit varies it only if the measured writes
/// require it.
pub(super) const COLLECTION: Parameter = Parameter {
    name: "drive.translation.beside_collection",
    unit: ParameterUnit::Percent,
    offset: 0.0,
    bounds: (1.0, 100.0),
    shows: AffectedTests::Writes,
    needs: "random writes of several lengths, RND4K Q32T1 and RND64K Q32T1 write: collection \
            limits bytes, and the drive's processor limits commands",
    get: |drive| Some(flash(drive)?.translation.beside_collection?.get() * 100.0),
    set: |drive, percent| {
        change(drive, |flash| flash.translation.beside_collection = Ratio::new(percent / 100.0));
    },
};

/// Values that a workload of a few minutes cannot determine, each with the measurement that would determine it.
pub(super) const UNSEEN: [(&str, &str); 5] = [
    (
        "drive.front_end.engines",
        "measurements show only the number of engines divided by the time: if all commands are alike, twice as many engines at half the speed change only the latency of a single read",
    ),
    (
        "drive.buffer.capacity",
        "it fills within milliseconds, so rates do not show it; a burst of writes after an idle period does, with --interval 1ms",
    ),
    (
        "drive.pseudo_slc.capacity",
        "sequential writes that exceed the cache, so that the rate drops: --duration 120s --interval 1s",
    ),
    ("drive.flash.erase", "random writes over the whole drive until they are steady: --steady 60s"),
    (
        "drive.translation",
        "random writes over the whole drive until they are steady (--steady 60s), and reads over the whole drive for a map that is only partly in memory",
    ),
];

impl Parameter {
    /// Returns the values that short tests of a drive like `drive` can determine. If the flash has separate times for a
    /// pseudo-SLC cache, only these times are fitted, because data that was just written is in the cache.
    pub(super) fn list_for(drive: &DriveSpec) -> Vec<Self> {
        if disk::disk(drive).is_some() {
            return disk::PARAMETERS.to_vec();
        }
        let cached = flash(drive).is_some_and(|flash| flash.translation.pseudo_slc.is_some());
        let hidden = if cached { "drive.flash." } else { "drive.pseudo_slc." };
        let is_hidden = |name: &str| {
            name.strip_prefix(hidden).is_some_and(|key| ["read", "program"].contains(&key))
        };
        ALL.into_iter().filter(|parameter| !is_hidden(parameter.name)).collect()
    }

    /// Returns the value in `drive`; `None` if the drive does not have this limit.
    pub(super) fn get(&self, drive: &DriveSpec) -> Option<f64> {
        (self.get)(drive)
    }

    /// Sets the value in `drive` to the value with the logarithm `log`.
    pub(super) fn set(&self, drive: &mut DriveSpec, log: f64) {
        (self.set)(drive, self.value(log));
    }

    /// Returns the value with this logarithm, within the bounds.
    pub(super) fn value(&self, log: f64) -> f64 {
        (log.exp() - self.offset).clamp(self.bounds.0, self.bounds.1)
    }

    pub(super) fn log(&self, value: f64) -> f64 {
        (value.clamp(self.bounds.0, self.bounds.1) + self.offset).ln()
    }

    /// Returns the value in the format of a drive file, with four digits.
    pub(super) fn text(&self, value: f64) -> String {
        match self.unit {
            ParameterUnit::Microseconds => format!("{} us", digits(value)),
            ParameterUnit::Megabytes => format!("{} MB/s", digits(value)),
            ParameterUnit::Percent => format!("{}%", digits(value)),
            ParameterUnit::Count => format!("{value:.0}"),
        }
    }

    /// Returns the value rounded in the same way as its text.
    pub(super) fn rounded(&self, value: f64) -> f64 {
        match self.unit {
            ParameterUnit::Count => value.round(),
            _ => digits(value).parse().unwrap_or(value),
        }
    }
}

/// Returns four significant digits without an exponent, down to a nanosecond.
fn digits(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let before = value.log10().floor() as i32 + 1;
    let decimals = (4 - before).clamp(0, 3) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

pub(super) fn time(us: f64) -> Duration {
    Duration::from_picoseconds((us * 1e6).round().max(0.0) as u64)
}

fn megabytes(rate: f64) -> BytesPerSecond {
    BytesPerSecond((rate * 1e6).round().max(1e6) as u64)
}

/// Returns the flash of a drive, if it has flash.
pub(super) fn flash(drive: &DriveSpec) -> Option<&lanemark_sim::spec::FlashSpec> {
    match &drive.media {
        MediaSpec::Flash(flash) => Some(flash),
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => None,
    }
}

/// Changes the flash of a drive, if it has flash.
pub(super) fn change(drive: &mut DriveSpec, how: impl FnOnce(&mut lanemark_sim::spec::FlashSpec)) {
    if let MediaSpec::Flash(flash) = &mut drive.media {
        how(flash);
    }
}

/// Changes the pseudo-SLC cache of `drive`, if the drive has one.
fn change_cache(drive: &mut DriveSpec, how: impl FnOnce(&mut PseudoSlcSpec)) {
    change(drive, |flash| {
        if let Some(cache) = &mut flash.translation.pseudo_slc {
            how(cache);
        }
    });
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Bytes;

    use super::*;

    #[test]
    fn only_a_drive_with_a_cache_has_its_cache_changed() {
        let cache = PseudoSlcSpec {
            capacity: Bytes::mebi(1),
            growth: Bytes::ZERO,
            read: Duration::ZERO,
            program: Duration::ZERO,
            fold_when_full: false,
            emptied_when_idle: false,
        };
        let capacity = |drive: &DriveSpec| {
            flash(drive).and_then(|flash| Some(flash.translation.pseudo_slc?.capacity))
        };
        let mut drive = DriveSpec::example();
        change_cache(&mut drive, |cache| cache.capacity = Bytes::mebi(7));
        assert_eq!(capacity(&drive), None);
        change(&mut drive, |flash| flash.translation.pseudo_slc = Some(cache));
        change_cache(&mut drive, |cache| cache.capacity = Bytes::mebi(7));
        assert_eq!(capacity(&drive), Some(Bytes::mebi(7)));
    }

    #[test]
    fn digits_are_four_and_no_more() {
        for (value, text) in
            [(52.1349, "52.13"), (0.0, "0"), (2.2, "2.2"), (12345.6, "12346"), (0.0512, "0.051")]
        {
            assert_eq!(digits(value), text);
        }
    }

    #[test]
    fn a_rounded_value_is_the_value_of_its_text() {
        for parameter in ALL.into_iter().chain([COLLECTION]).chain(disk::PARAMETERS) {
            let (low, high) = parameter.bounds;
            for value in [low, 52.1349, 1234.56, f64::midpoint(low, high), high] {
                let text = parameter.text(value);
                let rounded = parameter.rounded(value);
                let number = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
                assert_eq!(number.parse(), Ok(rounded), "{}: {text}", parameter.name);
                // The value is rounded to four digits, but not more finely than a nanosecond or a whole number.
                let step: f64 = if parameter.unit == ParameterUnit::Count { 0.5 } else { 5.1e-4 };
                assert!((rounded - value).abs() <= step.max(value * 5.1e-4), "{text} for {value}");
            }
        }
    }

    #[test]
    fn a_value_comes_back_from_its_logarithm_within_its_bounds() {
        for parameter in ALL.into_iter().chain([COLLECTION]).chain(disk::PARAMETERS) {
            let (low, high) = parameter.bounds;
            for value in [low, f64::midpoint(low, high), high] {
                let back = parameter.value(parameter.log(value));
                assert!((back - value).abs() <= 1e-9 * high, "{}: {back}", parameter.name);
            }
            assert_eq!(parameter.value(100.0), high);
        }
    }
}
