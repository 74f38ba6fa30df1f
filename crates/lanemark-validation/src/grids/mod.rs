//! The experiment with grids: measures a drive on one path, fits it, and predicts it on another path.
//!
//! Each truth is a library drive on two platforms. The values of the drive, hosts and adapters are drawn from wider
//! ranges than the model assumes (`truth.rs`). A grid of random 4 KiB requests, by depth and jobs, is simulated on the
//! first path, with noise. The fit and the prediction receive that grid, the library's platforms and the generic drive,
//! but not the truth's values. The predictions for the second path are compared with the truth there, and with the rule
//! that a drive reaches the same rates on both paths, up to the limits of the links ([`score`]).
//!
//! The simulator itself produces these grids. They test the method, its bias and its intervals, but not the physics of
//! the model.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use lanemark_files::private::PrivateFolder;
use lanemark_lab::whatif::WhatIfQuestion;
use lanemark_lab::{Lab, Pool};
use lanemark_predict::{FitInput, WORK_MAX, fit};
use lanemark_schema::result::{ParameterOverride, Provenance, RunResult};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_study::{Library, Location};

use crate::error::ValidationError;
use crate::figures::{GridRow, GridScore};
use crate::{report, scratch};

pub mod score;
mod truth;

use score::GridCell;
use truth::{GridError, GroundTruthDrive};

/// The grids of a run, and the level of detail of the output.
#[derive(Clone, Debug)]
pub struct GridOptions {
    pub drives: u64,
    /// Seed of the first drive; the other drives use the following seeds.
    pub seed: u64,
    /// Number of requests per simulated test in a fit.
    pub requests: u64,
    /// Name of the run in the saved figures.
    pub run: String,
    /// Whether each cell and each fitted value is written.
    pub cells: bool,
}

/// The two outputs of an experiment.
pub struct Outputs<'o> {
    /// Results.
    pub out: &'o mut dyn Write,
    /// Progress, and errors of individual drives.
    pub notes: &'o mut dyn Write,
}

/// Runs the grids, and returns the scores by kind of cells. A drive that fails is reported and not counted.
///
/// # Errors
/// Returns an error if all drives fail, or an output is closed.
pub fn run(options: &GridOptions, to: &mut Outputs<'_>) -> Result<Vec<GridRow>, ValidationError> {
    let library = Library::built_in();
    let mut cells = Vec::new();
    let mut drives = 0;
    for seed in options.seed..options.seed.saturating_add(options.drives) {
        match judge_drive(&library, seed, options, to) {
            Ok(own) => {
                writeln!(to.out, "{seed:>4} {}", report::grid_line(&GridScore::from_cells(&own)))?;
                if options.cells {
                    for cell in &own {
                        writeln!(to.out, "     {}", cell.text())?;
                    }
                }
                cells.extend(own);
                drives += 1;
            }
            Err(error) => writeln!(to.notes, "{seed:>4} {error}")?,
        }
    }
    if cells.is_empty() {
        return Err(ValidationError::Run("all drives failed, so there is no cell to score".into()));
    }
    let rows = score::by_kind(&options.run, drives, &cells);
    write!(to.out, "{}", report::grids_text(&rows))?;
    Ok(rows)
}

/// Returns the cells of one drive, measured on one path and predicted on another.
fn judge_drive(
    library: &Library,
    seed: u64,
    options: &GridOptions,
    to: &mut Outputs<'_>,
) -> Result<Vec<GridCell>, GridError> {
    let mut rng = Rng::new(StreamKey::from_seed(seed));
    let truth = GroundTruthDrive::draw(library, &mut rng)?;
    let grid = truth.grid(library)?;
    let here = truth.measured(library, 0, &grid, &mut rng)?;
    let there = truth.measured(library, 1, &grid, &mut rng)?;
    writeln!(
        to.notes,
        "{seed:>4} {}: {} -> {}",
        truth.drive,
        truth.port_name(0),
        truth.port_name(1)
    )?;
    let folder = PrivateFolder::new("lanemark-grids-")?;
    let begun = Instant::now();
    let files = fit_drive(library, &truth, &here, seed, options, folder.path(), to)?;
    let fit_time = begun.elapsed();
    let (platform, port) = &truth.sides[1].platform_port;
    let to_system = format!("@{platform}:{port}");
    let question = WhatIfQuestion {
        from: &files.measured,
        model: Some(&files.model),
        to: Some(&to_system),
        queue_depth: None,
        set: &[],
        fit: Some(Path::new(&files.fit)),
        workload: None,
        intervals: true,
        is_forced: true,
        scale: Default::default(),
        seed,
    };
    let begun = Instant::now();
    let lab = Lab::default();
    let result =
        lab.answer_what_if(library, &question, &mut |_| (), &mut |_| ())?.ok_or("cancelled")?;
    writeln!(to.notes, "     fit {fit_time:.0?}, what-if {:.0?}", begun.elapsed())?;
    Ok(GridCell::from_whatif(&result, &there))
}

/// The files of a fit, which a what-if prediction reads.
struct FitFiles {
    measured: String,
    /// Name of the fitted system on the first path.
    model: String,
    fit: String,
}

/// Fits a drive to its grid on the first path.
fn fit_drive(
    library: &Library,
    truth: &GroundTruthDrive,
    here: &RunResult,
    seed: u64,
    options: &GridOptions,
    folder: &Path,
    to: &mut Outputs<'_>,
) -> Result<FitFiles, GridError> {
    let measured = scratch::put(folder, "here.json", &serde_json::to_string(here)?)?;
    let (platform, port) = &truth.sides[0].platform_port;
    let results = [("here.json".to_owned(), here.clone())];
    let settings = truth.plug.iter().map(|(parameter, value)| {
        (
            ParameterOverride {
                parameter: parameter.clone(),
                value: value.clone(),
                figure: None,
                reason: None,
            },
            Location::file("--set"),
        )
    });
    let settings: Vec<(ParameterOverride, Location)> = settings.collect();
    let job = FitInput {
        results: &results,
        platform,
        port,
        like: Some(truth.like),
        settings: &settings,
        requests: options.requests,
        work_max: WORK_MAX,
        pool: Pool::default(),
        provenance: Provenance { seed, ..Provenance::default() },
        cancel: Default::default(),
    };
    let fitted = fit(library, &job, &mut |_| ())?;
    if options.cells {
        for parameter in &fitted.drive.parameters {
            let name = &parameter.parameter;
            let value = &parameter.value;
            writeln!(
                to.out,
                "     {name} = {value:?} {:?} {:?}",
                parameter.range_80, parameter.standing
            )?;
        }
        writeln!(to.out, "     truth {:?}", truth.drive_settings)?;
    }
    let drive = scratch::put(folder, "drive.toml", &fitted.file("fitted")?)?;
    let fit = scratch::put(folder, "fit.json", &serde_json::to_string(&fitted.drive)?)?;
    Ok(FitFiles { measured, model: format!("{drive}@{platform}:{port}"), fit })
}
