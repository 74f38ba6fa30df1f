//! If garbage collection makes the dies the bottleneck of random writes, the fit does not attribute the bottleneck to
//! the processor.

mod laboratory;

use std::sync::LazyLock;

use laboratory::{fitted, library, noisy, number, run, short_workload, small_buffer, system};
use lanemark_schema::result::{Determination, FittedParameter, RunResult};
use lanemark_schema::units::Bytes;

const PLACE: (&str, &str) = ("workstation-z170", "sata");
const SHARE: &str = "drive.translation.beside_collection";
const WRITE_TIME: &str = "drive.front_end.write_time";

/// Runs the workload `fit` on a SATA drive whose host writes are `percent` of all programmed data.
fn measure(percent: &str) -> RunResult {
    let library = library();
    let platform_port = (PLACE.0.to_owned(), PLACE.1.to_owned());
    let settings = [(SHARE.to_owned(), percent.to_owned()), small_buffer()];
    let truth = system(&library, "generic-sata", &platform_port, &settings).unwrap();
    noisy(&run(&truth, &short_workload(&library, 200), 77), 0.03, 5)
}

/// The results of a drive whose host writes are a tenth of all programmed data.
static COLLECTING: LazyLock<RunResult> = LazyLock::new(|| measure("10%"));

fn fit(measured: &RunResult) -> Vec<FittedParameter> {
    let platform_port = (PLACE.0.to_owned(), PLACE.1.to_owned());
    let like = Some("generic-sata");
    let fit = fitted(&library(), measured, &platform_port, like, &[small_buffer()], 1600);
    // The file is a valid library file, and contains the value when it is read again.
    let file = fit.file("fitted").unwrap();
    assert_eq!(
        file.contains("beside_collection"),
        fit.drive.parameters.iter().any(|parameter| parameter.parameter == SHARE)
    );
    fit.drive.parameters
}

fn find<'p>(parameters: &'p [FittedParameter], name: &str) -> Option<&'p FittedParameter> {
    parameters.iter().find(|parameter| parameter.parameter == name)
}

#[test]
fn writes_of_several_lengths_distinguish_collection_from_slow_processors() {
    let parameters = fit(&COLLECTING);
    let share = find(&parameters, SHARE).expect("the writes are explained by collection");
    assert_eq!(share.standing, Determination::Identified);
    let found = number(share.value.as_ref().unwrap());
    assert!((found / 10.0 - 1.0).abs() < 0.1, "{found}% for 10%");
    let time = find(&parameters, WRITE_TIME).unwrap().value.clone().unwrap();
    assert!(number(&time) < 22.0, "{time}, but the drive takes 11 us");
}

#[test]
fn of_writes_of_one_length_a_processor_that_is_far_too_slow_is_not_believed() {
    let mut measured = COLLECTING.clone();
    measured.tests.retain(|test| !test.test.is_in_order() && test.test.block == Bytes::kibi(4));
    assert!(measured.tests.len() > 4);
    let parameters = fit(&measured);
    let share = find(&parameters, SHARE).expect("the writes are explained by collection");
    let (low, high) = share.range_80.as_ref().expect("a range");
    let low = number(low);
    let high = number(high);
    assert!(low <= 12.0 && high >= 8.0, "{low} to {high}% for 10%");
    let time = find(&parameters, WRITE_TIME).unwrap().value.clone().unwrap();
    assert!(number(&time) < 22.0, "{time}, but the drive takes 11 us");
}

#[test]
fn a_fresh_drive_is_not_said_to_collect() {
    let parameters = fit(&measure("100%"));
    assert_eq!(find(&parameters, SHARE), None);
}
