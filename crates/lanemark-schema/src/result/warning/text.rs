//! The text of warnings about a result.

use std::fmt;

use super::{DriveSpace, LiveVerdict, UnsteadyReason, Warning};
use crate::text::latency_text;
use crate::units::{Bytes, Duration};

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PageCache { reason } => write!(f, "the page cache is in use ({reason})"),
            Self::NotRegistered { reason } => {
                write!(f, "buffers are not registered with the kernel ({reason})")
            }
            Self::FewRepeats { repeats: 1 } => write!(f, "only one repeat"),
            Self::FewRepeats { repeats } => write!(f, "only {repeats} repeats"),
            Self::Failed { test, errors } => {
                let requests = errors.total();
                write!(f, "{test}: {} ({errors})", counted(requests, "failed"))
            }
            Self::ShortSample { test, elapsed } => {
                write!(f, "{test}: the sample lasted only {elapsed}")
            }
            Self::Interrupted => write!(f, "the run was interrupted"),
            Self::TrainedDown { drive, port } => write!(f, "{drive} drive trained down to {port}"),
            Self::TimesBackward { requests, step_most } => write!(
                f,
                "{} times before the previous line's, by up to {step_most}; the previous time was used",
                counted(*requests, "had")
            ),
            Self::HeldBack { requests, outstanding } => write!(
                f,
                "{} because {outstanding} requests were outstanding",
                counted(*requests, "had to wait")
            ),
            Self::Wrapped { requests } => {
                write!(f, "{} beyond the end of the drive", counted(*requests, "lay"))
            }
            Self::EmptyRequests { requests } => {
                write!(f, "{} no length and no effect", counted(*requests, "had"))
            }
            Self::NotSteady { test, rounds, reason, range, slope_range } => {
                write!(f, "{test}: not steady after {}", rounds_text(*rounds))?;
                write_unsteady_reason(f, *reason, *range, *slope_range)
            }
            Self::FromPercentiles { test, known: 0 } => {
                write!(f, "{test}: only the mean, minimum and maximum latency are known")
            }
            Self::FromPercentiles { test, known } => {
                write!(
                    f,
                    "{test}: latencies are known only at {known} percentiles, and only these are shown"
                )
            }
            Self::AssumedLimit { test, limit } => write!(f, "{test}: {limit}"),
            Self::OnlyMeans { test } => {
                write!(
                    f,
                    "{test}: only the mean and possibly the minimum and maximum latency are known"
                )
            }
            Self::RatesOnly { program, time } => {
                write!(f, "{program} states only rates: each test is counted as a run of {time}")
            }
            Self::Imported { note } => write!(f, "{note}"),
            Self::BestOfRuns { program, runs: Some(runs) } => {
                write!(f, "each figure is the best of {program}'s {runs} runs")
            }
            Self::BestOfRuns { program, runs: None } => {
                write!(f, "each figure is the best of {program}'s runs")
            }
            Self::NoLatencies { test } => write!(f, "{test}: latencies were not measured"),
            Self::OptionsContradict { test, what } => write!(f, "{test}: {what}"),
            Self::NotStated { test, what, option } => {
                write!(
                    f,
                    "{test}: the source does not state {what} (add {option} to `lanemark report`)"
                )
            }
            Self::Punted { test, workers } => write!(
                f,
                "{test}: requests were handed to {}",
                match workers {
                    1 => "a kernel thread".to_owned(),
                    workers => format!("{workers} kernel threads"),
                }
            ),
            Self::NotFromDevice { test, asked_bytes, device_bytes } => write!(
                f,
                "{test}: {} MB were requested, but the device transferred {}: a cache above it answered the rest",
                megabytes(*asked_bytes),
                megabytes(*device_bytes)
            ),
            Self::OtherUse { test, asked_bytes, device_bytes } => write!(
                f,
                "{test}: {} MB were requested, but the device transferred {}: other programs used it too",
                megabytes(*asked_bytes),
                megabytes(*device_bytes)
            ),
            Self::Holes { share, below } => {
                write!(f, "{:.0}% of the data that is read was never written", share * 100.0)?;
                below
                    .as_ref()
                    .map_or(Ok(()), |file| write!(f, " to {file}, which backs the device"))
            }
            Self::NothingRequested => f.write_str(
                "the target received no requests: the figures describe only the program",
            ),
            Self::Compresses { what } => write!(f, "{what} compresses or deduplicates"),
            Self::CacheBelow { what } => write!(f, "{what}"),
            Self::Fresh { written_bytes, capacity_bytes } => write!(
                f,
                "{written_bytes} written to a {capacity_bytes} device, which may be fresh"
            ),
            Self::NotPreconditioned { precondition } => write!(
                f,
                "the workload requires a drive in the state `{}`, but the target was not written first",
                precondition.name()
            ),
            Self::Throttled { limit } => write!(f, "the run is held back: {limit}"),
            Self::OthersBusy { test, used, cores } => {
                write!(f, "{test}: other programs took {used:.2} of {cores} cores")
            }
            Self::CoreWait { test, share } => write!(
                f,
                "{test}: a requesting thread waited for a core {:.0}% of the time",
                share * 100.0
            ),
            Self::Transient { test, first_iops, second_iops, temperature_celsius } => {
                write!(
                    f,
                    "{test}: {first_iops:.0} requests/s in the first half, and {second_iops:.0} in the second \
                     half"
                )?;
                match temperature_celsius {
                    Some(degrees) => write!(f, ", at {degrees:.0} °C"),
                    None => Ok(()),
                }
            }
            Self::Overheated { test, limit_celsius, cool_iops, hot_iops } => write!(
                f,
                "{test}: the drive was at its temperature limit of {limit_celsius:.0} °C: {hot_iops:.0} requests/s, and \
                 {cool_iops:.0} below it"
            ),
            Self::GeneratorBound { test, busiest } => write!(
                f,
                "{test}: a thread of the program was busy {:.0}% of the time",
                busiest * 100.0
            ),
            Self::BufferFilling { test, share } => write!(
                f,
                "{test}: {:.0}% of the written data only filled the write buffer",
                share * 100.0
            ),
            Self::Stolen { test, cores } => {
                write!(f, "{test}: the hypervisor took {cores:.2} cores away")
            }
            Self::Asleep { test, wakes } => write!(
                f,
                "{test}: an idle processor of this virtual machine had to be woken {wakes:.1} times per request"
            ),
            Self::NotDelivered { test, lateness: (p50, p99), verdict } => {
                write!(f, "{test}: the run is invalid: ")?;
                write_live_verdict(f, *verdict, *p50, *p99)
            }
            Self::Late { test, lateness_p50, held_back, unsubmitted, requests } => {
                write!(
                    f,
                    "{test}: half of the requests were late by {lateness_p50} or more, and {held_back} \
                     of {requests} waited for others"
                )?;
                match unsubmitted {
                    0 => Ok(()),
                    more => write!(f, "; another {more} were due but never submitted"),
                }
            }
            Self::Unaccounted { test, outstanding, accounted } => write!(
                f,
                "{test}: {outstanding:.1} requests were outstanding on average, but throughput \
                 times latency is {accounted:.1}"
            ),
            Self::ClockDrift { share } => {
                write!(f, "two clocks of the machine drifted apart by {:.3}%", share.abs() * 100.0)
            }
            Self::WithoutFlash { test, read_ns, least_ns } => write!(
                f,
                "{test}: reads took {:.0} µs, but flash takes at least {:.0} µs",
                read_ns / 1e3,
                least_ns / 1e3
            ),
            Self::CacheNotModelled { tests_at_depth_one, whole_pages } => {
                write_cache_not_modelled(f, *tests_at_depth_one, *whole_pages)
            }
            Self::NoCollection { written_bytes, before: None } => {
                write!(f, "{written_bytes} written to a fresh drive, with nothing to collect yet")
            }
            Self::NoCollection { written_bytes, before: Some(before) } => {
                write!(f, "{written_bytes} written to ")?;
                write_drive_space(f, before)?;
                f.write_str(", with nothing to collect yet")
            }
            Self::Unfinished { test, requests, age, counted: longest } => {
                let time = |time: &Duration| latency_text(time.nanoseconds() as f64);
                let were = counted(*requests, if *requests == 1 { "was" } else { "were" });
                write!(f, "{test}: {were} in flight at the end, for up to {}, ", time(age))?;
                match longest {
                    Some(longest) => {
                        write!(f, "and the longest counted request took {}", time(longest))
                    }
                    None => f.write_str("and no request was counted"),
                }
            }
        }
    }
}

fn write_unsteady_reason(
    f: &mut fmt::Formatter<'_>,
    reason: UnsteadyReason,
    range: f64,
    slope_range: f64,
) -> fmt::Result {
    match reason {
        UnsteadyReason::FewRounds => write!(f, ", but five are needed"),
        UnsteadyReason::NoFigures => write!(f, ", in which no request completed"),
        UnsteadyReason::ErasedFlash => {
            write!(f, ": the drive still fills erased flash, and garbage collection has not begun")
        }
        UnsteadyReason::Range => {
            write!(f, ", the last five span {:.0}% of their mean", range * 100.0)
        }
        UnsteadyReason::Slope => {
            write!(f, ", the last five drift by {:.0}% of their mean", slope_range * 100.0)
        }
    }
}

/// Writes the reason why a live run is invalid. `p50` and `p99` are the delays of its answers.
fn write_live_verdict(
    f: &mut fmt::Formatter<'_>,
    verdict: LiveVerdict,
    p50: Duration,
    p99: Duration,
) -> fmt::Result {
    let why = match verdict {
        LiveVerdict::Saturated => "the server could not handle requests as fast as they came; ",
        LiveVerdict::Early => {
            return f
                .write_str("this machine takes less time for a request than the modelled host");
        }
        LiveVerdict::Late | LiveVerdict::Valid => "",
    };
    write!(f, "{why}the median delay of answers was {p50}")?;
    // With few answers, p99 is not known and is stored as zero.
    if p99 < p50 { Ok(()) } else { write!(f, ", and {p99} at p99") }
}

fn write_cache_not_modelled(
    f: &mut fmt::Formatter<'_>,
    tests_at_depth_one: u32,
    whole_pages: bool,
) -> fmt::Result {
    f.write_str(
        "the requests would use the page cache, which is not modelled: all requests reach the drive",
    )?;
    match tests_at_depth_one {
        0 => {}
        1 => f.write_str(
            "; one test runs with one request outstanding per thread, because libaio waits for \
             each buffered read",
        )?,
        tests => write!(
            f,
            "; {tests} tests run with one request outstanding per thread, because libaio waits \
             for each buffered read"
        )?,
    }
    if !whole_pages {
        return Ok(());
    }
    f.write_str("; requests that are not multiples of 512 B are rounded to whole pages of 4 KiB")
}

fn write_drive_space(f: &mut fmt::Formatter<'_>, space: &DriveSpace) -> fmt::Result {
    match (space.held_bytes, space.free_bytes) {
        (Bytes::ZERO, free) => write!(f, "an empty drive ({free} free)"),
        (held, Bytes::ZERO) => write!(f, "a full drive ({held} of data, no free space)"),
        (held, free) => write!(f, "a drive with {held} of data on it and {free} free"),
    }
}

fn megabytes(bytes: Bytes) -> String {
    format!("{:.0}", bytes.get() as f64 / 1e6)
}

fn rounds_text(rounds: u32) -> String {
    match rounds {
        1 => "one round".to_owned(),
        rounds => format!("{rounds} rounds"),
    }
}

/// Returns a count of requests with a verb, such as `17 requests came`.
fn counted(requests: u64, verb: &str) -> String {
    match requests {
        1 => format!("one request {verb}"),
        requests => format!("{requests} requests {verb}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text matches the state of the drive: for example, it does not call a full drive fresh.
    #[test]
    fn the_state_of_a_drive_before_a_run_is_stated() {
        let sentence = |held: u64, free: u64| {
            let gigabytes = |count: u64| Bytes(count * 1_000_000_000);
            let before =
                Some(DriveSpace { held_bytes: gigabytes(held), free_bytes: gigabytes(free) });
            Warning::NoCollection { written_bytes: Bytes::mebi(60), before }.to_string()
        };
        let [empty, full, part] = [sentence(0, 1000), sentence(1000, 0), sentence(10, 990)];
        assert!(empty.contains("60 MiB written to an empty drive (1 TB free)"), "{empty}");
        assert!(full.contains("a full drive (1 TB of data, no free space)"), "{full}");
        assert!(part.contains("a drive with 10 GB of data on it and 990 GB free"), "{part}");
        assert!([empty, full, part].iter().all(|text| !text.contains("fresh")));
    }
}
