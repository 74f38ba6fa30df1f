//! `--watch`: shows a run in a full-screen view.
//!
//! The view uses stderr's alternate screen and is updated a few times a second. It is removed when the run ends, and
//! the result follows on stdout as usual. The latencies describe the last interval instead of the whole sample.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_measure::SampleInProgress;
use lanemark_schema::result::{DeviceUse, LatencyHistogram};
use lanemark_schema::text::shown;
use lanemark_schema::units::Duration;

/// Number of intervals in the curve.
const MOMENTS: usize = 60;
/// The bar heights in the curve.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Whether a view uses the screen.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// The full-screen view of a run.
pub(crate) struct RunScreen {
    is_shown: bool,
    /// Figures at the previous update.
    last: Option<LastUpdate>,
    rates: VecDeque<f64>,
}

struct LastUpdate {
    sample: usize,
    elapsed: Duration,
    bytes: u64,
    requests: u64,
    latency: Option<LatencyHistogram>,
    device: Option<DeviceUse>,
}

impl RunScreen {
    pub(crate) fn new() -> Self {
        Self { is_shown: false, last: None, rates: VecDeque::new() }
    }

    /// Draws the progress of a sample.
    pub(crate) fn show(&mut self, title: &str, running: &SampleInProgress<'_>) {
        let page = self.page(title, running);
        // A view that cannot be drawn must not end a run.
        let mut screen = std::io::stderr().lock();
        if !self.is_shown {
            self.is_shown = true;
            SHOWN.store(true, Ordering::SeqCst);
            let _ = write!(screen, "\x1b[?1049h\x1b[?25l");
        }
        let _ = write!(screen, "\x1b[H{}\x1b[J", page.replace('\n', "\x1b[K\r\n"));
        let _ = screen.flush();
    }

    /// Restores the screen.
    pub(crate) fn end(&mut self) {
        if self.is_shown {
            self.is_shown = false;
            give_back();
        }
    }

    /// Returns the page as text.
    fn page(&mut self, title: &str, running: &SampleInProgress<'_>) -> String {
        let now = LastUpdate {
            sample: running.samples.0,
            elapsed: running.elapsed,
            bytes: running.bytes.get(),
            requests: running.requests,
            latency: running.latency.clone(),
            device: running.device.clone(),
        };
        let before = self.last.take().filter(|last| last.sample == now.sample);
        if before.is_none() {
            self.rates.clear();
        }
        let moment = Rates::between(before.as_ref(), &now);
        self.rates.push_back(moment.bytes_per_second);
        if self.rates.len() > MOMENTS {
            self.rates.pop_front();
        }
        self.last = Some(now);
        let mut page = String::new();
        let _ = writeln!(page, "{}\n", shown(title));
        let _ = writeln!(
            page,
            "{} of {}  {}, repeat {}, {:.1} s{}\n",
            running.samples.0 + 1,
            running.samples.1,
            shown(&running.test.name),
            running.repeat + 1,
            running.elapsed.as_seconds(),
            running.test.duration.map_or(String::new(), |all| format!(" of {all}")),
        );
        let _ = writeln!(page, "  throughput  {:>10.1} MB/s", moment.bytes_per_second / 1e6);
        let _ = writeln!(page, "  requests    {:>10.0} /s", moment.iops);
        for (percentile, name) in [(50.0, "p50"), (99.0, "p99"), (99.9, "p99.9")] {
            let latency =
                moment.latency.as_ref().and_then(|histogram| histogram.percentile_ns(percentile));
            let latency = latency.map_or("–".to_owned(), |ns| format!("{:.1}", ns as f64 / 1e3));
            let _ = writeln!(page, "  {name:<10}  {latency:>10} µs");
        }
        if let Some(busy) = moment.busy {
            let _ = writeln!(page, "  device busy {:>10.0} %", busy * 100.0);
        }
        let _ = writeln!(page, "\n  {}", curve(&self.rates));
        let _ = write!(page, "\nCtrl-C ends the run and keeps its results.\n");
        page
    }
}

impl Drop for RunScreen {
    fn drop(&mut self) {
        self.end();
    }
}

/// Restores the screen if a view uses it. The program calls this function if it ends without dropping the view.
pub(crate) fn give_back() {
    if SHOWN.swap(false, Ordering::SeqCst) {
        let _ = write!(std::io::stderr(), "\x1b[?25h\x1b[?1049l");
    }
}

/// The rates between two updates.
struct Rates {
    bytes_per_second: f64,
    iops: f64,
    latency: Option<LatencyHistogram>,
    busy: Option<f64>,
}

impl Rates {
    fn between(before: Option<&LastUpdate>, now: &LastUpdate) -> Self {
        let since = before.map_or(Duration::ZERO, |last| last.elapsed);
        let seconds = now.elapsed.saturating_sub(since).as_seconds().max(1e-9);
        let difference = |of: fn(&LastUpdate) -> u64| {
            of(now).saturating_sub(before.map_or(0, of)) as f64 / seconds
        };
        let latency = now.latency.as_ref().map(|latency| {
            match before.and_then(|last| last.latency.as_ref()) {
                Some(earlier) if earlier.count() < latency.count() => latency.since(earlier),
                _ => latency.clone(),
            }
        });
        let busy = now.device.as_ref().map(|device| {
            let earlier = before.and_then(|last| last.device.as_ref());
            let busy = device.busy.saturating_sub(earlier.map_or(Duration::ZERO, |one| one.busy));
            let elapsed =
                device.elapsed.saturating_sub(earlier.map_or(Duration::ZERO, |one| one.elapsed));
            (busy.as_seconds() / elapsed.as_seconds().max(1e-9)).min(1.0)
        });
        let (bytes_per_second, iops) =
            (difference(|last| last.bytes), difference(|last| last.requests));
        Self { bytes_per_second, iops, latency, busy }
    }
}

/// Returns the rates as bars; the highest rate has the full height.
fn curve(rates: &VecDeque<f64>) -> String {
    let highest = rates.iter().copied().fold(0.0, f64::max).max(1e-9);
    let bar = |rate: &f64| BARS[((rate / highest * 7.0).round() as usize).min(7)];
    rates.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(ms: u64, requests: u64, latencies: &[u64]) -> LastUpdate {
        let mut latency = LatencyHistogram::new();
        latencies.iter().for_each(|&ns| latency.record_ns(ns));
        LastUpdate {
            sample: 0,
            elapsed: Duration::from_microseconds(ms * 1000),
            bytes: requests * 4096,
            requests,
            latency: Some(latency),
            device: None,
        }
    }

    #[test]
    fn a_moment_covers_the_time_since_the_previous_reading() {
        let (before, now) =
            (last(1000, 100, &[10_000]), last(1500, 300, &[10_000, 30_000, 30_000]));
        let moment = Rates::between(Some(&before), &now);
        assert_eq!((moment.iops, moment.bytes_per_second), (400.0, 400.0 * 4096.0));
        let median = moment.latency.unwrap().percentile_ns(50.0).unwrap();
        assert!((29_900..30_100).contains(&median), "{median}");
        assert_eq!(moment.busy, None);
        assert_eq!(Rates::between(None, &before).iops, 100.0);
    }

    #[test]
    fn the_curve_is_as_high_as_its_highest() {
        assert_eq!(curve(&VecDeque::from([0.0, 50.0, 100.0])), "▁▅█");
        assert_eq!(curve(&VecDeque::from([0.0])), "▁");
    }
}
