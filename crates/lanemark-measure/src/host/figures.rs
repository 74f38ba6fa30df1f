//! The measured values, and their text in a host file.

use std::fmt::Write;

use super::reads::ReadSlice;
use super::target::{BLOCK, LONG, ProtocolName};

/// The first line of a host file that this program wrote.
pub const MARK: &str = "# A measured host,";

/// Minimum ratio between a value and either end of its range, because the slices of one run vary less than different
/// runs on one machine.
const APART: f64 = 1.3;
/// Minimum growth, in percent, for which a file states a range.
const GROWTH_LEAST: f64 = 0.5;
/// Minimum time that a file states, in nanoseconds.
const SHORTEST_NS: f64 = 50.0;

/// A value in nanoseconds, with the range that contains 80% of its repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredValue {
    /// The median.
    pub value: f64,
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
}

/// The cost of a target's driver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverCost {
    /// The target's protocol.
    pub protocol: ProtocolName,
    /// Processor time of a request in addition to a read of zeros.
    pub time: MeasuredValue,
    /// Share of this time that is spent before the device receives the request.
    pub submit_share: f64,
    /// Processor time per MiB in addition to the time of a 4 KiB read; absent if the target is smaller than 1 MiB.
    pub per_mib: Option<MeasuredValue>,
}

/// The measured values of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFigures {
    /// Processor time to submit a read of zeros.
    pub submit: MeasuredValue,
    /// Processor time to complete a read of zeros.
    pub complete: MeasuredValue,
    /// Time from an interrupt to the thread that it wakes.
    pub wake: MeasuredValue,
    /// The cost of the target's driver, if there was a target.
    pub driver: Option<DriverCost>,
    /// Processor time of a request for each number of concurrent threads.
    pub by_threads: Vec<(u32, f64)>,
}

impl MeasuredValue {
    /// Returns the median of `values`, and the tenth and ninetieth percentile, each a factor of `APART` or more away
    /// from the median.
    pub fn from_values(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let value_at = |share: f64| {
            let last = values.len().saturating_sub(1) as f64;
            values.get((share * last).round() as usize).copied().unwrap_or(0.0).max(SHORTEST_NS)
        };
        let value = value_at(0.5);
        Self {
            value,
            low: value_at(0.1).min(value / APART),
            high: value_at(0.9).max(value * APART),
        }
    }

    /// Returns the value as text for TOML, with its range and the measured quantity.
    fn text(&self, what: &str) -> String {
        let Self { value, low, high } = self;
        format!(
            "{{ value = \"{value:.0} ns\", source = \"measured: {what}\", range = [\"{low:.0} ns\", \"{high:.0} ns\"] }}"
        )
    }
}

impl DriverCost {
    /// Returns the driver's cost: the cost of reading a target minus the cost of reading /dev/zero. `long` contains the
    /// slices of long reads.
    pub(super) fn from_slices(
        protocol: ProtocolName,
        zeros: &[ReadSlice],
        target: &[ReadSlice],
        long: &[ReadSlice],
    ) -> Self {
        let of = |slices: &[ReadSlice], time: fn(&ReadSlice) -> f64| {
            MeasuredValue::from_values(slices.iter().map(time).collect()).value
        };
        let base = of(zeros, ReadSlice::request_ns);
        let time = MeasuredValue::from_values(
            target.iter().map(|slice| slice.request_ns() - base).collect(),
        );
        let before = (of(target, ReadSlice::submit) - of(zeros, ReadSlice::submit)).max(0.0);
        let after = (of(target, ReadSlice::complete) - of(zeros, ReadSlice::complete)).max(0.0);
        let submit_share = if before + after > 0.0 { before / (before + after) } else { 0.5 };
        let short = of(target, ReadSlice::request_ns);
        let mib = f64::from(LONG - BLOCK) / f64::from(1 << 20);
        let per_mib = |slice: &ReadSlice| (slice.request_ns() - short) / mib;
        let per_mib = (!long.is_empty())
            .then(|| MeasuredValue::from_values(long.iter().map(per_mib).collect()));
        Self { protocol, time, submit_share, per_mib }
    }
}

impl HostFigures {
    pub(super) fn compute(
        zeros: &[ReadSlice],
        driver: Option<DriverCost>,
        by_threads: &[(u32, f64)],
        wakes: &[f64],
    ) -> Self {
        let spread = |time: fn(&ReadSlice) -> f64| {
            MeasuredValue::from_values(zeros.iter().map(time).collect())
        };
        Self {
            submit: spread(ReadSlice::submit),
            complete: spread(ReadSlice::complete),
            wake: MeasuredValue::from_values(wakes.to_vec()),
            driver,
            by_threads: by_threads.to_vec(),
        }
    }

    /// Returns the growth of a request's processor time per doubling of the number of threads; zero if it does not
    /// grow.
    pub fn thread_growth(&self) -> f64 {
        let (Some((one, first)), Some((many, last))) =
            (self.by_threads.first(), self.by_threads.last())
        else {
            return 0.0;
        };
        let doublings = (f64::from(*many) / f64::from(*one)).log2();
        if doublings <= 0.0 || *first <= 0.0 {
            return 0.0;
        }
        ((last / first).powf(1.0 / doublings) - 1.0).clamp(0.0, 1.0)
    }

    /// Returns a host file. `name` is the host's display name, and `machine` describes the machine.
    pub fn text(&self, name: &str, machine: &str) -> String {
        let quoted = |text: &str| text.replace(['"', '\\'], "'").replace(char::is_control, " ");
        let mut text = format!(
            "{}\n# {}\n\n[host]\nname = \"{}\"\n\n[cpu]\n",
            MARK,
            quoted(machine),
            quoted(name)
        );
        let lines = [
            (
                "request_submit  ",
                &self.submit,
                "submission of a 4 KiB read of /dev/zero, with 32 reads outstanding",
            ),
            (
                "request_complete",
                &self.complete,
                "completion of a 4 KiB read of /dev/zero, with 32 reads outstanding",
            ),
            (
                "wake            ",
                &self.wake,
                "from a timer interrupt to the thread that slept for 80 µs",
            ),
        ];
        for (key, value, what) in lines {
            let _ = writeln!(text, "{key} = {}", value.text(what));
        }
        let growth = 100.0 * self.thread_growth();
        let most = self.by_threads.last().map_or(1, |(threads, _)| *threads);
        // The ends of a range must be above zero.
        let range = if growth >= GROWTH_LEAST {
            format!(", range = [\"{:.1}%\", \"{:.1}%\"]", 0.5 * growth, (1.5 * growth).min(100.0))
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "thread_growth    = {{ value = \"{growth:.1}%\", source = \"measured: 1 to {most} threads\"{range} }}"
        );
        if let Some(DriverCost { per_mib: Some(time), .. }) = &self.driver {
            let what = "1 MiB reads of the target minus 4 KiB reads";
            let _ = writeln!(text, "pin_per_mib      = {}", time.text(what));
        }
        if let Some(DriverCost { protocol, time, submit_share, .. }) = &self.driver {
            let what = match protocol {
                ProtocolName::Other => {
                    "reads of the target minus reads of /dev/zero; the protocol of the target is not known"
                }
                _ => "reads of the target minus reads of /dev/zero",
            };
            let _ = write!(
                text,
                "\n[{}]\ndriver_time  = {}\nsubmit_share = {{ value = \"{:.0}%\", source = \"measured\" }}\n",
                protocol.table(),
                time.text(what),
                100.0 * submit_share
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(submit: f64, complete: f64) -> ReadSlice {
        ReadSlice { requests: 1000, submit_ns: 1000.0 * submit, complete_ns: 1000.0 * complete }
    }

    #[test]
    fn a_range_is_the_percentiles_and_never_narrower_than_the_minimum() {
        let wide = MeasuredValue::from_values(
            (0..=100).map(|number| 1000.0 + f64::from(number) * 20.0).collect(),
        );
        assert_eq!(wide, MeasuredValue { value: 2000.0, low: 1200.0, high: 2800.0 });
        let narrow = MeasuredValue::from_values(vec![1000.0; 5]);
        assert!((narrow.low - 1000.0 / APART).abs() < 1e-9);
        assert!((narrow.high - 1000.0 * APART).abs() < 1e-9);
        assert_eq!(MeasuredValue::from_values(Vec::new()).value, SHORTEST_NS);
    }

    #[test]
    fn a_driver_is_the_difference_to_zeros() {
        let long = [slice(200_000.0, 63_488.0)];
        let driver = DriverCost::from_slices(
            ProtocolName::Nvme,
            &[slice(500.0, 300.0)],
            &[slice(1400.0, 600.0)],
            &long,
        );
        assert!((driver.time.value - 1200.0).abs() < 1e-9);
        assert!((driver.submit_share - 0.75).abs() < 1e-9);
        // A read of 1 MiB takes 261,488 ns longer than a read of 4 KiB, for 1,020 KiB of additional data.
        let per_mib = driver.per_mib.unwrap().value;
        assert!((per_mib / 1024.0 * 1020.0 - 261_488.0).abs() < 1e-6, "{per_mib}");
        // If reading a target costs no more than reading zeros, its driver takes the minimum time.
        let none = DriverCost::from_slices(
            ProtocolName::Nvme,
            &[slice(500.0, 300.0)],
            &[slice(400.0, 300.0)],
            &[],
        );
        assert_eq!((none.time.value, none.submit_share, none.per_mib), (SHORTEST_NS, 0.5, None));
    }

    #[test]
    fn growth_is_by_doublings_and_never_negative() {
        let figures = |by_threads: &[(u32, f64)]| {
            HostFigures::compute(&[slice(1.0, 1.0)], None, by_threads, &[100.0])
        };
        let growth = figures(&[(1, 1000.0), (2, 1200.0), (4, 1440.0)]).thread_growth();
        assert!((growth - 0.2).abs() < 1e-9, "{growth}");
        for none in [&[][..], &[(1, 1000.0)], &[(1, 1000.0), (4, 900.0)]] {
            assert_eq!(figures(none).thread_growth(), 0.0);
        }
    }

    #[test]
    fn a_growth_of_zero_lacks_a_range() {
        let text = |by_threads: &[(u32, f64)]| {
            HostFigures::compute(&[slice(1.0, 1.0)], None, by_threads, &[100.0]).text("h", "m")
        };
        let none = text(&[(1, 1000.0)]);
        assert!(
            none.contains("value = \"0.0%\", source = \"measured: 1 to 1 threads\" }"),
            "{none}"
        );
        let some = text(&[(1, 1000.0), (2, 1200.0)]);
        assert!(some.contains("range = [\"10.0%\", \"30.0%\"]"), "{some}");
    }
}
