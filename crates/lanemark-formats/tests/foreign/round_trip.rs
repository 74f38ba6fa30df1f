//! Results in the formats of other programs are read back unchanged.

use super::*;

#[test]
fn lanemarks_own_export_comes_back_and_a_simulation_does_not() {
    let own = result(sample("crystaldiskmark-8.txt"));
    let text = lanemark_formats::crystaldiskmark::write(&own, Default::default());
    let again = result(&text);
    assert!(engine(&again).starts_with("Lanemark"), "{}", engine(&again));
    for (one, other) in own.tests.iter().zip(&again.tests) {
        assert_eq!((&one.test.name, figures(one)), (&other.test.name, figures(other)));
    }
    let simulated = text.replace("[D:, 1 GiB]", "[a@b:c (simulated)]");
    assert_ne!(simulated, text);
    assert!(foreign::read(&simulated, "f").unwrap_err().to_string().contains("simulated"));
}

/// Asserts that fio's JSON of a result is read back with its figures and settings.
fn assert_survives_fio(first: &RunResult, name: &str) {
    let text = lanemark_formats::fio_json::write(first, 0);
    let again = import(&text, &SuppliedSettings::default()).result;
    assert_eq!(again.tests.len(), first.tests.len(), "{name}");
    for (one, other) in first.tests.iter().zip(&again.tests) {
        assert_eq!(other.test, one.test, "{name}");
        assert_eq!(figures(other), figures(one), "{name}: {}", one.test.name);
        assert_eq!(other.samples.len(), one.samples.len());
        for (sample, read) in one.samples.iter().zip(&other.samples) {
            assert_eq!((&read.reads, &read.writes), (&sample.reads, &sample.writes), "{name}");
            assert_eq!((&read.unified, &read.trims), (&sample.unified, &sample.trims), "{name}");
            assert_eq!((&read.flushes, read.cpu), (&sample.flushes, sample.cpu), "{name}");
        }
    }
    let Target::Measured(target) = &again.target else { panic!() };
    let (engine, direct) = match &first.target {
        Target::Measured(target) => (target.engine.rsplit(", ").next().unwrap(), target.direct),
        Target::Simulated(_) | Target::Database(_) => ("io_uring", Some(true)),
    };
    assert_eq!((target.engine.rsplit(", ").next().unwrap(), target.direct), (engine, direct));
}

#[test]
fn fio_json_of_every_sample_is_read_back_unchanged() {
    for (name, text) in SAMPLES {
        assert_survives_fio(&result(text), name);
    }
    for name in ["measured.json", "simulated.json"] {
        let path = lanemark_testbed::project().join("samples").join(name);
        let own =
            serde_json::from_str::<RunResult>(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_survives_fio(&own, name);
    }
}

#[test]
fn edited_options_of_an_export_count_more_than_its_record_of_the_test() {
    let own = result(sample("diskspd.txt"));
    let text = lanemark_formats::fio_json::write(&own, 0);
    let edited = text.replacen("\"iodepth\" : \"8\"", "\"iodepth\" : \"3\"", 1);
    assert_ne!(edited, text);
    assert_eq!(
        (result(&text).tests[0].test.issue_depth(), result(&edited).tests[0].test.issue_depth()),
        (8, 3)
    );
}
