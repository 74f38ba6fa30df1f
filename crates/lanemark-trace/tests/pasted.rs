//! Traces as people paste them: quoted, after the command that printed them, with messages before them, and in locales
//! with a decimal comma.

use lanemark_schema::workload::Operation;
use lanemark_trace::{Format, Options, Reader};

/// Returns the format of a text, and the time in ns, the kind and the offset of each request.
fn read(text: &str) -> Result<(Format, Vec<(u64, Operation, u64)>), String> {
    let mut reader = Reader::new("t", text.as_bytes(), &Options::default())
        .map_err(|error| format!("{error} {:?}", error.hint))?;
    let requests = reader.by_ref().map(|arrival| {
        let arrival = arrival.map_err(|error| error.to_string())?;
        let at = arrival.at.map_or(0, |at| at.picoseconds() / 1_000);
        Ok((at, arrival.access.operation, arrival.access.offset.get()))
    });
    let requests = requests.collect::<Result<_, String>>()?;
    Ok((reader.format(), requests))
}

const BLKPARSE: &str = "  8,0    3        1     0.000000000   697  Q   W 16 + 8 [x]\n\
                        8,0    3        2     0.000001000   697  Q   R 24 + 8 [x]\n";

#[test]
fn marks_around_a_trace_do_not_change_it() {
    let (_, plain) = read(BLKPARSE).unwrap();
    assert_eq!(plain, [(0, Operation::Write, 8192), (1000, Operation::Read, 12_288)]);
    let quoted: String = BLKPARSE.lines().map(|line| format!("> {line}\r\n")).collect();
    let fenced = format!("```\n{BLKPARSE}```\n");
    let prompt = format!("root@box:~# blkparse sda\n{BLKPARSE}root@box:~# blktrace -h\n");
    for text in [quoted, fenced, prompt] {
        assert_eq!(read(&text).unwrap(), (Format::Blkparse, plain.clone()), "{text}");
    }
}

#[test]
fn messages_of_a_tracer_precede_its_first_line_and_no_other() {
    let event = " app-1  [003] d..1.  7.500000: block_rq_issue: 8,0 R 4096 () 64 + 8 [app]\n";
    assert_eq!(read(&format!("version = 7\ncpus=8\n{event}")).unwrap().0, Format::Ftrace);
    let biosnoop = "Tracing block device I/O, hit Ctrl-C\nTIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                    0.000004 supervise 1950 xvda1 W 13092560 4096 0.74\n";
    let (format, requests) = read(biosnoop).unwrap();
    assert_eq!((format, requests.len()), (Format::Biosnoop, 1));
    // Newer versions print the kernel's letters; a flush has neither a sector nor a length.
    let flags = biosnoop.replace(" W 1", " FWS 1")
        + "0.000010 jbd2 1950 xvda1 FF 0 0 0.31\n0.000020 a 7 xvda1 WS 8 4096 0.2\n";
    let (format, requests) = read(&flags).unwrap();
    let kinds: Vec<Operation> = requests.iter().map(|(_, operation, _)| *operation).collect();
    let expected = [Operation::Flush, Operation::Write, Operation::Flush, Operation::Write];
    assert_eq!((format, kinds.as_slice()), (Format::Biosnoop, expected.as_slice()));
    // A line of numbers after an unknown line can have any meaning.
    for text in ["hello\n0,303567,3584,w,0.000000\n", "hello\n", "a,b\n1,2\n"] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with("t:1: ") && error.contains("--trace-format"), "{text}: {error}");
    }
}

#[test]
fn semicolons_tabs_and_decimal_commas_separate_columns() {
    let expected = [(0, Operation::Read, 0), (500_000, Operation::Write, 4096)];
    for text in [
        "time_ms;operation;offset;length\n0,25;read;0;4096\n0,75;write;4096;4096\n",
        "time_ms\toperation\toffset\tlength\n0.25\tread\t0\t4096\n0.75\twrite\t4096\t4096\n",
        "\"time_ms\",\"operation\",\"offset\",\"length\"\n0.25,R,0,4096\n0.75,W,4096,4096\n",
    ] {
        assert_eq!(read(text).unwrap(), (Format::Csv, expected.to_vec()), "{text}");
    }
    let named = "device_id,opcode,offset,length,timestamp\n0,R,0,4096,1577808000000626\n";
    assert_eq!(read(named).unwrap().0, Format::Alibaba);
}
