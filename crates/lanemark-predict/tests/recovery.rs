//! Fits of drives with known values: a drive is simulated in a port, its figures receive 3% of noise, and the fit must
//! find the values that it reports as identified. In another port, the fitted drive must reproduce the figures of the
//! true drive.

mod laboratory;

use std::sync::LazyLock;

use laboratory::{
    PlatformPort, Truth, fitted, library, middle_p90_most, noisy, number, run, short_workload,
    small_buffer, system,
};
use lanemark_schema::result::{Determination, FittedParameter};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_study::Library;
use lanemark_study::document::Section;
use lanemark_study::library::LibraryKind;

/// Library entries that are not real drives, or that do not write flash in superblocks.
const LEFT_OUT: [&str; 6] =
    ["unlimited", "generic", "imft", "eight-channels", "intel-optane", "seagate"];
/// Platforms with an unusual kind of host.
const NO_HOSTS: [&str; 2] = ["ml505", "link-table"];

/// Values that are changed, each with the minimum and maximum factor.
const CHANGED: [(&str, &str, f64, f64); 6] = [
    ("drive.front_end.read_time", "us", 0.6, 1.6),
    ("drive.front_end.write_time", "us", 0.6, 1.6),
    ("drive.flash.read", "us", 0.7, 1.4),
    ("drive.flash.program", "us", 0.7, 1.4),
    ("drive.pseudo_slc.program", "us", 0.7, 1.4),
    ("drive.flash.channel_rate", "MB/s", 0.7, 1.4),
];

/// Maximum relative error of a recovered value.
const WITHIN: f64 = 0.05;

/// A drive, its port, its differences from the library, and the values that must be identified.
struct Case {
    drive: &'static str,
    platform_port: (&'static str, &'static str),
    settings: &'static [(&'static str, &'static str)],
    must: &'static [&'static str],
}

const CASES: [Case; 3] = [
    Case {
        drive: "generic-nvme",
        platform_port: ("workstation-x570", "m2"),
        settings: &[
            ("drive.front_end.read_time", "2.7 us"),
            ("drive.front_end.write_time", "3.1 us"),
            ("drive.front_end.write_latency", "12 us"),
            ("drive.flash.read", "71 us"),
            ("drive.flash.channel_rate", "700 MB/s"),
            ("drive.flash.program", "620 us"),
        ],
        must: &["front_end.read_time", "front_end.write_time", "flash.read", "flash.program"],
    },
    Case {
        drive: "kingston-dc600m-960gb",
        platform_port: ("workstation-z170", "sata"),
        settings: &[
            ("drive.front_end.read_time", "14 us"),
            ("drive.front_end.write_time", "18 us"),
            ("drive.flash.read", "82 us"),
            ("drive.data_path.write", "290 MB/s"),
        ],
        must: &["front_end.read_time", "front_end.write_time", "flash.read", "data_path.write"],
    },
    Case {
        drive: "generic-sas",
        platform_port: ("dell-r730xd", "sas"),
        settings: &[
            ("drive.front_end.read_time", "7 us"),
            ("drive.front_end.write_time", "9 us"),
            ("drive.front_end.write_latency", "25 us"),
            ("drive.flash.read", "95 us"),
            ("drive.flash.program", "1500 us"),
        ],
        must: &["front_end.read_time", "front_end.write_time", "flash.read", "flash.program"],
    },
];

/// The fit of a case.
struct RecoveredDrive {
    truth: Truth,
    here: PlatformPort,
    parameters: Vec<FittedParameter>,
    /// The text of the fitted drive's file.
    file: String,
}

/// The fits of the cases, each computed once for all tests.
static RECOVERED: [LazyLock<RecoveredDrive>; 3] = [
    LazyLock::new(|| recover(&CASES[0])),
    LazyLock::new(|| recover(&CASES[1])),
    LazyLock::new(|| recover(&CASES[2])),
];

fn recover(case: &Case) -> RecoveredDrive {
    let library = library();
    let here = (case.platform_port.0.to_owned(), case.platform_port.1.to_owned());
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let settings = case.settings.iter().map(own).chain([small_buffer()]).collect();
    let truth = Truth { base: case.drive.to_owned(), settings };
    let own = system(&library, &truth.base, &here, &truth.settings).unwrap();
    let measured = noisy(&run(&own, &short_workload(&library, 60), 77), 0.03, 5);
    let fit = fitted(&library, &measured, &here, Some(case.drive), &[small_buffer()], 1000);
    let file = fit.file("fitted").unwrap();
    RecoveredDrive { truth, here, parameters: fit.drive.parameters, file }
}

fn check_values(case: &Case, found: &RecoveredDrive) {
    for parameter in &found.parameters {
        if let Some((low, high)) = &parameter.interval_95
            && parameter.parameter != "drive.flash.dies_per_channel"
            && parameter.parameter != "drive.flash.page"
        {
            // On a logarithmic scale, the range extends equally far below and above the value, except for rounding.
            // Latencies that may be zero have a different scale.
            let [low, high] =
                [low, high].map(|end| number(end) / number(parameter.value.as_ref().unwrap()));
            assert!(low <= 1.0 && 1.0 <= high, "{}: {low} to {high}", parameter.parameter);
            let is_ratio = low > 0.0 && !parameter.parameter.ends_with("_latency");
            assert!(
                !is_ratio || (low * high - 1.0).abs() < 0.02,
                "{}: {low} to {high}",
                parameter.parameter
            );
        }
    }
    for must in case.must {
        let name = format!("drive.{must}");
        let parameter = found.parameters.iter().find(|one| one.parameter == name).unwrap();
        assert_eq!(parameter.standing, Determination::Identified, "{name}");
        let (_, truth) = found.truth.settings.iter().find(|(key, _)| *key == name).unwrap();
        let error = number(parameter.value.as_ref().unwrap()) / number(truth) - 1.0;
        assert!(error.abs() < WITHIN, "{name}: off by {error:.3}");
    }
}

#[test]
fn identified_values_of_nvme_sata_and_sas_drives_come_back() {
    CASES.iter().zip(&RECOVERED).for_each(|(case, found)| check_values(case, found));
}

#[test]
fn limits_that_a_narrow_port_hides_are_not_stated() {
    let library = library();
    let platform_port = ("asus-z87-deluxe-satae".to_owned(), "pcie-slot".to_owned());
    // The link of the port carries about 400,000 requests a second, and the drive's processor can handle a million.
    let truth = system(&library, "samsung-980-pro-1tb", &platform_port, &[]).unwrap();
    let measured = run(&truth, &short_workload(&library, 40), 1);
    let fit = fitted(&library, &measured, &platform_port, Some("generic-nvme"), &[], 1600);
    for hidden in ["front_end.read_time", "front_end.write_time", "data_path.read"] {
        let name = format!("drive.{hidden}");
        let parameter =
            fit.drive.parameters.iter().find(|parameter| parameter.parameter == name).unwrap();
        assert_ne!(parameter.standing, Determination::Identified, "{name}: {:?}", parameter.value);
        // The range of this value extends far to the side that the link hides, and contains the true value of the
        // drive.
        let (low, high) = parameter.range_80.as_ref().expect("a range");
        let low = number(low);
        let high = number(high);
        let drive = &truth.spec.first().drive;
        let own = match hidden {
            "front_end.read_time" => drive.front_end.read_time.as_microseconds(),
            "front_end.write_time" => drive.front_end.write_time.as_microseconds(),
            _ => drive.data_path_read.map_or(high, |rate| rate.as_megabytes()),
        };
        assert!(low <= own && own <= high, "{name}: {own} is not in {low} to {high}");
        assert!(high > 2.0 * low, "{name}: {low} to {high}");
    }
}

/// Returns a library drive with changed values.
fn drive(library: &Library, rng: &mut Rng) -> Truth {
    let names: Vec<String> = library
        .names(LibraryKind::Drive)
        .into_iter()
        .filter(|name| !LEFT_OUT.iter().any(|out| name.starts_with(out)))
        // The file of a rated drive contains priors, and the file of a cloud volume contains limits, so neither
        // contains values that can be changed.
        .filter(|name| {
            let file = library.open(LibraryKind::Drive, name).unwrap();
            !file.has_table("rated") && !file.has_table("cloud")
        })
        .collect();
    let base = names[rng.below(names.len() as u64) as usize].clone();
    let document = library.open(LibraryKind::Drive, &base).unwrap();
    let root = document.root("drive", None);
    let mut settings = Vec::new();
    for (key, unit, low, high) in CHANGED {
        let mut keys = key.split('.').skip(1);
        let table = keys.next().unwrap();
        let key_name = keys.next().unwrap();
        let factor = low * (high / low).powf(rng.unit());
        let Ok(Some(section)) = root.optional_table(table) else { continue };
        let text = plain(&section, key_name);
        let (number, own_unit) = text.split_once(' ').unwrap();
        let scale = match (own_unit, unit) {
            ("ms", "us") => 1e3,
            ("ns", "us") => 1e-3,
            ("GB/s", "MB/s") => 1e3,
            _ => 1.0,
        };
        let value = number.replace(',', "").parse::<f64>().unwrap() * scale * factor;
        settings.push((key.to_owned(), format!("{value:.3} {unit}")));
    }
    Truth { base, settings }
}

/// Returns the text of a value, either bare or with its source.
fn plain(section: &Section<'_>, key: &str) -> String {
    if section.is_table(key) {
        section.table(key).unwrap().text("value").unwrap()
    } else {
        section.text(key).unwrap()
    }
}

/// Returns every port of a platform that accepts `truth`.
fn ports(library: &Library, truth: &Truth) -> Vec<PlatformPort> {
    let mut ports = Vec::new();
    for platform in library.names(LibraryKind::Platform) {
        if NO_HOSTS.iter().any(|out| platform.starts_with(out)) {
            continue;
        }
        let document = library.open(LibraryKind::Platform, &platform).unwrap();
        for port in document.root("platform", None).tables("port").unwrap() {
            let platform_port = (platform.clone(), port.text("name").unwrap());
            if system(library, &truth.base, &platform_port, &truth.settings).is_some() {
                ports.push(platform_port);
            }
        }
    }
    ports
}

/// Returns the generic drive for a drive's protocol, and the drive's connector, which `lanemark inspect` reports for a
/// real drive.
fn plug(library: &Library, drive: &str) -> (&'static str, Vec<(String, String)>) {
    let document = library.open(LibraryKind::Drive, drive).unwrap();
    let root = document.root("drive", None);
    let port = root.table("drive").unwrap().table("port").unwrap();
    let set = |key: &str, value: String| (format!("drive.port.{key}"), value);
    if let Some(pcie) = port.optional_table("pcie").unwrap() {
        let number = |key: &str| pcie.integer(key, 1, 16).unwrap().to_string();
        let settings =
            vec![set("pcie.generation", number("generation")), set("pcie.lanes", number("lanes"))];
        return ("generic-nvme", settings);
    }
    if let Some(sas) = port.optional_table("sas").unwrap() {
        let phys = sas.integer("phys", 1, 8).unwrap().to_string();
        let settings = vec![set("sas.rate", plain(&sas, "rate")), set("sas.phys", phys)];
        return ("generic-sas", settings);
    }
    ("generic-sata", vec![set("sata", plain(&port, "sata"))])
}

/// Fits a random drive, and returns the errors of the predicted throughput in another port, over all tests.
fn random_errors(seed: u64) -> Vec<f64> {
    let library = library();
    let mut rng = Rng::new(StreamKey::from_seed(seed));
    let (truth, ports) = loop {
        let truth = drive(&library, &mut rng);
        let ports = ports(&library, &truth);
        if ports.len() > 1 {
            break (truth, ports);
        }
    };
    let here = ports[rng.below(ports.len() as u64) as usize].clone();
    let there = loop {
        let there = ports[rng.below(ports.len() as u64) as usize].clone();
        if there != here {
            break there;
        }
    };
    let own = system(&library, &truth.base, &here, &truth.settings).unwrap();
    let measured = noisy(&run(&own, &short_workload(&library, 50), seed + 1000), 0.03, seed + 2000);
    let (like, plug) = plug(&library, &truth.base);
    let fit = fitted(&library, &measured, &here, Some(like), &plug, 4000);
    errors(&library, &truth, [&here, &there], &fit.file("fitted").unwrap(), seed)
}

/// Returns the errors of the throughput that the fitted drive in `file` predicts for the second port, over all tests.
fn errors(
    library: &Library,
    truth: &Truth,
    [here, there]: [&PlatformPort; 2],
    file: &str,
    seed: u64,
) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fitted.toml");
    std::fs::write(&path, file).unwrap();
    let predicted = system(library, path.to_str().unwrap(), there, &[]).unwrap();
    let own = system(library, &truth.base, there, &truth.settings).unwrap();
    let mut once = short_workload(library, 50);
    once.repeats = 1;
    let is = run(&own, &once, seed + 3000);
    let says = run(&predicted, &once, seed + 4000);
    let errors: Vec<f64> = is
        .tests
        .iter()
        .zip(&says.tests)
        .map(|(is, says)| says.megabytes_per_second() / is.megabytes_per_second() - 1.0)
        .collect();
    let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let (middle, p90, most) = middle_p90_most(&sizes);
    let worst =
        is.tests.iter().zip(&errors).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
    println!(
        "{seed:>3} {:<30} {:>34} -> {:<34} median {:>5.1}%  90% {:>5.1}%  most {:>5.1}% ({} {:+.0}%)",
        truth.base,
        format!("{}:{}", here.0, here.1),
        format!("{}:{}", there.0, there.1),
        middle * 100.0,
        p90 * 100.0,
        most * 100.0,
        worst.0.test.name,
        worst.1 * 100.0,
    );
    sizes
}

fn check_errors(all: &[Vec<f64>]) {
    let medians: Vec<f64> = all.iter().map(|one| middle_p90_most(one).0).collect();
    let (middle, p90, most) = middle_p90_most(&all.concat());
    println!(
        "over all tests of {} drives: median {:.2}%, 90% within {:.1}%, all within {:.1}%; drives' medians: {:.2}%, \
         90% {:.1}%, most {:.1}%",
        all.len(),
        middle * 100.0,
        p90 * 100.0,
        most * 100.0,
        middle_p90_most(&medians).0 * 100.0,
        middle_p90_most(&medians).1 * 100.0,
        middle_p90_most(&medians).2 * 100.0,
    );
    assert!(middle < 0.05, "the median error is {middle:.3}");
    assert!(middle_p90_most(&medians).1 < 0.10, "a tenth of the drives is off by more than 10%");
}

/// `LANEMARK_FIT_DRIVES=30`, as in `make fit`, tests thirty random drives with longer runs instead of the known drives.
#[test]
fn fitted_drives_predict_the_true_ones_in_another_port() {
    if let Ok(count) = std::env::var("LANEMARK_FIT_DRIVES") {
        let drives: u64 = count.parse().expect("LANEMARK_FIT_DRIVES is a number of drives");
        let all: Vec<Vec<f64>> = (100..100 + drives).map(random_errors).collect();
        return check_errors(&all);
    }
    let library = library();
    let of_case = |found: &LazyLock<RecoveredDrive>| {
        let RecoveredDrive { truth, here, file, .. } = &**found;
        let ports = ports(&library, truth);
        let there = ports.iter().find(|port| port.0 != here.0).unwrap();
        errors(&library, truth, [here, there], file, 1)
    };
    let all: Vec<Vec<f64>> = RECOVERED.iter().map(of_case).collect();
    check_errors(&all);
}
