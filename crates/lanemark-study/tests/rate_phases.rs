//! The phases of a test, compared with the size of the reserve whose exhaustion ends them.

use lanemark_schema::result::{Reserve, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::workload::Test;
use lanemark_sim::{RunLength, run_length_watched};

mod systems;
use systems::with_settings;

const DRIVE: &str = "samsung-860-qvo-1tb@workstation-z170:sata";

fn run(settings: &[(&str, &str)], read: &str, seconds: u64) -> Sample {
    let system = with_settings(DRIVE, settings).unwrap();
    let test = match read {
        "100%" => Test::random_read("4 KiB"),
        _ => Test::random_write("4 KiB"),
    };
    let test = test.span("100 GB").queue_depth(32).duration(format!("{seconds} s").as_str());
    let test = test.build().unwrap();
    let key = StreamKey::from_seed(1);
    run_length_watched(&system.spec, &test, key, RunLength::Converged, &mut |_| true).unwrap()
}

#[test]
fn a_phase_ends_when_the_pseudo_slc_cache_is_full() {
    let size = 1_073_741_824.0;
    let sample = run(
        &[
            ("drive.state.condition", "sequential"),
            ("drive.pseudo_slc.capacity", "1 GiB"),
            ("drive.pseudo_slc.growth", "0 B"),
        ],
        "0%",
        10,
    );
    let [first, second] = sample.phases[..] else { panic!("two phases: {:?}", sample.phases) };
    assert_eq!((first.ended_by, second.ended_by), (Some(Reserve::PseudoSlc), None));
    // The cache receives all data of the first phase, and the buffer contains a little more.
    let written = first.iops * 4096.0 * first.until.as_seconds();
    assert!((0.95..1.25).contains(&(written / size)), "{written} of {size}");
    assert!(second.iops < 0.5 * first.iops, "{first:?}, {second:?}");
    // The phases cover the whole sample.
    let all = first.iops * first.until.as_seconds()
        + second.iops * (second.until.as_seconds() - first.until.as_seconds());
    assert!((all / sample.operations() as f64 - 1.0).abs() < 0.01, "{all}");
}

#[test]
fn a_steady_test_lacks_phases() {
    assert_eq!(run(&[("drive.state.condition", "random")], "100%", 10).phases, []);
}
