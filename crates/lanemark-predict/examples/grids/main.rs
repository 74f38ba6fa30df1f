//! Judges fits on grids whose truth is known: a drive is measured on one path, fitted, and predicted on another one.
//!
//! `grids [--drives=N] [--seed=N] [--requests=N] [--cells]`. Each truth is a drive of the library on two platforms, with values of drive, hosts and
//! adapters drawn wider than the ranges that the model gives them (`truth`). Its grid of random requests of 4 KiB, by
//! depth and jobs, is "measured" with noise on the first path. `fit` and `whatif` see that grid, the libraries' platforms
//! and the generic drive, and nothing of the truth. Their predictions for the second path are held against the truth
//! there, beside the rule that a drive does there what it did here, as far as the links allow (`score`).
//!
//! The simulator itself made these grids, so that they judge the method (bias, intervals) and not the model's physics.

mod score;
mod truth;

use std::path::Path;
use std::process::ExitCode;

use lanemark_core::result::{Calibration, Provenance, RunResult};
use lanemark_core::rng::{Rng, StreamKey};
use lanemark_lab::whatif::WhatIfAsked;
use lanemark_lab::{Lab, Pool};
use lanemark_predict::{Job, fit};
use lanemark_study::{Library, Location};

use score::Cell;
use truth::Truth;

type AnyError = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let number = |name: &str, usual: u64| {
        let prefix = format!("--{name}=");
        let given = std::env::args().find_map(|one| one.strip_prefix(&prefix)?.parse().ok());
        given.unwrap_or(usual)
    };
    let (drives, seed) = (number("drives", 20), number("seed", 1));
    let library = Library::built_in();
    let mut cells = Vec::new();
    for drive in seed..seed + drives {
        match judged(&library, drive, number("requests", 1000)) {
            Ok(own) => {
                println!("{drive:>4} {}", score::line(&own));
                if std::env::args().any(|one| one == "--cells") {
                    own.iter().for_each(|cell| println!("     {}", cell.text()));
                }
                cells.extend(own);
            }
            Err(error) => eprintln!("{drive:>4} {error}"),
        }
    }
    print!("{}", score::table(&cells));
    ExitCode::SUCCESS
}

/// The cells of one drive, measured on a path and predicted on another.
fn judged(library: &Library, seed: u64, requests: u64) -> Result<Vec<Cell>, AnyError> {
    let mut rng = Rng::new(StreamKey::from_seed(seed));
    let truth = Truth::drawn(library, &mut rng)?;
    let grid = truth.grid(library)?;
    let here = truth.measured(library, 0, &grid, &mut rng)?;
    let there = truth.measured(library, 1, &grid, &mut rng)?;
    eprintln!("{seed:>4} {}: {} -> {}", truth.drive, truth.place(0), truth.place(1));

    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("here.json"), serde_json_text(&here)?)?;
    let (platform, port) = &truth.sides[0].place;
    let results = [("here.json".to_owned(), here.clone())];
    let settings = truth.plug.iter().map(|(parameter, value)| {
        let (parameter, value) = (parameter.clone(), value.clone());
        (Calibration { parameter, value, figure: None, reason: None }, Location::file("--set"))
    });
    let settings: Vec<(Calibration, Location)> = settings.collect();
    let job = Job {
        results: &results,
        platform,
        port,
        like: Some(truth.like),
        settings: &settings,
        requests,
        pool: Pool::default(),
        provenance: Provenance { seed, ..Provenance::default() },
        cancel: Default::default(),
    };
    let begun = std::time::Instant::now();
    let fitted = fit(library, &job, &mut |_| ())?;
    let fit_time = begun.elapsed();
    std::fs::write(file("drive.toml"), fitted.file("fitted")?)?;
    std::fs::write(file("fit.json"), serde_json_text(&fitted.drive)?)?;
    if std::env::args().any(|one| one == "--cells") {
        for one in &fitted.drive.parameters {
            println!(
                "     {} = {:?} {:?} {:?}",
                one.parameter, one.value, one.range_80, one.standing
            );
        }
        println!("     truth {:?}", truth.drive_settings);
    }

    let text = |path: std::path::PathBuf| path.display().to_string();
    let model = format!("{}@{platform}:{port}", text(file("drive.toml")));
    let fit_file = file("fit.json");
    let (other_platform, other_port) = &truth.sides[1].place;
    let asked = WhatIfAsked {
        from: &text(file("here.json")),
        model: Some(&model),
        port: Some(other_port),
        platform: Some(other_platform),
        drive: None,
        queue_depth: None,
        set: &[],
        fit: Some(Path::new(&fit_file)),
        workload: None,
        intervals: true,
        scale: Default::default(),
        seed,
    };
    let begun = std::time::Instant::now();
    let lab = Lab::default();
    let told = lab.what_if_asked(library, &asked, &mut |_| (), &mut |_| ())?.ok_or("cancelled")?;
    eprintln!("     fit {:.0?}, what-if {:.0?}", fit_time, begun.elapsed());
    Ok(Cell::of(&told, &there))
}

fn serde_json_text<T: serde::Serialize>(value: &T) -> Result<String, AnyError> {
    Ok(serde_json::to_string(value)?)
}

/// The figures of a run by test, in requests a second.
fn rates(run: &RunResult) -> Vec<(String, f64)> {
    run.tests.iter().map(|test| (test.test.name.clone(), test.iops.value)).collect()
}
