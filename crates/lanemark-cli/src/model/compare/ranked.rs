//! Any number of systems in the order of their rates.

use std::collections::HashMap;
use std::path::Path;

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::{RankedSystem, Ranking, assemble, input, opened};
use lanemark_report::{RankedRow, TargetVerdict, ranking_answer, ranking_text};
use lanemark_schema::result::SCHEMA_VERSION;
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_study::Library;
use lanemark_study::catalogue;
use lanemark_study::endurance;
use lanemark_study::library::LibraryKind;
use lanemark_study::search::{EntrySearch, LibraryIndex};
use lanemark_study::system::SystemName;
use serde_json::json;

use super::options::lab;
use crate::args::{CompareArgs, RateTarget};
use crate::model::library::PlatformEntry;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::progress::LabProgressLine;

/// Maximum number of ranked systems.
const SYSTEMS_MAX: usize = 512;
/// Maximum length of a file with prices.
const PRICES_MAX: u64 = 1 << 20;
/// The default tests of a ranking.
const USUAL: &str = "quick";

/// The targets of a system in the only test of a ranking.
#[derive(Clone, Copy)]
struct RankingTarget {
    at_least: Option<RateTarget>,
    p99_below: Option<Duration>,
}

impl RankingTarget {
    fn is_given(self) -> bool {
        self.at_least.is_some() || self.p99_below.is_some()
    }

    /// Returns whether `system` meets all targets: a miss, or otherwise the more uncertain verdict.
    fn verdict(self, system: &RankedSystem) -> Option<TargetVerdict> {
        let result = system.results.first()?;
        let interval = system.interval.as_ref();
        let ends = |value: f64, low: f64, high: f64| [value * low, value * high];
        let rate = self.at_least.map(|target| {
            let (value, target) = match target {
                RateTarget::Iops(iops) => (system.rate, iops),
                RateTarget::Rate(BytesPerSecond(rate)) => {
                    (result.throughput_bytes_per_second.value, rate as f64)
                }
            };
            let ends = interval.map(|one| ends(value, one.low_ratio, one.high_ratio));
            TargetVerdict::at_least(target, ends)
        });
        let tail = self.p99_below.map(|target| {
            let p99 = result.latency().percentile_ns(99.0).map(|ns| ns as f64);
            let of = interval.and_then(|interval| interval.percentile(99.0));
            let ends = of.zip(p99).map(|(of, p99)| ends(p99, of.low_ratio, of.high_ratio));
            TargetVerdict::below(target.nanoseconds() as f64, ends)
        });
        rate.max(tail)
    }
}

/// Ranks the named systems and the drives that `--drives` selects.
pub(super) fn run(args: &CompareArgs, library: &Library) -> Result<CommandOutcome, Failure> {
    let names = systems(args, library)?;
    let capacities = names.iter().map(|name| Ok(assemble(library, name, &[])?.capacity()));
    let capacity = capacities.collect::<Result<Vec<Bytes>, Failure>>()?.into_iter().min();
    let scale = args.run.scale.scale();
    let name = args.workload.as_deref().unwrap_or(USUAL);
    let mut opened =
        opened::open_simulated(library, name, &scale, capacity.unwrap_or(Bytes::ZERO))?;
    opened.simulate();
    let workload = lanemark_lab::scale::scaled_workload(opened.workload, &scale)?;
    let target = RankingTarget { at_least: args.at_least, p99_below: args.p99_below };
    if target.is_given() && workload.tests.len() != 1 {
        return Err(Failure::input("a target requires a workload with one test")
            .hint("add --workload WORKLOAD:TEST"));
    }
    let prices = args.prices.as_deref().map(|file| read_prices(library, file)).transpose()?;
    let subjects: Vec<DrawnSystem<'_>> = names
        .iter()
        .map(|name| DrawnSystem { library, name, settings: &[], ranges: &[] })
        .collect();
    let mut line = LabProgressLine::new(subjects.len() * workload.tests.len());
    let watch = &mut |event: lanemark_lab::Event<'_>| line.draw(&event);
    // Named systems run as long as they do in any other comparison, so that the figures are equal.
    let with_percentiles = target.p99_below.is_some() || args.drives.is_empty();
    let ranking = lab(args).rank(&subjects, &workload, with_percentiles, args.run.seed, watch)?;
    drop(line);
    let Some(ranking) = ranking else { return Ok(CommandOutcome::Interrupted) };
    let rows = rows(&ranking, prices.as_ref(), target);
    if args.json {
        let systems: Vec<serde_json::Value> = rows.iter().map(row_json).collect();
        output::print_json(&json!({
            "schema_version": SCHEMA_VERSION, "answer": ranking_answer(&rows),
            "tests": ranking.tests, "systems": systems,
        }))?;
    } else {
        output::print(&ranking_text(&rows, &ranking.tests, &output::style()))?;
    }
    Ok(CommandOutcome::Done)
}

fn row_json(row: &RankedRow) -> serde_json::Value {
    json!({
        "system": row.system, "rank": row.rank, "iops": row.requests_per_second,
        "bytes_per_second": row.bytes_per_second, "to_next": row.to_next,
        "first_chance": row.first_chance,
        "rated_terabytes": row.rated_terabytes, "price": row.price, "target": row.target.map(TargetVerdict::text),
    })
}

/// Returns the named systems, each part that they do not name from the first, and the drives of `--drives`.
fn systems(args: &CompareArgs, library: &Library) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for name in &args.systems {
        let whole = match names.first() {
            None => name.clone(),
            Some(first) => lanemark_lab::whatif::complete_name(first, name)?,
        };
        names.push(args.host.of_system(&whole)?);
    }
    for query in &args.drives {
        names.extend(matching(library, query)?);
    }
    names.dedup();
    if names.len() > SYSTEMS_MAX {
        return Err(Failure::input(format!(
            "{} systems; the maximum is {SYSTEMS_MAX}",
            names.len()
        ))
        .hint("name fewer drives in --drives"));
    }
    Ok(names)
}

/// Returns each drive of the library that matches `WORDS@PLATFORM`, in each port of the platform that it fits, or in
/// the port of `WORDS@PLATFORM:PORT`.
fn matching(library: &Library, query: &str) -> Result<Vec<String>, Failure> {
    let Some((words, place)) = query.rsplit_once('@') else {
        return Err(Failure::input(format!("--drives {query}: expected WORDS@PLATFORM"))
            .hint("for example --drives 'nvme 1tb'@workstation-x570"));
    };
    let (platform, port) = place.split_once(':').map_or((place, None), |(a, b)| (a, Some(b)));
    let ports: Vec<String> = match port {
        Some(port) => vec![port.to_owned()],
        None => {
            let entry = PlatformEntry::read(library, platform, &[])?;
            entry.shown_ports().into_iter().map(|port| port.name).collect()
        }
    };
    let mut search = EntrySearch::new(library, words);
    let index = LibraryIndex::new(library);
    let mut names = Vec::new();
    for id in library.names(LibraryKind::Drive) {
        let entry = catalogue::drive(library, &id)?;
        if search.matches(&id, &entry.name, Some(&entry)) && index.is_of_one_cloud(&entry, platform)
        {
            let systems = ports.iter().map(|port| format!("{id}@{platform}:{port}"));
            names.extend(systems.filter(|name| assemble(library, name, &[]).is_ok()));
        }
    }
    if names.is_empty() {
        let failure = Failure::input(format!("--drives {query}: no drive matches and fits"));
        return Err(match search.unmatched().as_slice() {
            [] => failure.hint(format!("`lanemark inspect {platform}` lists the ports")),
            words => failure.hint(format!("no drive matches {}", words.join(", "))),
        });
    }
    Ok(names)
}

/// Reads a CSV file with the columns drive and price.
fn read_prices(library: &Library, file: &Path) -> Result<HashMap<String, f64>, Failure> {
    let name = file.display();
    let text = input::text(file, PRICES_MAX)?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let bad = |line: usize, what: &str| {
        Failure::input(format!("{name}:{line}: {what}"))
            .hint("the file has the columns drive,price; a drive is named as in the library")
    };
    let headers = reader.headers().map_err(|error| bad(1, &error.to_string()))?;
    if headers.iter().ne(["drive", "price"]) {
        return Err(bad(1, "expected the columns drive,price"));
    }
    let drives = library.names(LibraryKind::Drive);
    let mut prices = HashMap::new();
    for (row, record) in reader.records().enumerate() {
        let line = row + 2;
        let record = record.map_err(|error| bad(line, &error.to_string()))?;
        let drive = record.get(0).unwrap_or_default();
        if !drives.iter().any(|known| known == drive) && !drive.ends_with(".toml") {
            return Err(bad(line, &format!("unknown drive `{drive}`")));
        }
        let price: Option<f64> = record.get(1).and_then(|text| text.parse().ok());
        let Some(price) = price.filter(|price| price.is_finite() && *price > 0.0) else {
            return Err(bad(line, "expected a price above 0"));
        };
        if prices.insert(drive.to_owned(), price).is_some() {
            return Err(bad(line, &format!("`{drive}` has two prices")));
        }
    }
    Ok(prices)
}

fn rows(
    ranking: &Ranking,
    prices: Option<&HashMap<String, f64>>,
    target: RankingTarget,
) -> Vec<RankedRow> {
    ranking
        .systems
        .iter()
        .map(|one| {
            let only = match one.results.as_slice() {
                [only] => Some(only),
                _ => None,
            };
            let drive = SystemName::parse(&one.name).map(|name| name.drive).unwrap_or_default();
            let writes = one.results.iter().any(|result| result.test.writes());
            let rating = endurance::of_drive(&drive).filter(|_| writes);
            let bytes = only.map(|test| test.throughput_bytes_per_second.value);
            RankedRow {
                system: one.name.clone(),
                rank: one.rank,
                requests_per_second: one.rate,
                bytes_per_second: bytes,
                to_next: one.to_next,
                first_chance: one.first_chance,
                rated_terabytes: rating.and_then(|rating| Some(rating.terabytes()?.0)),
                price: prices.and_then(|prices| prices.get(&drive).copied()),
                target: target.verdict(one),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_prices_are_errors_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prices.csv");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            read_prices(&Library::built_in(), &file).map_err(|failure| failure.to_string())
        };
        let good = "drive,price\nsamsung-980-pro-1tb, 89.90\n./mine.toml,1e2\n";
        assert_eq!(read(good).unwrap()["samsung-980-pro-1tb"], 89.9);
        let long = format!("drive,price\n{}", "x".repeat(2 << 20));
        for (text, part) in [
            ("", ":1: expected the columns"),
            ("price,drive\n", ":1: expected the columns"),
            ("drive,price\nno-such-drive,1\n", ":2: unknown drive `no-such-drive`"),
            ("drive,price\nsamsung-980-pro-1tb,-1\n", ":2: expected a price above 0"),
            ("drive,price\nsamsung-980-pro-1tb,NaN\n", ":2: expected a price above 0"),
            ("drive,price\nsamsung-980-pro-1tb\n", ":2: "),
            (
                "drive,price\nsamsung-980-pro-1tb,1\nsamsung-980-pro-1tb,2\n",
                ":3: `samsung-980-pro-1tb` has two",
            ),
            (&long, "prices.csv"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
