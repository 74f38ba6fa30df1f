//! Known values are recovered: a drive is simulated, its figures receive 3% of noise, and the fit must find the values
//! that it reports as identified.

mod laboratory;

use laboratory::{fitted, library, noisy, number, run, short_workload, system};
use lanemark_schema::result::Determination;

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

fn recovers(case: &Case, requests: u64) {
    let library = library();
    let platform_port = (case.platform_port.0.to_owned(), case.platform_port.1.to_owned());
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let settings: Vec<(String, String)> = case.settings.iter().map(own).collect();
    let truth = system(&library, case.drive, &platform_port, &settings).unwrap();
    let measured = noisy(&run(&truth, &short_workload(&library, 60), 77), 0.03, 5);
    let fit = fitted(&library, &measured, &platform_port, Some(case.drive), &[], requests);
    println!("{} in {}:{}", case.drive, platform_port.0, platform_port.1);
    for parameter in &fit.drive.parameters {
        let is = settings.iter().find(|(key, _)| *key == parameter.parameter);
        let is = is.map(|(_, value)| value.clone()).or(parameter.template.clone());
        let value = parameter.value.clone();
        let error = value.zip(is.clone()).map(|(value, is)| match number(&is) {
            0.0 => number(&value),
            is => number(&value) / is - 1.0,
        });
        let identified = parameter.standing == Determination::Identified;
        println!(
            "  {:<30} truth {:>10}  fitted {:>10}  {:>22}  {:>7}  {}",
            parameter.parameter,
            is.as_deref().unwrap_or("-"),
            parameter.value.as_deref().unwrap_or("-"),
            parameter
                .interval_95
                .as_ref()
                .map_or_else(String::new, |(low, high)| format!("{low} to {high}")),
            error.map_or_else(String::new, |error| format!("{:+.1}%", error * 100.0)),
            if identified { "" } else { "open" },
        );
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
        let must = case.must.iter().any(|must| parameter.parameter == format!("drive.{must}"));
        if must {
            assert!(identified, "{}: is open", parameter.parameter);
            let error = error.unwrap();
            assert!(error.abs() < WITHIN, "{}: off by {error:.3}", parameter.parameter);
        }
    }
}

#[test]
fn identified_values_of_an_nvme_drive_come_back() {
    recovers(&CASES[0], 1600);
}

#[test]
fn identified_values_of_a_sata_drive_come_back() {
    recovers(&CASES[1], 1600);
}

#[test]
fn identified_values_of_a_sas_drive_come_back() {
    recovers(&CASES[2], 1600);
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
