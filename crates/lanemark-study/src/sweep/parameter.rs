//! The parameters of a test that can be swept, with the names that they have in workload files.

use lanemark_schema::units::{BytesPerSecond, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, Pattern, SyntheticRequests, Test};

/// A function that sets a test's value from a string.
type ParameterSetter = fn(&mut Test, &str) -> Result<(), String>;

pub(super) const OF_TEST: [(&str, ParameterSetter); 15] = [
    ("queue_depth", |test, text| set(&mut requests(test)?.queue_depth, text)),
    ("threads", |test, text| set(&mut test.threads, text)),
    ("block", set_block),
    ("read", |test, text| set(&mut requests(test)?.read_share, text)),
    ("pattern", set_pattern),
    ("span", |test, text| set(&mut test.span, text)),
    ("offset", |test, text| set(&mut test.offset, text)),
    ("alignment", |test, text| set(&mut requests(test)?.alignment, text)),
    ("volume", |test, text| set_optional(&mut test.volume, text)),
    ("duration", set_duration),
    ("ramp", |test, text| set(&mut test.ramp, text)),
    ("think", |test, text| set(&mut requests(test)?.think, text)),
    ("burst", |test, text| set(&mut requests(test)?.burst, text)),
    ("compressibility", |test, text| set::<Ratio>(&mut test.compressibility, text)),
    ("rate", set_rate),
];
/// The names of the parts of a system.
pub(super) const OF_SYSTEM: [&str; 3] = ["drive", "platform", "port"];

/// Sets the parameter `name`, which must be in [`OF_TEST`].
pub(super) fn apply(test: &mut Test, name: &str, text: &str) -> Result<(), String> {
    let known = OF_TEST.iter().find(|(known, _)| *known == name);
    let set = known.map(|(_, set)| set).ok_or_else(|| format!("`{name}` is unknown"))?;
    set(test, text).map_err(|message| format!("{name} = {text}: {message}"))
}

fn set<T: std::str::FromStr<Err: std::fmt::Display>>(
    place: &mut T,
    text: &str,
) -> Result<(), String> {
    *place = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(())
}

fn set_optional<T: std::str::FromStr<Err: std::fmt::Display>>(
    place: &mut Option<T>,
    text: &str,
) -> Result<(), String> {
    *place = Some(text.parse().map_err(|error: T::Err| error.to_string())?);
    Ok(())
}

/// Returns the requests of a test. A test that consists of transactions does not describe its requests.
fn requests(test: &mut Test) -> Result<&mut SyntheticRequests, String> {
    let bound = "the test consists of transactions, and the database determines their requests";
    test.requests_mut().ok_or_else(|| bound.to_owned())
}

/// Sets the length of the requests. If the offsets were multiples of the old length, they become multiples of the new
/// length.
fn set_block(test: &mut Test, text: &str) -> Result<(), String> {
    if !test.mix().sizes.is_empty() {
        return Err("the test already has sizes".to_owned());
    }
    let aligned = test.alignment() == test.block;
    set(&mut test.block, text)?;
    let block = test.block;
    if let Some(requests) = test.requests_mut().filter(|_| aligned) {
        requests.alignment = block;
    }
    Ok(())
}

fn set_pattern(test: &mut Test, text: &str) -> Result<(), String> {
    requests(test)?.pattern = match text {
        "sequential" => Pattern::Sequential,
        "backward" => Pattern::Backward,
        "random" => Pattern::Uniform,
        "shuffled" => Pattern::Shuffled,
        _ => return Err("must be sequential, backward, random or shuffled".to_owned()),
    };
    Ok(())
}

/// Sets the duration, which replaces a volume, like the option on the command line.
fn set_duration(test: &mut Test, text: &str) -> Result<(), String> {
    set_optional(&mut test.duration, text)?;
    (test.volume, test.rounds) = (None, None);
    Ok(())
}

/// Sets a rate in requests or bytes a second, which makes the test an open loop.
fn set_rate(test: &mut Test, text: &str) -> Result<(), String> {
    let mean = test.block_mean();
    let Some(asked) = test.requests_mut() else {
        return Err("the users determine the rate of transactions".to_owned());
    };
    let process = match asked.load {
        Load::Open { process, .. } => process,
        Load::Closed => ArrivalProcess::default(),
    };
    let requests = text.strip_suffix("/s").and_then(|number| number.trim().parse::<f64>().ok());
    let bytes = || {
        let rate: BytesPerSecond = text.parse().ok()?;
        Some(rate.0 as f64 / mean)
    };
    let rate = requests.or_else(bytes);
    let rate_per_second =
        rate.ok_or("must be requests or bytes a second, such as 5000/s or 20 MB/s")?;
    asked.load = Load::Open { rate_per_second, process };
    Ok(())
}
