//! `lanemark library`, and `lanemark inspect` of modelled systems, as a user sees them.

use lanemark_testbed::lanemark;
use serde_json::Value;

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    lanemark!(arguments).json()
}

#[test]
fn a_drive_is_shown_with_each_value_and_its_origin() {
    let text = lanemark!(&["library", "samsung-950-pro-512gb"]).stdout();
    assert!(text.contains("of its 39 values are stated"), "{text}");
    assert!(text.contains("- drive.flash.read = 50 us"), "{text}");
    let found = json(&["library", "samsung-950-pro-512gb", "--json"]);
    assert_eq!(found["name"], "Samsung SSD 950 PRO 512GB");
    let values = found["values"].as_array().unwrap();
    let read = values.iter().find(|value| value["parameter"] == "drive.flash.read").unwrap();
    assert_eq!((&read["value"], &read["origin"]), (&"50 us".into(), &"sourced".into()));
}

#[test]
fn platforms_are_shown_with_ports_and_other_entries_with_values() {
    let text = lanemark!(&["library", "workstation-z170"]).stdout();
    for part in ["DMI", "PCIe 3.0 x4", "m2", "SATA 6 Gb/s", "platform.cpu.request_submit"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let found = json(&["library", "workstation-z170", "--json"]);
    let ports = found["ports"].as_array().unwrap();
    let m2 = ports.iter().find(|port| port["name"] == "m2").unwrap();
    assert_eq!(m2["connector"], "PCIe 3.0 x4");
    assert_eq!(m2["behind"].as_array().unwrap().len(), 1);
    let host = json(&["library", "linux-block", "--json"]);
    assert_eq!(host["kind"], "host");
    assert!(!host["values"].as_array().unwrap().is_empty());
    let text = lanemark!(&["library", "crystaldiskmark-8"]).stdout();
    assert!(text.contains("seq1m-q8t1-read") && text.contains("random"), "{text}");
    let workload = json(&["library", "crystaldiskmark-8", "--json"]);
    assert_eq!(workload["tests"].as_array().unwrap().len(), 8);
}

#[test]
fn filters_and_words_leave_the_matching_entries() {
    let listed = |arguments: &[&str]| {
        let all = json(&[&["library", "--json"], arguments].concat());
        all.as_array().unwrap().clone()
    };
    let all = listed(&[]);
    assert!(all.len() > 300, "{}", all.len());
    for interface in ["nvme", "sata", "sas"] {
        let some = listed(&["--interface", interface]);
        assert!(!some.is_empty());
        let fits = |one: &Value| one["interface"].as_str().unwrap().to_lowercase() == interface;
        assert!(some.iter().all(fits), "{interface}");
    }
    let of_years = listed(&["--year", "2010..2012", "--kind", "ssd"]);
    let fits = |one: &Value| (2010..=2012).contains(&one["year"].as_u64().unwrap());
    assert!(!of_years.is_empty() && of_years.iter().all(fits));
    let disks = listed(&["--kind", "hdd", "--maker", "seagate"]);
    assert!(!disks.is_empty() && disks.iter().all(|disk| disk["maker"] == "Seagate"));
    let platforms = listed(&["--kind", "platform", "--search", "raspberry pi"]);
    assert!(
        !platforms.is_empty() && platforms.iter().all(|platform| platform["kind"] == "platform")
    );
    let none = lanemark!(&["library", "--search", "no such thing"]).output();
    assert_eq!((none.status.code(), none.stdout.len()), (Some(0), 0));
    assert!(String::from_utf8(none.stderr).unwrap().starts_with("no entry of the library matches"));
}

#[test]
fn an_unknown_name_is_reported_with_similar_names() {
    for (arguments, part) in [
        (&["samsung-950-pro-521gb"][..], "samsung-950-pro-512gb"),
        (&["samsung-950-pro-512gb", "--kind", "platform"], "unknown"),
        (&["/etc/passwd.toml"], "can't be read"),
        (&["Cargo.toml"], "is not a library file"),
        (&["--year", "20x5"], "expected a year"),
        (&["--kind", "host", "--year", "2015"], "apply only to drives"),
    ] {
        lanemark!(&[&["library"], arguments].concat()).fails_saying(2, part);
    }
}

#[test]
fn a_platform_without_a_drive_has_a_path() {
    let text = lanemark!(&["inspect", "workstation-z170"]).stdout();
    assert!(text.contains("port m2") && text.contains("packets of"), "{text}");
    let found =
        json(&["inspect", "workstation-z170", "--json", "--set", "platform.link.dmi.pcie.lanes=1"]);
    let dmi = found["links"].as_array().unwrap().iter().find(|link| link["name"] == "DMI 3.0");
    let rate = dmi.unwrap()["rate_bytes_per_second"].as_f64().unwrap();
    assert!((0.9e9..1.0e9).contains(&rate), "{rate}");
    for (arguments, part) in [
        (&["workstation-z710"][..], "workstation-z170"),
        (&["workstation-z170", "--workload", "quick"], "a test requires a drive"),
        (&["workstation-z170", "--set", "platform.no=1"], "platform.no"),
    ] {
        lanemark!(&[&["inspect"], arguments].concat()).fails_saying(2, part);
    }
}

/// Four 550 MB/s drives downstream of one PCIe 2.0 lane share its throughput, and the command reports the loss.
#[test]
fn drives_behind_one_uplink_show_their_loss_to_it() {
    let system = "samsung-850-pro-1tb@workstation-z170:sata+sata-2+sata-3+sata-4";
    let narrow = ["--set", "platform.link.dmi.pcie.lanes=1"];
    let text = lanemark!(&[&["inspect", system, "--no-interval"], &narrow[..]].concat()).stdout();
    assert!(
        text.contains("You lose ") && text.contains("to DMI 3.0, which 4 drives share"),
        "{text}"
    );
    let found = json(&[&["inspect", system, "--no-interval", "--json"], &narrow[..]].concat());
    let loss = &found["limit"]["loss"];
    let share = loss["share"].as_f64().unwrap();
    let with = loss["bytes_per_second"].as_f64().unwrap();
    let now = found["simulated"].as_f64().unwrap();
    assert!((1.0 - now / with - share).abs() < 1e-6 && (0.4..0.8).contains(&share), "{share}");
    // Without the loss, the reported throughput equals the total throughput of the four drives' links.
    assert!((1.9e9..2.4e9).contains(&with), "{with}");
    let alone =
        lanemark!(&["inspect", "samsung-850-pro-1tb@workstation-z170:sata", "--no-interval"])
            .stdout();
    assert!(!alone.contains("drives share"), "{alone}");
}

#[test]
fn a_path_shows_requests_a_second_of_random_tests_and_explains_like_sim() {
    let system = "samsung-950-pro-512gb@workstation-z170:m2";
    let test = "crystaldiskmark-8:rnd4k-q32t1-read";
    let text = lanemark!(&["inspect", system, "--workload", test, "--no-interval"]).stdout();
    assert!(text.contains(" IOPS"), "{text}");
    let explained = text.lines().last().unwrap();
    let simulated = lanemark!(&["sim", system, test, "--no-interval", "--no-save"]).stdout();
    assert!(simulated.contains(explained.trim_end_matches('.')), "{explained}\n{simulated}");
}

#[test]
fn a_part_of_a_name_an_alias_and_a_model_are_suggested_with_the_list() {
    const DRIVE: &str = "samsung-970-evo-1tb";
    for (system, workload, says) in [
        ("970evo@workstation-z170:m2", "quick", "did you mean `samsung-970-evo-1tb`"),
        ("CT1000MX500SSD1@workstation-z170:sata", "quick", "did you mean `crucial-mx500-1tb`?"),
        ("samsung-970-evo-1tb@z170:m2", "quick", "did you mean `workstation-z170`?"),
        ("samsung-970-evo-1tb@workstation-z170:m2", "cdm", "`crystaldiskmark-8`"),
        ("samsung-970-evo-1tb@nowhere:m2", "quick", "lanemark library --kind platform"),
    ] {
        let message = lanemark!(&["sim", system, workload]).fails_with(2);
        assert!(
            message.contains(says) && message.contains("lanemark library --kind"),
            "{system}: {message}"
        );
    }
    lanemark!(&["sweep", "samsung-970-evo-1tb@workstation-z170:m2"])
        .with("--workload quick:rnd4k-q32t1-read --axis qd=1,2")
        .fails_saying(2, "did you mean `queue_depth`?");
    // A drive that is given without a port is listed with exactly the ports that it fits.
    let message = lanemark!(&["sim", &format!("{DRIVE}@workstation-z170"), "quick"]).fails_with(2);
    for port in ["pcie-slot", "m2"] {
        assert!(message.contains(&format!("{DRIVE}@workstation-z170:{port}")), "{message}");
    }
    assert!(!message.contains(":sata"), "{message}");
    let message =
        lanemark!(&["sim", "samsung-850-pro-1tb@workstation-z170", "quick"]).fails_with(2);
    assert!(message.contains("workstation-z170:sata") && !message.contains(":m2"), "{message}");
}
