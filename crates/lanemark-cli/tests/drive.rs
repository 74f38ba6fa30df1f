//! `lanemark drive`: from a box to a prediction in two commands.

use std::fs;

use lanemark_testbed::lanemark;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const BOX: [&str; 15] = [
    "drive",
    "Maker Model 1TB",
    "--protocol",
    "nvme",
    "--generation",
    "3",
    "--lanes",
    "4",
    "--capacity",
    "1000 GB",
    "--read",
    "3400 MB/s",
    "--write",
    "3000 MB/s",
    "--year=2019",
];

#[test]
fn a_drive_of_its_box_is_predicted_in_a_port() {
    let folder = tempfile::tempdir().unwrap();
    let made = lanemark!(folder.path(), &BOX).output();
    assert!(made.status.success(), "{}", text(&made.stderr));
    let brief = text(&made.stdout);
    let first = brief.lines().next().unwrap();
    assert!(
        first.starts_with(
            "Maker Model 1TB: the model's largest error against its 2 ratings is 0.0%"
        ),
        "{brief}"
    );
    assert!(brief.lines().count() < 12 && !brief.contains("assumed:"), "{brief}");
    // The evidence is in the file, and is printed on request.
    let file = fs::read_to_string(folder.path().join("maker-model-1tb.toml")).unwrap();
    let printed =
        text(&lanemark!(folder.path(), &["library", "./maker-model-1tb.toml"]).output().stdout);
    let explained = [&BOX[..], &["--explain", "--out", "again.toml"]].concat();
    let explained = text(&lanemark!(folder.path(), &explained).output().stdout);
    for part in [
        "drive.flash.read",
        "derived from 3400 MB/s of sequential reads",
        "assumed:",
        "sequential reads",
    ] {
        assert!(printed.contains(part) && explained.contains(part), "{part}: {printed}{explained}");
        assert!(file.contains(part) || part == "sequential reads", "{part}: {file}");
    }
    let system = "./maker-model-1tb.toml@data-sheet:pcie";
    let run = lanemark!(folder.path(), &["sim", system, "data-sheet:seq128k-q32t1-read", "--json"])
        .output();
    assert!(run.status.success(), "{}", text(&run.stderr));
    let result: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let rate = result["tests"][0]["throughput_bytes_per_second"]["value"].as_f64().unwrap();
    assert!((rate / 3.4e9 - 1.0).abs() < 0.01, "{rate}");
    let interval = &result["tests"][0]["interval"];
    assert!(interval["low_ratio"].as_f64().unwrap() < 1.0, "{interval}");
    assert!(interval["high_ratio"].as_f64().unwrap() > 1.0, "{interval}");
    let plain = ["sim", system, "data-sheet:seq128k-q32t1-read", "--json", "--no-interval"];
    let run = lanemark!(folder.path(), &plain).output();
    let result: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(result["tests"][0]["interval"].is_null());
}

/// The largest drives have 16 TiB of flash, and the smallest drives have a few dies. The files of both can be
/// simulated.
#[test]
fn drives_of_all_sizes_can_be_simulated_once_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, capacity: &str, more: &[&str]| {
        let mut arguments = BOX.to_vec();
        (arguments[1], arguments[9]) = (name, capacity);
        arguments.extend(more);
        lanemark!(folder.path(), &arguments).output()
    };
    for (name, capacity, more) in [
        ("large", "15360 GB", &["--nand", "tlc"][..]),
        ("spare", "15360 GB", &["--random-write", "500000", "--market", "data-center"][..]),
        ("old", "16 TB", &["--nand", "slc", "--memory", "none"][..]),
        ("small", "32 GB", &["--nand", "qlc", "--memory", "host"][..]),
    ] {
        let made = of(name, capacity, more);
        assert!(made.status.success(), "{name}: {}", text(&made.stderr));
        let printed = text(&made.stdout);
        let explained = format!("{name}.toml");
        let explained = text(&lanemark!(folder.path(), &["library", &explained]).output().stdout);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let met =
            printed.lines().map(words).find(|line| line.starts_with("sequential writes 3,000"));
        assert!(met.is_some_and(|line| line.ends_with("MB/s 0.0%")), "{name}: {printed}");
        assert_eq!(explained.contains("less than 16 TiB"), name != "small", "{name}: {explained}");
    }
    let refused = of("beyond", "30720 GB", &[]);
    let errors = text(&refused.stderr);
    assert!(errors.contains("capacity = 30.72 TB: at most 16 TB"), "{errors}");
    assert!(!folder.path().join("beyond.toml").exists());
}

#[test]
fn all_missing_ratings_are_reported_at_once_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let made = lanemark!(folder.path(), &["drive", "x", "--protocol", "nvme"]).output();
    assert_eq!(made.status.code(), Some(2));
    let message = text(&made.stderr);
    for part in ["--capacity", "--generation", "--lanes"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let fast = [
        "drive",
        "x",
        "--protocol=sata",
        "--rate=6 Gb/s",
        "--capacity=1 TB",
        "--read=700 MB/s",
        "--write=900 MB/s",
    ];
    let made = lanemark!(folder.path(), &fast).output();
    assert_eq!(made.status.code(), Some(2));
    let message = text(&made.stderr);
    assert!(message.contains("SATA 6 Gb/s carries at most 600 MB/s"), "{message}");
    assert!(message.contains("read = 700") && message.contains("write = 900"), "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn another_file_is_not_written_over_and_odd_names_are_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("maker-model-1tb.toml");
    fs::write(&path, "mine").unwrap();
    let made = lanemark!(folder.path(), &BOX).output();
    assert!(!made.status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    // An existing drive file that the user may have changed is not overwritten either.
    fs::remove_file(&path).unwrap();
    assert!(lanemark!(folder.path(), &BOX).output().status.success());
    let written = fs::read_to_string(&path).unwrap();
    let again = lanemark!(folder.path(), &BOX).output();
    assert!(text(&again.stderr).contains("already exists"), "{}", text(&again.stderr));
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    fs::remove_file(&path).unwrap();
    let mut fine = BOX;
    fine[11] = "3400.000123 MB/s";
    assert!(lanemark!(folder.path(), &fine).output().status.success());
    assert!(fs::read_to_string(&path).unwrap().contains("\"3400000123 B/s\""));
    let mut odd = BOX;
    odd[1] = "a \"b\" \\ c\n[flash]";
    let made = lanemark!(folder.path(), &[&odd[..], &["--out", "odd.toml"]].concat()).output();
    assert!(made.status.success(), "{}", text(&made.stderr));
    let output = lanemark!(folder.path(), &["library", "./odd.toml"]).output();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let unknown = lanemark!(folder.path(), &["library", "samsung-990-pro-2t"]).output();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("samsung-990-pro-2tb"));
}

/// A rating for compressible data is reached with such data; other data is stored at the rate of the dies.
#[test]
fn a_rating_of_compressible_data_is_reached_only_with_such_data() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "drive",
        "A drive",
        "--protocol=sata",
        "--rate=6 Gb/s",
        "--capacity=120 GB",
        "--year=2012",
        "--nand=mlc",
        "--write=500 MB/s",
        "--random-write=80000",
        "--compresses-to=40%",
        "--out=drive.toml",
    ];
    let output = lanemark!(folder.path(), &words).output();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rated = text(&output.stdout);
    let met = rated.lines().find(|line| line.contains("sequential writes")).unwrap();
    assert!(met.contains("500") && met.contains("0.0%"), "{rated}");
    let write = |compressibility: &str| {
        let workload = format!(
            "[workload]\nname = \"writes\"\nrepeats = 1\naverage = \"mean\"\n[[test]]\nname = \"write\"\nblock = \"128 KiB\"\npattern = \"sequential\"\n\
             read = \"0%\"\nqueue_depth = 32\nspan = \"1 GiB\"\nramp = \"300 ms\"\nduration = \"500 ms\"\n\
             compressibility = \"{compressibility}\"\n"
        );
        fs::write(folder.path().join("w.toml"), workload).unwrap();
        let words = ["sim", "./drive.toml@data-sheet:sata", "./w.toml", "--json", "--no-interval"];
        let output = lanemark!(folder.path(), &words).output();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        run["tests"][0]["throughput_bytes_per_second"]["value"].as_f64().unwrap() / 1e6
    };
    let zeros = write("100%");
    let random = write("0%");
    assert!((zeros / 500.0 - 1.0).abs() < 0.02, "{zeros}");
    // The flash stores 40% of 500 MB/s, a tenth faster than the rating.
    assert!((random / 220.0 - 1.0).abs() < 0.05, "{random}");
}

/// Ratings for which there is a prior are not required: a connector and a capacity are sufficient.
#[test]
fn a_box_without_ratings_is_a_usual_drive_of_its_connector() {
    let folder = tempfile::tempdir().unwrap();
    let connectors: [(&str, &[&str]); 6] = [
        ("nvme.toml", &["--protocol=nvme", "--generation=4", "--lanes=4"]),
        ("sata.toml", &["--protocol=sata", "--rate=6 Gb/s"]),
        ("disk.toml", &["--protocol=sata", "--rate=6 Gb/s", "--kind=hdd"]),
        ("sas.toml", &["--protocol=sas", "--rate=12 Gb/s"]),
        ("sas-disk.toml", &["--protocol=sas", "--rate=12 Gb/s", "--kind=hdd"]),
        ("ahci.toml", &["--protocol=pcie-ahci", "--generation=2", "--lanes=4"]),
    ];
    for (file, connector) in connectors {
        let mut words = vec!["drive", "A drive", "--capacity=500 GB", "--out", file];
        words.extend(connector);
        let output = lanemark!(folder.path(), &words).output();
        assert!(output.status.success(), "{file}: {}", text(&output.stderr));
        let written = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(written.contains("protocol = \"ahci\", pcie"), file == "ahci.toml", "{written}");
    }
}
