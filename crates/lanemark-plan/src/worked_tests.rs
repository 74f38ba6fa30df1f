//! Worked examples of every plan, computed by hand, and the bounds of every input.

use super::{Battery, Costs, Fleet, Node, Plan, PlanError, Stream, Video};
use lanemark_schema::units::BytesPerSecond;

/// Returns the steps of a plan: name, formula, value and unit.
fn steps(plan: &Plan) -> Vec<(&str, &str, f64, &str)> {
    let text = plan.steps.iter();
    text.map(|step| (step.name.as_str(), step.formula.as_str(), step.value, step.unit.as_str()))
        .collect()
}

/// Returns the error message, or the answer of a plan.
fn error(found: Result<Plan, PlanError>) -> String {
    found.map_or_else(|error| error.to_string(), |plan| format!("accepted: {}", plan.answer))
}

const BATTERY: Battery =
    Battery { system_watts: 10.0, hours: 4.0, drive_watts: 5.0, other_watts: 3.0 };

#[test]
fn a_battery_of_40_watt_hours_lasts_by_the_power_of_the_whole_computer() {
    let plan = BATTERY.plan().unwrap();
    assert_eq!(
        steps(&plan),
        [
            ("energy of the battery", "10 W x 4 h", 40.0, "Wh"),
            ("all but the drive", "10 - 5 W", 5.0, "W"),
            ("with the other drive", "5.000 + 3 W", 8.0, "W"),
            ("new battery life", "40.00 Wh / 8.000 W", 5.0, "h"),
            ("difference", "(5.000 - 4 h) x 60", 60.0, "min"),
        ]
    );
    assert_eq!(plan.answer, "The battery lasts 5.00 h instead of 4.00 h: 60 minutes more.");
    for (drive_watts, other_watts, answer) in [
        // The battery stores 40 Wh, and the powers are 16 W, 10 W and 2 W.
        (5.0, 11.0, "The battery lasts 2.50 h instead of 4.00 h: 90 minutes less."),
        (5.0, 5.0, "The battery lasts 4.00 h instead of 4.00 h: 0 minutes more."),
        (8.0, 0.0, "The battery lasts 20.00 h instead of 4.00 h: 960 minutes more."),
        (0.0, 0.0, "The battery lasts 4.00 h instead of 4.00 h: 0 minutes more."),
        (0.0, 10.0, "The battery lasts 2.00 h instead of 4.00 h: 120 minutes less."),
    ] {
        assert_eq!(Battery { drive_watts, other_watts, ..BATTERY }.plan().unwrap().answer, answer);
    }
}

#[test]
fn each_input_of_a_battery_has_its_bounds() {
    const ABOVE_ZERO: &str = "must be above zero and at most 10^12";
    const NOT_NEGATIVE: &str = "must be zero or more and at most 10^12";
    for (battery, expected) in [
        (Battery { system_watts: 0.0, ..BATTERY }, format!("system power = 0: {ABOVE_ZERO}")),
        (
            Battery { system_watts: 2e12, ..BATTERY },
            format!("system power = 2000000000000: {ABOVE_ZERO}"),
        ),
        (Battery { hours: -0.5, ..BATTERY }, format!("battery life = -0.5: {ABOVE_ZERO}")),
        (Battery { hours: f64::NAN, ..BATTERY }, format!("battery life = NaN: {ABOVE_ZERO}")),
        (
            Battery { drive_watts: -0.5, ..BATTERY },
            format!("power of the drive = -0.5: {NOT_NEGATIVE}"),
        ),
        (
            Battery { other_watts: -0.5, ..BATTERY },
            format!("power of the other drive = -0.5: {NOT_NEGATIVE}"),
        ),
        (
            Battery { other_watts: 2e12, ..BATTERY },
            format!("power of the other drive = 2000000000000: {NOT_NEGATIVE}"),
        ),
        (
            Battery { drive_watts: 10.0, ..BATTERY },
            "power of the drive = 10: less than the system's power, which includes it".to_owned(),
        ),
    ] {
        assert_eq!(error(battery.plan()), expected);
    }
    for battery in [
        Battery { system_watts: 1e12, hours: 1e12, ..BATTERY },
        Battery { other_watts: 1e12, ..BATTERY },
        Battery { drive_watts: 9.75, ..BATTERY },
    ] {
        assert!(battery.plan().is_ok(), "{battery:?}");
    }
}

const VIDEO: Video = Video { width: 1000, height: 500, bits: 8, samples: 2.0, rate: 10.0 };

#[test]
fn a_video_of_one_megabyte_a_frame_needs_its_frames_in_megabytes() {
    let (plan, stream) = VIDEO.plan().unwrap();
    assert_eq!(
        steps(&plan),
        [
            ("pixels", "1000 x 500", 500_000.0, ""),
            ("a frame", "500000 x 2 x 8 bit / 8", 1.0, "MB"),
            ("a second", "1.000 MB x 10", 10.0, "MB/s"),
            ("an hour", "10.0 MB/s x 3600 s", 0.036, "TB"),
        ]
    );
    // Rates of 10 MB/s and more are whole megabytes, and lower rates keep their digits.
    assert_eq!(plan.answer, "10 MB/s, 0.04 TB an hour.");
    assert_eq!(stream, Stream { bytes_per_second: 1e7, streams: 1 });
    for (video, answer) in [
        (Video { rate: 9.5, ..VIDEO }, "9.5 MB/s, 0.0342 TB an hour."),
        (Video { bits: 16, ..VIDEO }, "20 MB/s, 0.07 TB an hour."),
        (Video { samples: 1.5, ..VIDEO }, "7.5 MB/s, 0.027 TB an hour."),
        (Video { height: 4000, rate: 50.0, ..VIDEO }, "400 MB/s, 1.44 TB an hour."),
    ] {
        assert_eq!(video.plan().unwrap().0.answer, answer);
    }
}

#[test]
fn each_input_of_a_video_has_its_bounds() {
    let error = |video: Video| error(video.plan().map(|(plan, _)| plan));
    for (video, expected) in [
        (Video { width: 0, ..VIDEO }, "width = 0: must be from 1 to 1,000,000 pixels"),
        (
            Video { width: 1_000_001, ..VIDEO },
            "width = 1000001: must be from 1 to 1,000,000 pixels",
        ),
        (Video { height: 0, ..VIDEO }, "height = 0: must be from 1 to 1,000,000 pixels"),
        (
            Video { height: 1_000_001, ..VIDEO },
            "height = 1000001: must be from 1 to 1,000,000 pixels",
        ),
        (Video { bits: 0, ..VIDEO }, "bits = 0: must be from 1 to 64"),
        (Video { bits: 65, ..VIDEO }, "bits = 65: must be from 1 to 64"),
        (Video { samples: 0.0625, ..VIDEO }, "samples = 0.0625: must be from 0.1 to 64 per pixel"),
        (Video { samples: 64.5, ..VIDEO }, "samples = 64.5: must be from 0.1 to 64 per pixel"),
        (
            Video { rate: 0.0005, ..VIDEO },
            "frames = 0.0005: must be from 0.001 to 1,000,000 a second",
        ),
        (
            Video { rate: 1_000_001.0, ..VIDEO },
            "frames = 1000001: must be from 0.001 to 1,000,000 a second",
        ),
    ] {
        assert_eq!(error(video), expected);
    }
}

#[test]
fn the_smallest_and_the_largest_video_have_finite_values() {
    let least = Video { width: 1, height: 1, bits: 1, samples: 0.1, rate: 0.001 };
    let most = Video { width: 1_000_000, height: 1_000_000, bits: 64, samples: 64.0, rate: 1e6 };
    for video in [least, most] {
        let plan = video.plan().unwrap().0;
        assert!(!plan.answer.starts_with("0 MB/s"), "{}", plan.answer);
        assert!(plan.steps.iter().all(|step| step.value.is_finite() && step.value > 0.0));
    }
}

#[test]
fn carriers_are_ordered_by_rate_and_keep_the_order_of_equal_rates() {
    let interfaces = [("b", 300), ("a", 300), ("slow", 100), ("none", 0), ("fast", 1000)]
        .map(|(name, rate)| (name.to_owned(), BytesPerSecond(rate)));
    let carried = |bytes_per_second: f64, streams: u32| -> Vec<(String, u64, f64)> {
        let all = Stream { bytes_per_second, streams }.carriers(interfaces.clone());
        all.into_iter().map(|one| (one.name, one.rate.0, one.streams)).collect()
    };
    let wanted = [
        ("none", 0, 0.0),
        ("slow", 100, 0.5),
        ("b", 300, 1.5),
        ("a", 300, 1.5),
        ("fast", 1000, 5.0),
    ]
    .map(|(name, rate, streams)| (name.to_owned(), rate, streams));
    // The number of streams that an interface carries does not depend on the planned number.
    assert_eq!(carried(200.0, 1), wanted);
    assert_eq!(carried(200.0, 4), wanted);
    // A stream without data does not lead to a division by zero.
    assert!(carried(0.0, 1).iter().all(|(_, _, streams)| streams.is_finite()));
}

fn node(name: &str, rate: f64, watts: f64, drive_price: f64) -> Node {
    Node { name: name.to_owned(), rate, watts, drive_price }
}

/// Returns a load of 100 for servers that are half free: 5 servers with a rate of 40, or 2 with a rate of 100, plus one
/// spare server.
fn fleet() -> Fleet {
    Fleet {
        demand: 100.0,
        unit: "tpm".to_owned(),
        spare_share: 0.5,
        spare_nodes: 1,
        present: node("SATA", 40.0, 500.0, 100.0),
        other: node("SAS", 100.0, 250.0, 200.0),
        costs: Costs {
            server_price: 1000.0,
            licence_price: 500.0,
            drives: 2,
            years: 1.0,
            energy_price: 0.25,
            overhead: 2.0,
        },
    }
}

const SATA: [(&str, &str, f64, &str); 3] = [
    ("servers with SATA", "100 / (40 x 50%) rounded up, + 1 spare", 6.0, ""),
    // 6 servers x 500 W x 2 are 6 kW.
    ("energy with SATA", "6 x 500 W x 1 a x 8766 h x 2", 52_596.0, "kWh"),
    // The cost is 6 x 1500 + 6 x 2 x 100 + 13149.
    ("cost with SATA", "6 x (1000 + 500 + 2 x 100) + 52596 x 0.25", 23_349.0, ""),
];
const SAS: [(&str, &str, f64, &str); 3] = [
    ("servers with SAS", "100 / (100 x 50%) rounded up, + 1 spare", 3.0, ""),
    // 3 servers x 250 W x 2 are 1.5 kW.
    ("energy with SAS", "3 x 250 W x 1 a x 8766 h x 2", 13_149.0, "kWh"),
    // The cost is 3 x 1500 + 3 x 2 x 200 + 3287.25.
    ("cost with SAS", "3 x (1000 + 500 + 2 x 200) + 13149 x 0.25", 8987.25, ""),
];

#[test]
fn a_fleet_of_faster_servers_saves_servers_energy_and_drives() {
    let plan = fleet().plan().unwrap();
    let mut wanted = [SATA, SAS].concat();
    wanted.extend([
        ("servers saved", "6 - 3", 3.0, ""),
        ("total saving", "23349 - 8987", 14_361.75, ""),
        // The other fleet costs 7787.25 without its drives.
        ("break-even drive price", "(23349 - 7787) / 6 drives", 2593.625, ""),
    ]);
    assert_eq!(steps(&plan), wanted);
    assert_eq!(
        plan.answer,
        "3 servers with SAS instead of 6 with SATA: 3 saved (50%), cost 8987 instead of 23349."
    );
    assert!(!plan.left_out.is_empty() && plan.of_example.is_empty());

    let plan = fleet().servers().unwrap();
    assert_eq!(
        steps(&plan),
        [
            SATA[0],
            ("ratio of the rates", "100 / 40", 2.5, ""),
            SAS[0],
            ("servers saved", "6 - 3", 3.0, "")
        ]
    );
    assert_eq!(plan.answer, "3 servers with SAS instead of 6 with SATA: 3 saved (50%).");
    let alike = Fleet { other: node("SAS", 45.0, 250.0, 200.0), ..fleet() };
    let answer = alike.servers().unwrap().answer;
    assert_eq!(answer, "6 servers with SAS instead of 6 with SATA: no servers saved (0%).");
}

#[test]
fn a_fleet_of_slower_servers_costs_more_even_with_free_drives() {
    let mut fleet = fleet();
    std::mem::swap(&mut fleet.present, &mut fleet.other);
    let plan = fleet.plan().unwrap();
    let mut wanted = [SAS, SATA].concat();
    wanted.extend([
        ("more servers", "6 - 3", 3.0, ""),
        ("additional cost", "23349 - 8987", 14_361.75, ""),
        // The other fleet costs 22149 without its drives, and the difference of 13161.75 is divided by 12 drives.
        (
            "excess cost, even if the drives are free",
            "(22149 - 8987) / 12 drives",
            1096.8125,
            "a drive",
        ),
    ]);
    assert_eq!(steps(&plan), wanted);
    assert_eq!(
        plan.answer,
        "6 servers with SATA instead of 3 with SAS: 3 more (100%), cost 23349 instead of 8987."
    );
    assert_eq!(
        fleet.servers().unwrap().answer,
        "6 servers with SATA instead of 3 with SAS: 3 more (100%)."
    );
}

/// Returns the name and value of each step that comes after the steps for the two kinds of server, and the answer.
fn outcome(fleet: &Fleet) -> (Vec<(String, f64)>, String) {
    let plan = fleet.plan().unwrap();
    let after = plan.steps[6..].iter().map(|step| (step.name.clone(), step.value)).collect();
    (after, plan.answer)
}

#[test]
fn only_known_prices_are_in_the_answer() {
    const SERVERS: &str = "3 servers with SAS instead of 6 with SATA: 3 saved (50%)";
    let priced = |present: f64, other: f64, drives: u32| {
        let mut fleet = fleet();
        fleet.costs = Costs { drives, years: 1.0, ..Costs::default() };
        (fleet.present.drive_price, fleet.other.drive_price) = (present, other);
        outcome(&fleet)
    };
    let wanted = |steps: &[(&str, f64)], answer: String| {
        let steps: Vec<(String, f64)> =
            steps.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        (steps, answer)
    };
    let saved = ("servers saved", 3.0);
    // The present fleet has 12 drives, and the other fleet has 6.
    for (found, expected) in [
        (
            priced(0.0, 0.0, 2),
            wanted(
                &[saved, ("total saving", 0.0), ("break-even drive price", 0.0)],
                format!("{SERVERS}."),
            ),
        ),
        (
            priced(0.0, 5.0, 2),
            wanted(
                &[saved, ("additional cost", 30.0), ("break-even drive price", 0.0)],
                format!("{SERVERS}, cost 30 instead of 0."),
            ),
        ),
        (
            priced(5.0, 0.0, 2),
            wanted(
                &[saved, ("total saving", 60.0), ("break-even drive price", 10.0)],
                format!("{SERVERS}, cost 0 instead of 60."),
            ),
        ),
        // Without drives, there is no drive price.
        (priced(5.0, 7.0, 0), wanted(&[saved, ("total saving", 0.0)], format!("{SERVERS}."))),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn each_input_of_a_fleet_has_its_bounds() {
    const ABOVE_ZERO: &str = "must be above zero and at most 10^12";
    const NOT_NEGATIVE: &str = "must be zero or more and at most 10^12";
    const YEARS: &str = "must be from 0.001 to 100";
    let check =
        |name: &str, change: fn(&mut Fleet, f64), bound: &str, ends: [f64; 2], past: [f64; 2]| {
            let with = |value: f64| {
                let mut fleet = fleet();
                change(&mut fleet, value);
                error(fleet.plan())
            };
            for value in past {
                assert_eq!(with(value), format!("{name} = {value}: {bound}"));
            }
            for value in ends {
                assert!(with(value).starts_with("accepted"), "{name}: {}", with(value));
            }
        };
    let shares: fn(&mut Fleet, f64) = |fleet, value| fleet.spare_share = value;
    check("spare share", shares, "from 0 to less than 1", [0.0, 0.875], [-0.25, 1.0]);
    let years: fn(&mut Fleet, f64) = |fleet, value| fleet.costs.years = value;
    check("years", years, YEARS, [0.001, 100.0], [0.0005, 100.5]);
    check("years", years, YEARS, [1.0, 2.0], [f64::NAN, -1.0]);
    let above_zero: [(&str, fn(&mut Fleet, f64)); 3] = [
        ("demand", |fleet, value| fleet.demand = value),
        ("rate of a server", |fleet, value| fleet.present.rate = value),
        ("rate of a server", |fleet, value| fleet.other.rate = value),
    ];
    for (name, change) in above_zero {
        check(name, change, ABOVE_ZERO, [0.5, 900.0], [0.0, 2e12]);
    }
    let from_zero: [(&str, fn(&mut Fleet, f64)); 8] = [
        ("server price", |fleet, value| fleet.costs.server_price = value),
        ("licence price", |fleet, value| fleet.costs.licence_price = value),
        ("energy price", |fleet, value| fleet.costs.energy_price = value),
        ("overhead", |fleet, value| fleet.costs.overhead = value),
        ("power of a server", |fleet, value| fleet.present.watts = value),
        ("power of a server", |fleet, value| fleet.other.watts = value),
        ("price of a drive", |fleet, value| fleet.present.drive_price = value),
        ("price of a drive", |fleet, value| fleet.other.drive_price = value),
    ];
    for (name, change) in from_zero {
        check(name, change, NOT_NEGATIVE, [0.0, 1e12], [-1.0, 2e12]);
    }
    // The limit is a billion servers.
    let mut fleet = fleet();
    (fleet.spare_share, fleet.present.rate, fleet.other.rate) = (0.0, 1.0, 1.0);
    fleet.demand = 1e9;
    assert_eq!(fleet.servers().unwrap().steps[0].value, 1_000_000_001.0);
    fleet.demand = 1_000_000_001.0;
    let expected = "servers needed = 1000000001: must be from 1 to 10^9";
    assert_eq!(error(fleet.servers()), expected);
    assert_eq!(error(fleet.plan()), expected);
    // The number of servers exceeds all bounds.
    fleet.spare_share = 1.0 - 1e-15;
    assert!(error(fleet.servers()).starts_with("servers needed"));
    fleet.demand = 0.0;
    assert_eq!(error(fleet.servers()), format!("demand = 0: {ABOVE_ZERO}"));
}

#[test]
fn a_load_of_whole_servers_takes_no_server_for_rounding() {
    for tenths in [0, 1, 3, 5, 7, 9] {
        for count in [1_u32, 2, 3, 7, 49, 10_000, 999_999] {
            let mut fleet = fleet();
            fleet.spare_share = f64::from(tenths) / 10.0;
            // `tenths` of a rate of 0.7 are free.
            let usable = 0.07 * f64::from(10 - tenths);
            fleet.present.rate = 0.7;
            fleet.other.rate = 1.4;
            let servers = |demand: f64| {
                let steps = Fleet { demand, ..fleet.clone() }.servers().unwrap().steps;
                (steps[0].value, steps[2].value)
            };
            let whole = f64::from(count);
            let half = f64::from(count.div_ceil(2));
            assert_eq!(servers(whole * usable), (whole + 1.0, half + 1.0), "{count}, {tenths}");
            let more = f64::from((count + 1).div_ceil(2));
            assert_eq!(
                servers((whole + 1e-3) * usable),
                (whole + 2.0, more + 1.0),
                "{count}, {tenths}"
            );
        }
    }
}
