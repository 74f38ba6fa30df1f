//! Conversion of points to CSV lines and back.
//!
//! A complete line ends with a line feed; a line that was cut off when the process was killed does not. The key in a
//! line identifies the sweep to which the line belongs. An unknown value is an empty field. The last column states why
//! the point lacks figures.

use lanemark_schema::result::{DirectionFigures, Sweep, SweepFigures, SweepPoint};
use lanemark_schema::text::{csv_fields, csv_text};

/// The text at the start of every sweep file.
pub const MARK: &str = "point,key,system,test,";
/// The columns after the axes: the figures of reads and writes together, the busiest hop, then reads and writes
/// separately.
const FIGURES: [&str; 25] = [
    "iops",
    "bytes_per_second",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p99_us",
    "latency_p999_us",
    "latency_max_us",
    "busiest",
    "utilisation",
    "read_iops",
    "read_bytes_per_second",
    "read_latency_mean_us",
    "read_latency_p50_us",
    "read_latency_p99_us",
    "read_latency_p999_us",
    "read_latency_max_us",
    "write_iops",
    "write_bytes_per_second",
    "write_latency_mean_us",
    "write_latency_p50_us",
    "write_latency_p99_us",
    "write_latency_p999_us",
    "write_latency_max_us",
    "write_amplification",
    "error",
];
/// The index of the first column of reads; there are seven columns per direction.
const READS: usize = 9;
/// The index of the first column of writes.
const WRITES: usize = 16;
/// The index of write amplification.
const AMPLIFICATION: usize = 23;
/// The number of columns before the axes.
const BEFORE: usize = 4;

/// Returns the first line of a sweep file, including the line feed.
pub fn header(axes: &[String]) -> String {
    let before = MARK.split_terminator(',').map(str::to_owned);
    let figures = FIGURES.map(str::to_owned);
    csv_text([before.chain(axes.iter().map(|axis| one_line(axis))).chain(figures)])
}

/// Returns a point as a line, including the line feed.
pub fn row(point: &SweepPoint, key: &str) -> String {
    let mut fields = vec![point.number.to_string(), key.to_owned()];
    fields.extend([&point.system, &point.test].map(|name| one_line(name)));
    fields.extend(point.values.iter().map(|value| one_line(value)));
    let cell = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    match &point.outcome {
        Ok(figures) => {
            let (hop, busy) = figures.busiest.clone().unzip();
            fields.extend([
                format!("{:.3}", figures.iops),
                format!("{:.0}", figures.bytes_per_second),
                format!("{:.3}", figures.latency_mean_us),
            ]);
            fields.extend(figures.latency_percentiles_us.map(cell));
            fields.push(cell(figures.latency_max_us));
            fields.push(one_line(&hop.unwrap_or_default()));
            fields.push(busy.map_or(String::new(), |share| format!("{share:.4}")));
            for direction in [&figures.reads, &figures.writes] {
                fields.extend(direction_fields(direction.as_ref()));
            }
            fields.push(
                figures.write_amplification.map_or(String::new(), |ratio| format!("{ratio:.4}")),
            );
            fields.push(String::new());
        }
        Err(error) => {
            fields.extend(std::iter::repeat_n(String::new(), FIGURES.len() - 1));
            fields.push(one_line(error));
        }
    }
    csv_text([fields])
}

/// Returns the seven fields of the reads or of the writes of a point.
fn direction_fields(figures: Option<&DirectionFigures>) -> Vec<String> {
    let Some(figures) = figures else { return vec![String::new(); WRITES - READS] };
    let cell = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    let mut fields = vec![
        format!("{:.3}", figures.iops),
        format!("{:.0}", figures.bytes_per_second),
        format!("{:.3}", figures.latency_mean_us),
    ];
    fields.extend(figures.latency_percentiles_us.map(cell));
    fields.push(cell(figures.latency_max_us));
    fields
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

/// Reads the identity of a point from a line of [`row`] without its line feed, for a sweep with this number of axes.
pub fn id(line: &str, axes: usize) -> Option<PointId> {
    let fields = csv_fields(line)?;
    let values = fields.get(BEFORE..BEFORE + axes)?.to_vec();
    let whole = fields.len() == BEFORE + axes + FIGURES.len();
    let mut fields = fields.into_iter();
    let number = fields.next()?.parse().ok()?;
    let key = fields.next()?;
    whole.then_some(PointId { number, key, values })
}

/// Returns the names of the axes if `line`, without its line feed, is the first line of a sweep.
pub fn axes(line: &str) -> Option<Vec<String>> {
    let first = Some(line).filter(|line| line.starts_with(MARK)).and_then(csv_fields)?;
    let count = first.len().checked_sub(BEFORE + FIGURES.len())?;
    (first[BEFORE + count..] == FIGURES).then(|| first[BEFORE..BEFORE + count].to_vec())
}

/// Reads the sweep in a file, with its points in order. An incomplete line at the end is omitted.
///
/// # Errors
/// Returns the number of the first line that does not belong to a sweep, counted from 1.
pub fn read(text: &str) -> Result<Sweep, usize> {
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let first = lines.next().ok_or(1usize)?;
    let axes = axes(first).ok_or(1usize)?;
    let mut points = Vec::new();
    for (index, line) in lines.enumerate() {
        points.push(point(line, axes.len()).ok_or(index + 2)?);
    }
    points.sort_by_key(|point| point.number);
    Ok(Sweep { axes, points })
}

fn point(line: &str, axes: usize) -> Option<SweepPoint> {
    let row_fields = csv_fields(line)?;
    if row_fields.len() != BEFORE + axes + FIGURES.len() {
        return None;
    }
    let (head, figures) = row_fields.split_at(BEFORE + axes);
    let error = figures.last()?;
    let outcome = if error.is_empty() {
        let number = |place: usize| figures.get(place)?.parse::<f64>().ok();
        let direction = |first: usize| {
            Some(DirectionFigures {
                iops: number(first)?,
                bytes_per_second: number(first + 1)?,
                latency_mean_us: number(first + 2)?,
                latency_percentiles_us: [3, 4, 5].map(|place| number(first + place)),
                latency_max_us: number(first + 6),
            })
        };
        let busy = number(8);
        Ok(SweepFigures {
            iops: number(0)?,
            bytes_per_second: number(1)?,
            latency_mean_us: number(2)?,
            latency_percentiles_us: [number(3), number(4), number(5)],
            latency_max_us: number(6),
            busiest: busy.map(|share| (figures[7].clone(), share)),
            reads: direction(READS),
            writes: direction(WRITES),
            write_amplification: number(AMPLIFICATION),
        })
    } else {
        Err(error.clone())
    };
    Some(SweepPoint {
        number: head[0].parse().ok()?,
        system: head[2].clone(),
        test: head[3].clone(),
        values: head[BEFORE..].to_vec(),
        outcome,
    })
}

/// Returns a text without line breaks, so that a row is one line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
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
            reads: Some(DirectionFigures {
                iops: 700.25,
                bytes_per_second: 2_867_200.0,
                latency_mean_us: 15.5,
                latency_percentiles_us: [Some(15.0), None, None],
                latency_max_us: Some(31.0),
            }),
            writes: None,
            write_amplification: Some(1.25),
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
    fn written_rows_are_read_again() {
        let axes = vec!["queue_depth".to_owned(), "block".to_owned()];
        let [one, other] = points().try_into().unwrap();
        let text = header(&axes) + &row(&other, "k1") + &row(&one, "k0") + "2,torn";
        let read = read(&text).unwrap();
        assert_eq!(read.axes, axes);
        assert_eq!(read.points[0], one);
        assert_eq!(read.points[1].outcome, Err("bad, very".to_owned()));
        let wanted = PointId { number: 0, key: "k0".to_owned(), values: one.values.clone() };
        assert_eq!(id(row(&one, "k0").trim_end(), 2), Some(wanted));
        assert_eq!(id("1,k", 2), None);
    }

    #[test]
    fn foreign_rows_are_reported_with_their_line() {
        assert_eq!(read("a,b\n"), Err(1));
        assert_eq!(read(""), Err(1));
        assert_eq!(read(&(header(&[]) + "0,k,s,t,1\n")), Err(2));
        assert_eq!(read(&(header(&[]) + "0,k,s,\"t\n")), Err(2));
    }
}
