//! Points as lines of CSV, and back.
//!
//! A line is whole where it ends with a line feed: what a kill tore off has none. Which sweep a line belongs to tells
//! its key. What is not known is empty; the last column is why a point has no figures.

use lanemark_core::result::{Sweep, SweepFigures, SweepPoint};

/// First text of every sweep's file.
pub const MARK: &str = "point,key,system,test,";
/// The columns after the axes.
const FIGURES: [&str; 10] = [
    "iops",
    "bytes_per_second",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p99_us",
    "latency_p999_us",
    "latency_max_us",
    "busiest",
    "utilisation",
    "error",
];
/// The columns before the axes.
const BEFORE: usize = 4;

/// Returns the first line of a sweep's file, with its end.
pub fn header(axes: &[String]) -> String {
    let axes: String = axes.iter().map(|axis| format!("{},", quoted(axis))).collect();
    format!("{MARK}{axes}{}\n", FIGURES.join(","))
}

/// A point as a line, with its end.
pub fn row(point: &SweepPoint, key: &str) -> String {
    let mut fields =
        vec![point.number.to_string(), key.to_owned(), quoted(&point.system), quoted(&point.test)];
    fields.extend(point.values.iter().map(|value| quoted(value)));
    let told = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    match &point.outcome {
        Ok(figures) => {
            let (hop, busy) = figures.busiest.clone().unzip();
            fields.extend([
                format!("{:.3}", figures.iops),
                format!("{:.0}", figures.bytes_per_second),
                format!("{:.3}", figures.latency_mean_us),
            ]);
            fields.extend(figures.latency_percentiles_us.map(told));
            fields.push(told(figures.latency_max_us));
            fields.push(quoted(&hop.unwrap_or_default()));
            fields.push(busy.map_or(String::new(), |share| format!("{share:.4}")));
            fields.push(String::new());
        }
        Err(error) => {
            fields.extend(std::iter::repeat_n(String::new(), FIGURES.len() - 1));
            fields.push(quoted(error));
        }
    }
    fields.join(",") + "\n"
}

/// The identity of a point of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointId {
    /// Number of the point.
    pub number: u64,
    /// Key of the point.
    pub key: String,
    /// Value of each axis.
    pub values: Vec<String>,
}

/// Reads the point's identity from a line that [`row`] wrote for a sweep of that many axes, without its end.
pub fn id(line: &str, axes: usize) -> Option<PointId> {
    let fields = fields(line)?;
    let values = fields.get(BEFORE..BEFORE + axes)?.to_vec();
    let whole = fields.len() == BEFORE + axes + FIGURES.len();
    let mut fields = fields.into_iter();
    let number = fields.next()?.parse().ok()?;
    let key = fields.next()?;
    whole.then_some(PointId { number, key, values })
}

/// The names of the axes, where `line` is the first line of a sweep, without its end.
pub fn axes(line: &str) -> Option<Vec<String>> {
    let first = Some(line).filter(|line| line.starts_with(MARK)).and_then(fields)?;
    let count = first.len().checked_sub(BEFORE + FIGURES.len())?;
    (first[BEFORE + count..] == FIGURES).then(|| first[BEFORE..BEFORE + count].to_vec())
}

/// The sweep that a file holds, its points in their order; what is torn at its end is left out.
///
/// # Errors
/// The line that is none of a sweep, from 1.
pub fn read(text: &str) -> Result<Sweep, usize> {
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let axes = lines.next().and_then(axes).ok_or(1usize)?;
    let mut points = Vec::new();
    for (index, line) in lines.enumerate() {
        points.push(point(line, axes.len()).ok_or(index + 2)?);
    }
    points.sort_by_key(|point| point.number);
    Ok(Sweep { axes, points })
}

fn point(line: &str, axes: usize) -> Option<SweepPoint> {
    let all = fields(line)?;
    if all.len() != BEFORE + axes + FIGURES.len() {
        return None;
    }
    let (head, figures) = all.split_at(BEFORE + axes);
    let error = figures.last()?;
    let outcome = match error.is_empty() {
        false => Err(error.clone()),
        true => {
            let number = |place: usize| figures[place].parse::<f64>().ok();
            let busy = number(8);
            Ok(SweepFigures {
                iops: number(0)?,
                bytes_per_second: number(1)?,
                latency_mean_us: number(2)?,
                latency_percentiles_us: [number(3), number(4), number(5)],
                latency_max_us: number(6),
                busiest: busy.map(|share| (figures[7].clone(), share)),
            })
        }
    };
    Some(SweepPoint {
        number: head[0].parse().ok()?,
        system: head[2].clone(),
        test: head[3].clone(),
        values: head[BEFORE..].to_vec(),
        outcome,
    })
}

/// A text as a field; whatever it holds, a line stays one.
fn quoted(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// The fields of a line; none where a quote is not closed.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let last = fields.last_mut()?;
        match (character, quoted) {
            ('"', true) if characters.peek() == Some(&'"') => {
                characters.next();
                last.push('"');
            }
            ('"', _) => quoted = !quoted,
            (',', false) => fields.push(String::new()),
            (other, _) => last.push(other),
        }
    }
    (!quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<SweepPoint> {
        let figures = SweepFigures {
            iops: 1000.5,
            bytes_per_second: 4_096_000.0,
            latency_mean_us: 12.25,
            latency_percentiles_us: [Some(12.0), Some(20.125), None],
            latency_max_us: Some(31.0),
            busiest: Some(("SATA 6 Gb/s, \"a\"".to_owned(), 0.5)),
        };
        let point = |number, outcome| SweepPoint {
            number,
            system: "d@p:q".to_owned(),
            test: "4K, read".to_owned(),
            values: vec![number.to_string(), "4 KiB".to_owned()],
            outcome,
        };
        vec![point(0, Ok(figures)), point(1, Err("bad,\nvery".to_owned()))]
    }

    #[test]
    fn what_is_written_is_read_again() {
        let axes = vec!["queue_depth".to_owned(), "block".to_owned()];
        let [one, other] = points().try_into().unwrap();
        let text = header(&axes) + &row(&other, "k1") + &row(&one, "k0") + "2,torn";
        let read = read(&text).unwrap();
        assert_eq!(read.axes, axes);
        assert_eq!(read.points[0], one);
        assert_eq!(read.points[1].outcome, Err("bad, very".to_owned()));
        let (key, values) = ("k0".to_owned(), one.values.clone());
        let wanted = PointId { number: 0, key, values };
        assert_eq!(id(row(&one, "k0").trim_end(), 2), Some(wanted));
        assert_eq!(id("1,k", 2), None);
    }

    #[test]
    fn what_is_no_sweep_is_told_by_its_line() {
        assert_eq!(read("a,b\n"), Err(1));
        assert_eq!(read(""), Err(1));
        assert_eq!(read(&(header(&[]) + "0,k,s,t,1\n")), Err(2));
        assert_eq!(read(&(header(&[]) + "0,k,s,\"t\n")), Err(2));
    }
}
