//! `lanemark plan life` as a user sees it: workloads, traces, SMART reports, and drives without a rating.

use std::fs;
use std::path::Path;

use lanemark_testbed::lanemark;
use serde_json::{Value, json};

const CLIENT: &str = "samsung-980-pro-1tb@workstation-x570:m2";
const ENTERPRISE: &str = "samsung-pm983-1920gb@workstation-x570:m2";
/// A drive without a rated endurance.
const UNRATED: &str = "wd-blue-sa510-1tb@workstation-z170:sata";

fn plan(folder: &Path, args: &[&str]) -> Value {
    let all = [&["plan", "life", "--json"], args].concat();
    serde_json::from_str(&lanemark!(folder, &all).stdout()).unwrap()
}

fn answer(plan: &Value) -> &str {
    plan["answer"].as_str().unwrap()
}

fn step(plan: &Value, name: &str) -> f64 {
    let mut steps = plan["steps"].as_array().unwrap().iter();
    steps.find(|step| step["name"] == name).unwrap()["value"].as_f64().unwrap()
}

/// Returns the write amplification of the load.
fn amplification(plan: &Value, daily_gigabytes: f64) -> f64 {
    step(plan, "flash writes a day") / daily_gigabytes
}

fn life(plan: &Value) -> [f64; 3] {
    ["low", "value", "high"].map(|end| plan["life_years"][end].as_f64().unwrap())
}

/// Writes a SMART report of the client drive on a day.
fn report(folder: &Path, name: &str, day: u64, terabytes: f64, used: u64) {
    let units = (terabytes * 1e12 / 512_000.0) as u64;
    let report = json!({"json_format_version": [1, 0], "model_name": "Samsung SSD 980 PRO 1TB", "serial_number": "S",
        "local_time": {"time_t": 1_700_000_000 + day * 86_400}, "power_on_time": {"hours": 8766},
        "nvme_smart_health_information_log": {"data_units_written": units, "percentage_used": used}});
    fs::write(folder.join(name), report.to_string()).unwrap();
}

#[test]
fn a_workload_s_life_follows_from_its_rate_and_its_amplification() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let given = plan(here, &[CLIENT, "jesd219-enterprise", "--per-day", "40GB"]);
    let amplified = amplification(&given, 40.0);
    // The enterprise workload on a full drive with 7% to 10% of spare flash.
    assert!((3.0..7.0).contains(&amplified), "{amplified}");
    let [low, value, high] = life(&given);
    let wanted = 600.0 * 2.83 * 1e3 / (40.0 * amplified) / 365.25;
    assert!((value / wanted - 1.0).abs() < 1e-9 && low < value && value < high, "{given}");
    assert!(answer(&given).starts_with("Samsung SSD 980 PRO 1TB: "), "{}", answer(&given));
    assert!(answer(&given).contains(" at 40 GB a day and a write amplification of "));
    assert_eq!(given["rating"]["terabytes_written"], 600.0);
    assert!(
        given["sources"][0].as_str().unwrap().contains("https://")
            || given["sources"][0].as_str().unwrap().contains("http://")
    );
    // A closed loop writes as fast as it can.
    let fastest = plan(here, &[CLIENT, "jesd219-enterprise"]);
    assert!(life(&fastest)[1] < value / 100.0, "{fastest}");
    assert!((step(&fastest, "flash writes a day") / amplified) > 4_000.0, "{fastest}");
    assert!(fastest["sources"].to_string().contains("as fast as it can"), "{fastest}");
}

#[test]
fn the_rated_load_lives_as_long_as_the_rating() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let given = plan(here, &[ENTERPRISE, "jesd219-enterprise", "--per-day", "2TB"]);
    // 1.3 drive writes per day of 1,920 GB over 3 years.
    let rated = 1.3 * 1920.0 * 365.0 * 3.0 / 2e3 / 365.25;
    let [low, value, high] = life(&given);
    assert!((value / rated - 1.0).abs() < 1e-9 && low == value && value == high, "{given}");
    // Writes in order cause less wear than the rated load, which is simulated on the same drive.
    let ordered = plan(here, &[ENTERPRISE, "quick:seq1m-q8t1-write", "--per-day", "2TB"]);
    let amplified = amplification(&given, 2e3);
    assert!((life(&ordered)[1] / value / amplified - 1.0).abs() < 0.01, "{ordered}");
    // 3D XPoint is overwritten in place.
    let xpoint = "intel-optane-905p-960gb@workstation-x570:m2";
    let in_place = plan(here, &[xpoint, "jesd219-enterprise", "--per-day", "1TB"]);
    let whole = 17_520.0 / 365.25;
    assert!((life(&in_place)[1] / whole - 1.0).abs() < 0.01, "{in_place}");
}

#[test]
fn a_trace_writes_its_bytes_in_its_span() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // 11 writes of 64 KiB in 10 s.
    let lines: String =
        (0..11).map(|second| format!("{second}.0,W,{},65536\n", second * 65_536)).collect();
    fs::write(here.join("t.csv"), format!("time_s,op,offset,size\n{lines}")).unwrap();
    let given = plan(here, &[CLIENT, "t.csv"]);
    let daily = 11.0 * 65_536.0 / 1e9 * 8_640.0;
    assert!(answer(&given).contains(" at 6.2 GB a day"), "{}", answer(&given));
    // A short trace does not reach its own steady state: its amplification is between 1 and a random load's.
    let [low, value, high] = life(&given);
    let amplified = amplification(&given, daily);
    assert!((1.5..3.0).contains(&amplified), "{amplified}");
    assert!(low < value / amplified.sqrt() && value * amplified <= high, "{given}");
    assert!(given["sources"].to_string().contains("less than the drive holds"), "{given}");
    let reads = "0.0,R,0,4096\n1.0,R,0,4096\n";
    fs::write(here.join("r.csv"), format!("time_s,op,offset,size\n{reads}")).unwrap();
    lanemark!(here, &["plan", "life", CLIENT, "r.csv"])
        .fails_saying(2, "does not show a rate of writes");
}

#[test]
fn the_load_of_iostat_covers_the_drive_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let load = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/iostat.txt");
    let plan = plan(folder.path(), &[CLIENT, load]);
    // The mean of 8,389.62 and 10,154.40 KiB written a second.
    assert!(answer(&plan).contains(" at 821 GB a day"), "{plan}");
    let compared = lanemark!(folder.path(), &["compare", CLIENT, ":m2-2", "--workload", load]);
    assert!(compared.stdout().contains("a request takes"), "the rates are given");
}

#[test]
fn smart_reports_state_the_writes_and_the_wear() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    report(here, "a.json", 0, 180.0, 60);
    report(here, "b.json", 30, 183.0, 61);
    let both = ["--smart", "a.json", "--smart", "b.json"];
    let given = plan(here, &both);
    assert!(answer(&given).contains("at 100 GB a day"), "{}", answer(&given));
    assert!(answer(&given).contains("with 61% of its endurance used"), "{}", answer(&given));
    // 61% of the flash writes took 183 TB, so the rest takes 183 TB x 39 / 61.
    let rest = 183.0 * 39.0 / 61.0 * 1e3 / 100.0 / 365.25;
    let value = life(&given)[1];
    assert!((value / rest - 1.0).abs() < 1e-6, "{value}, not {rest}");
    // The power-on hours are one year.
    assert_eq!(step(&given, "warranty ends in"), 4.0);
    let one = plan(here, &["--smart", "b.json"]);
    assert!(
        answer(&one).contains(&format!("at {:.0} GB a day", 183e3 / 365.25)),
        "{}",
        answer(&one)
    );
    // A workload replaces the amplification, but not the writes and the wear.
    let with_load = plan(here, &[&[CLIENT, "jesd219-enterprise"], &both[..]].concat());
    let wanted = 0.39 * 600.0 * 2.83 / step(&with_load, "flash writes a day") * 1e3 / 365.25;
    assert!((life(&with_load)[1] / wanted - 1.0).abs() < 1e-6, "{with_load}");
    report(here, "old.json", 60, 700.0, 104);
    let old = plan(here, &["--smart", "old.json"]);
    assert!(answer(&old).contains("used up") && answer(&old).contains("104%"), "{}", answer(&old));
}

#[test]
fn missing_and_hostile_inputs_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let fails = |args: &[&str]| lanemark!(here, &[&["plan", "life"], args].concat()).fails_with(2);
    let unrated = fails(&[UNRATED, "quick:seq1m-q8t1-write"]);
    assert!(
        unrated.contains("no endurance rating for ") && unrated.contains("--tbw 600TB"),
        "{unrated}"
    );
    report(here, "a.json", 0, 10.0, 0);
    let other = fails(&[UNRATED, "--smart", "a.json", "--tbw", "300TB"]);
    assert!(other.contains("describes a drive of the model"), "{other}");
    // A model that the library does not contain may be the drive.
    let text = fs::read_to_string(here.join("a.json")).unwrap().replace("980 PRO", "OEM");
    fs::write(here.join("a.json"), text).unwrap();
    let given = plan(here, &[UNRATED, "--smart", "a.json", "--tbw", "300TB"]);
    assert_eq!((step(&given, "rated writes"), given.get("rating")), (300.0, None));
    fs::write(
        here.join("deep.json"),
        format!("{{\"json_format_version\": {}", "[".repeat(100_000)),
    )
    .unwrap();
    fs::write(here.join("none.json"), "{\"json_format_version\": [1, 0], \"model_name\": \"X\"}")
        .unwrap();
    report(here, "worn.json", 0, 0.002, 60);
    for (args, part) in [
        (&["--smart", "worn.json"][..], "0.002 TB written used 60% of an endurance of 600 TB"),
        (&["--smart", "deep.json"], "not JSON"),
        (&["--smart", "none.json"], "written data is not stated"),
        (&["--smart", "absent.json"], "absent.json"),
        (&[CLIENT, "quick"], "several tests"),
        (&[CLIENT, "quick:seq1m-q8t1-read"], "writes nothing"),
        (&["seagate-barracuda-1tb@workstation-z170:sata", "quick"], "does not contain flash"),
        (&["samsung-980-pro-1tb@workstation-x570:m2+m2-2", "quick"], "several drives"),
        (&[CLIENT, "jesd219-enterprise", "--per-day", "0B"], "writes a day"),
        (&[CLIENT, "jesd219-enterprise", "--speed", "2x"], "applies only to a trace"),
        (&[CLIENT], "required"),
    ] {
        let error = fails(args);
        assert!(error.contains(part), "{args:?}: {error}");
    }
    let mut report = json!({"json_format_version": [1, 0], "model_name": "Unheard Of 9000",
        "power_on_time": {"hours": 10}, "nvme_smart_health_information_log": {"data_units_written": 9e9}});
    fs::write(here.join("other.json"), report.to_string()).unwrap();
    assert!(fails(&["--smart", "other.json"]).contains("no library drive of the model"), "model");
    report["nvme_smart_health_information_log"]["data_units_written"] = json!(1e300);
    fs::write(here.join("huge.json"), report.to_string()).unwrap();
    assert!(fails(&[CLIENT, "--smart", "huge.json"]).contains("at most 10^12"), "bound");
}
