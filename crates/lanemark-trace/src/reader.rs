//! Reads a trace in any format as a stream of requests.

use std::io::BufRead;

use lanemark_schema::pasted::after_prompt;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, TraceArrival};

use crate::blkparse::{BlkparseAction, BlkparseParser};
use crate::clock::TraceClock;
use crate::columns::ColumnsParser;
use crate::devices::DeviceNumbers;
use crate::error::TraceError;
use crate::field::{FieldError, Fields, shown_text};
use crate::format::{COLUMNS_EXAMPLE, Format, FormatCandidates, names};
use crate::ftrace::FtraceParser;
use crate::iolog::IologParser;
use crate::lines::{LINE_MAX, LineError, Lines};
use crate::parsed::{ParsedLine, RecordedRequest};
use crate::{disksim, listed, mqsim, msr};

/// The options for reading a trace.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Format of the trace; `None` to detect it from the first line.
    pub format: Option<Format>,
    /// The devices whose requests are read, beginning with device number 0; if empty, all devices are read in order of
    /// appearance.
    pub devices: Vec<String>,
    /// The blkparse event that counts as a request.
    pub action: BlkparseAction,
    /// Whether the requests of all these devices belong to a single device with the number 0.
    pub as_one: bool,
}

/// Maximum number of lines that are examined to detect the format.
const LOOKED_AT_MAX: usize = 512;
/// Maximum number of lines before the first line of a trace: the messages of the tool that prints it.
const PREAMBLE_MAX: u32 = 20;

/// The irregularities that a reader found in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceNotes {
    /// Number of requests with an earlier time than the previous request; they receive the time of the previous
    /// request.
    pub backward: u64,
    /// The largest step back in time.
    pub backward_most: Duration,
    /// Number of requests of devices that were not chosen.
    pub skipped: u64,
}

/// A trace that is read request by request. It ends with the input, or after the first error.
pub struct Reader<R> {
    file: String,
    lines: Lines<R>,
    parser: Parser,
    clock: TraceClock,
    devices: DeviceNumbers,
    skipped: u64,
    as_one: bool,
    /// The write that follows a flush in the same line.
    queued: Option<TraceArrival>,
    over: bool,
}

enum Parser {
    Msr,
    Blkparse(BlkparseParser),
    Iolog(IologParser),
    Mqsim,
    Disksim,
    Ftrace(FtraceParser),
    /// The format of the columns, and their parser.
    Columns(Format, ColumnsParser),
}

impl Parser {
    fn new(format: Format, action: BlkparseAction) -> Self {
        match format {
            Format::Msr => Self::Msr,
            Format::Blkparse => Self::Blkparse(BlkparseParser::new(action)),
            Format::Iolog => Self::Iolog(IologParser::default()),
            Format::Mqsim => Self::Mqsim,
            Format::Disksim => Self::Disksim,
            Format::Ftrace => Self::Ftrace(FtraceParser::new(action)),
            Format::Csv => Self::Columns(format, ColumnsParser::default()),
            Format::Alibaba => Self::Columns(format, ColumnsParser::of(&listed::alibaba())),
            Format::Spc => Self::Columns(format, ColumnsParser::of(&listed::spc())),
            Format::Fiu => Self::Columns(format, ColumnsParser::of(&listed::fiu())),
            Format::Biosnoop => Self::Columns(format, ColumnsParser::of(&listed::biosnoop())),
            Format::Columns(list) => Self::Columns(format, ColumnsParser::of(&list)),
        }
    }

    fn format(&self) -> Format {
        match self {
            Self::Msr => Format::Msr,
            Self::Blkparse(_) => Format::Blkparse,
            Self::Iolog(_) => Format::Iolog,
            Self::Mqsim => Format::Mqsim,
            Self::Disksim => Format::Disksim,
            Self::Ftrace(_) => Format::Ftrace,
            Self::Columns(format, _) => *format,
        }
    }

    #[inline]
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<ParsedLine<'l>, FieldError> {
        match self {
            Self::Msr => msr::parse(line),
            Self::Blkparse(blkparse) => blkparse.parse(line),
            Self::Iolog(iolog) => iolog.parse(line),
            Self::Mqsim => mqsim::parse(line),
            Self::Disksim => disksim::parse(line),
            Self::Ftrace(events) => events.parse(line),
            Self::Columns(_, columns) => columns.parse(line),
        }
    }
}

impl<R: BufRead> Reader<R> {
    /// Starts to read `input`, whose name in errors is `file`.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read, or if the format is not stated and cannot be detected from the
    /// first line.
    pub fn new(file: impl Into<String>, input: R, options: &Options) -> Result<Self, TraceError> {
        let mut reader = Self {
            file: file.into(),
            lines: Lines::new(input),
            parser: Parser::Mqsim,
            clock: TraceClock::default(),
            devices: DeviceNumbers::new(&options.devices),
            skipped: 0,
            as_one: options.as_one,
            queued: None,
            over: false,
        };
        let format = match options.format {
            Some(format) => format,
            None => reader.detect()?,
        };
        reader.parser = Parser::new(format, options.action);
        Ok(reader)
    }

    /// Returns the format of the trace.
    pub fn format(&self) -> Format {
        self.parser.format()
    }

    /// Returns the devices in the order of their numbers: the devices that were read so far, or the chosen devices.
    pub fn devices(&self) -> Vec<String> {
        self.devices.names()
    }

    /// Returns some devices in the trace that were not chosen.
    pub fn other_devices(&self) -> Vec<String> {
        self.devices.others()
    }

    /// Returns the letters of the blkparse events that were found but not read, each with its description.
    pub fn other_actions(&self) -> Vec<(char, &'static str)> {
        match &self.parser {
            Parser::Blkparse(blkparse) => blkparse.other_actions(),
            Parser::Ftrace(events) => {
                let stages = events.other_stages().iter();
                stages.map(|stage| (char::from(*stage), BlkparseAction::word(*stage))).collect()
            }
            Parser::Msr
            | Parser::Iolog(_)
            | Parser::Mqsim
            | Parser::Disksim
            | Parser::Columns(..) => Vec::new(),
        }
    }

    /// Returns notes about the lines read so far.
    pub fn notes(&self) -> TraceNotes {
        TraceNotes {
            backward: self.clock.backward,
            backward_most: self.clock.backward_most,
            skipped: self.skipped,
        }
    }

    /// Detects the format from the first line that is neither empty, a comment nor a message; this line is read again
    /// afterwards.
    fn detect(&mut self) -> Result<Format, TraceError> {
        let mut first_error = None;
        let mut messages = 0;
        while self.advance()? {
            let line = self.lines.line().trim_ascii();
            if line.is_empty() || line.starts_with(b"#") || is_aside(line) {
                continue;
            }
            // Only tracers print messages. After an unknown line, a line of numbers can have any meaning.
            let is_message = !line[0].is_ascii_digit() && messages < PREAMBLE_MAX;
            let is_first = first_error.is_none();
            let error = match Format::recognise(line) {
                FormatCandidates::Of(format) if is_first || format.has_messages() => {
                    self.lines.hold();
                    return Ok(format);
                }
                FormatCandidates::FiveNumbers if is_first => {
                    let format = self.five_numbers()?;
                    self.lines.hold();
                    return Ok(format);
                }
                FormatCandidates::FiveDecimals if is_first => return Err(self.five_decimals()),
                FormatCandidates::Heading => self.unknown_columns(),
                FormatCandidates::Of(_)
                | FormatCandidates::FiveNumbers
                | FormatCandidates::FiveDecimals
                | FormatCandidates::Unknown => self.unknown_format(),
            };
            let error = first_error.take().unwrap_or(error);
            if !is_message {
                return Err(error);
            }
            first_error = Some(error);
            messages += 1;
        }
        let empty = || {
            let mut error = self.error(FieldError::line("the trace is empty"));
            error.line = None;
            error
        };
        Err(first_error.unwrap_or_else(empty))
    }

    /// Returns the error of a trace whose current line has names of columns that are not known.
    fn unknown_columns(&self) -> TraceError {
        let line = shown_text(self.lines.line().trim_ascii());
        let message = format!("`{line}` does not name the columns of a known format");
        let mut error = self.error(FieldError::line(message));
        error.hint = Some(format!(
            "state the columns in order, such as --trace-format {COLUMNS_EXAMPLE}; `operation=read` if there is no \
             operation, any other word for a column that is not needed"
        ));
        error
    }

    /// Returns the error of a trace whose current line belongs to no known format.
    fn unknown_format(&self) -> TraceError {
        let line = shown_text(self.lines.line().trim_ascii());
        let message = format!("`{line}` is not the beginning of a known format");
        let mut error = self.error(FieldError::line(message));
        error.hint = Some(format!(
            "if it is one of {}, use --trace-format, or state the columns in order: --trace-format {COLUMNS_EXAMPLE}; \
             `operation=read` if there is no operation, any other word for a column that is not needed",
            names()
        ));
        error
    }

    /// Detects the format of a trace whose current line contains five whole numbers.
    fn five_numbers(&mut self) -> Result<Format, TraceError> {
        let time = |line: &[u8]| Fields::new(line).optional_word("time")?.integer().ok();
        let first = time(self.lines.line());
        let ahead = self.lines.read_ahead(LOOKED_AT_MAX);
        let times: Vec<u64> = first.into_iter().chain(ahead.filter_map(time)).collect();
        if mqsim::are_nanoseconds(&times) {
            return Ok(Format::Mqsim);
        }
        let span =
            times.iter().max().zip(times.iter().min()).map_or(0, |(last, first)| last - first);
        let mut error = self.error(FieldError::line(format!(
            "the lines contain five whole numbers, with {} requests in {span} units of time, which are ns in MQSim's format and ms in DiskSim's",
            times.len(),
        )));
        error.hint = Some("use --trace-format mqsim or --trace-format disksim".to_owned());
        Err(error)
    }

    /// Returns the error of a trace whose times have decimals but no unit.
    fn five_decimals(&self) -> TraceError {
        let mut error = self.error(FieldError::line(
            "the lines contain a time with decimals and four numbers, and do not state the unit of the time",
        ));
        error.hint = Some(
            "for milliseconds, as DiskSim writes them, use --trace-format disksim; for seconds, state the columns: --trace-format \
             time_s,device,sector,sectors,is_read"
                .to_owned(),
        );
        error
    }

    /// Counts the requests of all devices as requests of a single device from now on.
    pub fn take_as_one(&mut self) {
        self.as_one = true;
    }

    fn advance(&mut self) -> Result<bool, TraceError> {
        self.lines.advance().map_err(|error| match error {
            LineError::TooLong => {
                let message = format!("the line is longer than {} KiB", LINE_MAX / 1024);
                self.error(FieldError::line(message).hint("is it a text file?"))
            }
            LineError::Input(error) => {
                let mut failed = self.error(FieldError::line(format!("can't be read: {error}")));
                failed.line = None;
                failed.unreadable = true;
                failed
            }
        })
    }

    /// Returns the next request, if there is one.
    fn next_request(&mut self) -> Result<Option<TraceArrival>, TraceError> {
        if let Some(queued) = self.queued.take() {
            return Ok(Some(queued));
        }
        let comments = self.parser.format().has_comments();
        while self.advance()? {
            let line = self.lines.line();
            let text = line.trim_ascii_start();
            if text.is_empty() || (comments && text[0] == b'#') {
                continue;
            }
            let found = match self.parser.parse(line) {
                Ok(ParsedLine::Request(request)) => {
                    place(&request, &mut self.devices, &mut self.clock)
                }
                Ok(ParsedLine::Device(name)) => match self.devices.number(name) {
                    Ok(_) => continue,
                    Err(fault) => Err(fault),
                },
                Ok(ParsedLine::Nothing) => continue,
                Err(_) if is_aside(text) => continue,
                Err(fault) => Err(fault),
            };
            match found {
                Ok(Some((mut arrival, flush_first))) => {
                    arrival.line = self.lines.number();
                    if self.as_one {
                        arrival.device = 0;
                    }
                    if flush_first {
                        self.queued = Some(arrival);
                        arrival.access = FLUSH;
                    }
                    return Ok(Some(arrival));
                }
                Ok(None) => self.skipped += 1,
                Err(fault) => return Err(self.error(fault)),
            }
        }
        Ok(None)
    }

    #[cold]
    fn error(&self, fault: FieldError) -> TraceError {
        let cut = self.lines.is_cut();
        let cut_short = "the file ends within this line; it may have been cut short";
        let hint = if cut { Some(cut_short) } else { fault.hint };
        TraceError {
            file: self.file.clone(),
            line: Some(self.lines.number()),
            column: fault.column,
            message: fault.message,
            hint: hint.map(str::to_owned),
            unreadable: false,
        }
    }
}

/// Returns whether a line was added around a pasted trace: the command after a prompt, or a code fence.
fn is_aside(line: &[u8]) -> bool {
    line.starts_with(b"```")
        || std::str::from_utf8(line).is_ok_and(|line| after_prompt(line).is_some())
}

const FLUSH: Access =
    Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO };

/// Numbers the device of a request and sets the request's time; returns `None` if the device was not chosen.
#[inline]
fn place(
    request: &RecordedRequest<'_>,
    devices: &mut DeviceNumbers,
    clock: &mut TraceClock,
) -> Result<Option<(TraceArrival, bool)>, FieldError> {
    let Some(device) = devices.number(request.device)? else { return Ok(None) };
    let at: Option<Instant> = match request.time {
        None => None,
        Some(time) => Some(clock.instant(time).ok_or_else(|| {
            FieldError::line("the time is more than 213 days after the first request")
                .hint("check that the times have the unit of this format")
        })?),
    };
    let access = Access {
        operation: request.operation,
        offset: Bytes(request.offset),
        length: Bytes(request.length),
    };
    let arrival = TraceArrival { at, device, thread: request.thread, access, line: 0 };
    Ok(Some((arrival, request.flush_first)))
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<TraceArrival, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.next_request();
        self.over = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}
