//! The settings of a diskspd time span.
//!
//! The text lists the settings of each target. If a text does not contain this list, the settings are taken from the
//! command line. The options and their defaults are described in diskspd's manual: 64 KiB, two requests per thread, one
//! thread per file, sequential reads.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::Pattern;

use crate::stated::{ReportedRun, ReportedTest, time};
use crate::words::{number, size, text_between, whole_number};

/// The settings of a time span. A setting is absent if the targets differ in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TimeSpanSettings {
    pub(super) path: Option<String>,
    pub(super) pattern: Option<Pattern>,
    pub(super) block: Option<f64>,
    /// The share of writes among the requests, in per cent.
    pub(super) writes: Option<f64>,
    /// Number of outstanding requests per thread.
    pub(super) depth: Option<u32>,
    pub(super) threads: Option<u32>,
    /// Size of the file, if diskspd created it.
    pub(super) span: Option<f64>,
    pub(super) seconds: Option<f64>,
    pub(super) direct: Option<bool>,
}

impl TimeSpanSettings {
    /// Returns the settings of a command line, which apply to all targets.
    pub(super) fn of_command(line: &str) -> Self {
        let mut all = Self {
            pattern: Some(Pattern::Sequential),
            block: Some(65_536.0),
            writes: Some(0.0),
            depth: Some(2),
            threads: Some(1),
            direct: Some(false),
            ..Self::default()
        };
        let mut paths = Vec::new();
        let mut in_total = None;
        for word in words(line).iter().skip(1) {
            let Some(option) = word.strip_prefix(['-', '/']).filter(|option| !option.is_empty())
            else {
                paths.push(word.clone());
                continue;
            };
            let (name, value) = option.split_at(option.chars().next().map_or(0, char::len_utf8));
            match name {
                "b" => all.block = bytes(value, all.block),
                "c" => all.span = bytes(value, all.block),
                "d" => all.seconds = number(value).map(|(seconds, _)| seconds),
                "F" => in_total = whole_number(value),
                "h" => all.direct = Some(true),
                "o" => all.depth = whole_number(value),
                "r" if value.starts_with('s') => {
                    all.pattern =
                        (whole_number(&value[1..]) == Some(100)).then_some(Pattern::Uniform);
                }
                // An alignment that differs from the block size is a pattern that is not supported.
                "r" => all.pattern = Some(Pattern::Uniform),
                "S" => {
                    all.direct = match value.chars().find(|letter| "bhurm".contains(*letter)) {
                        Some('h' | 'u') => Some(true),
                        Some('b') => Some(false),
                        // The option is -S without a letter.
                        None if value.is_empty() => Some(true),
                        None if value == "w" => Some(false),
                        _ => None,
                    };
                }
                "t" => all.threads = whole_number(value),
                "w" => all.writes = number(value).map(|(percent, _)| percent),
                // The profile is in a file, or a distribution determines the offsets.
                "X" => return Self::default(),
                _ if option.starts_with("rd") => all.pattern = None,
                _ => {}
            }
        }
        all.threads = match (in_total, all.threads, paths.len()) {
            (Some(total), ..) => Some(total),
            (None, Some(threads), files @ 1..) => u32::try_from(files).ok().map(|n| n * threads),
            (None, threads, _) => threads,
        };
        // The figures of several targets do not belong to one of them.
        paths.dedup();
        all.path = paths.pop().filter(|_| paths.is_empty());
        all
    }

    /// Returns the settings that the text lists below `timespan:`; `None` if there is no list.
    pub(super) fn of_list(text: &str) -> Option<Self> {
        let mut all: Option<Self> = None;
        let mut seconds = None;
        let mut parts = text.split("path: '");
        for line in parts.next()?.lines() {
            if let Some(rest) = line.trim().strip_prefix("duration:") {
                seconds = number(rest).map(|(seconds, _)| seconds);
            }
        }
        for part in parts {
            let mut settings = Self::of_target(part);
            settings.seconds = seconds;
            all = Some(match all {
                None => settings,
                Some(other) => other.and(&settings),
            });
        }
        all
    }

    fn of_target(text: &str) -> Self {
        let mut settings =
            Self { path: text.split('\'').next().map(str::to_owned), ..Self::default() };
        for line in text.lines().skip(1).map(str::trim) {
            let text_after = |name: &str| line.strip_prefix(name);
            if let Some(rest) = text_after("block size:") {
                settings.block = size(rest, false).or(number(rest)).map(|(bytes, _)| bytes);
            } else if line.starts_with("using random I/O") {
                settings.pattern = Some(Pattern::Uniform);
            } else if line.starts_with("using sequential I/O")
                || line.starts_with("using interlocked sequential I/O")
            {
                settings.pattern = Some(Pattern::Sequential);
            } else if line == "performing read test" {
                settings.writes = Some(0.0);
            } else if line == "performing write test" {
                settings.writes = Some(100.0);
            } else if line.starts_with("performing mix test") {
                let writes =
                    text_between(line, "/write ratio: ", ")").and_then(|both| both.split_once('/'));
                settings.writes =
                    writes.and_then(|(_, writes)| number(writes)).map(|(number, _)| number);
            } else if line.starts_with("number of outstanding I/O operations") {
                settings.depth = line.rsplit_once(':').and_then(|(_, depth)| whole_number(depth));
            } else if let Some(rest) = text_after("threads per file:") {
                settings.threads = whole_number(rest);
            } else if line.starts_with("software cache disabled") {
                settings.direct = Some(true);
            } else if line.starts_with("using software cache") {
                settings.direct = Some(false);
            }
        }
        settings
    }

    /// Returns the settings that two targets of one time span have in common.
    pub(super) fn and(self, other: &Self) -> Self {
        fn both<T: PartialEq>(one: Option<T>, other: &Option<T>) -> Option<T> {
            one.filter(|one| other.as_ref() == Some(one))
        }
        let threads = self.threads.zip(other.threads);
        Self {
            path: self.path.filter(|path| other.path.as_ref() == Some(path)),
            pattern: both(self.pattern, &other.pattern),
            block: both(self.block, &other.block),
            writes: both(self.writes, &other.writes),
            depth: both(self.depth, &other.depth),
            threads: threads.and_then(|(one, other)| one.checked_add(other)),
            span: self.span.zip(other.span).map(|(one, other)| one + other),
            seconds: self.seconds,
            direct: both(self.direct, &other.direct),
        }
    }

    /// Adds the settings to a test.
    pub(super) fn describe(&self, test: &mut ReportedTest) {
        let block = self.block.filter(|block| (512.0..=67_108_864.0).contains(block));
        test.pattern.clone_from(&self.pattern);
        test.block = block.map(|block| Bytes(block as u64));
        test.read_share = self.writes.and_then(|writes| Ratio::new(1.0 - writes / 100.0));
        test.queue_depth = self.depth.filter(|depth| *depth > 0);
        test.threads = self.threads.filter(|threads| *threads > 0);
        let span = self.span.filter(|span| (512.0..1e15).contains(span));
        test.span = span.map(|span| Bytes(span as u64 / 512 * 512));
        let seconds = self.seconds.filter(|seconds| *seconds >= 1.0);
        test.duration = seconds
            .and_then(|seconds| time(seconds, 1.0).ok())
            .filter(|time| *time <= Duration::INPUT_MAX);
    }

    /// Adds the settings that apply to the whole run.
    pub(super) fn apply_to_run(&self, run: &mut ReportedRun) {
        if run.path.is_none() {
            run.path.clone_from(&self.path);
            run.direct = self.direct;
        }
    }
}

/// Returns a size on the command line; a number without a unit is in bytes, and a number with `b` is in blocks.
fn bytes(value: &str, block: Option<f64>) -> Option<f64> {
    let (count, rest) = number(value)?;
    match rest {
        "" => Some(count),
        "b" => Some(count * block?),
        _ => size(value, false).map(|(bytes, _)| bytes),
    }
}

/// Returns the words of a command line; words may be quoted.
fn words(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            letter if letter.is_whitespace() && !quoted => {
                all.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            letter => word.push(letter),
        }
    }
    all.extend(Some(word).filter(|word| !word.is_empty()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_the_defaults_of_the_manual() {
        let settings = TimeSpanSettings::of_command(
            "diskspd.exe -c1G -d120 -r -w50 -t8 -o8 -b4K -Sh -L \"a b.dat\"",
        );
        assert_eq!(
            (settings.pattern, settings.block, settings.writes),
            (Some(Pattern::Uniform), Some(4096.0), Some(50.0))
        );
        assert_eq!(
            (settings.depth, settings.threads, settings.direct),
            (Some(8), Some(8), Some(true))
        );
        assert_eq!((settings.span, settings.seconds), (Some(1_073_741_824.0), Some(120.0)));
        assert_eq!(settings.path.as_deref(), Some("a b.dat"));
        let plain = TimeSpanSettings::of_command("diskspd d.dat e.dat");
        assert_eq!((plain.pattern, plain.block), (Some(Pattern::Sequential), Some(65_536.0)));
        assert_eq!((plain.depth, plain.threads, plain.direct), (Some(2), Some(2), Some(false)));
        let mixed = TimeSpanSettings::of_command("diskspd -rs50 -F3 -t9 -Srm d.dat");
        assert_eq!((mixed.pattern, mixed.threads, mixed.direct), (None, Some(3), None));
        assert_eq!(
            TimeSpanSettings::of_command("diskspd -Xprofile.xml"),
            TimeSpanSettings::default()
        );
        TimeSpanSettings::of_command("x -é -b -o-3 -t99999999999 -w1e999 -");
    }

    #[test]
    fn a_size_may_count_bytes_blocks_or_larger_units() {
        for (text, block, wanted) in [
            ("4096", None, Some(4_096.0)),
            ("3b", Some(512.0), Some(1_536.0)),
            // The size of a block is not known.
            ("3b", None, None),
            ("4K", Some(512.0), Some(4_096.0)),
            ("2M", None, Some(2_097_152.0)),
            ("1G", None, Some(1_073_741_824.0)),
            ("x", None, None),
        ] {
            assert_eq!(bytes(text, block), wanted, "{text} {block:?}");
        }
    }
}
