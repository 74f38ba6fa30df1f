//! Lanemark's additions to its export: the test, the repeats of an entry, and the statistic of its headline figures.
//!
//! fio does not have repeats of one job, so an entry contains the sum of all repeats of a test, and its rates are
//! means. Lanemark's headline figure may be the median. The key `lanemark` of an entry, which other readers ignore,
//! names both statistics and contains the repeats and the test. An imported export therefore has the figures and the
//! settings of the exported result. If the entry or its options were edited, they count, and the key does not.

use lanemark_schema::result::{Sample, TestResult};
use lanemark_schema::workload::{AverageMethod, Test};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::options::options;

const REPEATS_MAX: usize = 1000;

/// The content of the key `lanemark`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LanemarkKey {
    /// The statistic of the figures in the entry itself.
    pub(super) statistic: String,
    /// The statistic of the headline figures.
    pub(super) average: AverageMethod,
    /// The test, for settings that fio's options do not express.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) test: Option<Test>,
    pub(super) repeats: Vec<Sample>,
}

impl LanemarkKey {
    /// Returns the additions for `test`. Records of the simulator and of the machine are not included.
    pub(super) fn from_result(test: &TestResult, average: AverageMethod) -> Self {
        let repeats = test.samples.iter().map(|sample| Sample {
            faults: Vec::new(),
            evidence: None,
            punctuality: None,
            path: None,
            drive: None,
            energy: None,
            converged: None,
            similar: None,
            phases: Vec::new(),
            credits: Vec::new(),
            live: None,
            replay: None,
            series: None,
            steady: None,
            transactions: None,
            ..sample.clone()
        });
        let repeats: Vec<Sample> = repeats.collect();
        let statistic = match repeats.len() {
            1 => "one repeat".to_owned(),
            count => format!("sum and mean over {count} repeats"),
        };
        Self { statistic, average, test: Some(test.test.clone()), repeats }
    }

    /// Reads the key of an entry in `jobs`.
    ///
    /// # Errors
    /// Returns a description of the first invalid value.
    pub(super) fn read(entry: &Value) -> Result<Option<Self>, String> {
        let Some(value) = entry.get("lanemark") else { return Ok(None) };
        let key = Self::deserialize(value).map_err(|error| error.to_string())?;
        match key.repeats.len() {
            1..=REPEATS_MAX => Ok(Some(key)),
            count => Err(format!("{count} repeats: expected from 1 to {REPEATS_MAX}")),
        }
    }

    /// Returns the test if its options are the options of the entry.
    pub(super) fn test_with(&self, entry_options: &[(String, String)]) -> Option<&Test> {
        let test = self.test.as_ref()?;
        let expected = options(test);
        let is_target = |name: &str| matches!(name, "filename" | "ioengine" | "direct");
        let mut found = entry_options.iter().filter(|(name, _)| !is_target(name));
        let count = found.clone().count();
        (count == expected.len() && found.all(|option| expected.contains(option))).then_some(test)
    }

    /// Returns whether the repeats add up to `entry`; they do not if the entry was edited.
    pub(super) fn fits(&self, entry: &Sample) -> bool {
        let operations: u64 = self.repeats.iter().map(Sample::operations).sum();
        let bytes: u64 = self.repeats.iter().map(|repeat| repeat.bytes().get()).sum();
        let failed: u64 = self.repeats.iter().map(|repeat| repeat.errors.total()).sum();
        operations == entry.operations()
            && bytes == entry.bytes().get()
            && failed == entry.errors.total()
    }
}
