//! The options of a job as fio's normal output prints them, such as `a: (g=0): rw=randread, bs=…, ioengine=…,
//! iodepth=…`.

use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Pattern;

use crate::error::shown;
use crate::stated::ReportedTest;
use crate::words::{size, text_between};

/// Engines that wait for each request.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

/// The options of a job, as read from its line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PrintedOptions {
    pub(super) name: String,
    pub(super) group: u32,
    rw: String,
    /// Minimum and maximum size of reads, writes and trims.
    blocks: [Option<(f64, f64)>; 3],
    pub(super) engine: Option<String>,
    depth: Option<u32>,
}

impl PrintedOptions {
    /// Reads a job's line of options.
    pub(super) fn read(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once(": (g=")?;
        let (group, rest) = rest.split_once("): rw=")?;
        let rw: String = rest.chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect();
        let field = |name: &str| {
            let value = rest.split_once(name)?.1;
            Some(value.split([',', ' ']).next().unwrap_or(value).trim().to_owned())
        };
        Some(Self {
            name: name.trim().to_owned(),
            group: group.parse().ok()?,
            rw,
            blocks: blocks(rest),
            engine: field("ioengine=").filter(|engine| !engine.is_empty()),
            depth: field("iodepth=")
                .and_then(|depth| depth.parse().ok())
                .filter(|depth| *depth > 0),
        })
    }

    /// Returns whether two jobs make the same kind of requests.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.rw, self.blocks, &self.engine, self.depth)
            == (&other.rw, other.blocks, &other.engine, other.depth)
    }

    fn reads(&self) -> bool {
        self.rw.contains("read") || matches!(self.rw.as_str(), "rw" | "randrw")
    }

    fn writes(&self) -> bool {
        self.rw.contains("write") || matches!(self.rw.as_str(), "rw" | "randrw")
    }

    /// Returns the size of the requests in a direction, if they all have the same size.
    pub(super) fn block(&self, side: usize) -> Option<f64> {
        self.blocks.get(side)?.filter(|(least, most)| least == most).map(|(least, _)| least)
    }

    /// Returns the contradiction between the options and the counts, if there is one.
    pub(super) fn contradiction(&self, sample: &Sample) -> Option<String> {
        let has = |side: &Option<DirectionResult>| side.is_some();
        if has(&sample.reads) && !self.reads() {
            return Some(format!("rw={}, but reads were counted", shown(&self.rw)));
        }
        if has(&sample.writes) && !self.writes() {
            return Some(format!("rw={}, but writes were counted", shown(&self.rw)));
        }
        None
    }

    /// Adds the options to a test.
    pub(super) fn describe(&self, test: &mut ReportedTest) {
        let random = self.rw.starts_with("rand");
        test.pattern = Some(if random { Pattern::Uniform } else { Pattern::Sequential });
        let waits = self.engine.as_deref().is_some_and(|engine| SYNCHRONOUS.contains(&engine));
        test.queue_depth = if waits { Some(1) } else { self.depth };
        let used = [self.reads(), self.writes(), self.rw.contains("trim")];
        let sizes: Vec<Option<f64>> =
            (0..3).filter(|&side| used[side]).map(|side| self.block(side)).collect();
        if let [Some(first), rest @ ..] = sizes.as_slice()
            && rest.iter().all(|other| other == &Some(*first))
        {
            test.block = Some(Bytes(*first as u64));
        }
    }
}

/// Reads `bs=(R) 4096B-4096B, (W) …, (T) …`, or `bs=4K-4K/4K-4K/4K-4K` from version 2.
fn blocks(text: &str) -> [Option<(f64, f64)>; 3] {
    let range = |text: &str| {
        let (least, most) = text.trim().split_once('-')?;
        Some((bytes_of(least)?, bytes_of(most)?))
    };
    if text.contains("bs=(R)") {
        return ["(R)", "(W)", "(T)"].map(|side| {
            let rest = text.split_once(side)?.1;
            range(rest.split(',').next()?)
        });
    }
    let mut parts = text_between(text, "bs=", ",").unwrap_or_default().split('/');
    [(); 3].map(|()| parts.next().and_then(range))
}

/// Returns a size in an option; its units are powers of 1024 and may be single letters.
fn bytes_of(text: &str) -> Option<f64> {
    let text = text.trim();
    match size(text, false) {
        Some((bytes, "")) => Some(bytes),
        Some(_) => None,
        None => text.parse::<f64>().ok().filter(|bytes| bytes.is_finite() && *bytes >= 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_options_has_the_sizes_of_each_direction() {
        let text = "a: (g=1): rw=randrw, bs=(R) 4096B-4096B, (W) 8192B-8192B, (T) 4KiB-64KiB, ioengine=libaio, iodepth=8";
        let options = PrintedOptions::read(text).unwrap();
        assert_eq!((options.group, options.depth, options.rw.as_str()), (1, Some(8), "randrw"));
        assert_eq!(
            options.blocks,
            [Some((4096.0, 4096.0)), Some((8192.0, 8192.0)), Some((4096.0, 65_536.0))]
        );
        let text = "b: (g=0): rw=read, bs=1M-1M/1M-1M/1M-1M, ioengine=sync, iodepth=1";
        assert_eq!(
            PrintedOptions::read(text).unwrap().blocks,
            [Some((1_048_576.0, 1_048_576.0)); 3]
        );
        assert!(PrintedOptions::read("a: (groupid=0, jobs=1): err= 0: pid=1: Mon").is_none());
    }

    #[test]
    fn the_kind_of_load_determines_the_directions() {
        for (rw, reads, writes) in [
            ("read", true, false),
            ("randread", true, false),
            ("write", false, true),
            ("randwrite", false, true),
            ("rw", true, true),
            ("randrw", true, true),
            ("readwrite", true, true),
            ("trim", false, false),
            ("trimwrite", false, true),
        ] {
            let text = format!("a: (g=0): rw={rw}, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1");
            let options = PrintedOptions::read(&text).unwrap();
            assert_eq!((options.reads(), options.writes()), (reads, writes), "{rw}");
        }
    }
}
