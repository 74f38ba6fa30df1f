//! Tests of energy and power states as text.

use lanemark_schema::result::{EnergyPart, PlatformPower, PowerStateUse, Sample};

use super::*;
use crate::run_tests::{reads, run, test};

/// Returns a repeat of 100 requests of 4 KiB in a tenth of a second, during which the drives used `watts`.
fn repeat(watts: f64, drives: u32, reached: Option<u64>, base_watts: Option<f64>) -> Sample {
    let elapsed = Duration::from_microseconds(100_000);
    let part = |name: &str, share: f64| EnergyPart {
        name: name.to_owned(),
        energy_joules: watts * share * 0.1,
    };
    let state = |name: &str, microseconds: u64, reached| PowerStateUse {
        name: name.to_owned(),
        time: Duration::from_microseconds(microseconds) * u64::from(drives),
        reached,
    };
    let energy = EnergyUse {
        elapsed,
        drives,
        energy_joules: watts * 0.1,
        power_mean_watts: watts,
        parts: vec![part("controller", 0.75), part("flash", 0.25), part("none", 0.0)],
        states: vec![state("working", 60_000, None), state("slumber", 40_000, reached)],
        platform: base_watts
            .map(|base_watts| PlatformPower { base_watts, battery_hours: Some(6.5) }),
    };
    Sample { energy: Some(energy), ..reads(100, 4, &[50; 100]) }
}

fn texts(table: &Table) -> Vec<Vec<String>> {
    let cells =
        |row: &crate::text::table::Row| row.cells.iter().map(|cell| cell.text.clone()).collect();
    table.rows.iter().map(cells).collect()
}

#[test]
fn the_power_of_drives_is_reported_with_its_efficiency() {
    let text_of = |samples| sentence(&test("a", samples));
    // 409,600 bytes and 100 requests need 0.4 J.
    let efficiency = "4.00 W: 977 J for 10^9 bytes, 250 requests a second per watt.";
    let alone = vec![repeat(3.0, 1, None, None), repeat(5.0, 1, None, None)];
    let text = text_of(alone).unwrap();
    assert!(text.starts_with("The drive uses 4.00 W: ") && text.ends_with("per watt."), "{text}");
    let text = text_of(vec![repeat(4.0, 3, None, Some(8.2))]).unwrap();
    let platform = "The platform uses another 8.20 W, and its battery lasts 6.50 hours.";
    assert_eq!(text, format!("The 3 drives use {efficiency} {platform}"));
    assert_eq!(text_of(vec![reads(10, 4, &[50])]), None);
    let mut unmetered = repeat(4.0, 1, None, None);
    unmetered.energy.as_mut().unwrap().elapsed = Duration::ZERO;
    assert_eq!(text_of(vec![unmetered]), None);
}

#[test]
fn parts_and_states_are_means_over_the_repeats() {
    let result = test("a", vec![repeat(3.0, 2, Some(3), None), repeat(5.0, 2, Some(4), None)]);
    let wanted =
        [["controller", "3.00", "75.0%"], ["flash", "1.00", "25.0%"], ["all", "4.00", "100.0%"]];
    assert_eq!(texts(&parts(&result)), wanted);
    assert!(
        parts(&result).rows[2].ruled && parts(&result).rows[2].cells[0].ink == CellEmphasis::Strong
    );
    let wanted = [["working", "60.0%", ABSENT_COUNT], ["slumber", "40.0%", "3.5"]];
    assert_eq!(texts(&states(&result)), wanted);
    assert_eq!([3.0, 3.5].map(count), ["3", "3.5"]);
}

/// The text for a state whose entries are not counted.
const ABSENT_COUNT: &str = crate::text::number::ABSENT;

#[test]
fn tests_of_several_runs_are_rows() {
    let one = run(vec![
        test("a", vec![repeat(4.0, 1, None, None)]),
        test("b", vec![reads(10, 4, &[50])]),
    ]);
    let other = run(vec![test("a", vec![repeat(2.0, 1, None, None)])]);
    let table = by_test(&[("A", &one), ("B", &other)]).unwrap();
    let wanted =
        [["a", "A", "4.00", "60.0%", "977", "250"], ["a", "B", "2.00", "60.0%", "488", "500"]];
    assert_eq!(texts(&table), wanted);
    assert!(!table.rows[0].cells[0].repeated && table.rows[1].cells[0].repeated);
    assert!(by_test(&[("A", &run(vec![test("b", vec![reads(10, 4, &[50])])]))]).is_none());
}
