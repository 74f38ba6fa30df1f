//! Measures the number of requests that are read per second in each format, from memory on one core.
//!
//! `cargo bench -p lanemark-trace` reads a million lines of each format five times and prints the best and the median.
//! As a part of the tests (without `--bench`), it reads a few lines once, so that this code is exercised.

use std::fmt::Write;
use std::time::Instant;

use lanemark_trace::{Format, Options, Reader};

fn main() {
    let full = std::env::args().any(|arg| arg == "--bench");
    let (lines, rounds) = if full { (1_000_000, 5) } else { (1_000, 1) };
    println!("{:<12}{:>16}{:>12}{:>14}", "format", "requests/s, best", "median", "bytes/line");
    for format in Format::ALL {
        let text = trace(format, lines);
        let mut rates: Vec<f64> = (0..rounds).map(|_| rate(format, &text, lines)).collect();
        rates.sort_by(f64::total_cmp);
        println!(
            "{:<12}{:>14.2} M{:>10.2} M{:>14}",
            format.name(),
            rates[rounds - 1] / 1e6,
            rates[rounds / 2] / 1e6,
            text.len() as u64 / lines
        );
    }
}

fn rate(format: Format, text: &str, lines: u64) -> f64 {
    let started = Instant::now();
    let options = Options { format: Some(format), ..Options::default() };
    let reader = Reader::new("memory", text.as_bytes(), &options).expect("the format is given");
    let read = reader.filter(|one| one.is_ok()).count() as u64;
    assert_eq!(read, lines);
    read as f64 / started.elapsed().as_secs_f64()
}

fn trace(format: Format, lines: u64) -> String {
    let mut text = String::new();
    match format {
        Format::Iolog => text.push_str("fio version 3 iolog\n0 /dev/nvme0n1 add\n"),
        Format::Csv => text.push_str("time_us,operation,offset,length\n"),
        _ => {}
    }
    for line in 0..lines {
        let us = line * 17;
        let sector = line.wrapping_mul(7_919) % 900_000_000 * 8;
        let offset = sector * 512;
        let read = line % 10 < 7;
        let word = if read { "Read" } else { "Write" };
        // Writing to a string cannot fail.
        let _ = match format {
            Format::Msr => {
                let ticks = 128_166_372_003_061_629 + us * 10;
                writeln!(text, "{ticks},hm,0,{word},{offset},4096,113736")
            }
            Format::Blkparse => {
                let seconds = us / 1_000_000;
                let ns = us % 1_000_000 * 1_000;
                let letter = &word[..1];
                writeln!(
                    text,
                    "  8,0    3 {line:8} {seconds:5}.{ns:09}   697  Q   {letter} {sector} + 8 [fio]"
                )
            }
            Format::Iolog => {
                let word = if read { "read" } else { "write" };
                writeln!(text, "{us} /dev/nvme0n1 {word} {offset} 4096")
            }
            Format::Mqsim => writeln!(text, "{} 0 {sector} 8 {}", us * 1_000, u8::from(read)),
            Format::Disksim => {
                writeln!(text, "{}.{:03} 0 {sector} 8 {}", us / 1_000, us % 1_000, u8::from(read))
            }
            Format::Csv => writeln!(text, "{us}.5,{word},{offset},4096"),
            Format::Alibaba => writeln!(text, "0,{},{offset},4096,{us}", &word[..1]),
            Format::Spc => writeln!(
                text,
                "0,{sector},4096,{},{}.{:06}",
                &word[..1],
                us / 1_000_000,
                us % 1_000_000
            ),
            Format::Fiu => writeln!(text, "{} 1 fio {sector} 8 {} 6 0 0", us * 1_000, &word[..1]),
            Format::Biosnoop => {
                let letter = &word[..1];
                writeln!(
                    text,
                    "{}.{:06} fio 1 sda {letter} {sector} 4096 0.1",
                    us / 1_000_000,
                    us % 1_000_000
                )
            }
            Format::Ftrace | Format::Columns(_) => {
                let letter = &word[..1];
                let seconds = us / 1_000_000;
                let part = us % 1_000_000;
                writeln!(
                    text,
                    "fio-1 [000] {seconds}.{part:06}: block_rq_issue: 8,0 {letter} 4096 () {sector} + 8 [fio]"
                )
            }
        };
    }
    text
}
