//! Tests of traces that were compressed with gzip or Zstandard.

use std::io::{self, BufReader, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use lanemark_trace::{Options, Reader, TraceInput};

const MSR: &str = include_str!("samples/msr.csv");
const MSR_GZIP: &[u8] = include_bytes!("samples/msr.csv.gz");
const COLUMNS: &str = include_str!("samples/columns.csv");
const COLUMNS_ZSTD: &[u8] = include_bytes!("samples/columns.csv.zst");

fn text(input: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    TraceInput::new(input)?.read_to_string(&mut text)?;
    Ok(text)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// An input that returns one byte at a time, like a slow pipe.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (Some(first), Some(slot)) = (self.0.first(), buffer.first_mut()) else { return Ok(0) };
        *slot = *first;
        self.0 = &self.0[1..];
        Ok(1)
    }
}

#[test]
fn packed_content_is_read_unchanged() {
    assert_eq!(text(MSR_GZIP).unwrap(), MSR);
    assert_eq!(text(COLUMNS_ZSTD).unwrap(), COLUMNS);
    assert_eq!(text(MSR.as_bytes()).unwrap(), MSR);
    assert_eq!(text(b"").unwrap(), "");
    let plain = Reader::new("t", MSR.as_bytes(), &Options::default()).unwrap();
    let packed = BufReader::new(TraceInput::new(MSR_GZIP).unwrap());
    let packed = Reader::new("t", packed, &Options::default()).unwrap();
    let requests: Vec<_> = packed.map(Result::unwrap).collect();
    assert!(!requests.is_empty());
    assert_eq!(requests, plain.map(Result::unwrap).collect::<Vec<_>>());
}

#[test]
fn members_and_frames_follow_each_other() {
    assert_eq!(text(&[MSR_GZIP, MSR_GZIP].concat()).unwrap(), format!("{MSR}{MSR}"));
    let twice = [COLUMNS_ZSTD, COLUMNS_ZSTD].concat();
    assert_eq!(text(&twice).unwrap(), format!("{COLUMNS}{COLUMNS}"));
}

#[test]
fn a_slow_pipe_is_read_as_a_file_is() {
    for (packed, plain) in [(MSR_GZIP, MSR), (COLUMNS_ZSTD, COLUMNS), (MSR.as_bytes(), MSR)] {
        let mut text = String::new();
        TraceInput::new(Slow(packed)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, plain);
    }
}

#[test]
fn truncated_or_damaged_input_is_an_error() {
    for (packed, format) in [(MSR_GZIP, "gzip"), (COLUMNS_ZSTD, "Zstandard")] {
        for end in [5, packed.len() / 2, packed.len() - 1] {
            let error = text(&packed[..end]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("as {format}: ")), "{end}: {error}");
        }
        let mut spoilt = packed.to_vec();
        let middle = spoilt.len() / 2;
        spoilt[middle..].fill(0xff);
        assert!(text(&spoilt).is_err());
        assert!(text(&[packed, b"more"].concat()).is_err(), "{format}: the rest is not part of it");
    }
}

#[test]
fn a_bomb_ends_with_an_error_and_a_trace_of_even_lines_does_not() {
    let bomb = gzip(&vec![b'\n'; 100 << 20]);
    assert!(bomb.len() < 200_000);
    let mut read = TraceInput::new(bomb.as_slice()).unwrap();
    let error = io::copy(&mut read, &mut io::sink()).unwrap_err().to_string();
    assert!(error.contains("more than 500 times its size"), "{error}");
    let lines: String =
        (0..2_000_000_u64).map(|at| format!("{},0,{},8,1\n", at * 1000, at)).collect();
    let mut read = Vec::new();
    TraceInput::new(gzip(lines.as_bytes()).as_slice()).unwrap().read_to_end(&mut read).unwrap();
    assert_eq!(read.len(), lines.len());
}
