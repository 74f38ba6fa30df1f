//! Names of types: a reader must be able to guess the meaning of a type from its name.

use std::fs;
use std::path::Path;

use super::crates::Crate;

/// Names that do not describe a type, each with examples of better names. Test modules may use these names. A name such
/// as `State` or `Point` is not listed, because its module gives it a meaning.
const VAGUE: &[(&str, &str)] = &[
    ("Action", "UndoAction"),
    ("After", "InterruptionArg"),
    ("Ask", "DieOperation"),
    ("Asked", "LinkLoad, BlockRequest"),
    ("Asker", "Requester"),
    ("Below", "ComponentTree"),
    ("Calibration", "ParameterOverride"),
    ("Case", "TestCase"),
    ("Clients", "ConnectionRegistry, AcceptedClients"),
    ("Comparison", "SystemComparison"),
    ("Condition", "DriveCondition, ConditionResult"),
    ("Content", "ForeignContent, PriorContent"),
    ("Described", "DescribedModel"),
    ("Done", "ThreadOutcome"),
    ("Ended", "ProgramEnd"),
    ("Extras", "AdditionalResults"),
    ("Figure", "PublishedFigure"),
    ("Fill", "InitialFill"),
    ("Found", "SearchResult, MapLocation"),
    ("Gap", "InspectionGap"),
    ("Gathered", "ThreadResults"),
    ("Given", "GivenValue"),
    ("Held", "HeldTarget"),
    ("Image", "BackingImage, SvgImage"),
    ("Kind", "LibraryKind, RecordKind"),
    ("Known", "KnownOption"),
    ("Law", "LinkModel, LinkFormulas"),
    ("Limit", "CgroupLimit"),
    ("Listed", "ListedEntry"),
    ("Look", "MapLookup, SampleProgress"),
    ("Mark", "EventMark"),
    ("Named", "NamedSystem"),
    ("Opened", "OpenedWorkload, OpenedData"),
    ("Part", "VolumePart, RunSegment"),
    ("Pending", "SimulatedRequest"),
    ("Place", "DataLocation, BurstPosition"),
    ("Quota", "ByteQuota"),
    ("Rated", "BoxRatings"),
    ("Role", "FigureRole"),
    ("Said", "GuestMessage, JournalContent"),
    ("Saved", "SavedResult"),
    ("Schedule", "ArrivalSchedule, EventSchedule"),
    ("Seen", "RepeatObservations, WalkCounts"),
    ("Setting", "CalibratedSetting"),
    ("Shared", "ServerState, TestState"),
    ("Sums", "RepeatSums"),
    ("Taken", "TakenSample, UsedPort"),
    ("Task", "KernelTask"),
    ("Told", "RepeatMessage, ModelFigures"),
    ("Transfer", "EngineRequest"),
    ("Truth", "GroundTruth"),
    ("Turn", "TurnParameters"),
    ("Unit", "DefaultTimeUnit"),
    ("Verdict", "FigureVerdict"),
    ("Watch", "EventObserver"),
    ("Way", "PortPath"),
    ("Window", "CountingWindow"),
    ("Wrong", "LineError"),
    ("Zone", "PatternZone"),
];

/// Returns each type of the crates' sources, outside their tests, that has a vague name.
pub(crate) fn vague(root: &Path, crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    let files = crates.iter().flat_map(|one| &one.targets).flat_map(|target| &target.files);
    for file in files.filter(|file| is_source(&file.path)) {
        let text = fs::read_to_string(&file.path).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            if line.contains("#[cfg(test)]") {
                break;
            }
            if let Some((name, instead)) = vague_in(line) {
                let path = file.path.strip_prefix(root).unwrap_or(&file.path).display();
                let number = number + 1;
                found.push(format!(
                    "{path}:{number}: the type name `{name}` is vague; use a descriptive name, such as {instead}"
                ));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the vague name of the type that `line` defines. Associated types, which are indented, are ignored, because
/// their traits determine their names.
fn vague_in(line: &str) -> Option<(&'static str, &'static str)> {
    let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let is_definition = |word: &str| ["struct", "enum", "trait", "type"].contains(&word);
    let at_margin = line.starts_with("pub") || line.split(' ').next().is_some_and(is_definition);
    if !at_margin || !words.any(is_definition) {
        return None;
    }
    let name = words.next()?;
    VAGUE.iter().find(|(vague, _)| *vague == name).copied()
}

fn is_source(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("/src/") && !text.ends_with("tests.rs") && !text.contains("/tests/")
}

#[test]
fn only_definitions_at_the_margin_count() {
    assert_eq!(vague_in("pub(crate) struct Found<T> {").unwrap().0, "Found");
    assert_eq!(vague_in("enum Kind {").unwrap().0, "Kind");
    assert_eq!(vague_in("type Place = (String, String);").unwrap().0, "Place");
    assert_eq!(vague_in("    type Kind = Commands;"), None);
    assert_eq!(vague_in("pub struct MapLocation {"), None);
    assert_eq!(vague_in("pub use found::Found;"), None);
}
