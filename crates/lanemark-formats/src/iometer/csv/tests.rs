//! Tests of the rows in Iometer's results files.

use lanemark_schema::units::Duration;

use super::*;

const COLUMNS: &str = "'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,\
    Average Read Response Time,Average Write Response Time,Maximum Read Response Time,Maximum Write Response Time,\
    Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os,Maximum Size,Queue Depth";

/// Returns a file with two specifications and these rows of results.
fn file(stamp: &str, rows: &[&str]) -> String {
    format!(
        "'Version\n1.1.0 \n'Time Stamp\n{stamp}\n'Access specifications\n\
         'Access specification name,default assignment\n4K mix,NONE\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n4096,100,75,100,0,1,0,0\n\
         'Access specification name,default assignment\nin order,ALL\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n65536,100,100,0,0,1,0,0\n\
         'Access specification name,default assignment\ntwo sizes,NONE\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n4096,50,100,100,0,1,0,0\n8192,50,100,100,0,1,0,0\n\
         'End access specifications\n'Results\n{COLUMNS}\n{}\n'Time Stamp\n2030-01-01T00:00:00Z\n",
        rows.join("\n")
    )
}

fn read(rows: &[&str]) -> ReportedRun {
    super::read(&file("2024-03-05T06:07:08Z", rows), "r.csv").unwrap()
}

#[test]
fn a_row_of_all_is_a_test_with_its_figures_and_its_specification() {
    let run = read(&[
        "ALL,All,4K mix,1,2,3,1000,0.25,0.5,7,9,5,12288000,4096000,3000,1000,2048,",
        "WORKER,w,4K mix,,1,1,,,,,,,,,,,,16",
        "DISK,C:,4K mix,,,,,,,,,,,,,,,",
        "DISK,D:,4K mix,,,,,,,,,,,,,,,",
        "ALL,All,in order,1,1,1,0,0,0,0,0,0,0,0,0,0,,4",
        "ALL,All,two sizes,1,,,500,,,,,0,512000,0,1000,0,0.5,0",
        "ALL,All,unknown,1,1,1,500,,,,,0,512000,0,1000,0,3,8",
    ]);
    assert_eq!((run.program.as_str(), run.path.as_deref()), ("Iometer 1.1.0", None));
    // The timestamp is 2024-03-05 06:07:08 UTC.
    assert_eq!((run.timestamp, run.notes.len()), (Some(1_709_618_828), 0));
    let [mix, order, two, unknown] = &run.tests[..] else { panic!("{:?}", run.tests) };
    assert_eq!(mix.name, "4K mix");
    assert_eq!((mix.pattern.clone(), mix.block), (Some(Pattern::Uniform), Some(Bytes(4096))));
    assert_eq!((mix.read_share, mix.threads), (Ratio::new(0.75), Some(2)));
    assert_eq!((mix.queue_depth, mix.span), (Some(16), Some(Bytes(2048 * 512))));
    // 4,000 requests at 1,000 requests a second take four seconds.
    assert_eq!(mix.sample.elapsed, Duration::from_seconds(4));
    let reads = mix.sample.reads.as_ref().unwrap();
    let writes = mix.sample.writes.as_ref().unwrap();
    assert_eq!((reads.bytes, reads.latency.count()), (Bytes(12_288_000), 3_000));
    assert_eq!((reads.latency.mean_ns(), reads.latency.max_ns()), (250_000.0, Some(7_000_000)));
    assert_eq!((writes.bytes, writes.latency.count()), (Bytes(4_096_000), 1_000));
    assert_eq!((writes.latency.mean_ns(), writes.latency.max_ns()), (500_000.0, Some(9_000_000)));
    assert_eq!(mix.sample.errors.total(), 5);
    assert_eq!((order.pattern.clone(), order.queue_depth), (Some(Pattern::Sequential), Some(4)));
    assert_eq!((order.sample.elapsed, order.sample.reads.is_none()), (Duration::ZERO, true));
    assert_eq!((order.span, order.sample.errors.total()), (None, 0));
    // For a mix of sizes, and for an unknown specification, nothing is stated.
    for (test, depth, span) in [(two, None, None), (unknown, Some(8), Some(Bytes(1536)))] {
        assert_eq!((test.pattern.clone(), test.block, test.read_share), (None, None, None));
        assert_eq!((test.queue_depth, test.span), (depth, span), "{}", test.name);
    }
}

#[test]
fn workers_of_different_depths_or_several_targets_leave_the_depth_open() {
    let depth = |workers: &[(&str, &str)]| {
        let all =
            "ALL,All,4K mix,1,2,3,1000,0.25,0.5,7,9,0,12288000,4096000,3000,1000,2048,".to_owned();
        let worker = |(disks, depth): &(&str, &str)| {
            format!("WORKER,w,4K mix,,1,{disks},,,,,,,,,,,,{depth}")
        };
        let rows: Vec<String> = std::iter::once(all).chain(workers.iter().map(worker)).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        read(&rows).tests[0].queue_depth
    };
    assert_eq!(depth(&[]), None);
    assert_eq!(depth(&[("1", "4"), ("1", "4")]), Some(4));
    assert_eq!(depth(&[("", "4")]), Some(4));
    assert_eq!(depth(&[("1", "4"), ("1", "5")]), None);
    assert_eq!(depth(&[("2", "4")]), None);
    assert_eq!(depth(&[("1", "1"), ("1", "0"), ("9", "")]), Some(1), "idle workers do not count");
}

#[test]
fn a_time_without_its_zone_is_a_note_and_the_first_time_counts() {
    let row = "ALL,All,4K mix,1,2,3,1000,0.25,0.5,7,9,0,12288000,4096000,3000,1000,2048,3";
    let run = super::read(&file("2024-03-05 06:07:08", &[row]), "r.csv").unwrap();
    assert_eq!(run.timestamp, None);
    let note = "r.csv: its time, 2024-03-05 06:07:08, is omitted because it lacks a time zone";
    assert_eq!(run.notes, [note]);
    let headless = format!("{COLUMNS}\n{row}\n");
    let run = super::read(&headless, "r.csv").unwrap();
    assert_eq!((run.timestamp, run.notes.len(), run.tests.len()), (None, 0, 1));
    assert_eq!(run.path, None);
    assert!(is_ours(&headless) && is_ours(&format!("x\n\u{feff}{headless}")));
    assert!(!is_ours(&headless.replace("'Target", "Target")));
}

#[test]
fn a_specification_of_one_line_must_be_whole() {
    for (line, wanted) in [
        ("4096,100,75,100,0,1,0,0", Some((4096, 75.0, 100.0))),
        ("512,100,0,0,0", Some((512, 0.0, 0.0))),
        ("67108864, 100, 100, 33, 0, 1", Some((67_108_864, 100.0, 33.0))),
        ("67109376,100,75,100,0", None),
        ("256,100,75,100,0", None),
        ("1000,100,75,100,0", None),
        ("4096,99,75,100,0", None),
        ("4096,100,101,100,0", None),
        ("4096,100,-1,100,0", None),
        ("4096,100,75,100,1", None),
        ("4096,100,75,100", None),
        ("4096,100,x,100,0", None),
    ] {
        let found = specification(line).map(|one| (one.block, one.reads, one.random));
        assert_eq!(found, wanted, "{line}");
    }
}

#[test]
fn a_row_without_a_figure_is_an_error_with_its_line() {
    let rows = ["ALL,All,4K mix,1,2,3,x,0.25,0.5,7,9,0,12288000,4096000,3000,1000,2048,3"];
    let error = super::read(&file("now", &rows), "r.csv").unwrap_err().to_string();
    assert!(
        error.starts_with("r.csv:22: the row contains no number in the column `IOps`"),
        "{error}"
    );
    let columns: Vec<&str> = COLUMNS.trim_start_matches('\'').split(',').collect();
    let cells = ["a", "", "-1", "inf", "2.5"];
    let row = CsvRow { columns: &columns, cells: &cells };
    assert_eq!((row.text("Target Type"), row.text("Target Name")), (Some("a"), None));
    let numbers = ["Access Specification Name", "# Managers", "# Workers", "# Disks", "None"]
        .map(|name| row.number(name));
    assert_eq!(numbers, [None, None, Some(2.5), None, None]);
}
