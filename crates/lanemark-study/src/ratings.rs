//! `reference/drive-ratings.toml`: drive ratings from data sheets and reviews, and the model's figures for them.
//!
//! A rating from which a model value was set does not test the model ([`FigureRole::Calibrated`]); the other ratings
//! do. A rating of a steady load is simulated over a whole drive that was written randomly from end to end until its
//! state no longer changed.

use lanemark_schema::result::{FigureMetric, FigureRole, ParameterOverride, Provenance};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};
use lanemark_schema::workload::Workload;

use crate::document::{Document, Section};
use crate::error::{Location, StudyError};
use crate::library::Library;
use crate::system::{NameLocations, System, SystemName};
use crate::workload;

/// The workload that contains the tests of the ratings.
const WORKLOAD: &str = "data-sheet";
/// The time for which a steady load runs before the measurement. In this time, several superblocks of the largest drive
/// must be collected.
const STEADY_RAMP: Duration = Duration::from_microseconds(16_000_000);
/// The duration of the measurement, which is long enough to include the bursts in which a full cache is emptied.
const STEADY_DURATION: Duration = Duration::from_microseconds(4_000_000);
/// The relative error above which the file must state the reason.
pub const MISS: f64 = 0.10;

/// A drive in a port, with its ratings.
#[derive(Clone, Debug, PartialEq)]
pub struct RatedDrive {
    /// Names of the system on which the ratings are simulated.
    pub parts: SystemName,
    /// Publisher of the ratings.
    pub source: String,
    /// Ratings of the drive.
    pub ratings: Vec<Rating>,
    at: Location,
}

/// A published figure of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Rating {
    /// The test of the workload `data-sheet`.
    pub test: String,
    /// The quantity of the figure.
    pub metric: FigureMetric,
    /// The value in the metric's unit.
    pub published: f64,
    /// The model value that was set from the rating.
    pub sets: Option<String>,
    /// Whether the rating is of a steady load over the whole drive.
    pub steady: bool,
    /// Time for which the load runs before the measurement, if it matters.
    pub after: Option<Duration>,
    /// Part of the drive that the test uses, if it matters.
    pub span: Option<Bytes>,
    /// Compressibility of the test's data.
    pub compressibility: Ratio,
    /// The part of the model on which a predicted figure depends.
    pub rests_on: Option<String>,
    /// The reason why the model misses the rating.
    pub miss: Option<String>,
}

/// The model's figure for a rating.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelledRating {
    /// Simulated figure, in the rating's unit.
    pub simulated: f64,
    /// The relative error of the simulated figure.
    pub error: f64,
}

impl Rating {
    /// Returns the role of the rating: calibrated if a model value was set from it, otherwise predicted.
    pub fn role(&self) -> FigureRole {
        if self.sets.is_some() { FigureRole::Calibrated } else { FigureRole::Predicted }
    }
}

/// Reads all ratings of `document`; each names a test in the workload `data-sheet` of `library`.
///
/// # Errors
/// Returns the first error in the file.
pub fn read(library: &Library, document: &Document) -> Result<Vec<RatedDrive>, StudyError> {
    let tests = workload::open(library, WORKLOAD)?;
    document.read("ratings", None, |root| {
        let drives =
            root.read_tables("drive", |section, _: &[RatedDrive]| drive(section, &tests))?;
        root.finish()?;
        Ok(drives)
    })
}

fn drive(section: &Section<'_>, tests: &Workload) -> Result<RatedDrive, StudyError> {
    let at = section.location_of("system");
    let parts = SystemName::parse(&section.text("system")?)
        .map_err(|error| StudyError { location: at.clone(), ..error })?;
    let source = section.text("rated_by")?;
    let ratings = section.tables("ratings")?;
    let ratings = ratings.iter().map(|section| rating(section, tests)).collect::<Result<_, _>>()?;
    section.finish()?;
    Ok(RatedDrive { parts, source, ratings, at })
}

fn rating(section: &Section<'_>, tests: &Workload) -> Result<Rating, StudyError> {
    let test = section.text("test")?;
    if !tests.tests.iter().any(|known| known.name == test) {
        let known = tests.tests.iter().map(|known| known.name.as_str());
        return Err(StudyError::unknown(section.location_of("test"), "test", &test, known));
    }
    let throughput: Option<BytesPerSecond> = section.optional_quantity("throughput")?;
    let latency: Option<Duration> = section.optional_quantity("latency")?;
    let iops = section.optional_integer("iops", 1, 1_000_000_000)?;
    let (metric, published) = match (throughput, iops, latency) {
        (Some(rate), None, None) => (FigureMetric::Throughput, rate.as_megabytes()),
        (None, Some(iops), None) => (FigureMetric::Iops, iops as f64),
        (None, None, Some(latency)) => (FigureMetric::Latency, latency.as_microseconds()),
        _ => {
            let message = "a rating must have exactly one of `throughput`, `iops` and `latency`";
            return Err(StudyError::new(section.location(), message));
        }
    };
    if published <= 0.0 {
        return Err(StudyError::new(section.location(), "a rating must be above zero"));
    }
    let steady = section.has("load") && section.choice("load", &[("steady", true)])?;
    let rating = Rating {
        test,
        metric,
        published,
        sets: section.optional_text("sets")?,
        steady,
        after: section.optional_quantity("after")?,
        span: section.optional_quantity("span")?,
        compressibility: section.optional_quantity("compressibility")?.unwrap_or(Ratio::ZERO),
        rests_on: section.optional_text("rests_on")?,
        miss: section.optional_text("miss")?,
    };
    section.finish()?;
    if rating.sets.is_some() == rating.rests_on.is_some() {
        let message = "a rating `sets` a value of the drive, or `rests_on` something else";
        return Err(StudyError::new(section.location(), message));
    }
    Ok(rating)
}

impl RatedDrive {
    /// Returns the drive in its port, in the fresh state of the library or, with `steady`, in the state after a steady
    /// load.
    ///
    /// # Errors
    /// Returns an error if the parts do not fit together.
    pub fn system(&self, library: &Library, steady: bool) -> Result<System, StudyError> {
        let condition = ParameterOverride {
            parameter: "drive.state.condition".to_owned(),
            value: "random".to_owned(),
            figure: None,
            reason: Some("the rating applies to a steady load".to_owned()),
        };
        let settings = if steady { vec![(condition, self.at.clone())] } else { Vec::new() };
        let name = self.parts.to_string();
        System::assemble(library, &self.parts, &NameLocations::all(&self.at), &name, &settings)
    }

    /// Simulates the test of one of the ratings.
    ///
    /// # Errors
    /// Returns an error if the drive does not fit its port, or the test does not fit the drive.
    pub fn run(&self, library: &Library, rating: &Rating) -> Result<ModelledRating, StudyError> {
        let system = self.system(library, rating.steady)?;
        let mut workload = workload::open(library, &format!("{WORKLOAD}:{}", rating.test))?;
        for test in &mut workload.tests {
            test.compressibility = rating.compressibility;
            if let Some(after) = rating.after {
                (test.ramp, test.duration) = (after, Some(STEADY_DURATION));
            }
            test.span = rating.span.unwrap_or(test.span);
            if rating.steady {
                let capacity = system.spec.first().drive.capacity.get();
                test.span = Bytes(capacity / test.block.get() * test.block.get());
                (test.ramp, test.duration) = (STEADY_RAMP, Some(STEADY_DURATION));
            }
            test.span = test.span.min(system.spec.first().drive.capacity);
        }
        let provenance = Provenance { seed: 1, ..Provenance::default() };
        let result = system.run(&workload, provenance)?;
        let simulated = result.tests.first().map_or(0.0, |test| rating.metric.value_in(test).value);
        Ok(ModelledRating { simulated, error: simulated / rating.published - 1.0 })
    }
}

#[cfg(test)]
mod role_tests {
    use super::*;

    #[test]
    fn a_rating_from_which_a_value_was_set_is_calibrated() {
        for (sets, role) in [
            (Some("drive.flash.read".to_owned()), FigureRole::Calibrated),
            (None, FigureRole::Predicted),
        ] {
            let rating = Rating {
                test: "RND4K Q1T1 read".to_owned(),
                metric: FigureMetric::Iops,
                published: 10_000.0,
                sets,
                steady: false,
                after: None,
                span: None,
                compressibility: Ratio::ZERO,
                rests_on: None,
                miss: None,
            };
            assert_eq!(rating.role(), role);
        }
    }
}
