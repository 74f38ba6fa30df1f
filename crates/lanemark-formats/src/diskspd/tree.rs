//! Reads diskspd's XML (`-Rxml`), which contains a profile with the settings, and the time spans with their results.
//!
//! The threads of a time span have targets, whose bytes and requests are summed. The element `Latency` contains the
//! mean, minimum, maximum and percentiles of all threads, in ms.

use lanemark_schema::result::Sample;
use lanemark_schema::workload::Pattern;

use super::settings::TimeSpanSettings;
use super::text::{histogram_of, name};
use crate::error::FormatError;
use crate::stated::{ReportedRun, ReportedTest, direction, nanoseconds, time};
use crate::words::utc;
use crate::xml::{self, Element};

/// Maximum number of percentiles that are kept.
const PERCENTILES_MAX: usize = 200;

/// Returns whether the text is diskspd's XML.
pub(crate) fn is_ours(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with('<') && text.contains("<Results>") && text.contains("<TimeSpan>")
}

/// Reads the text. `file` is the name of the text in errors.
///
/// # Errors
/// Returns an error if the text is not XML, or if a time span does not contain figures.
pub(crate) fn read(text: &str, file: &str) -> Result<ReportedRun, FormatError> {
    // Messages from diskspd or from a script may precede the XML.
    let start = text.find("<Results>").unwrap_or(0);
    let before = text[..start].lines().count().saturating_sub(1) as u64;
    let root = xml::parse(&text[start..])
        .map_err(|(line, message)| FormatError::at(file, before + line, message))?;
    let tool = root.child("System").and_then(|system| system.child("Tool"));
    let version = tool.and_then(|tool| tool.value("Version")).unwrap_or_default();
    let mut run = ReportedRun::new(file, format!("diskspd {version}").trim());
    let began = root.child("System").and_then(|system| system.value("RunTime"));
    run.timestamp = began.filter(|time| time.contains("UTC")).and_then(utc);
    let profile = root.child("Profile").and_then(|profile| profile.child("TimeSpans"));
    let settings: Vec<TimeSpanSettings> =
        profile.map_or(Vec::new(), |spans| spans.all("TimeSpan").map(of_span).collect());
    for (index, span) in root.all("TimeSpan").enumerate() {
        let sample = sample(span).map_err(|message| {
            FormatError::file(file, format!("time span {}: {message}", index + 1))
        })?;
        let mut test = ReportedTest::new(format!("timespan {}", index + 1), sample);
        if let Some(parameters) = settings.get(index) {
            parameters.describe(&mut test);
            parameters.apply_to_run(&mut run);
            test.name = name(parameters, index);
        }
        run.add(test)?;
    }
    Ok(run)
}

/// Returns the settings of a time span from the profile.
fn of_span(span: &Element) -> TimeSpanSettings {
    let targets = span.child("Targets");
    let mut all = targets.into_iter().flat_map(|targets| targets.all("Target")).map(of_target);
    let first = all.next().unwrap_or_default();
    let mut settings = all.fold(first, |sum, one| sum.and(&one));
    settings.seconds = figure(span, "Duration");
    if let Some(threads) = figure(span, "ThreadCount").filter(|threads| *threads > 0.0) {
        settings.threads = Some(threads as u32);
    }
    settings
}

fn of_target(target: &Element) -> TimeSpanSettings {
    let flag = |name: &str| target.value(name).map(|text| text == "true");
    // RandomRatio is the share of random requests in a mixed pattern.
    let pattern = match (target.child("Random"), figure(target, "RandomRatio")) {
        (_, Some(ratio)) if ratio > 0.0 && ratio < 100.0 => None,
        _ if target.child("Distribution").is_some() => None,
        (Some(_), _) => Some(Pattern::Uniform),
        (None, _) => target.child("StrideSize").map(|_| Pattern::Sequential),
    };
    let integer_figure = |name: &str| figure(target, name).map(|number| number as u32);
    let sizes = ["MaxFileSize", "FileSize"].map(|name| figure(target, name));
    TimeSpanSettings {
        path: target.value("Path").filter(|path| !path.is_empty()).map(str::to_owned),
        pattern,
        block: figure(target, "BlockSize"),
        writes: figure(target, "WriteRatio"),
        depth: integer_figure("RequestCount"),
        threads: integer_figure("ThreadsPerFile"),
        span: sizes.into_iter().flatten().find(|size| *size > 0.0),
        seconds: None,
        direct: flag("DisableOSCache").or(flag("DisableAllCache")),
    }
}

fn sample(span: &Element) -> Result<Sample, String> {
    let elapsed = figure(span, "TestTimeSeconds").ok_or("TestTimeSeconds is missing")?;
    let targets = || span.all("Thread").flat_map(|thread| thread.all("Target"));
    let sum = |name: &'static str| targets().filter_map(|target| figure(target, name)).sum::<f64>();
    let latency = span.child("Latency");
    let side = |word: &str, bytes: f64, requests: f64| {
        let mean = latency.and_then(|all| figure(all, &format!("Average{word}Milliseconds")));
        let mut stated: Vec<(f64, f64)> = Vec::new();
        let key = format!("{word}Milliseconds");
        for bucket in latency.into_iter().flat_map(|all| all.all("Bucket")) {
            let both = figure(bucket, "Percentile").zip(figure(bucket, &key));
            if let Some((percent, ms)) = both
                && let Some(ns) = nanoseconds(ms, 1e6)
                && stated.last().is_none_or(|(last, _)| *last < percent)
                && percent <= 100.0
                && stated.len() < PERCENTILES_MAX
            {
                stated.push((percent, ns));
            }
        }
        let end =
            |percent: f64| stated.iter().find(|(known, _)| *known == percent).map(|(_, ns)| *ns);
        let min = end(0.0);
        let max = end(100.0);
        stated.retain(|(percent, _)| *percent > 0.0 && *percent < 100.0);
        let mean_ns = mean.and_then(|ms| nanoseconds(ms, 1e6));
        direction(bytes, requests, |count| histogram_of(count, mean_ns, min, max, &stated))
    };
    let sample = Sample {
        elapsed: time(elapsed, 1.0)?,
        reads: side("Read", sum("ReadBytes"), sum("ReadCount"))?,
        writes: side("Write", sum("WriteBytes"), sum("WriteCount"))?,
        ..Sample::empty()
    };
    match sample.operations() {
        0 => Err("there are no requests".to_owned()),
        _ => Ok(sample),
    }
}

/// Returns the number in a child element.
fn figure(element: &Element, name: &str) -> Option<f64> {
    let number = element.value(name)?.trim().parse::<f64>().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
