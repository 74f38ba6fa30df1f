//! For any request from a page, the answer is figures or an error. The names, values, tests and faults are random.

mod client;

use std::time::Duration;

use lanemark_lab::{CancelFlag, Lab};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_study::library::LibraryKind;
use lanemark_study::{Library, Study};
use lanemark_ui::request::{AssembledSystem, MEMORY, OffsetOrder, SystemRequest, TestRequest};
use lanemark_ui::simulation::{Simulation, StepReport};
use lanemark_ui::{listing, saved, workload_run};

const QUESTIONS: u32 = 150;
/// Maximum time for one question.
const PATIENCE: Duration = Duration::from_millis(150);

const VALUES: [&str; 16] = [
    "0",
    "1",
    "3",
    "16",
    "-1",
    "1e9",
    "",
    "60 us",
    "0 ns",
    "1000 h",
    "1 GB/s",
    "1 B/s",
    "100%",
    "4 KiB",
    "\u{1f600}",
    "99999999999999999999",
];
const BLOCKS: [&str; 8] = ["512 B", "4 KiB", "128 KiB", "1 MiB", "64 MiB", "0 B", "3 KiB", "x"];
const SPANS: [&str; 6] = ["1 GiB", "64 MiB", "512 B", "0 B", "100 TB", "-1 GiB"];
const FAULTS: [&str; 5] =
    ["power-cut at=1ms boot=1ms", "media-error range=0B..1GiB", "port-loss at=1ms", "nonsense", ""];

fn pick<'t, T>(rng: &mut Rng, from: &'t [T]) -> &'t T {
    &from[(rng.unit() * from.len() as f64) as usize % from.len()]
}

#[test]
fn any_question_has_an_answer() {
    let library = Library::built_in();
    let listed = [LibraryKind::Drive, LibraryKind::Platform, LibraryKind::Host]
        .map(|kind| library.names(kind));
    let [drives, platforms, hosts] = &listed;
    let all: serde_json::Value = serde_json::to_value(listing::listing(&library)).unwrap();
    let ports = |platform: &str| -> Vec<String> {
        let own = all["platforms"].as_array().unwrap().iter().find(|one| one["id"] == platform);
        let ports = own.unwrap()["ports"].as_array().unwrap().iter();
        ports.map(|port| port["name"].as_str().unwrap().to_owned()).collect()
    };
    let plain =
        |name: &str| SystemRequest { system: name.to_owned(), set: Vec::new(), faults: Vec::new() };
    let mut rng = Rng::new(StreamKey { seed: 17, test: 0, repeat: 0, thread: 0 });
    let mut figures = 0;
    let mut errors = 0;
    for _ in 0..QUESTIONS {
        let mut name = String::new();
        // Most drives do not fit most ports, so several ports are tried.
        for _ in 0..6 {
            let platform = pick(&mut rng, platforms);
            let is_hosted = rng.unit() < 0.2;
            let host =
                if is_hosted { format!(",{}", pick(&mut rng, hosts)) } else { String::new() };
            let drive = pick(&mut rng, drives);
            let ports = ports(platform);
            name = format!("{drive}@{platform}{host}:{}", pick(&mut rng, &ports));
            if plain(&name).assemble(&library).is_ok() {
                break;
            }
        }
        if rng.unit() < 0.2 {
            name += *pick(&mut rng, &["+", "|", ":", "@", "+x", "stripe:", "\u{0}"]);
        }
        let mut set = Vec::new();
        if let Ok(assembled) = plain(&name).assemble(&library)
            && rng.unit() < 0.6
        {
            for _ in 0..3 {
                let record = pick(&mut rng, &assembled.system.values);
                set.push((record.parameter.clone(), (*pick(&mut rng, &VALUES)).to_owned()));
            }
        }
        let some_fault = rng.unit() < 0.2;
        let faults =
            some_fault.then(|| (*pick(&mut rng, &FAULTS)).to_owned()).into_iter().collect();
        let system = SystemRequest { system: name, set, faults };
        let is_odd = rng.unit() < 0.3;
        let mut of = |usual: usize, all: usize| {
            let end = if is_odd { all } else { usual };
            (rng.unit() * end as f64) as usize % end
        };
        let test = TestRequest {
            block: BLOCKS[of(5, 8)].to_owned(),
            pattern: [OffsetOrder::Sequential, OffsetOrder::Random][of(2, 2)],
            read_percent: [0.0, 33.3, 100.0, -1.0, f64::NAN][of(3, 5)],
            queue_depth: [1, 2, 32, 1024, 0, u32::MAX][of(3, 6)],
            threads: [1, 4, 0, 4096][of(2, 4)],
            span: SPANS[of(2, 6)].to_owned(),
            ..TestRequest::default()
        };
        if answer(&system, &test, &library) { figures += 1 } else { errors += 1 }
    }
    assert!(figures > 10 && errors > 20, "{figures} with figures and {errors} with errors");
}

/// Saves a question as a study with the same system.
fn can_be_saved(
    system: &SystemRequest,
    test: &TestRequest,
    assembled_system: &AssembledSystem,
    library: &Library,
) {
    let text = saved::study(library, std::slice::from_ref(system), test, &test.read().unwrap());
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = text.unwrap();
    std::fs::write(&file, &text).unwrap();
    let study = Study::open(library, file.path()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (_, again, workload) = study.systems().next().unwrap();
    assert_eq!(again.with_memory(MEMORY).spec, assembled_system.system.spec, "{text}");
    assert_eq!(workload.faults, assembled_system.faults, "{text}");
}

/// Returns whether a question has figures and no error.
fn answer(system: &SystemRequest, test: &TestRequest, library: &Library) -> bool {
    let (Ok(_), Ok(own)) = (test.read(), system.assemble(library)) else { return false };
    can_be_saved(system, test, &own, library);
    assert!(!listing::values(&own.system).is_empty());
    let cancel = CancelFlag::default();
    let timer = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        timer.cancel();
    });
    let lab = Lab { cancel, ..Lab::default() };
    let Ok(mut simulation) = Simulation::new(library, &lab, system, test) else { return false };
    let mut has_figures = false;
    loop {
        match simulation.step(library, &lab) {
            Ok(Some(StepReport::Figures { figures, .. })) => {
                assert!(figures.iops.is_finite() && figures.megabytes_per_second.is_finite());
                assert!(figures.hops.iter().all(|hop| hop.utilisation <= 1.0 + 1e-9));
                has_figures = true;
            }
            Ok(_) => return has_figures,
            Err(_) => return false,
        }
    }
}

/// Returns a file derived from a valid file: bytes are changed, removed or duplicated.
fn spoilt(rng: &mut Rng, good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        let end = (at + 1 + rng.below(40) as usize).min(bytes.len());
        match rng.below(5) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => bytes[at] = *pick(rng, b"0123456789-.eE"),
            2 => drop(bytes.splice(at..end, [])),
            3 => {
                let again = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, again));
            }
            _ => {
                let value =
                    *pick(rng, &["null", "-1", "1e308", "18446744073709551615", "\"x\"", "[]"]);
                // Replaces the next number, if there is one.
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                let Some(from) = bytes[at..].iter().position(is_digit) else { continue };
                let from = at + from;
                let length = bytes[from..].iter().take_while(|byte| is_digit(byte)).count();
                drop(bytes.splice(from..from + length, value.bytes()));
            }
        }
        if bytes.is_empty() {
            return bytes;
        }
    }
    bytes
}

#[test]
fn any_file_is_summarised_or_refused() {
    let good = client::run_file().into_bytes();
    let mut rng = Rng::new(StreamKey { seed: 18, test: 0, repeat: 0, thread: 0 });
    let library = lanemark_study::Library::built_in();
    let mut answered = 0;
    let mut refused = 0;
    for _ in 0..3000 {
        match lanemark_ui::result_file::read(&library, spoilt(&mut rng, &good)) {
            Ok(file) => {
                let text = serde_json::to_string(&file).unwrap();
                // A number that is not finite would reach the page as `null`.
                assert!(!text.contains("\"value\":null") && !text.contains("[null"), "{text}");
                answered += 1;
            }
            Err(error) => {
                assert!(error.message.starts_with("the file"), "{}", error.message);
                refused += 1;
            }
        }
    }
    assert!(answered > 50 && refused > 300, "{answered} answered and {refused} refused");
}

#[test]
fn workloads_that_are_more_than_a_moment_are_left_to_the_command_line() {
    let library = Library::built_in();
    assert!(workload_run::open(&library, "quick").is_ok());
    for name in ["oltp-hammerdb-1000", "../../etc/passwd", "./own.toml", ""] {
        assert!(workload_run::open(&library, name).is_err(), "{name}");
    }
}
