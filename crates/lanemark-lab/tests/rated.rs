//! Tests of rated drives: the completed drive reaches its ratings, and impossible ratings are reported.

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::{Lab, assemble};
use lanemark_schema::units::Duration;
use lanemark_study::Library;
use lanemark_study::library::LibraryKind;
use lanemark_study::rated::{check, explain};

const NVME: &str = r#"
[drive]
name     = "a drive"
kind     = "ssd"
capacity = "2000 GB"
port     = { protocol = "nvme", pcie = { generation = 4, lanes = 4 } }
"#;

fn wrong(rated: &str) -> String {
    let text = format!("{NVME}[rated]\n{rated}");
    check(&Library::built_in(), &text).unwrap_err().to_string()
}

/// Returns every `step`th name of the rated library drives.
fn rated_drives(library: &Library, step: usize) -> Vec<String> {
    let rated = |name: &String| explain(library, name).unwrap().rated.is_some();
    library.names(LibraryKind::Drive).into_iter().filter(rated).step_by(step).collect()
}

#[test]
fn drives_of_the_library_meet_their_sequential_and_random_ratings() {
    let library = Library::built_in();
    let mut met = 0;
    let mut missed = Vec::new();
    for name in rated_drives(&library, 6) {
        let explained = explain(&library, &name).unwrap();
        let Some(rated) = explained.rated.filter(|_| !explained.is_disk) else { continue };
        for rating in Lab::default().ratings_met(&library, &name, &rated).unwrap() {
            if rating.error().abs() <= 0.01 {
                met += 1;
            } else {
                let off = 100.0 * rating.error();
                missed.push(format!("{name}: {} {off:+.1}%", rating.what));
            }
        }
    }
    // Ratings that contradict one another or the link cannot all be reached.
    assert!(met >= 100 && missed.len() * 6 <= met, "{met} met, missed: {missed:#?}");
}

#[test]
fn one_request_at_a_time_takes_its_rated_time() {
    let library = Library::built_in();
    let folder = tempfile::tempdir().unwrap();
    let ports = [
        ("nvme", "pcie = { generation = 3, lanes = 4 }"),
        ("nvme", "pcie = { generation = 5, lanes = 4 }"),
        ("ahci", "sata = \"6 Gb/s\""),
        ("sas", "sas = { rate = \"12 Gb/s\", phys = 1 }"),
    ];
    let mut missed = Vec::new();
    for (number, (protocol, port)) in ports.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.toml"));
        let text = format!(
            "[drive]\nname = \"a drive\"\nkind = \"ssd\"\ncapacity = \"1000 GB\"\n\
             port = {{ protocol = \"{protocol}\", {port} }}\n\
             [rated]\nmarket = \"client\"\nread_latency = \"130 us\"\nwrite_latency = \"60 us\"\n"
        );
        std::fs::write(&path, text).unwrap();
        let name = path.display().to_string();
        let rated = explain(&library, &name).unwrap().rated.unwrap();
        let met = Lab::default().ratings_met(&library, &name, &rated).unwrap();
        assert_eq!(met.len(), 2);
        for rating in met {
            let off = 100.0 * rating.error();
            if off.abs() >= 1.0 {
                missed.push(format!("{protocol} {port}: {} {off:+.2}%", rating.what));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn client_drives_store_a_journal_at_a_flush_unlike_servers() {
    let library = Library::built_in();
    let folder = tempfile::tempdir().unwrap();
    let flush = |rated: &str| {
        let path = folder.path().join("drive.toml");
        std::fs::write(&path, format!("{NVME}[rated]\n{rated}\n")).unwrap();
        let name = format!("{}@data-sheet:pcie", path.display());
        assemble(&library, &name, &[]).unwrap().spec.first().drive.front_end.flush_latency
    };
    assert_eq!(flush("market = \"data-center\""), Duration::ZERO);
    let journal = flush("market = \"client\"");
    assert_eq!(journal, Duration::from_microseconds(700), "the prior");
    // The program of the pseudo-SLC cache takes 160 us.
    let stated = |time: &str| flush(&format!("market = \"client\"\nflush = \"{time}\""));
    assert_eq!(stated("500 us"), Duration::from_microseconds(340));
    assert_eq!(stated("100 us"), Duration::from_microseconds(1), "the program takes longer");
}

#[test]
fn steady_random_writes_reach_their_rating() {
    let library = Library::built_in();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.toml");
    let text = "[drive]\nname = \"a drive\"\nkind = \"ssd\"\ncapacity = \"120 GB\"\n\
                port = { protocol = \"nvme\", pcie = { generation = 4, lanes = 4 } }\n\
                [rated]\nmarket = \"data-center\"\nread = \"2000 MB/s\"\nwrite = \"500 MB/s\"\n\
                random_write = 20000\n[state]\ncondition = \"random\"\n";
    std::fs::write(&path, text).unwrap();
    let system = assemble(&library, &format!("{}@data-sheet:pcie", path.display()), &[]).unwrap();
    let test = lanemark_schema::workload::Test::random_write("4 KiB")
        .queue_depth(32)
        .threads(4)
        .span("110 GiB")
        .ramp("8 s")
        .duration("8 s")
        .build()
        .unwrap();
    let key = lanemark_schema::rng::StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
    let sample = lanemark_sim::run_test(&system.spec, &test, key).unwrap();
    let error = sample.iops() / 20_000.0 - 1.0;
    assert!(error.abs() < 0.1, "{:.0} a second, {:+.1}%", sample.iops(), 100.0 * error);
}

#[test]
fn ratings_that_cannot_be_are_reported_all_at_once() {
    let all = wrong(
        "read = \"9000 MB/s\"\nwrite = \"500 MB/s\"\nrandom_write = 200000\nrandom_read = 10\n\
         random_read_qd1 = 20\nsteady_write = \"600 MB/s\"\nrpm = 7200\n",
    );
    for part in [
        "PCIe 4.0 x4 carries at most 7877 MB/s",
        "more than write = 500 MB/s",
        "more than random_read = 10",
        "`rpm` does not affect a solid-state drive",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let nand = wrong("nand = \"plc\"\nmarket = \"clients\"\nlatency = \"10 us\"\n");
    for part in ["plc", "clients", "latency"] {
        assert!(nand.contains(part), "{part}: {nand}");
    }
    let twice = wrong("read_latency = \"50 us\"\nrandom_read_qd1 = 20000\n");
    assert!(twice.contains("rate the same property"), "{twice}");
}

#[test]
fn ranges_upside_down_are_reported() {
    let of = |range: &str| {
        let text = format!(
            "{NVME}[rated]\n[flash]\nread = {{ value = \"50 us\", assumed = \"x\", range = {range} }}\n"
        );
        check(&Library::built_in(), &text).unwrap_err().to_string()
    };
    for range in [
        "[\"60 us\", \"40 us\"]",
        "[\"60 us\", \"70 us\"]",
        "[\"0 us\", \"70 us\"]",
        "[\"1 MB/s\", \"70 us\"]",
        "[\"40 us\"]",
        "\"40 us\"",
        "[40, 60]",
    ] {
        let message = of(range);
        assert!(message.contains("range"), "{range}: {message}");
    }
}

#[test]
fn the_same_seed_gives_the_same_interval_and_threads_change_nothing() {
    let library = Library::built_in();
    let name = "samsung-990-pro-2tb@data-sheet:pcie";
    let system = assemble(&library, name, &[]).unwrap();
    assert!(system.uncertain.len() > 5);
    let test = lanemark_schema::workload::Test::random_read("4 KiB")
        .span("8 GiB")
        .duration("100 ms")
        .build()
        .unwrap()
        .into_test();
    let of = |threads: usize, seed: u64| {
        let pool = lanemark_lab::Pool::new(std::num::NonZeroUsize::new(threads).unwrap());
        let lab = Lab { pool, ..Lab::default() };
        let predicted = [(test.clone(), 22_000.0)];
        let subject = DrawnSystem { library: &library, name, settings: &[], ranges: &[] };
        lab.intervals(&subject, &predicted, seed).unwrap().remove(0).unwrap()
    };
    let one = of(1, 1);
    assert_eq!(one, of(3, 1));
    assert_ne!(one, of(1, 2));
    // The gain of rated drives over the prediction that was measured for reads, plus a margin for the draws.
    assert!(
        (0.4..=0.47).contains(&one.low_ratio) && (1.97..2.2).contains(&one.high_ratio),
        "{one:?}"
    );
}

#[test]
fn budgets_add_up_where_long_reads_find_a_part_read_ahead() {
    let library = Library::built_in();
    let system = assemble(&library, "samsung-990-pro-2tb@raspberry-pi-5:m2", &[]).unwrap();
    let test = lanemark_schema::workload::Test::sequential_read("1 MiB")
        .queue_depth(8)
        .span("4 GiB")
        .duration("200 ms")
        .build()
        .unwrap();
    let key = lanemark_schema::rng::StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
    let sample = lanemark_sim::run_test(&system.spec, &test, key).unwrap();
    let hops = &sample.path.as_ref().unwrap().hops;
    let budget: f64 = hops.iter().map(|hop| hop.wait_ns + hop.service_ns).sum();
    assert!((budget / sample.latency_mean_ns() - 1.0).abs() < 1e-3, "{budget}");
}
