//! `lanemark bench TARGET TRACE`: a recorded trace on a real target.
//!
//! The trace is read twice. The first pass finds the longest request, the span and whether any request writes, so that
//! an error in the trace cannot interrupt a measurement. The second pass reads ahead of the requests during the
//! measurement.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use lanemark_lab::input;
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::bound::BLOCK;
use lanemark_schema::workload::{
    AverageMethod, LoadKind, Operation, SECTOR, Test, TestOrder, TraceArrival, TraceSummary,
    Workload,
};
use lanemark_sim::replay::Pace;
use lanemark_trace::{Options, Reader, TraceInput};

use crate::args::BenchArgs;
use crate::model::replay::empty_trace_error;
use crate::output::failure::Failure;
use crate::output::other_text;

/// Maximum number of outstanding requests for a replay at recorded times.
const OUTSTANDING_USUAL: u32 = 128;

/// A trace after the first pass.
pub(crate) struct RecordedTrace {
    pub(crate) workload: Workload,
    /// Replay speed as a multiple of the recorded speed; `None` replays as fast as possible.
    pub(crate) speed: Option<f64>,
    limit: u64,
    options: Options,
    /// Size of the span into which requests beyond the span are wrapped, if requested.
    wrap: Option<u64>,
}

#[derive(Default)]
struct TraceOverview {
    requests: u64,
    reads: u64,
    longest: u64,
    end: u64,
    step: u64,
    destroys: bool,
    bytes: u64,
}

impl RecordedTrace {
    /// Reads a trace for the first time, and returns its summary.
    pub(crate) fn open(args: &BenchArgs, path: &Path) -> Result<Self, Failure> {
        let trace = &args.trace;
        let (speed, depth) = match trace.pace() {
            Pace::Recorded(speed) => (Some(speed.factor()), OUTSTANDING_USUAL),
            Pace::AsFastAsPossible { queue_depth } => (None, queue_depth),
        };
        let mut recorded = Self {
            workload: workload(path),
            speed,
            limit: trace.limit.unwrap_or(u64::MAX),
            options: Options {
                format: trace.trace_format,
                devices: trace.device.clone(),
                action: trace.action.unwrap_or_default(),
                as_one: true,
            },
            wrap: None,
        };
        let name = path.display();
        if trace.wrap && args.scale.size.is_none() {
            return Err(Failure::input("--wrap requires a size to wrap into").hint("add --size"));
        }
        recorded.wrap = args.scale.size.filter(|_| trace.wrap).map(Bytes::get);
        let found = recorded.look(path)?;
        if found.requests == 0 {
            let mut reader = recorded.reader(path)?;
            reader.by_ref().for_each(drop);
            let others = reader.other_devices();
            let actions = reader.other_actions();
            return Err(empty_trace_error(&name.to_string(), &others, &actions));
        }
        if Bytes(found.longest) > BLOCK.max {
            let longest = Bytes(found.longest);
            return Err(Failure::input(format!("{name}: a request of {longest} is too long"))
                .hint("check that the lengths are in the unit of the format"));
        }
        recorded.workload.tests.push(found.test(&recorded.workload.name, depth));
        Ok(recorded)
    }

    /// Reads the trace again, and returns its requests. They end early if the file has changed since the first pass.
    pub(crate) fn arrivals(
        &self,
        path: &Path,
    ) -> Result<impl Iterator<Item = TraceArrival> + Send, Failure> {
        let end = self.workload.tests[0].span;
        let longest = self.workload.tests[0].block;
        let is_within_target = move |arrival: &TraceArrival| {
            arrival.access.length <= longest && arrival.access.offset + arrival.access.length <= end
        };
        Ok(self.read(path)?.map_while(Result::ok).take_while(is_within_target))
    }

    fn look(&self, path: &Path) -> Result<TraceOverview, Failure> {
        let mut found = TraceOverview::default();
        let timed = self.speed.is_some();
        for arrival in self.read(path)? {
            let arrival = arrival?;
            if timed && arrival.at.is_none() {
                let line = arrival.line;
                let message = format!("{}:{line}: the request lacks a time", path.display());
                return Err(Failure::input(message).hint("use --as-fast-as-possible"));
            }
            found.add(&arrival);
        }
        Ok(found)
    }

    fn reader(&self, path: &Path) -> Result<Reader<BufReader<TraceInput<File>>>, Failure> {
        let name = path.display().to_string();
        // The file is read twice, so it cannot be a pipe.
        if input::is_piped(path) {
            let message =
                format!("{name}: `bench` reads a trace twice, but a pipe can be read only once");
            return Err(Failure::input(message).hint("save the trace to a file, and use that file"));
        }
        let file = input::open(path)
            .map_err(|error| Failure::input(format!("{name}: can't be read: {error}")))?;
        let text = TraceInput::new(file)
            .map_err(|error| Failure::input(format!("{name}: can't be read: {error}")))?;
        Reader::new(name, BufReader::with_capacity(1 << 18, text), &self.options)
            .map_err(|error| other_text::failure(path).unwrap_or_else(|| error.into()))
    }

    fn read(
        &self,
        path: &Path,
    ) -> Result<impl Iterator<Item = Result<TraceArrival, Failure>> + Send + use<>, Failure> {
        let reader = self.reader(path)?;
        let limit = self.limit;
        let wrap = self.wrap;
        let worth = |one: &Result<TraceArrival, _>| match one {
            Ok(arrival) => {
                arrival.access.length > Bytes::ZERO || arrival.access.operation == Operation::Flush
            }
            Err(_) => true,
        };
        let requests = reader.filter(worth).take(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(requests.map(move |request| Ok(wrapped(request?, wrap))))
    }
}

/// Moves a request beyond `end` to its offset modulo `end`; returns other requests unchanged.
fn wrapped(mut arrival: TraceArrival, end: Option<u64>) -> TraceArrival {
    let length = arrival.access.length.get();
    if let Some(end) = end.filter(|&end| length <= end) {
        let positions = (end - length) / SECTOR.get() + 1;
        let sector = arrival.access.offset.get() / SECTOR.get() % positions;
        if arrival.access.offset.get() + length > end {
            arrival.access.offset = SECTOR * sector;
        }
    }
    arrival
}

fn workload(path: &Path) -> Workload {
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem =
        path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Workload {
        faults: Vec::new(),
        id: lanemark_study::workload::slug(&stem),
        name,
        repeats: 1,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        tests: Vec::new(),
    }
}

impl TraceOverview {
    fn add(&mut self, arrival: &TraceArrival) {
        let access = arrival.access;
        self.requests += 1;
        self.destroys |= matches!(access.operation, Operation::Write | Operation::Trim);
        self.reads += u64::from(access.operation == Operation::Read);
        if access.operation == Operation::Flush {
            return;
        }
        let offset = access.offset.get();
        let length = access.length.get();
        self.longest = self.longest.max(length);
        self.end = self.end.max(offset.saturating_add(length));
        self.step = divisor(divisor(self.step, offset), length);
        self.bytes = self.bytes.saturating_add(length);
    }

    fn test(&self, name: &str, queue_depth: u32) -> Test {
        let reads = if self.destroys {
            // A trace that writes or trims must not be treated as read-only.
            (self.reads as f64 / self.requests as f64).min(0.999_999)
        } else {
            1.0
        };
        let block = self.longest.max(SECTOR.get()).next_multiple_of(SECTOR.get());
        Test {
            name: name.to_owned(),
            span: Bytes(self.end.max(block)),
            asks: LoadKind::Trace(TraceSummary {
                read_share: Ratio::new(reads).unwrap_or_default(),
                queue_depth,
                alignment: Bytes(self.step.max(1)),
            }),
            ..Test::of_blocks(Bytes(block))
        }
    }
}

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use lanemark_schema::workload::Access;

    use super::*;

    fn arrival(operation: Operation, offset: u64, length: u64) -> TraceArrival {
        let access = Access { operation, offset: Bytes(offset), length: Bytes(length) };
        TraceArrival { at: None, device: 0, thread: 0, access, line: 1 }
    }

    fn overview(arrivals: &[TraceArrival]) -> TraceOverview {
        let mut overview = TraceOverview::default();
        arrivals.iter().for_each(|arrival| overview.add(arrival));
        overview
    }

    #[test]
    fn requests_beyond_the_span_are_wrapped_by_sectors() {
        let at = |offset: u64, length: u64, end: Option<u64>| {
            wrapped(arrival(Operation::Read, offset, length), end).access.offset.get()
        };
        // A 4 KiB request can begin at 25 positions in a 16 KiB span.
        let end = Some(16_384);
        for (offset, wanted) in [
            (0, 0),
            (12_288, 12_288),
            (12_289, 24 * 512),
            (12_800, 0),
            (16_384, 32 % 25 * 512),
            (1_000_000, 1_000_000 / 512 % 25 * 512),
        ] {
            assert_eq!(at(offset, 4_096, end), wanted, "{offset}");
            assert!(at(offset, 4_096, end) + 4_096 <= 16_384);
        }
        assert_eq!(at(1_000_000, 4_096, None), 1_000_000);
        // A request as long as the span can begin at only one position, and a longer request does not fit.
        assert_eq!(at(512, 16_384, end), 0);
        assert_eq!(at(512, 16_896, end), 512);
    }

    #[test]
    fn an_overview_has_the_span_the_step_and_the_directions_of_a_trace() {
        let all = overview(&[
            arrival(Operation::Read, 8_192, 4_096),
            arrival(Operation::Read, 24_576, 16_384),
            arrival(Operation::Flush, 1, 3),
            arrival(Operation::Write, 12_288, 8_192),
        ]);
        assert_eq!((all.requests, all.reads, all.destroys), (4, 2, true));
        assert_eq!((all.longest, all.end, all.step, all.bytes), (16_384, 40_960, 4_096, 28_672));
        let test = all.test("t", 7);
        let LoadKind::Trace(summary) = &test.asks else { panic!("{test:?}") };
        assert_eq!((summary.read_share, summary.queue_depth), (Ratio::new(0.5).unwrap(), 7));
        assert_eq!(
            (summary.alignment, test.block, test.span),
            (Bytes(4_096), Bytes(16_384), Bytes(40_960))
        );
        assert_eq!(test.name, "t");
        // Only writes and trims change data.
        for (operation, destroys) in [
            (Operation::Flush, false),
            (Operation::Read, false),
            (Operation::Trim, true),
            (Operation::Write, true),
        ] {
            let one = overview(&[arrival(operation, 0, 512)]);
            assert_eq!(one.destroys, destroys, "{operation:?}");
        }
        let flushes = overview(&[arrival(Operation::Flush, 0, 0)]).test("f", 1);
        assert_eq!((flushes.block, flushes.span), (SECTOR, SECTOR));
        let LoadKind::Trace(summary) = &flushes.asks else { panic!("{flushes:?}") };
        assert_eq!((summary.alignment, summary.read_share), (Bytes(1), Ratio::ONE));
        // A trace with one write in two million requests is still treated as writing.
        let mut rare = overview(&[arrival(Operation::Write, 0, 1_000)]);
        (rare.requests, rare.reads) = (2_000_001, 2_000_000);
        let LoadKind::Trace(summary) = rare.test("r", 1).asks else { panic!("requests") };
        assert!(summary.read_share < Ratio::ONE);
        assert_eq!(rare.test("r", 1).block, Bytes(1_024));
    }

    #[test]
    fn a_divisor_is_the_largest_common_one() {
        for (a, b, wanted) in
            [(0, 12, 12), (12, 0, 12), (18, 12, 6), (12, 18, 6), (7, 5, 1), (0, 0, 0)]
        {
            assert_eq!(divisor(a, b), wanted);
        }
    }

    #[test]
    fn a_workload_has_the_name_of_its_file() {
        let workload = workload(Path::new("/traces/Mail Server.blkparse"));
        assert_eq!(
            (workload.name.as_str(), workload.id.as_str()),
            ("Mail Server.blkparse", "mail-server")
        );
        assert_eq!((workload.repeats, workload.tests.len()), (1, 0));
    }
}
