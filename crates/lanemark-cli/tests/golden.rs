//! Every figure of every study, to the digit: a mean error can stay the same while two of its figures change in
//! opposite directions.
//!
//! `studies/golden/STUDY.csv` has one row per published figure, and rows for the throughput and the mean latency of
//! every other cell of the study, with six significant digits. After an intended change of the model,
//! `LANEMARK_GOLDEN=write` rewrites the files, and CHANGELOG states which figures changed.

use std::fs;

use lanemark_schema::result::{FigureCheck, FigureMetric, FigureRole, StudyOutcome};
use lanemark_testbed::{lanemark, project};

/// The studies, each with a test below.
const STUDIES: [&str; 7] = [
    "chipset-paths",
    "hard-disk",
    "oltp-value-sas",
    "sata-express",
    "sata-ip",
    "sata-vs-nvme-crystaldiskmark",
    "sata-vs-nvme-datasheets",
];

/// The figures of a study that README and `docs/validation/studies.md` state; a change of the model must update them
/// there.
struct Stated {
    study: &'static str,
    predicted: usize,
    calibrated: usize,
    /// The maximum error of a calibrated figure, if it is stated.
    calibrated_error: Option<f64>,
    /// The bounds of the mean absolute error of the predicted figures.
    error: [f64; 2],
}

const STATED: [Stated; 4] = [
    Stated {
        study: "chipset-paths",
        predicted: 18,
        calibrated: 7,
        calibrated_error: None,
        error: [0.098, 0.108],
    },
    Stated {
        study: "sata-express",
        predicted: 14,
        calibrated: 0,
        calibrated_error: None,
        error: [0.034, 0.044],
    },
    Stated {
        study: "sata-ip",
        predicted: 47,
        calibrated: 7,
        calibrated_error: None,
        error: [0.005, 0.015],
    },
    Stated {
        study: "sata-vs-nvme-crystaldiskmark",
        predicted: 10,
        calibrated: 6,
        calibrated_error: Some(0.005),
        error: [0.085, 0.098],
    },
];

/// Formats a number with six significant digits.
fn six_digits(value: f64) -> String {
    let exponent = format!("{value:.5e}").split_once('e').unwrap().1.parse::<i32>().unwrap();
    let digits = usize::try_from(5 - exponent).unwrap_or(0).min(12);
    format!("{value:.digits$}")
}

fn name(metric: FigureMetric) -> String {
    serde_json::to_value(metric).unwrap().as_str().unwrap().to_owned()
}

/// Returns the rows of a study's outcome: its published figures, then the figures of the other cells.
fn rows(outcome: &StudyOutcome) -> String {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(["system", "test", "metric", "simulated", "published", "error"]).unwrap();
    for check in &outcome.figures {
        let figure = &check.figure;
        let simulated = six_digits(check.simulated.value);
        let metric = name(figure.metric);
        let published = six_digits(figure.published);
        let error = six_digits(check.error);
        let row = [&figure.system, &figure.test, &metric, &simulated, &published, &error];
        file.write_record(row).unwrap();
    }
    for system in &outcome.systems {
        for test in &system.run.tests {
            let figures = outcome.figures.iter().map(|check| &check.figure);
            let of_cell = |metric| {
                let mut own = figures.clone().filter(|figure| figure.system == system.name);
                !own.any(|figure| figure.test == test.test.name && figure.metric == metric)
            };
            for metric in [FigureMetric::Throughput, FigureMetric::Latency]
                .into_iter()
                .filter(|one| of_cell(*one))
            {
                let simulated = six_digits(metric.value_in(test).value);
                let row = [&system.name, &test.test.name, &name(metric), &simulated];
                file.write_record(row.into_iter().map(String::as_str).chain(["", ""])).unwrap();
            }
        }
    }
    String::from_utf8(file.into_inner().unwrap()).unwrap()
}

/// Compares the errors of a study's figures with the stated errors, if any are stated.
fn check_stated(study: &str, figures: &[FigureCheck]) {
    let Some(stated) = STATED.iter().find(|stated| stated.study == study) else { return };
    let errors = |role: FigureRole| -> Vec<f64> {
        let own = figures.iter().filter(|check| check.figure.role == role);
        own.map(|check| check.error.abs()).collect()
    };
    let predicted = errors(FigureRole::Predicted);
    let calibrated = errors(FigureRole::Calibrated);
    assert_eq!((predicted.len(), calibrated.len()), (stated.predicted, stated.calibrated));
    let is_calibrated = |error: &f64| stated.calibrated_error.is_none_or(|most| *error < most);
    assert!(calibrated.iter().all(is_calibrated), "{study}: {calibrated:?}");
    let mean = predicted.iter().sum::<f64>() / predicted.len() as f64;
    let [low, high] = stated.error;
    assert!((low..high).contains(&mean), "{study}: mean absolute error {mean}");
}

/// Runs a study with the command, and compares its figures with the file.
#[track_caller]
fn stands(study: &str) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study.json");
    let file = format!("studies/{study}.toml");
    lanemark!(&["study", &file, "--json", "--out", out.to_str().unwrap()]).stdout();
    let outcome: StudyOutcome = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let answer = outcome.answer.as_ref().expect("the study has a written answer");
    assert!(answer.holds(), "the figures contradict the written answer: {answer:?}");
    check_stated(study, &outcome.figures);
    let actual = rows(&outcome);
    let path = project().join(format!("studies/golden/{study}.csv"));
    if std::env::var("LANEMARK_GOLDEN").is_ok_and(|value| value == "write") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &actual).unwrap();
        return;
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<String> = (0..actual.lines().count().max(golden.lines().count()))
        .map(|line| {
            (golden.lines().nth(line).unwrap_or("-"), actual.lines().nth(line).unwrap_or("-"))
        })
        .filter(|(before, after)| before != after)
        .map(|(before, after)| format!("  before  {before}\n  now     {after}"))
        .collect();
    assert!(
        moved.is_empty(),
        "{} rows of studies/golden/{study}.csv changed:\n{}\nhint: if the change is intended, write the files again with \
         `LANEMARK_GOLDEN=write cargo test -p lanemark-cli --test golden`, and describe the change in CHANGELOG",
        moved.len(),
        moved.join("\n")
    );
}

#[test]
fn every_study_has_its_file_and_its_test() {
    let stems = |folder: &str, extension: &str| -> Vec<String> {
        let entries =
            fs::read_dir(project().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.extension().is_some_and(|own| own == extension));
        let mut stems: Vec<_> =
            files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        stems.sort();
        stems
    };
    assert_eq!(stems("studies", "toml"), STUDIES);
    assert_eq!(stems("studies/golden", "csv"), STUDIES);
}

#[test]
fn chipset_paths_stand() {
    stands(STUDIES[0]);
}

#[test]
fn hard_disk_stands() {
    stands(STUDIES[1]);
}

#[test]
fn oltp_value_sas_stands() {
    stands(STUDIES[2]);
}

#[test]
fn sata_express_stands() {
    stands(STUDIES[3]);
}

#[test]
fn sata_ip_stands() {
    stands(STUDIES[4]);
}

#[test]
fn crystaldiskmark_stands() {
    stands(STUDIES[5]);
}

#[test]
fn datasheets_stand() {
    stands(STUDIES[6]);
}
