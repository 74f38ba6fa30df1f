//! `library/workloads/*.toml`: the tests that a target runs.

pub(crate) mod fault;
mod load;
mod pattern;
mod transactions;

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::bound::{QUEUE_DEPTH, THREADS};
use lanemark_schema::workload::{
    AverageMethod, Fault, LoadKind, Precondition, RoundSettings, SeriesInterval, SyntheticRequests,
    Test, TestOrder, TrackedFigure, TransactionLoad, Workload,
};

use crate::document::{Context, Document, Section};
use crate::error::{Location, StudyError};
use crate::library::{Library, LibraryKind};
use crate::origin::{Ledger, Overrides};

/// The maximum number of repeats per test.
const REPEATS_MAX: u64 = 1000;

/// Reads the workload `name`, or a single test if the name is `workload:test`.
///
/// # Errors
/// Returns an error if the file or the test does not exist, or the first error in the file.
pub fn open(library: &Library, name: &str) -> Result<Workload, StudyError> {
    open_set(library, name, &Overrides::default())
}

/// Opens a workload with some values overridden, such as `workload.transactions.processor`.
///
/// # Errors
/// Returns the error of [`open`], or an error if there is no value with the overridden name.
pub fn open_set(
    library: &Library,
    name: &str,
    overrides: &Overrides,
) -> Result<Workload, StudyError> {
    let (file, test) = match name.split_once(':') {
        Some((file, test)) => (file, Some(test)),
        None => (name, None),
    };
    let document = library.open(LibraryKind::Workload, file)?;
    let stem = file.trim_end_matches(".toml").rsplit('/').next().unwrap_or(file);
    let ledger = Ledger::default();
    let mut workload = read(&document, stem, Context { ledger: &ledger, overrides })?;
    overrides.check_used(&ledger)?;
    if let Some(wanted) = test {
        let names: Vec<String> = workload.tests.iter().map(|test| slug(&test.name)).collect();
        let Some(index) = names.iter().position(|known| *known == slug(wanted)) else {
            let location = Location::file(document.file());
            let known = names.iter().map(String::as_str);
            return Err(StudyError::unknown(location, "test", wanted, known));
        };
        workload.tests = vec![workload.tests.swap_remove(index)];
    }
    Ok(workload)
}

/// Parses `text` as a workload file; `id` represents the file in errors.
///
/// # Errors
/// Returns all errors in the text.
pub fn parse(id: &str, text: &str) -> Result<Workload, StudyError> {
    let document = Document::parse(id, text)?;
    let ledger = Ledger::default();
    read(&document, id, Context { ledger: &ledger, overrides: &Overrides::default() })
}

/// Parses `text` as a scenario, a file that contains only `[[fault]]` tables; `file` represents it in errors.
///
/// # Errors
/// Returns all errors in the text.
pub fn scenario(file: &str, text: &str) -> Result<Vec<Fault>, StudyError> {
    let document = Document::parse(file, text)?;
    document.read("scenario", None, |root| {
        if !root.has("fault") {
            let location = Location::file(document.file());
            return Err(StudyError::new(location, "it contains no faults")
                .hint("add [[fault]] tables, each with its kind and time"));
        }
        let faults = fault::faults(root)?;
        root.finish()?;
        Ok(faults)
    })
}

/// Returns the name of a test as users type it: in lower case, with dashes instead of all characters except letters and
/// digits.
pub fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

fn read(document: &Document, id: &str, context: Context<'_>) -> Result<Workload, StudyError> {
    document.read("workload", Some(context), |root| read_document(root, id))
}

/// Reads the workload in the study's own file. The faults of the study are not part of it.
///
/// # Errors
/// Returns the same errors as [`open_set`].
pub(crate) fn of_study(
    document: &Document,
    id: &str,
    overrides: &Overrides,
) -> Result<Workload, StudyError> {
    let ledger = Ledger::default();
    let context = Context { ledger: &ledger, overrides };
    let workload = document.read("workload", Some(context), |root| read_test_tables(root, id))?;
    overrides.check_used(&ledger)?;
    Ok(workload)
}

fn read_document(root: &Section<'_>, id: &str) -> Result<Workload, StudyError> {
    let workload = read_test_tables(root, id)?;
    let faults = fault::faults(root)?;
    root.finish()?;
    Ok(Workload { faults, ..workload })
}

/// Reads all tables of a workload except its faults.
fn read_test_tables(root: &Section<'_>, id: &str) -> Result<Workload, StudyError> {
    let head = root.table("workload")?;
    let workload_name = head.text("name")?;
    let repeats = head.integer("repeats", 1, REPEATS_MAX)? as u32;
    let average = head.choice("average", &AverageMethod::NAMES)?;
    let order = if head.has("order") {
        head.choice("order", &TestOrder::NAMES)?
    } else {
        TestOrder::Shuffled
    };
    let precondition = head.setting("precondition", &Precondition::NAMES)?;
    head.finish()?;
    let defaults = root.optional_table("defaults")?;
    let transactions = root.optional_table("transactions")?;
    let transactions = transactions.map(|section| transactions::read(&section)).transpose()?;
    if !root.has("test") {
        return Err(StudyError::new(head.location(), "the workload does not contain tests")
            .hint("add at least one [[test]]"));
    }
    let tests = root.read_tables("test", |section, tests: &[Test]| {
        let test = test(section, defaults.as_ref(), transactions.as_ref())?;
        if tests.iter().any(|other| slug(&other.name) == slug(&test.name)) {
            return Err(section.error("name", format!("test `{}` is defined twice", test.name)));
        }
        Ok(test)
    })?;
    defaults.map_or(Ok(()), |section| section.finish())?;
    Ok(Workload {
        id: id.to_owned(),
        name: workload_name,
        repeats,
        average,
        order,
        precondition,
        faults: Vec::new(),
        tests,
    })
}

/// A test's own table, and the table of defaults.
struct TestTables<'s, 'd> {
    own: &'s Section<'d>,
    defaults: Option<&'s Section<'d>>,
}

impl<'s, 'd> TestTables<'s, 'd> {
    /// Returns the table that contains `key`: the test's own table if it contains the key, otherwise the defaults.
    fn table_with(&self, key: &str) -> &'s Section<'d> {
        let inherited = self.defaults.filter(|defaults| defaults.has(key));
        match inherited {
            Some(defaults) if !self.own.has(key) => defaults,
            _ => self.own,
        }
    }

    fn quantity<T>(&self, key: &str) -> Result<Option<T>, StudyError>
    where
        T: std::str::FromStr<Err = lanemark_schema::units::QuantityError>,
    {
        self.table_with(key).optional_quantity(key)
    }
}

/// Reads a test. A test of `transactions` does not describe individual requests, because the transactions determine
/// them.
fn test(
    own: &Section<'_>,
    defaults: Option<&Section<'_>>,
    transactions: Option<&TransactionLoad>,
) -> Result<Test, StudyError> {
    let layers = TestTables { own, defaults };
    let (block, asks) = match transactions {
        Some(transactions) => {
            (layers.table_with("block").quantity("block")?, transactions.clone().into())
        }
        None => requests(&layers)?,
    };
    let test = Test {
        name: own.text("name")?,
        block,
        threads: layers
            .table_with("threads")
            .optional_integer("threads", 1, THREADS.max.into())?
            .unwrap_or(1) as u32,
        span: layers.table_with("span").quantity("span")?,
        offset: layers.quantity("offset")?.unwrap_or(Bytes::ZERO),
        volume: layers.quantity("volume")?,
        duration: layers.quantity("duration")?,
        rounds: rounds(&layers)?,
        interval: interval(layers.table_with("interval"))?,
        ramp: layers.quantity("ramp")?.unwrap_or(Duration::ZERO),
        compressibility: layers.quantity("compressibility")?.unwrap_or(Ratio::ZERO),
        start: load::start(&layers)?,
        asks,
    };
    own.finish()?;
    test.check().map_err(|error| {
        let section = layers.table_with(error.field);
        section.error(error.field, format!("test `{}`: {error}", test.name))
    })?;
    Ok(test)
}

/// Reads the requests that a test describes, and the length of the longest request.
fn requests(layers: &TestTables<'_, '_>) -> Result<(Bytes, LoadKind), StudyError> {
    let mix = load::mix(layers)?;
    let block = match mix.sizes.iter().map(|size| size.block).max() {
        Some(largest) => largest,
        None => layers.table_with("block").quantity("block")?,
    };
    let least = mix.sizes.iter().map(|size| size.block).min().unwrap_or(block);
    let requests = SyntheticRequests {
        pattern: pattern::read(layers.table_with("pattern"))?,
        read_share: match mix.copy_to {
            // A copy reads and writes each block, so the file does not need to state the share of reads.
            Some(_) => layers.quantity("read")?.unwrap_or(Ratio::HALF),
            None => layers.table_with("read").quantity("read")?,
        },
        queue_depth: layers.table_with("queue_depth").bounded("queue_depth", QUEUE_DEPTH)?,
        alignment: layers.quantity("alignment")?.unwrap_or(least),
        think: layers.quantity("think")?.unwrap_or(Duration::ZERO),
        burst: layers
            .table_with("burst")
            .optional_integer("burst", 1, u32::MAX.into())?
            .map_or(1, |burst| burst as u32),
        load: load::load(layers, mix.block_mean(block))?,
        mix,
    };
    Ok((block, requests.into()))
}

/// Reads `round`, the length of the rounds, which continue until they are steady, and `track`, the figure that must
/// become steady.
fn rounds(layers: &TestTables<'_, '_>) -> Result<Option<RoundSettings>, StudyError> {
    let length: Option<Duration> = layers.quantity("round")?;
    let section = layers.table_with("track");
    let tracked = if section.has("track") {
        Some(section.choice("track", &TrackedFigure::NAMES)?)
    } else {
        None
    };
    match (length, tracked) {
        (Some(length), tracked) => {
            Ok(Some(RoundSettings { length, tracked: tracked.unwrap_or_default() }))
        }
        (None, Some(_)) => Err(section
            .error("track", "a figure can be tracked only over rounds".to_owned())
            .hint("add round, \"60 s\" for example")),
        (None, None) => Ok(None),
    }
}

/// Reads `interval`, a time or `"automatic"`.
fn interval(section: &Section<'_>) -> Result<Option<SeriesInterval>, StudyError> {
    let bound = "a time such as \"1 s\", or \"automatic\"";
    section.optional_parsed("interval", bound, |text| match text {
        "automatic" => Some(SeriesInterval::Automatic),
        text => text.parse().ok().map(|interval| SeriesInterval::Fixed { interval }),
    })
}

/// Returns the tests of `workload` that a system runs: those that it names, otherwise all of them.
pub(crate) fn chosen_tests(
    workload: &Workload,
    section: &Section<'_>,
) -> Result<Workload, StudyError> {
    let names = section.texts("tests")?;
    let mut chosen = workload.clone();
    for name in &names {
        known_test(workload, name, section.location_of("tests"))?;
    }
    if !names.is_empty() {
        chosen.tests.retain(|test| names.contains(&test.name));
    }
    Ok(chosen)
}

/// Checks that a test of `workload` has this name.
pub(crate) fn known_test(
    workload: &Workload,
    name: &str,
    location: Location,
) -> Result<(), StudyError> {
    if workload.tests.iter().any(|known| known.name == name) {
        return Ok(());
    }
    let known = workload.tests.iter().map(|known| known.name.as_str());
    Err(StudyError::unknown(location, "test", name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "\
[[fault]]
kind = \"latency\"
at = \"2 s\"
extra = \"500 us\"

[[fault]]
kind = \"power-cut\"
at = \"5 s\"
boot = \"100 ms\"
";

    #[test]
    fn a_scenario_is_its_faults_as_the_command_line_reads_them() {
        let read: Vec<String> =
            scenario("a.toml", SCENARIO).unwrap().iter().map(ToString::to_string).collect();
        let lines = ["latency at=2s extra=500us", "power-cut at=5s boot=100ms"];
        let wanted: Vec<String> =
            lines.iter().map(|line| line.parse::<Fault>().unwrap().to_string()).collect();
        assert_eq!(read, wanted);
    }

    #[test]
    fn errors_of_a_scenario_are_reported_with_their_place() {
        let message_of = |text: &str| scenario("a.toml", text).unwrap_err().to_string();
        assert!(message_of("").contains("it contains no faults"));
        let other = format!("{SCENARIO}\n[workload]\nname = \"x\"\n");
        assert!(message_of(&other).contains("workload"), "{}", message_of(&other));
        let late = SCENARIO.replace("5 s", "2 days");
        assert!(message_of(&late).contains("a.toml"), "{}", message_of(&late));
        let many = SCENARIO.repeat(501);
        assert!(message_of(&many).contains("more than 1000"), "{}", message_of(&many));
    }

    #[test]
    fn no_text_makes_the_reader_of_scenarios_panic() {
        let mut random =
            lanemark_schema::rng::Rng::new(lanemark_schema::rng::StreamKey::from_seed(1));
        let mut good = 0;
        let mut bad = 0;
        for _ in 0..3_000 {
            let mut bytes = SCENARIO.as_bytes().to_vec();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(3) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => bytes.truncate(at.max(1)),
                    _ => {
                        let piece = bytes[at..].to_vec();
                        bytes.extend(piece);
                    }
                }
            }
            match scenario("a.toml", &String::from_utf8_lossy(&bytes)) {
                Ok(_) => good += 1,
                Err(_) => bad += 1,
            }
        }
        assert!(good > 20 && bad > 1_000, "{good} {bad}");
    }
}
