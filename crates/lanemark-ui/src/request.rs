//! Checked requests from a page: a system from the library with changed values, and a test.
//!
//! Every value is limited, so that a request cannot exhaust the machine's memory or occupy the machine for more than a
//! few seconds; the command line has wider limits. A page can name only entries of the library: the server does not
//! open paths for a page.

use lanemark_lab::{LabError, assemble, setting};
use lanemark_schema::units::{Bytes, Duration, Instant, Ratio};
use lanemark_schema::workload::{Fault, Pattern, Test, TestError};
use lanemark_sim::spec::CheckedSystem;
use lanemark_study::library::LibraryKind;
use lanemark_study::system::SystemName;
use lanemark_study::{Library, Location, System};
use serde::{Deserialize, Serialize};

/// Maximum number of drives in a system.
const DRIVES_MAX: usize = 16;
const SETTINGS_MAX: usize = 64;
const FAULTS_MAX: usize = 8;
/// Maximum length of any text.
const TEXT_MAX: usize = 400;
/// Maximum number of outstanding requests, over all threads.
const OUTSTANDING_MAX: u64 = 4096;
/// Maximum amount of data in the outstanding requests. The simulator transfers each request in pages and packets, so
/// its time and memory until the first completion grow with this amount: 1 GiB takes a second and a few MB.
const IN_FLIGHT_MAX: Bytes = Bytes::mebi(1024);
/// Maximum simulated time of a test that is extended to include its faults.
const FAULTS_END_MAX: Duration = Duration::from_seconds(10);
/// Maximum memory of a simulation. A page simulates up to four systems at a time, in less than 500 MB.
pub const MEMORY: Bytes = Bytes(100_000_000);
/// Maximum number of systems on a page.
pub const SLOTS: u8 = 4;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemRequest {
    /// The system, `drive@platform:port`.
    pub system: String,
    /// Values that replace library values.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// Faults, in the syntax of the command line.
    #[serde(default)]
    pub faults: Vec<String>,
}

/// A test, with the settings of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRequest {
    /// The size of each request, such as `4 KiB`.
    pub block: String,
    pub pattern: OffsetOrder,
    /// Share of requests that are reads, in per cent.
    pub read_percent: f64,
    /// Number of outstanding requests per thread.
    pub queue_depth: u32,
    pub threads: u32,
    /// Size of the used part of the target, such as `1 GiB`.
    pub span: String,
    /// Simulated time of each repeat, such as `1 s`; longer if the faults end later.
    #[serde(default = "usual_duration")]
    pub duration: String,
    /// Whether a flush follows each write.
    #[serde(default)]
    pub flush: bool,
}

impl Default for TestRequest {
    /// Returns the test of the first page: reads in sequence.
    fn default() -> Self {
        Self {
            block: "1 MiB".to_owned(),
            pattern: OffsetOrder::Sequential,
            read_percent: 100.0,
            queue_depth: 8,
            threads: 1,
            span: "1 GiB".to_owned(),
            duration: usual_duration(),
            flush: false,
        }
    }
}

fn usual_duration() -> String {
    "1 s".to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OffsetOrder {
    Sequential,
    /// Uniformly random.
    Random,
}

/// A system that was assembled for a page.
#[derive(Clone, Debug)]
pub struct AssembledSystem {
    pub system: System,
    /// The system in the form that the simulator uses, with its faults.
    pub spec: CheckedSystem,
    /// Settings of the system, for code that assembles it again.
    pub settings: Vec<(lanemark_schema::result::ParameterOverride, Location)>,
    pub faults: Vec<Fault>,
}

/// Returns twice the time at which the last of `faults` ends, up to a limit.
fn faults_end(faults: &[Fault]) -> Duration {
    let end = |fault: &Fault| {
        let length = fault.length.unwrap_or_default().picoseconds();
        let at = fault.at.since(Instant::ZERO).picoseconds();
        at.saturating_add(length).saturating_mul(2)
    };
    let end = faults.iter().map(end).max().unwrap_or_default();
    Duration::from_picoseconds(end).min(FAULTS_END_MAX)
}

impl SystemRequest {
    /// Returns a system as the library describes it.
    pub fn named(system: &str) -> Self {
        Self { system: system.to_owned(), set: Vec::new(), faults: Vec::new() }
    }

    /// Assembles the system.
    ///
    /// # Errors
    /// Returns an error if values are out of bounds, unknown, or inconsistent.
    pub fn assemble(&self, library: &Library) -> Result<AssembledSystem, LabError> {
        let too_many = self.set.len() > SETTINGS_MAX || self.faults.len() > FAULTS_MAX;
        let texts = self.set.iter().flat_map(|(parameter, value)| [parameter, value]);
        let mut texts = texts.chain(&self.faults).chain([&self.system]);
        if too_many || texts.any(|text| text.len() > TEXT_MAX) {
            return Err(LabError::input(format!(
                "a system may have up to {SETTINGS_MAX} changed values and {FAULTS_MAX} faults, of up to \
                 {TEXT_MAX} bytes each"
            )));
        }
        let name = SystemName::parse(&self.system)?;
        if name.places().count() > DRIVES_MAX {
            return Err(LabError::input(format!(
                "{} has more than {DRIVES_MAX} drives",
                name.drive
            )));
        }
        for (kind, part) in name.places().map(|(drive, _)| (LibraryKind::Drive, drive)) {
            check_name(library, kind, part)?;
        }
        let (platform, host) = match name.platform.split_once(',') {
            Some((platform, host)) => (platform, Some(host)),
            None => (name.platform.as_str(), None),
        };
        check_name(library, LibraryKind::Platform, platform)?;
        host.map_or(Ok(()), |host| check_name(library, LibraryKind::Host, host))?;
        let read = |(parameter, value): &(String, String)| {
            let (setting, _) = setting(&format!("{parameter}={value}"))?;
            Ok((setting, Location::file(format!("{parameter} = {value}"))))
        };
        let settings = self.set.iter().map(read).collect::<Result<Vec<_>, LabError>>()?;
        let system = assemble(library, &self.system, &settings)?;
        let read = |text: &String| {
            let fault = text.parse::<Fault>();
            fault.map_err(|error| LabError::input(format!("fault \"{text}\": {error}")))
        };
        let faults = self.faults.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let spec = system.with_faults(&faults, &Location::file("fault"))?;
        let spec = spec.with_memory(MEMORY);
        let system = system.with_memory(MEMORY);
        Ok(AssembledSystem { system, spec, settings, faults })
    }
}

/// Rejects a name that the library does not contain, before a file with that name is opened.
fn check_name(library: &Library, kind: LibraryKind, name: &str) -> Result<(), LabError> {
    let names = library.names(kind);
    if names.iter().any(|known| known == name) {
        Ok(())
    } else {
        let word = match kind {
            LibraryKind::Drive => "drive",
            LibraryKind::Platform => "platform",
            _ => "host",
        };
        let names = names.iter().map(String::as_str);
        let location = Location::file("the library");
        Err(lanemark_study::StudyError::unknown(location, word, name, names).into())
    }
}

/// Returns whether a test finishes quickly, based on its outstanding requests and their data.
pub fn is_quick(test: &Test) -> bool {
    let outstanding = test.population();
    let data = outstanding as f64 * test.block_mean();
    outstanding <= OUTSTANDING_MAX && data <= IN_FLIGHT_MAX.get() as f64
}

impl TestRequest {
    /// Returns the test, without an end.
    ///
    /// # Errors
    /// Returns an error for the first value that is not a valid quantity or is out of bounds.
    pub fn read(&self) -> Result<Test, LabError> {
        let quantity = |field: &str, text: &str| {
            let read = text.parse::<Bytes>();
            read.map_err(|error| LabError::input(format!("{field} = {text:.40}: {error}")))
        };
        let share = Ratio::new(self.read_percent / 100.0).ok_or_else(|| {
            LabError::input(format!("read_percent = {}: from 0 to 100", self.read_percent))
        })?;
        let pattern = match self.pattern {
            OffsetOrder::Sequential => Pattern::Sequential,
            OffsetOrder::Random => Pattern::Uniform,
        };
        let block = quantity("block", &self.block)?;
        let mut test = Test::of_blocks(block).with(|requests| {
            requests.pattern = pattern;
            requests.read_share = share;
            requests.queue_depth = self.queue_depth;
            requests.mix.flush_every = self.flush.then_some(1);
        });
        test.threads = self.threads;
        test.span = quantity("span", &self.span)?;
        test.name = test.description() + if self.flush { ", flushed" } else { "" };
        test.duration = Some(self.duration.parse::<Duration>().map_err(|error| {
            LabError::input(format!("duration = {:.40}: {error}", self.duration))
        })?);
        test.check().map_err(|TestError { field, value, bound }| {
            LabError::input(format!("{field} = {value}: {bound}"))
        })?;
        if test.population() > OUTSTANDING_MAX {
            return Err(LabError::input(format!(
                "queue_depth = {} with threads = {}: more than {OUTSTANDING_MAX} requests outstanding",
                self.queue_depth, self.threads
            ))
            .hint("`lanemark sim` accepts more"));
        }
        if !is_quick(&test) {
            return Err(LabError::input(format!(
                "block = {block} with {} requests outstanding: more than {IN_FLIGHT_MAX} in flight at a time",
                test.population()
            ))
            .hint("use fewer outstanding requests, smaller blocks, or `lanemark sim`"));
        }
        Ok(test)
    }

    /// Returns the duration of the test: the requested duration, or longer, so that the test contains `faults`.
    pub fn duration_with(test: &Test, faults: &[Fault]) -> Duration {
        test.duration.unwrap_or_default().max(faults_end(faults))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(block: &str, queue_depth: u32, threads: u32, read_percent: f64) -> TestRequest {
        TestRequest {
            block: block.to_owned(),
            pattern: OffsetOrder::Random,
            read_percent,
            queue_depth,
            threads,
            span: "1 GiB".to_owned(),
            ..TestRequest::default()
        }
    }

    #[test]
    fn a_test_of_a_page_is_bounded_by_its_requests_and_their_data() {
        let test = example("8 KiB", 16, 3, 25.0).read().unwrap();
        assert_eq!((test.block, test.queue_depth(), test.threads), (Bytes::kibi(8), Some(16), 3));
        assert_eq!(
            (test.read_share().unwrap(), test.span),
            (Ratio::new(0.25).unwrap(), Bytes::mebi(1024))
        );
        let second = Duration::from_seconds(1);
        assert_eq!((test.pattern(), test.duration), (Some(&Pattern::Uniform), Some(second)));
        let ordered =
            TestRequest { pattern: OffsetOrder::Sequential, ..example("8 KiB", 1, 1, 100.0) };
        assert_eq!(ordered.read().unwrap().pattern(), Some(&Pattern::Sequential));
        for (request, fits) in [
            (example("4 KiB", 4_096, 1, 0.0), true),
            (example("4 KiB", 1_024, 4, 0.0), true),
            (example("4 KiB", 4_097, 1, 0.0), false),
            (example("4 KiB", 1_025, 4, 0.0), false),
            (example("1 MiB", 1_024, 1, 0.0), true),
            (example("1 MiB", 1_025, 1, 0.0), false),
            (example("4 KiB", 1, 1, 100.1), false),
            (example("4 KiB", 1, 1, -0.1), false),
            (example("x", 1, 1, 50.0), false),
            (example("4 KiB", 0, 1, 50.0), false),
        ] {
            assert_eq!(request.read().is_ok(), fits, "{request:?}");
        }
    }

    #[test]
    fn the_time_of_faults_is_twice_their_end_up_to_a_bound() {
        let end = |faults: &[&str]| {
            let name = "samsung-850-pro-1tb@workstation-z170:sata".to_owned();
            let faults = faults.iter().map(|&fault| fault.to_owned()).collect();
            let request = SystemRequest { system: name, set: Vec::new(), faults };
            faults_end(&request.assemble(&Library::built_in()).unwrap().faults)
        };
        let milliseconds = |ms: u64| Duration::from_microseconds(1_000 * ms);
        assert_eq!(end(&[]), Duration::ZERO);
        let one = "latency extra=2ms share=1% at=100ms for=200ms";
        let other = "latency extra=3ms share=1% at=400ms for=300ms";
        assert_eq!(end(&[one]), milliseconds(600));
        assert_eq!(end(&[one, other]), milliseconds(1_400));
        let late = "latency extra=2ms share=1% at=9s for=1s";
        assert_eq!(end(&[late]), Duration::from_seconds(10));
    }
}
