//! The grammar of faults: `power-cut at=2s boot=5s`, or the same keys in a `[[fault]]` table.
//!
//! A fault is a kind, and keys with values; each value is a quantity with its unit. [`read`] takes the separated keys
//! and values and reports all errors at once. The text form of a [`Fault`] is one line.

use std::fmt;
use std::str::FromStr;

use super::{
    BIT_ERRORS_MAX, BITS_MAX, ByteRange, FAULT_TIME_MAX, Fault, FaultKind, LinkSelector,
    ReadRetries, STUCK_MAX, StuckCommands, TrainedRate,
};
use crate::text::saved_as_text;
use crate::units::{BitsPerSecond, Bytes, Duration, Instant, QuantityError, Ratio};

/// The kinds of faults, each with its required keys and then its optional keys. The keys `at`, `for` and `drive` are
/// not listed.
const KINDS: [(&str, &[&str], &[&str]); 15] = [
    ("bit-flips", &[], &["range", "share", "bits"]),
    ("latency", &["extra"], &["share"]),
    ("link-errors", &["rate"], &["port", "link", "recovery"]),
    ("lost-write", &[], &["range", "share"]),
    ("lying-flush", &[], &["share"]),
    ("media-error", &[], &["range", "share", "recovery", "heal"]),
    ("misdirected-write", &[], &["range", "share"]),
    ("pause", &["for"], &[]),
    ("port-loss", &[], &["port", "timeout"]),
    ("power-cut", &[], &["boot"]),
    ("read-only", &[], &["written"]),
    ("read-retries", &["share"], &["endurance", "unworn"]),
    ("retrain", &[], &["port", "link", "lanes", "generation", "speed"]),
    ("stuck", &[], &["commands", "timeout", "abort", "reset", "then"]),
    ("write-error", &[], &["range", "share", "recovery"]),
];
impl Fault {
    /// Returns the kinds of faults, as their texts name them.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }
}

/// Kinds that would affect every request if neither a range nor a share were given.
const LIMITED: [&str; 5] =
    ["bit-flips", "lost-write", "media-error", "misdirected-write", "write-error"];
/// Keys that every kind of fault accepts.
const ALWAYS: [&str; 3] = ["at", "for", "drive"];
/// Default time for which a drive tries to read or write a bad sector: the usual limit of drives for arrays (SCT Error
/// Recovery Control, ATA8-ACS 8.3; 7 s).
const MEDIA_RECOVERY: Duration = Duration::from_seconds(7);
/// Default time from a command's link error until the host sends the command again. Assumed.
const LINK_RECOVERY: Duration = Duration::from_microseconds(1_000);
/// Default time of a restart. Assumed.
const BOOT: Duration = Duration::from_seconds(10);
/// Maximum length of a fault's text.
const TEXT_MAX: usize = 1_000;

/// An error in the text of a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FaultError {
    /// Key that contains the error; `kind` if the kind is unknown.
    pub key: String,
    /// Message that states the error and the accepted values.
    pub message: String,
}

/// The keys of a fault during parsing, and the errors found.
struct FaultKeys<'t> {
    given: &'t [(&'t str, &'t str)],
    errors: Vec<FaultError>,
}

impl<'t> FaultKeys<'t> {
    fn fail(&mut self, key: &str, message: String) {
        self.errors.push(FaultError { key: key.to_owned(), message });
    }

    fn text(&self, key: &str) -> Option<&'t str> {
        self.given.iter().find(|(given, _)| *given == key).map(|(_, text)| *text)
    }

    /// Returns the value of `key` from `parse`, or `None` if it is missing or invalid.
    fn parsed<T, E: fmt::Display>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(self.text(key)?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(key, format!("{key}: {error}"));
                None
            }
        }
    }

    fn quantity<T: FromStr<Err = QuantityError>>(&mut self, key: &str) -> Option<T> {
        self.parsed(key, str::parse)
    }

    /// Returns a time of up to [`FAULT_TIME_MAX`].
    fn time(&mut self, key: &str) -> Option<Duration> {
        self.parsed(key, |text| match text.parse::<Duration>() {
            Ok(time) if time <= FAULT_TIME_MAX => Ok(time),
            Ok(time) => Err(format!("{time} is more than {FAULT_TIME_MAX}")),
            Err(error) => Err(error.to_string()),
        })
    }

    fn integer(&mut self, key: &str, low: u32, high: u32) -> Option<u32> {
        self.parsed(key, |text| match text.parse::<u32>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            _ => Err(format!("`{text}` is not a whole number from {low} to {high}")),
        })
    }

    /// Returns the share of affected requests, above 0.
    fn share(&mut self) -> Option<Ratio> {
        self.parsed("share", |text| match text.parse::<Ratio>() {
            Ok(share) if share.is_zero() => {
                Err(format!("`{text}` affects no request; expected above 0% and up to 100%"))
            }
            Ok(share) => Ok(share),
            Err(error) => Err(error.to_string()),
        })
    }

    fn range(&mut self) -> Option<ByteRange> {
        self.parsed("range", range)
    }

    fn place(&mut self) -> LinkSelector {
        let port = self.integer("port", 0, 1).unwrap_or(0) as u8;
        LinkSelector { port, number: self.integer("link", 0, 15).map(|number| number as u8) }
    }

    /// Records the keys that do not belong to `kind`, that are missing, or that are repeated.
    fn check(&mut self, kind: &str, must: &[&str], may: &[&str]) {
        let given = self.given;
        let is_known = |key: &&str| must.contains(key) || may.contains(key) || ALWAYS.contains(key);
        for (index, (key, _)) in given.iter().enumerate() {
            if given[..index].iter().any(|(other, _)| other == key) {
                self.fail(key, format!("`{key}` is given twice"));
            } else if !is_known(key) {
                let keys: Vec<&str> = must.iter().chain(may).chain(&ALWAYS).copied().collect();
                let message =
                    format!("`{kind}` does not have a key `{key}`; its keys: {}", keys.join(", "));
                self.fail(key, message);
            }
        }
        if LIMITED.contains(&kind) && self.text("range").or(self.text("share")).is_none() {
            self.fail("range", format!("`{kind}` needs `range`, `share` or both"));
        }
        for key in must.iter().filter(|key| self.text(key).is_none()).collect::<Vec<_>>() {
            self.fail(key, format!("`{kind}` needs `{key}`"));
        }
    }
}

/// Returns the fault of `kind` with the values of these keys.
///
/// # Errors
/// Returns all errors of the fault.
pub fn read(kind: &str, given: &[(&str, &str)]) -> Result<Fault, Vec<FaultError>> {
    let mut keys = FaultKeys { given, errors: Vec::new() };
    let Some((_, must, may)) = KINDS.iter().find(|(known, ..)| *known == kind) else {
        let known: Vec<&str> = Fault::kinds().collect();
        keys.fail(
            "kind",
            format!("there is no fault `{kind}`; the faults are {}", known.join(", ")),
        );
        return Err(keys.errors);
    };
    keys.check(kind, must, may);
    let at: Duration = keys.quantity("at").unwrap_or_default();
    let length: Option<Duration> = keys.quantity("for");
    let drive = keys.integer("drive", 0, u32::from(u16::MAX) / 2).map(|drive| drive as u16);
    if length == Some(Duration::ZERO) {
        keys.fail("for", "for: the length of a fault must be above 0 s".to_owned());
    }
    if kind == "power-cut" && length.is_some() {
        keys.fail("for", "`power-cut` does not have a `for`: `boot` sets its length".to_owned());
    }
    // For `read-retries`, the share is a share of flash reads, not of requests.
    let share = if kind == "read-retries" { None } else { keys.share() };
    let kind = kind_of(kind, &mut keys);
    match kind {
        Some(kind) if keys.errors.is_empty() => {
            Ok(Fault { at: Instant::ZERO + at, length, drive, share, kind })
        }
        _ => Err(keys.errors),
    }
}

/// Returns the kind named `kind`, or `None` if a required key is missing or invalid.
fn kind_of(kind: &str, keys: &mut FaultKeys<'_>) -> Option<FaultKind> {
    Some(match kind {
        "bit-flips" => {
            let bits = keys.integer("bits", 1, BITS_MAX).unwrap_or(1);
            FaultKind::BitFlips { range: keys.range(), bits }
        }
        "lost-write" => FaultKind::LostWrite { range: keys.range() },
        "lying-flush" => FaultKind::LyingFlush,
        "misdirected-write" => FaultKind::MisdirectedWrite { range: keys.range() },
        "write-error" => {
            let recovery = keys.time("recovery").unwrap_or(MEDIA_RECOVERY);
            FaultKind::WriteError { range: keys.range(), recovery }
        }
        "latency" => FaultKind::Latency { extra: keys.time("extra")? },
        "link-errors" => {
            let link = keys.place();
            let recovery = keys.time("recovery").unwrap_or(LINK_RECOVERY);
            let rate = keys.parsed("rate", |text| match text.parse::<f64>() {
                Ok(rate) if rate > 0.0 && rate <= BIT_ERRORS_MAX => Ok(rate),
                _ => Err(format!(
                    "`{text}` is not a share of wrong bits above 0 and up to {BIT_ERRORS_MAX:e}, such as 1e-9"
                )),
            });
            FaultKind::LinkErrors { link, rate: rate?, recovery }
        }
        "media-error" => {
            let recovery = keys.time("recovery").unwrap_or(MEDIA_RECOVERY);
            let heals = keys.parsed("heal", |text| match text {
                "write" => Ok(true),
                "never" => Ok(false),
                _ => Err(format!("`{text}` is neither `write` nor `never`")),
            });
            let heals = heals.unwrap_or(false);
            FaultKind::MediaError { range: keys.range(), recovery, heals }
        }
        "pause" => FaultKind::Pause,
        "port-loss" => {
            let port = keys.integer("port", 0, 1).unwrap_or(0) as u8;
            FaultKind::PortLoss { port, timeout: keys.time("timeout") }
        }
        "power-cut" => FaultKind::PowerCut { boot: keys.time("boot").unwrap_or(BOOT) },
        "read-only" => {
            FaultKind::ReadOnly { written: keys.quantity("written").unwrap_or_default() }
        }
        "read-retries" => {
            let endurance = keys.integer("endurance", 1, 100_000_000);
            let endurance = endurance.unwrap_or(ReadRetries::ENDURANCE);
            let unworn = keys.quantity::<Ratio>("unworn").unwrap_or_default();
            let share = keys.quantity::<Ratio>("share")?;
            FaultKind::ReadRetries(ReadRetries { unworn, share, endurance })
        }
        "retrain" => {
            let link = keys.place();
            let lanes = keys.integer("lanes", 1, 16);
            let generation = keys.integer("generation", 1, 5);
            let to = TrainedRate { lanes, generation, speed: keys.quantity("speed") };
            if keys.errors.is_empty() && to == TrainedRate::default() {
                let message = "`retrain` needs `lanes`, `generation` or `speed`";
                keys.fail("kind", message.to_owned());
            }
            FaultKind::Retrain { link, to }
        }
        "stuck" => {
            let usual = StuckCommands::default();
            let commands = keys.integer("commands", 1, STUCK_MAX).unwrap_or(usual.commands);
            let timeout = keys.time("timeout").unwrap_or(usual.timeout);
            let abort = keys.time("abort");
            let reset = keys.time("reset").unwrap_or(usual.reset);
            let again = keys.parsed("then", |text| match text {
                "retry" => Ok(true),
                "fail" => Ok(false),
                _ => Err(format!("`{text}` is neither `retry` nor `fail`")),
            });
            let again = again.unwrap_or(usual.again);
            FaultKind::Stuck(StuckCommands { commands, timeout, abort, reset, again })
        }
        _ => {
            keys.fail("kind", format!("the keys of `{kind}` cannot be parsed"));
            return None;
        }
    })
}

/// Parses a range such as `1GiB..2GiB`.
fn range(text: &str) -> Result<ByteRange, String> {
    let (start, end) = text
        .split_once("..")
        .ok_or_else(|| format!("`{text}`: expected start..end, such as 1GiB..2GiB"))?;
    let bytes = |text: &str| text.parse::<Bytes>().map_err(|error| error.to_string());
    let start = bytes(start)?;
    let end = bytes(end)?;
    if start < end {
        Ok(ByteRange { start, end })
    } else {
        Err(format!("`{text}` ends before it begins"))
    }
}

impl FromStr for Fault {
    type Err = String;

    /// Parses a kind and its keys, such as `media-error range=1GiB..2GiB drive=1`. The error contains all mistakes, one
    /// per line.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > TEXT_MAX {
            return Err(format!("the text of a fault may have up to {TEXT_MAX} characters"));
        }
        let mut words = text.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let mut errors = Vec::new();
        let mut given = Vec::new();
        for word in words {
            match word.split_once('=') {
                Some((key, value)) if !key.is_empty() => given.push((key, value)),
                _ => errors.push(format!("`{word}`: expected key=value, such as at=2s")),
            }
        }
        match read(kind, &given) {
            Ok(fault) if errors.is_empty() => return Ok(fault),
            Ok(_) => {}
            Err(wrong) => errors.extend(wrong.into_iter().map(|error| error.message)),
        }
        Err(errors.join("\n"))
    }
}

saved_as_text!(Fault);

/// Writes a key and its value, without a space between number and unit; times and sizes are exact.
struct KeyValue<'t, T>(&'t str, T);

impl<T: fmt::Display> fmt::Display for KeyValue<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}={}", self.0, self.1.to_string().replace(' ', ""))
    }
}

/// Returns a quantity as displayed if that text parses to the same value; otherwise returns the value `whole` in the
/// smallest unit.
fn exact<T: fmt::Display + FromStr + PartialEq>(value: &T, whole: (u64, &str)) -> String {
    let text = value.to_string();
    if text.parse().is_ok_and(|read: T| read == *value) {
        text
    } else {
        format!("{}{}", whole.0, whole.1)
    }
}

fn time(time: Duration) -> String {
    exact(&time, (time.picoseconds(), "ps"))
}

fn size(bytes: Bytes) -> String {
    exact(&bytes, (bytes.get(), "B"))
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", size(self.start), size(self.end))
    }
}

/// Writes a share as a percentage. Shares are parsed in billionths.
fn percentage(share: Ratio) -> String {
    format!("{}%", (share.get() * 1e9).round() / 1e7)
}

impl fmt::Display for LinkSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.port > 0 {
            KeyValue("port", self.port).fmt(f)?;
        }
        self.number.map_or(Ok(()), |number| KeyValue("link", number).fmt(f))
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_range = |f: &mut fmt::Formatter<'_>, kind: &str| {
            f.write_str(kind)?;
            self.range().map_or(Ok(()), |range| KeyValue("range", range).fmt(f))
        };
        match *self {
            Self::ReadRetries(ReadRetries { unworn, share, endurance }) => {
                let share = KeyValue("share", percentage(share));
                write!(f, "read-retries{share}{}", KeyValue("endurance", endurance))?;
                let unworn = Some(percentage(unworn)).filter(|_| unworn > Ratio::ZERO);
                unworn.map_or(Ok(()), |unworn| KeyValue("unworn", unworn).fmt(f))
            }
            Self::MediaError { recovery, heals, .. } => {
                with_range(f, "media-error")?;
                write!(f, "{}", KeyValue("recovery", time(recovery)))?;
                if heals { KeyValue("heal", "write").fmt(f) } else { Ok(()) }
            }
            Self::WriteError { recovery, .. } => {
                with_range(f, "write-error")?;
                write!(f, "{}", KeyValue("recovery", time(recovery)))
            }
            Self::BitFlips { bits, .. } => {
                with_range(f, "bit-flips")?;
                write!(f, "{}", KeyValue("bits", bits))
            }
            Self::LostWrite { .. } => with_range(f, "lost-write"),
            Self::MisdirectedWrite { .. } => with_range(f, "misdirected-write"),
            Self::LyingFlush => f.write_str("lying-flush"),
            Self::Latency { extra } => write!(f, "latency{}", KeyValue("extra", time(extra))),
            Self::Pause => f.write_str("pause"),
            Self::Stuck(StuckCommands { commands, timeout, abort, reset, again }) => {
                let timeout = KeyValue("timeout", time(timeout));
                write!(f, "stuck{}{timeout}", KeyValue("commands", commands))?;
                match abort {
                    Some(abort) => write!(f, "{}", KeyValue("abort", time(abort)))?,
                    None => write!(f, "{}", KeyValue("reset", time(reset)))?,
                }
                write!(f, "{}", KeyValue("then", if again { "retry" } else { "fail" }))
            }
            Self::LinkErrors { link, rate, recovery } => {
                let rate = KeyValue("rate", format!("{rate:e}"));
                write!(f, "link-errors{rate}{link}{}", KeyValue("recovery", time(recovery)))
            }
            Self::Retrain { link, to: TrainedRate { lanes, generation, speed } } => {
                write!(f, "retrain{link}")?;
                lanes.map_or(Ok(()), |lanes| KeyValue("lanes", lanes).fmt(f))?;
                generation
                    .map_or(Ok(()), |generation| KeyValue("generation", generation).fmt(f))?;
                speed.map_or(Ok(()), |speed: BitsPerSecond| {
                    let text =
                        format!("{}.{:09}", speed.0 / 1_000_000_000, speed.0 % 1_000_000_000);
                    let shortest = text.trim_end_matches('0').trim_end_matches('.');
                    KeyValue("speed", format!("{shortest}Gb/s")).fmt(f)
                })
            }
            Self::PortLoss { port, timeout } => {
                write!(f, "port-loss{}", KeyValue("port", port))?;
                timeout.map_or(Ok(()), |timeout| KeyValue("timeout", time(timeout)).fmt(f))
            }
            Self::ReadOnly { written } => {
                write!(f, "read-only{}", KeyValue("written", size(written)))
            }
            Self::PowerCut { boot } => write!(f, "power-cut{}", KeyValue("boot", time(boot))),
        }
    }
}

/// Writes a fault in the notation of the command line. Parsing the text returns the same fault.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        self.share.map_or(Ok(()), |share| KeyValue("share", percentage(share)).fmt(f))?;
        KeyValue("at", time(self.at.since(Instant::ZERO))).fmt(f)?;
        self.length.map_or(Ok(()), |length| KeyValue("for", time(length)).fmt(f))?;
        self.drive.map_or(Ok(()), |drive| KeyValue("drive", drive).fmt(f))
    }
}

#[cfg(test)]
mod tests;
