//! A sample of each format is read correctly, each error is reported with its position, and no input causes a panic.

use std::str::FromStr;

use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, TraceArrival};
use lanemark_trace::{Format, IologVersion, IologWriter, Options, Reader, TraceError};
use proptest::prelude::*;

use Operation::{Flush, Read, Trim, Write};

const MSR: &str = include_str!("samples/msr.csv");
const MQSIM: &str = include_str!("samples/mqsim.trace");
const BLKPARSE: &str = include_str!("samples/blkparse.txt");
const IOLOG_2: &str = include_str!("samples/iolog-2.log");
const IOLOG_3: &str = include_str!("samples/iolog-3.log");
const COLUMNS: &str = include_str!("samples/columns.csv");
const DISKSIM: &str = include_str!("samples/disksim.trace");
const LISTED: &str = include_str!("samples/listed.txt");
const FTRACE: &str = include_str!("samples/ftrace.txt");
const SAMPLES: [&str; 9] =
    [MSR, MQSIM, DISKSIM, BLKPARSE, IOLOG_2, IOLOG_3, COLUMNS, LISTED, FTRACE];

fn open<'t>(text: &'t [u8], options: &Options) -> Result<Reader<&'t [u8]>, TraceError> {
    Reader::new("t", text, options)
}

/// Reads all of `text`; its first line determines the format.
fn read(text: &str) -> Result<Vec<TraceArrival>, TraceError> {
    open(text.as_bytes(), &Options::default())?.collect()
}

fn read_as(format: Format, text: &str) -> Result<Vec<TraceArrival>, TraceError> {
    open(text.as_bytes(), &Options { format: Some(format), ..Options::default() })?.collect()
}

/// The fields of a request: its line, its time in ns, its device, its kind, its offset and its length.
type ArrivalFields = (u64, Option<u64>, u32, Operation, u64, u64);

fn fields_of(arrivals: &[TraceArrival]) -> Vec<ArrivalFields> {
    let tell = |arrival: &TraceArrival| {
        let Access { operation, offset, length } = arrival.access;
        let at = arrival.at.map(|at| at.picoseconds() / 1_000);
        (arrival.line, at, arrival.device, operation, offset.get(), length.get())
    };
    arrivals.iter().map(tell).collect()
}

#[track_caller]
fn expect(text: &str, format: Format, expected: &[ArrivalFields]) {
    let reader = open(text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(reader.format(), format);
    let arrivals: Vec<TraceArrival> = reader.map(Result::unwrap).collect();
    assert_eq!(fields_of(&arrivals), expected);
    // The result is the same with different line ends, with an empty line, and without a line end at the end of the
    // text.
    let windows = format!("{}\r\n", text.trim_end().replace('\n', "\r\n"));
    assert_eq!(fields_of(&read(&windows).unwrap()), expected);
    assert_eq!(fields_of(&read(&format!("{text}\n  \n")).unwrap()), expected);
    assert_eq!(fields_of(&read(text.trim_end()).unwrap()), expected);
}

#[test]
fn msr_is_in_bytes_and_units_of_100_ns() {
    let expected = [
        (1, Some(0), 0, Read, 7_014_609_920, 24_576),
        (2, Some(1_332_052_600), 0, Write, 2_657_792_000, 512),
        // The third request has an earlier time than the second, and is submitted together with it.
        (3, Some(1_332_052_600), 1, Read, 4096, 65_536),
    ];
    expect(MSR, Format::Msr, &expected);
    let mut reader = open(MSR.as_bytes(), &Options::default()).unwrap();
    assert_eq!(reader.by_ref().count(), 3);
    assert_eq!(reader.notes().backward, 1);
    assert_eq!(reader.notes().backward_most, Duration::from_nanoseconds(5_500));
    assert_eq!(reader.devices(), ["usr,0", "src1,1"]);
    let header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    assert_eq!(read(&format!("{header}{MSR}")).unwrap().len(), 3);
}

#[test]
fn mqsim_is_in_sectors_and_nanoseconds() {
    let expected = [
        (2, Some(0), 0, Read, 657_728 * 512, 8192),
        (3, Some(152_000), 1, Write, 31_244_784 * 512, 32_768),
        (4, Some(308_000), 0, Read, 4096, 512),
    ];
    expect(MQSIM, Format::Mqsim, &expected);
}

#[test]
fn disksim_is_in_blocks_and_milliseconds() {
    let expected = [
        (2, Some(0), 0, Read, 657_728 * 512, 8192),
        (3, Some(152_000), 1, Write, 31_244_784 * 512, 32_768),
        (4, Some(587_000), 0, Read, 4096, 512),
    ];
    let stated = read_as(Format::Disksim, DISKSIM).unwrap();
    assert_eq!(fields_of(&stated), expected);
    // Other programs write seconds in the same columns.
    let error = read(DISKSIM).unwrap_err();
    assert!(error.to_string().contains("do not state the unit"), "{error}");
    let hint = error.hint.unwrap();
    assert!(hint.contains("--trace-format disksim") && hint.contains("time_s"), "{hint}");
    let seconds = Format::from_str("time_s,device,sector,sectors,other").unwrap_err();
    assert!(seconds.contains("no column operation"), "{seconds}");
    let seconds = Format::from_str("time_s,device,sector,sectors,is_read").unwrap();
    let all = read_as(seconds, &DISKSIM.replace("0x3", "1")).unwrap();
    assert_eq!(fields_of(&all)[2], (4, Some(587_000_000), 0, Read, 4096, 512));
}

#[test]
fn columns_of_the_user_have_stated_units_in_any_order() {
    let text = "LBA,IO_SIZE,TIME\n1024,8,0.000100\n2048,8,0.000200\n";
    let error = read(text).unwrap_err();
    assert!(error.to_string().contains("does not name the columns"), "{error}");
    assert!(error.hint.unwrap().contains("--trace-format time_s,operation,sector,sectors"));
    let format = Format::from_str("sector,sectors,time_s,operation=read").unwrap();
    let wanted =
        [(2, Some(0), 0, Read, 524_288, 4096), (3, Some(100_000), 0, Read, 1_048_576, 4096)];
    assert_eq!(fields_of(&read_as(format, text).unwrap()), wanted);
    // The same columns without a heading, and separated by white space.
    let spaced = text.split_once('\n').unwrap().1.replace(',', " ");
    let fields = fields_of(&read_as(format, &spaced).unwrap());
    assert_eq!(fields[1], (2, Some(100_000), 0, Read, 1_048_576, 4096));
    let flags = Format::from_str("is_write,offset,size,thread").unwrap();
    let read_back = read_as(flags, "1,0,512,7\n0,512,512,8\n").unwrap();
    let kinds: Vec<(Operation, u32)> =
        read_back.iter().map(|one| (one.access.operation, one.thread)).collect();
    assert_eq!(kinds, [(Write, 7), (Read, 8)]);
    for (list, wrong) in [
        ("time,operation,sector,sectors", "does not state its unit"),
        ("time_s,sector,sectors", "no column operation"),
        ("operation=eat,sector,sectors", "operation is `eat`"),
        ("operation,sector,offset,sectors", "same purpose"),
        ("a=b,operation,sector,sectors", "only operation="),
        (&"x,".repeat(40), "more than 24 columns"),
    ] {
        let error = Format::from_str(list).unwrap_err();
        assert!(error.contains(wrong), "{list}: {error}");
    }
}

#[test]
fn traces_with_documented_columns_need_no_first_line() {
    let alibaba = "7,R,126703644672,4096,1577808000000626\n7,W,8056647680,12288,1577808000000700\n";
    let spc = "0,303567,3584,w,0.000000\n1,1360432,512,r,0.026214\n0,303574,3584,W,0.026682\n";
    let fiu = "89966104 4892 syslogd 904265560 8 W 6 0 531e779a1a6ebc0de6ee2d31d0e4a4b5\n\
               89978204 2522 kjournald 926858672 8 R 6 0 4fd0c43956ba5ad9f6ffb4b0a5dd2bf8\n";
    let snoop = "0.000004 supervise 1950 xvda1 W 13092560 4096 0.74\n\
                 0.000178 supervise 1950 xvda1 R 13092432 4096 0.61\n";
    for (text, format, wanted) in [
        (alibaba, Format::Alibaba, (2, Some(74_000), 0, Write, 8_056_647_680, 12_288)),
        (spc, Format::Spc, (2, Some(26_214_000), 1, Read, 1_360_432 * 512, 512)),
        (fiu, Format::Fiu, (2, Some(12_100), 0, Read, 926_858_672 * 512, 4096)),
        (snoop, Format::Biosnoop, (2, Some(174_000), 0, Read, 13_092_432 * 512, 4096)),
    ] {
        let mut reader = open(text.as_bytes(), &Options::default()).unwrap();
        assert_eq!(reader.format(), format);
        let all: Vec<TraceArrival> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(fields_of(&all)[1], wanted, "{format}");
    }
}

#[test]
fn block_events_of_the_kernel_are_read_at_the_stage_that_comes_first() {
    let text = "# tracer: nop\n\
                app-1234 [000] .... 100.000100: block_rq_issue: 259,0 R 4096 () 8234952 + 8 [app]\n\
                app-1234 [001] .... 100.000200: block_rq_complete: 259,0 R () 8234952 + 8 [0]\n\
                a b 77 [003] 100.000300: block:block_rq_issue: 259,0 FWS 16384 () 1050624 + 32 be,0,4 [a]\n\
                a-7 [003] 100.000400: block_rq_issue: 259,0 FF 0 () 0 + 0 [a]\n";
    let mut reader = open(text.as_bytes(), &Options::default()).unwrap();
    let all: Vec<TraceArrival> = reader.by_ref().map(Result::unwrap).collect();
    let wanted = [
        (2, Some(0), 0, Read, 8_234_952 * 512, 4096),
        (4, Some(200_000), 0, Flush, 0, 0),
        (4, Some(200_000), 0, Write, 1_050_624 * 512, 16_384),
        (5, Some(300_000), 0, Flush, 0, 0),
    ];
    assert_eq!(fields_of(&all), wanted);
    assert_eq!((all[0].thread, all[2].thread), (0, 3));
    assert_eq!(reader.other_actions(), [('C', "complete")]);
    let options = Options { action: "C".parse().unwrap(), ..Options::default() };
    assert_eq!(open(text.as_bytes(), &options).unwrap().count(), 1);
}

#[test]
fn a_log_without_its_first_line_has_the_version_of_its_lines() {
    for (text, count) in
        [(IOLOG_2, read(IOLOG_2).unwrap().len()), (IOLOG_3, read(IOLOG_3).unwrap().len())]
    {
        let (_, rest) = text.split_once('\n').unwrap();
        let reader = open(rest.as_bytes(), &Options::default()).unwrap();
        assert_eq!(reader.format(), Format::Iolog);
        assert_eq!(reader.map(Result::unwrap).count(), count);
        assert_eq!(read_as(Format::Iolog, rest).unwrap().len(), count);
    }
}

#[test]
fn five_whole_numbers_are_never_taken_for_another_format() {
    let whole = "0 0 29320 8 1\n5 0 102400 16 0\n17 0 204800 8 1\n";
    let lone = "0 0 29320 8 1\n";
    // The requests are 5 µs apart if the times are in ns, and 5 s apart if they are in ms.
    let either: String = (0..600).map(|at| format!("{} 0 8 8 1\n", at * 5_000)).collect();
    for text in [whole, lone, &either] {
        let error = read(text).unwrap_err();
        assert!(
            error.to_string().contains("which are ns in MQSim's format and ms in DiskSim's"),
            "{error}"
        );
        let hint = error.hint.unwrap();
        assert!(
            hint.contains("--trace-format mqsim") && hint.contains("--trace-format disksim"),
            "{hint}"
        );
    }
    let last = |format| read_as(format, whole).unwrap()[2].at.unwrap().picoseconds();
    assert_eq!((last(Format::Mqsim), last(Format::Disksim)), (17_000, 17_000_000_000));
    // The requests are 100 µs apart in ns, and 28 hours apart in ms.
    let clear = either.replace("000 0 8", "00000 0 8");
    assert_eq!(open(clear.as_bytes(), &Options::default()).unwrap().format(), Format::Mqsim);
    assert_eq!(read(&clear).unwrap().len(), 600);
}

#[test]
fn several_devices_are_one_on_request() {
    let options = Options { as_one: true, ..Options::default() };
    let mut reader = open(MQSIM.as_bytes(), &options).unwrap();
    let devices: Vec<u32> = reader.by_ref().map(|one| one.unwrap().device).collect();
    assert_eq!((devices, reader.devices().len()), (vec![0, 0, 0], 2));
}

#[test]
fn blkparse_gives_the_requests_that_were_queued() {
    let expected = [
        (3, Some(0), 0, Write, 223_490 * 512, 4096),
        (8, Some(2_400), 0, Read, 64 * 512, 131_072),
        (9, Some(9_900), 0, Trim, 4096 * 512, 1_048_576),
        (10, Some(19_900), 0, Flush, 0, 0),
        // A write with a preceding flush results in both requests.
        (11, Some(29_900), 0, Flush, 0, 0),
        (11, Some(29_900), 0, Write, 8_392_272 * 512, 4096),
        (13, Some(1_499_999_900), 1, Write, 4096, 4096),
    ];
    expect(BLKPARSE, Format::Blkparse, &expected);
    let reader = open(BLKPARSE.as_bytes(), &Options::default()).unwrap();
    let threads: Vec<u32> = reader.map(|one| one.unwrap().thread).collect();
    assert_eq!(threads, [3, 1, 1, 1, 1, 1, 0]);
}

#[test]
fn blkparse_gives_another_step_on_request() {
    for (letter, line) in [("D", 7), ("C", 14)] {
        let options = Options { action: letter.parse().unwrap(), ..Options::default() };
        let arrivals: Vec<TraceArrival> =
            open(BLKPARSE.as_bytes(), &options).unwrap().map(Result::unwrap).collect();
        assert_eq!(fields_of(&arrivals), [(line, Some(0), 0, Write, 223_490 * 512, 4096)]);
    }
    assert!("X".parse::<lanemark_trace::BlkparseAction>().is_err());
}

#[test]
fn iolog_2_has_times_from_its_first_wait_on() {
    let expected = [
        (5, None, 0, Read, 4096, 8192),
        (7, Some(0), 1, Write, 512, 512),
        (9, Some(150_000), 0, Flush, 0, 0),
        (11, Some(200_000), 1, Trim, 1_048_576, 65_536),
    ];
    expect(IOLOG_2, Format::Iolog, &expected);
}

#[test]
fn iolog_3_has_timestamps_in_microseconds() {
    let expected = [
        (4, Some(0), 0, Read, 1_011_712, 4096),
        (5, Some(301_000), 0, Write, 12_419_072, 4096),
        (6, Some(374_000), 0, Flush, 0, 0),
        (7, Some(374_000), 0, Trim, 0, 4096),
    ];
    expect(IOLOG_3, Format::Iolog, &expected);
}

#[test]
fn columns_are_found_by_their_names() {
    let text = COLUMNS.replace(",,9,,", ",0,9,0,");
    let expected = [
        (3, Some(0), 0, Read, 0, 4096),
        (4, Some(500), 1, Write, 4096, 512),
        (5, Some(750), 0, Flush, 0, 0),
        (6, Some(1_500), 0, Trim, 8192, 8192),
    ];
    expect(&text, Format::Csv, &expected);
    assert_eq!(fields_of(&read(COLUMNS).unwrap()), expected, "a flush needs no place");
    let quoted = "\"op\",\"offset\",\"size\"\n\"r\",\"1\",\"2\"\n";
    assert_eq!(fields_of(&read(quoted).unwrap()), [(2, None, 0, Read, 1, 2)]);
}

#[test]
fn chosen_devices_are_numbered_as_they_were_chosen() {
    let options = Options { devices: vec!["8,16".to_owned()], ..Options::default() };
    let mut reader = open(BLKPARSE.as_bytes(), &options).unwrap();
    let arrivals: Vec<TraceArrival> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(fields_of(&arrivals), [(13, Some(0), 0, Write, 4096, 4096)]);
    assert_eq!((reader.notes().skipped, reader.other_devices()), (5, vec!["8,0".to_owned()]));
}

#[test]
fn errors_are_reported_with_line_column_value_and_hint() {
    let msr = "128166372003061629,usr,0,Read,7014609920,24576,41286\n";
    let second = |fields: &str| format!("{msr}128166372003061630,usr,0,{fields}\n");
    let event = "  8,0    3        2     0.000000100   697  Q   W 223490 + 8 [x]\n";
    let iolog = "fio version 3 iolog\n";
    let columns = "time_us,op,offset,size\n";
    let cases: [(String, &str); 21] = [
        (second("Rd,1,2,3"), "t:2:26: Type is `Rd`; expected Read"),
        (second("Read,-1,2,3"), "t:2:31: Offset is `-1`"),
        (second("Read,1"), "t:2:32: the line ends before Size"),
        (second("Read,1,2,3,4"), "t:2:37: field is `4`"),
        (format!("{msr}\n\nx"), "t:4:1: Timestamp is `x`"),
        (
            format!("{MQSIM}1 0 8 8 2\n"),
            "t:5:9: type is `2`; expected 0 for a write or 1 for a read",
        ),
        (
            format!("{MQSIM}1 0 99999999999999999 8 1\n"),
            "t:5:5: first sector is `99999999999999999`",
        ),
        (format!("{event}hello\n"), "t:2:1: device is `hello`; expected the device as major,minor"),
        (event.replace(" + ", " ^ "), "expected `+` between sector and count"),
        (event.replace("0.000000100", "0:1"), "t:1: `8,0    3 "),
        (format!("{event}{}", event.replace("0.000000100", "0:1")), "t:2:25: time is `0:1`"),
        (format!("{iolog}1 f read 0\n"), "t:2:11: the line ends before length"),
        (format!("{iolog}1 f eat 0 1\n"), "t:2:5: action is `eat`; expected read, write"),
        (format!("{iolog}1 f wait 0 1\n"), "expected no wait in version 3"),
        ("fio version 1 iolog\n".to_owned(), "expected `fio version 2 iolog`"),
        (format!("{columns}1,r,0\n"), "t:2:6: the line ends before length"),
        (format!("{columns}1,q,0,1\n"), "t:2:3: operation is `q`; expected read, write, flush"),
        (format!("{columns}1e9,r,0,1\n"), "t:2:1: time is `1e9`; expected a number"),
        ("not a trace\n".to_owned(), "t:1: `not a trace` is not the beginning of a known format"),
        ("\n# nothing\n\n".to_owned(), "t: the trace is empty"),
        ("1 0 8 8 1\n18446744073709551615 0 8 8 1\n".to_owned(), "213 days"),
    ];
    for (text, expected) in cases {
        let error = read(&text).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert!(!error.unreadable);
    }
    let error = read_as(Format::Csv, "time,op,offset,size\n").unwrap_err();
    assert!(error.hint.as_ref().unwrap().contains("time_us"), "{error:?}");
    let error = read_as(Format::Csv, "time_us,op,size\n").unwrap_err();
    assert!(error.to_string().contains("there is no column offset"), "{error}");
    let error = read("not a trace\n").unwrap_err();
    assert!(error.hint.unwrap().contains("--trace-format"));
}

#[test]
fn a_truncated_last_line_is_an_error() {
    for (text, cut) in [(MSR, 12), (MQSIM, 5), (IOLOG_2, 20), (COLUMNS, 12)] {
        let text = text.trim_end().replace("\n/dev/sda close", "");
        let short = &text[..text.len() - cut];
        let error = read(short).unwrap_err();
        assert_eq!(error.line, Some(short.lines().count() as u64), "{error}");
        assert!(error.hint.as_ref().unwrap().contains("cut short"), "{error:?}");
    }
}

fn any_arrival() -> impl Strategy<Value = TraceArrival> {
    let operation = prop_oneof![Just(Read), Just(Write), Just(Flush), Just(Trim)];
    (operation, 0u64..1 << 50, 1u64..1 << 20, 0u32..3, 0u64..1_000_000).prop_map(
        |(operation, sector, sectors, device, at_us)| {
            let (offset, length) = match operation {
                Flush => (0, 0),
                _ => (sector * 512, sectors * 512),
            };
            TraceArrival {
                at: Some(Instant::ZERO + Duration::from_microseconds(at_us)),
                device,
                thread: 0,
                access: Access { operation, offset: Bytes(offset), length: Bytes(length) },
                line: 0,
            }
        },
    )
}

/// Sorts the requests as a reader returns them: in order of time, with the first at zero.
fn in_order(mut arrivals: Vec<TraceArrival>) -> Vec<TraceArrival> {
    arrivals.sort_by_key(|arrival| arrival.at);
    let first = arrivals[0].at.unwrap();
    for arrival in &mut arrivals {
        arrival.at = arrival.at.map(|at| Instant::ZERO + at.since(first));
    }
    arrivals
}

fn line_of(format: Format, arrival: &TraceArrival) -> String {
    let us = arrival.at.unwrap().picoseconds() / 1_000_000;
    let Access { operation, offset, length } = arrival.access;
    let offset = offset.get();
    let length = length.get();
    let device = arrival.device;
    let sector = offset / 512;
    let sectors = length / 512;
    let word = format!("{operation:?}");
    match format {
        Format::Msr => {
            format!(
                "{},host,{device},{word},{offset},{length},7",
                128_166_372_003_061_629 + us * 10
            )
        }
        Format::Mqsim => {
            format!("{} {device} {sector} {sectors} {}", us * 1000, u8::from(operation == Read))
        }
        Format::Disksim => {
            let whole = us / 1_000;
            let part = us % 1_000;
            format!("{whole}.{part:03} {device} {sector} {sectors} {}", u8::from(operation == Read))
        }
        Format::Csv => format!("{us},{word},{offset},{length},disk{device}"),
        Format::Blkparse
        | Format::Iolog
        | Format::Alibaba
        | Format::Spc
        | Format::Fiu
        | Format::Biosnoop
        | Format::Ftrace
        | Format::Columns(_) => {
            let seconds = us / 1_000_000;
            let ns = us % 1_000_000 * 1000;
            let head = format!("  8,{device:<3}  0        1 {seconds:5}.{ns:09}   697  Q");
            match operation {
                Flush => format!("{head} FWS [x]"),
                Read => format!("{head}   R {sector} + {sectors} [x]"),
                Write => format!("{head}  WS {sector} + {sectors} [x]"),
                Trim => format!("{head}   D {sector} + {sectors} [x]"),
            }
        }
    }
}

fn read_in_every_format(bytes: &[u8]) {
    let listed = Format::from_str("time_s,device,sector,sectors,is_read").unwrap();
    for format in Format::ALL.map(Some).into_iter().chain([None, Some(listed)]) {
        if let Ok(reader) = open(bytes, &Options { format, ..Options::default() }) {
            let _ = reader.count();
        }
    }
}

proptest! {
    #[test]
    fn written_rows_are_read_again(arrivals in prop::collection::vec(any_arrival(), 1..40)) {
        let arrivals = in_order(arrivals);
        let devices = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let cases = [
            (Format::Msr, devices(&["host,0", "host,1", "host,2"])),
            (Format::Mqsim, devices(&["0", "1", "2"])),
            (Format::Disksim, devices(&["0", "1", "2"])),
            (Format::Blkparse, devices(&["8,0", "8,1", "8,2"])),
            (Format::Csv, devices(&["disk0", "disk1", "disk2"])),
        ];
        for (format, devices) in cases {
            let both = matches!(format, Format::Msr | Format::Mqsim | Format::Disksim);
            let kept: Vec<&TraceArrival> = arrivals
                .iter()
                .filter(|arrival| !both || matches!(arrival.access.operation, Read | Write))
                .collect();
            let Some(first) = kept.first().map(|one| one.at.unwrap()) else { continue };
            let head = if format == Format::Csv { "time_us,op,offset,size,device\n" } else { "" };
            let lines: Vec<String> = kept.iter().map(|one| line_of(format, one)).collect();
            let text = format!("{head}{}\n", lines.join("\n"));
            let options = Options { format: Some(format), devices, ..Options::default() };
            let parsed: Vec<TraceArrival> =
                open(text.as_bytes(), &options).unwrap().map(Result::unwrap).collect();
            let expected: Vec<TraceArrival> = kept
                .iter()
                .zip(&parsed)
                .map(|(one, parsed)| TraceArrival {
                    at: one.at.map(|at| Instant::ZERO + at.since(first)),
                    line: parsed.line,
                    ..**one
                })
                .collect();
            prop_assert_eq!(parsed, expected);
        }
    }

    #[test]
    fn an_iolog_is_written_as_it_is_read(arrivals in prop::collection::vec(any_arrival(), 1..40)) {
        let arrivals = in_order(arrivals);
        for version in [IologVersion::Two, IologVersion::Three] {
            let files = ["/dev/a", "/dev/b", "/dev/c"].map(str::to_owned).to_vec();
            let mut writer = IologWriter::new(Vec::new(), version, files).unwrap();
            for arrival in &arrivals {
                writer.write(arrival).unwrap();
            }
            let text = String::from_utf8(writer.finish().unwrap()).unwrap();
            let parsed = read(&text).unwrap();
            for (parsed, arrival) in parsed.iter().zip(&arrivals) {
                let at = arrival.at.filter(|_| version == IologVersion::Three);
                prop_assert_eq!(*parsed, TraceArrival { at, line: parsed.line, ..*arrival });
            }
            prop_assert_eq!(parsed.len(), arrivals.len());
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_in_every_format(&bytes);
    }

    #[test]
    fn no_damage_to_a_sample_makes_a_reader_panic(
        sample in 0..SAMPLES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0u8..3, any::<u8>()), 1..8),
    ) {
        let mut bytes = SAMPLES[sample].as_bytes().to_vec();
        for (position, kind, byte) in damage {
            let position = position.index(bytes.len());
            match kind {
                0 => bytes[position] = byte,
                1 => bytes.insert(position, byte),
                _ => { bytes.remove(position); }
            }
        }
        read_in_every_format(&bytes);
    }
}

#[test]
fn a_name_that_an_iolog_cannot_hold_is_refused() {
    let files = vec!["two words".to_owned()];
    let error = IologWriter::new(Vec::new(), IologVersion::Three, files).err().unwrap();
    assert!(error.to_string().contains("`two words`"), "{error}");
}
