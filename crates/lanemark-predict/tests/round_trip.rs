//! A fit in one port predicts figures in another port. Random drives are simulated in a port, measured with noise,
//! fitted from the generic template, and written to a file. In another port, the file must reproduce the figures of the
//! true drive.

mod laboratory;

use laboratory::{
    PlatformPort, Truth, fitted, library, middle_p90_most, noisy, run, short_workload, system,
};
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

/// Returns the errors of the predicted throughput of a random drive in another port, over all tests.
fn errors(seed: u64, requests: u64) -> Vec<f64> {
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
    let workload = short_workload(&library, 50);
    let in_port = |platform_port: &PlatformPort| {
        system(&library, &truth.base, platform_port, &truth.settings).unwrap()
    };
    let measured = noisy(&run(&in_port(&here), &workload, seed + 1000), 0.03, seed + 2000);
    let (like, plug) = plug(&library, &truth.base);
    let fit = fitted(&library, &measured, &here, Some(like), &plug, requests);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fitted.toml");
    std::fs::write(&file, fit.file("fitted").unwrap()).unwrap();
    let predicted = system(&library, file.to_str().unwrap(), &there, &[]).unwrap();
    let mut once = workload;
    once.repeats = 1;
    let is = run(&in_port(&there), &once, seed + 3000);
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

fn median_is_below_five_per_cent(seeds: std::ops::Range<u64>, requests: u64) {
    let all: Vec<Vec<f64>> = seeds.map(|seed| errors(seed, requests)).collect();
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

/// `LANEMARK_FIT_DRIVES=30`, as in `make fit`, tests thirty drives with longer runs instead of three.
#[test]
fn fitted_drives_predict_the_true_ones_in_another_port() {
    let count = std::env::var("LANEMARK_FIT_DRIVES").ok();
    match count.map(|text| text.parse::<u64>().expect("LANEMARK_FIT_DRIVES is a number of drives"))
    {
        Some(drives) => median_is_below_five_per_cent(100..100 + drives, 4000),
        None => median_is_below_five_per_cent(1..4, 1000),
    }
}
