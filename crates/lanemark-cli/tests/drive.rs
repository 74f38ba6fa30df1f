//! `lanemark drive`: from a box to a prediction in two commands.

use std::fs;

use lanemark_testbed::{Lanemark, lanemark, stderr};
use tempfile::TempDir;

/// Creates the file of an NVMe drive with this name, capacity and rate of reads.
fn made(folder: &TempDir, name: &str, capacity: &str, read: &str) -> Lanemark {
    let rated = ["--capacity", capacity, "--read", read, "--write", "3000 MB/s"];
    lanemark!(folder.path(), &[&["drive", name], &rated[..]].concat())
        .with("--protocol nvme --generation 3 --lanes 4 --year=2019")
}

/// Creates the file of the drive of these tests, `maker-model-1tb.toml`.
fn boxed(folder: &TempDir) -> Lanemark {
    made(folder, "Maker Model 1TB", "1000 GB", "3400 MB/s")
}

#[test]
fn a_drive_of_its_box_is_predicted_in_a_port() {
    let folder = tempfile::tempdir().unwrap();
    let brief = boxed(&folder).stdout();
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
    let printed = lanemark!(folder.path(), &["library", "./maker-model-1tb.toml"]).stdout();
    let explained = boxed(&folder).with("--explain --out again.toml").stdout();
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
    let sim = || lanemark!(folder.path(), &["sim", system, "data-sheet:seq128k-q32t1-read"]);
    let result = sim().with("--json").json();
    let rate = result["tests"][0]["throughput_bytes_per_second"]["value"].as_f64().unwrap();
    assert!((rate / 3.4e9 - 1.0).abs() < 0.01, "{rate}");
    let interval = &result["tests"][0]["interval"];
    assert!(interval["low_ratio"].as_f64().unwrap() < 1.0, "{interval}");
    assert!(interval["high_ratio"].as_f64().unwrap() > 1.0, "{interval}");
    let result = sim().with("--json --no-interval").json();
    assert!(result["tests"][0]["interval"].is_null());
}

/// The largest drives have 16 TiB of flash, and the smallest drives have a few dies. The files of both can be
/// simulated.
#[test]
fn drives_of_all_sizes_can_be_simulated_once_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    for (name, capacity, more) in [
        ("large", "15360 GB", "--nand tlc"),
        ("spare", "15360 GB", "--random-write 500000 --market data-center"),
        ("old", "16 TB", concat!("--nand slc --memory ", "none")),
        ("small", "32 GB", "--nand qlc --memory host"),
    ] {
        let printed = made(&folder, name, capacity, "3400 MB/s").with(more).stdout();
        let explained = format!("{name}.toml");
        let explained = lanemark!(folder.path(), &["library", &explained]).stdout();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let met =
            printed.lines().map(words).find(|line| line.starts_with("sequential writes 3,000"));
        assert!(met.is_some_and(|line| line.ends_with("MB/s 0.0%")), "{name}: {printed}");
        assert_eq!(explained.contains("less than 16 TiB"), name != "small", "{name}: {explained}");
    }
    let errors = stderr(&made(&folder, "beyond", "30720 GB", "3400 MB/s").output());
    assert!(errors.contains("capacity = 30.72 TB: at most 16 TB"), "{errors}");
    assert!(!folder.path().join("beyond.toml").exists());
}

#[test]
fn all_missing_ratings_are_reported_at_once_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let message = lanemark!(folder.path(), &["drive", "x", "--protocol", "nvme"]).fails_with(2);
    for part in ["--capacity", "--generation", "--lanes"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let rated = ["--rate=6 Gb/s", "--capacity=1 TB", "--read=700 MB/s", "--write=900 MB/s"];
    let message =
        lanemark!(folder.path(), &[&["drive", "x", "--protocol=sata"], &rated[..]].concat())
            .fails_saying(2, "SATA 6 Gb/s carries at most 600 MB/s");
    assert!(message.contains("read = 700") && message.contains("write = 900"), "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn another_file_is_not_written_over_and_odd_names_are_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("maker-model-1tb.toml");
    fs::write(&path, "mine").unwrap();
    assert!(!boxed(&folder).output().status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    // An existing drive file that the user may have changed is not overwritten either.
    fs::remove_file(&path).unwrap();
    boxed(&folder).stdout();
    let written = fs::read_to_string(&path).unwrap();
    let again = stderr(&boxed(&folder).output());
    assert!(again.contains("already exists"), "{again}");
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    fs::remove_file(&path).unwrap();
    made(&folder, "Maker Model 1TB", "1000 GB", "3400.000123 MB/s").stdout();
    assert!(fs::read_to_string(&path).unwrap().contains("\"3400000123 B/s\""));
    let odd = made(&folder, "a \"b\" \\ c\n[flash]", "1000 GB", "3400 MB/s");
    odd.with("--out odd.toml").stdout();
    lanemark!(folder.path(), &["library", "./odd.toml"]).stdout();
    lanemark!(folder.path(), &["library", "samsung-990-pro-2t"])
        .fails_saying(2, "samsung-990-pro-2tb");
}

/// A rating for compressible data is reached with such data; other data is stored at the rate of the dies.
#[test]
fn a_rating_of_compressible_data_is_reached_only_with_such_data() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["drive", "A drive", "--rate=6 Gb/s", "--capacity=120 GB", "--write=500 MB/s"];
    let rated = lanemark!(folder.path(), &words)
        .with("--protocol=sata --year=2012 --nand=mlc --random-write=80000 --compresses-to=40%")
        .with("--out=drive.toml")
        .stdout();
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
        let run = lanemark!(folder.path(), &words).json();
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
        lanemark!(folder.path(), &words).stdout();
        let written = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(written.contains("protocol = \"ahci\", pcie"), file == "ahci.toml", "{written}");
    }
}
