//! A truth: a drive on two platforms, with values that are unknown to the model.
//!
//! A drive's times and rates are drawn log-uniformly within a factor of 2 of the values in its file; the model's own
//! 80% range of an assumed time is a factor of 1.4. The values of each host and each adapter are drawn independently,
//! and so are the other costs of the port. Half of the drives without a pseudo-SLC cache are used drives, which perform
//! garbage collection.

use lanemark_lab::{Lab, LabRun, assemble};
use lanemark_schema::result::{
    CpuUse, MeasuredTarget, Provenance, RunResult, Sample, Target, TestResult,
};
use lanemark_schema::rng::Rng;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Test, Workload};
use lanemark_sim::spec::MediaSpec;
use lanemark_study::library::LibraryKind;
use lanemark_study::{Library, System};

/// An error in a grid, whose drive is then reported and skipped.
pub(crate) type GridError = Box<dyn std::error::Error>;

/// Drives that are not ordinary flash drives, or that are reserved for other comparisons.
const OMITTED: [&str; 7] =
    ["unlimited", "generic", "imft", "eight-channels", "intel-optane", "seagate", "buffalo"];
/// Platforms that are not computers, or that represent data sheets.
const NO_HOSTS: [&str; 3] = ["ml505", "link-table", "data-sheet"];
/// Maximum factor between a true value and the value in the file.
const WIDE: f64 = 2.0;
/// Standard deviation of the logarithm of a measured figure.
pub(crate) const NOISE: f64 = 0.03;
/// Queue depths in a grid.
const DEPTHS: [u32; 4] = [1, 4, 16, 64];
/// Numbers of jobs in a grid.
const JOBS: [u32; 3] = [1, 8, 64];

/// Bounds of the share of random writes in all data that a used drive programs, in percent.
const USED: (f64, f64) = (5.0, 60.0);

/// Parameters of a drive that are drawn.
const OF_DRIVE: [&str; 8] = [
    "drive.front_end.read_time",
    "drive.front_end.write_time",
    "drive.front_end.read_latency",
    "drive.front_end.write_latency",
    "drive.flash.read",
    "drive.flash.program",
    "drive.flash.channel_rate",
    "drive.pseudo_slc.program",
];
/// Parameters of a platform that are drawn.
const OF_PLATFORM: [&str; 8] = [
    "platform.cpu.request_submit",
    "platform.cpu.request_complete",
    "platform.cpu.wake",
    "platform.ahci.driver_time",
    "platform.nvme.driver_time",
    "platform.sas.driver_time",
    "platform.sas.adapter.command_time",
    "platform.sas.adapter.crowded_time",
];

/// A platform's port with its true values.
pub(crate) struct PortTruth {
    pub(crate) platform_port: (String, String),
    settings: Vec<String>,
}

/// A drive on two platforms.
pub(crate) struct GroundTruthDrive {
    pub(crate) drive: String,
    pub(crate) drive_settings: Vec<String>,
    pub(crate) sides: [PortTruth; 2],
    /// The generic drive that the fit starts from.
    pub(crate) like: &'static str,
    /// The properties of the drive's connector that `lanemark inspect` reports.
    pub(crate) plug: Vec<(String, String)>,
}

impl GroundTruthDrive {
    /// Draws a drive that fits two or more ports, and draws two of these ports.
    pub(crate) fn draw(library: &Library, rng: &mut Rng) -> Result<Self, GridError> {
        let drives: Vec<String> = library
            .names(LibraryKind::Drive)
            .into_iter()
            .filter(|name| !OMITTED.iter().any(|out| name.starts_with(out)))
            // The values of a rated drive come from priors, and the values of a cloud volume from its provider.
            .filter(|name| {
                let file = library.open(LibraryKind::Drive, name);
                file.is_ok_and(|file| !file.has_table("rated") && !file.has_table("cloud"))
            })
            .collect();
        loop {
            let drive = drives[rng.below(drives.len() as u64) as usize].clone();
            let ports = ports(library, &drive);
            if ports.len() < 2 {
                continue;
            }
            let mut side = || ports[rng.below(ports.len() as u64) as usize].clone();
            let here = side();
            let there = side();
            if here == there {
                continue;
            }
            let here_system = assemble(library, &system_name(&drive, &here), &[])?;
            let there_system = assemble(library, &system_name(&drive, &there), &[])?;
            let mut drive_settings = draw_settings(&here_system, &OF_DRIVE, rng);
            drive_settings.push("drive.buffer.capacity=16 MiB".to_owned());
            drive_settings.extend(collection(&here_system, rng));
            let here_settings = draw_settings(&here_system, &OF_PLATFORM, rng);
            let sides = [
                PortTruth { platform_port: here.clone(), settings: here_settings.clone() },
                PortTruth {
                    // Both ports of one machine have the same host.
                    settings: if there.0 == here.0 {
                        here_settings
                    } else {
                        draw_settings(&there_system, &OF_PLATFORM, rng)
                    },
                    platform_port: there,
                },
            ];
            let (like, plug) = plug(library, &drive)?;
            return Ok(Self { drive, drive_settings, sides, like, plug });
        }
    }

    pub(crate) fn port_name(&self, side: usize) -> String {
        let (platform, port) = &self.sides[side].platform_port;
        format!("{platform}:{port}")
    }

    fn system(&self, library: &Library, side: usize) -> Result<System, GridError> {
        let PortTruth { platform_port, settings } = &self.sides[side];
        let all: Vec<String> = self.drive_settings.iter().chain(settings).cloned().collect();
        let settings = lanemark_lab::settings(&all)?;
        Ok(assemble(library, &system_name(&self.drive, platform_port), &settings)?)
    }

    /// Returns the grid. Each test is long enough to count a few thousand requests on the first path.
    pub(crate) fn grid(&self, library: &Library) -> Result<Workload, GridError> {
        let mut tests = Vec::new();
        for read in [true, false] {
            for depth in DEPTHS {
                for jobs in JOBS {
                    let kind = if read { "read" } else { "write" };
                    let builder =
                        if read { Test::random_read("4 KiB") } else { Test::random_write("4 KiB") };
                    let name = format!("rand{kind}-{depth}-{jobs}");
                    let builder = builder.named(&name);
                    let builder = builder.queue_depth(depth).threads(jobs).span("8 GiB");
                    let checked = builder.duration("60 ms").build()?;
                    tests.push((*checked).clone());
                }
            }
        }
        let mut workload = lanemark_study::workload::open(library, "fit")?;
        workload.id = "grid".to_owned();
        workload.name = "Random 4 KiB requests by depth and jobs".to_owned();
        workload.tests = tests;
        workload.repeats = 1;
        let system = self.system(library, 0)?;
        let rough = run(&system, &workload)?;
        for (test, result) in workload.tests.iter_mut().zip(&rough.tests) {
            let outstanding = f64::from(test.issue_depth() * test.threads);
            let rate = result.iops.value.max(20.0);
            let seconds =
                |requests: f64| Duration::from_picoseconds((requests / rate * 1e12) as u64);
            let [ramp, counted] = requests_of(test.writes(), outstanding);
            (test.ramp, test.duration) = (seconds(ramp), Some(seconds(counted)));
        }
        Ok(workload)
    }

    /// Runs a grid on a path, and adds noise to the measured figures.
    pub(crate) fn measured(
        &self,
        library: &Library,
        side: usize,
        grid: &Workload,
        rng: &mut Rng,
    ) -> Result<RunResult, GridError> {
        let system = self.system(library, side)?;
        let mut run = run(&system, grid)?;
        let cpu = &system.spec.cpu;
        let protocol = &system.spec.first().protocol;
        for test in &mut run.tests {
            let busy = cpu.request_submit + cpu.request_complete + protocol.read_time;
            let alone = test.test.issue_depth() * test.test.threads == 1;
            let wake = if alone { cpu.wake.as_microseconds() } else { 0.0 };
            let samples = test.samples.iter().map(|sample| {
                let factor = (NOISE * normal(rng)).exp();
                let elapsed = sample.elapsed.picoseconds() as f64 * factor;
                let busy_ns = 1e3 * (busy.as_microseconds() + wake) * (NOISE * normal(rng)).exp();
                Sample {
                    elapsed: Duration::from_picoseconds(elapsed as u64),
                    cpu: Some(CpuUse {
                        user_ns_per_request: 0.3 * busy_ns,
                        system_ns_per_request: 0.7 * busy_ns,
                    }),
                    path: None,
                    ..sample.clone()
                }
            });
            let samples = samples.collect();
            *test = TestResult::new(&run.workload, &test.test, samples);
        }
        run.target = Target::Measured(MeasuredTarget {
            served: None,
            host: None,
            path: "/dev/sdx".to_owned(),
            device: Some(true),
            size_bytes: Some(Bytes(system.spec.first().drive.capacity.get())),
            file_system: None,
            block_device: Some("sdx".to_owned()),
            engine: "libaio".to_owned(),
            direct: Some(true),
        });
        Ok(run)
    }
}

/// Returns the number of requests in the ramp of a test, and the number of counted requests.
fn requests_of(writes: bool, outstanding: f64) -> [f64; 2] {
    // The ramp fills a buffer of 16 MiB before writes are counted.
    let first = if writes { 5000.0 } else { 200.0 };
    [first + 3.0 * outstanding, (3.0 * outstanding).max(4000.0)]
}

fn run(system: &System, workload: &Workload) -> Result<RunResult, GridError> {
    let provenance = Provenance { seed: 77, ..Provenance::default() };
    let works = [LabRun { system, workload }];
    let mut runs = Lab::default().run_all(&works, &provenance, &mut |_| ())?;
    Ok(runs.swap_remove(0))
}

fn system_name(drive: &str, platform_port: &(String, String)) -> String {
    let (platform, port) = platform_port;
    format!("{drive}@{platform}:{port}")
}

/// Returns the setting for the garbage collection of a used drive; half of the drives without a pseudo-SLC cache are
/// used.
fn collection(system: &System, rng: &mut Rng) -> Option<String> {
    let MediaSpec::Flash(flash) = &system.spec.first().drive.media else { return None };
    if flash.technology.in_place() || flash.translation.pseudo_slc.is_some() {
        return None;
    }
    let is_used = rng.chance(0.5);
    let fraction = rng.unit();
    let (low, high) = USED;
    let percent = low * (high / low).powf(fraction);
    is_used.then(|| format!("drive.translation.beside_collection={percent:.2}%"))
}

/// Returns every port of a platform that accepts the drive.
fn ports(library: &Library, drive: &str) -> Vec<(String, String)> {
    let mut ports = Vec::new();
    for platform in library.names(LibraryKind::Platform) {
        if NO_HOSTS.iter().any(|out| platform.starts_with(out)) {
            continue;
        }
        let Ok(document) = library.open(LibraryKind::Platform, &platform) else { continue };
        let Ok(tables) = document.root("platform", None).tables("port") else { continue };
        let names: Vec<String> =
            tables.iter().filter_map(|table| table.text("name").ok()).collect();
        for name in names {
            let port = (platform.clone(), name);
            // The names of equal ports differ in their numbers.
            let is_like_port = |other: &(String, String)| {
                other.0 == port.0
                    && port.1.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-') == other.1
            };
            if !ports.iter().any(is_like_port)
                && assemble(library, &system_name(drive, &port), &[]).is_ok()
            {
                ports.push(port);
            }
        }
    }
    ports
}

/// Returns settings for the parameters in `names` that the system contains; each value is drawn around the value in the
/// file.
fn draw_settings(system: &System, names: &[&str], rng: &mut Rng) -> Vec<String> {
    let mut settings = Vec::new();
    let mut factor = 1.0;
    for name in names {
        // Both times are drawn with the same factor, because a crowded adapter is slower than an idle adapter.
        if !name.ends_with("crowded_time") {
            factor = (WIDE.ln() * (2.0 * rng.unit() - 1.0)).exp();
        }
        let Some(record) = system.values.iter().find(|value| value.parameter == *name) else {
            continue;
        };
        let Some((number, unit)) = record.text.split_once(' ') else { continue };
        let Ok(number) = number.replace(',', "").parse::<f64>() else { continue };
        settings.push(format!("{name}={:.3} {unit}", number * factor));
    }
    settings
}

/// Returns the generic drive with the protocol of `drive`, and the connector of `drive`.
fn plug(
    library: &Library,
    drive: &str,
) -> Result<(&'static str, Vec<(String, String)>), GridError> {
    let document = library.open(LibraryKind::Drive, drive)?;
    let root = document.root("drive", None);
    let port = root.table("drive")?.table("port")?;
    let set = |key: &str, value: String| (format!("drive.port.{key}"), value);
    if let Some(pcie) = port.optional_table("pcie")? {
        let number = |key: &str| pcie.integer(key, 1, 16).map(|number| number.to_string());
        let settings = vec![
            set("pcie.generation", number("generation")?),
            set("pcie.lanes", number("lanes")?),
        ];
        let generic = match port.text("protocol")?.as_str() {
            "ahci" => "generic-pcie-ahci",
            _ => "generic-nvme",
        };
        return Ok((generic, settings));
    }
    let value_text = |section: &lanemark_study::document::Section<'_>, key: &str| {
        if section.is_table(key) {
            section.table(key).and_then(|table| table.text("value"))
        } else {
            section.text(key)
        }
    };
    if let Some(sas) = port.optional_table("sas")? {
        let phys = sas.integer("phys", 1, 8)?.to_string();
        return Ok((
            "generic-sas",
            vec![set("sas.rate", value_text(&sas, "rate")?), set("sas.phys", phys)],
        ));
    }
    Ok(("generic-sata", vec![set("sata", value_text(&port, "sata")?)]))
}

/// Returns a number of the standard normal distribution, as a sum of twelve uniform numbers.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_has_a_place_in_every_port_that_takes_it_and_one_of_each_kind() {
        let library = Library::built_in();
        let of = |drive: &str| -> Vec<String> {
            let ports = ports(&library, drive);
            for port in &ports {
                assert!(assemble(&library, &system_name(drive, port), &[]).is_ok(), "{port:?}");
            }
            ports.into_iter().map(|(platform, port)| format!("{platform}:{port}")).collect()
        };
        let sata = of("samsung-850-pro-1tb");
        let nvme = of("samsung-950-pro-512gb");
        for (ports, own, other) in [
            (&sata, "workstation-z170:sata", "workstation-z170:m2"),
            (&nvme, "workstation-z170:m2", "workstation-z170:sata"),
        ] {
            let count = |name: &str| ports.iter().filter(|port| *port == name).count();
            assert_eq!((count(own), count(other)), (1, 0), "{ports:?}");
            let is_out = |port: &String| NO_HOSTS.iter().any(|out| port.starts_with(out));
            assert!(!ports.iter().any(is_out), "{ports:?}");
        }
    }

    #[test]
    fn a_ramp_and_the_counted_time_have_three_requests_for_each_outstanding_one() {
        for (writes, outstanding, wanted) in [
            (false, 1.0, [203.0, 4000.0]),
            (false, 1000.0, [3200.0, 4000.0]),
            (false, 2000.0, [6200.0, 6000.0]),
            // 5,000 writes of 4 KiB are more than 16 MiB.
            (true, 1.0, [5003.0, 4000.0]),
            (true, 2000.0, [11_000.0, 6000.0]),
        ] {
            assert_eq!(requests_of(writes, outstanding), wanted, "{writes} {outstanding}");
        }
    }

    fn random() -> Rng {
        Rng::new(lanemark_schema::rng::StreamKey::from_seed(5))
    }

    #[test]
    fn measured_figures_scatter_around_the_true_ones() {
        let library = Library::built_in();
        let side = || PortTruth {
            platform_port: ("workstation-z170".to_owned(), "m2".to_owned()),
            settings: vec!["platform.cpu.wake=9 us".to_owned()],
        };
        let truth = GroundTruthDrive {
            drive: "samsung-950-pro-512gb".to_owned(),
            drive_settings: Vec::new(),
            sides: [side(), side()],
            like: "generic-nvme",
            plug: Vec::new(),
        };
        let reads = |name: &str, depth: u32| {
            let test = Test::random_read("4 KiB").named(name).queue_depth(depth);
            test.span("1 GiB").duration("2 ms").build().unwrap().into_test()
        };
        let mut grid = Workload::of_test("g", "G", reads("alone", 1));
        grid.tests.push(reads("deep", 8));
        let system = truth.system(&library, 0).unwrap();
        let exact = run(&system, &grid).unwrap();
        let mut rng = random();
        let measured: Vec<RunResult> =
            (0..100).map(|_| truth.measured(&library, 0, &grid, &mut rng).unwrap()).collect();
        assert!(
            matches!(&measured[0].target, Target::Measured(target) if target.device == Some(true))
        );
        assert_eq!(truth.port_name(1), "workstation-z170:m2");
        let cpu = &system.spec.cpu;
        let times =
            [cpu.request_submit, cpu.request_complete, system.spec.first().protocol.read_time];
        let busy: f64 = times.iter().map(|time| 1e3 * time.as_microseconds()).sum();
        // Only the first request also includes the time for waking.
        for (number, wanted) in [(0, busy + 9_000.0), (1, busy)] {
            let exact = exact.tests[number].samples[0].elapsed.as_seconds();
            let noisy: Vec<&Sample> =
                measured.iter().map(|run| &run.tests[number].samples[0]).collect();
            let logs = |ratios: Vec<f64>| -> (f64, f64) {
                let count = ratios.len() as f64;
                let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count;
                let square = |ratio: &f64| (ratio.ln() - mean).powi(2);
                (mean, (ratios.iter().map(square).sum::<f64>() / count).sqrt())
            };
            let elapsed = noisy.iter().map(|sample| sample.elapsed.as_seconds() / exact);
            let processor = noisy.iter().map(|sample| {
                let cpu = sample.cpu.unwrap();
                let share = cpu.user_ns_per_request / cpu.system_ns_per_request;
                assert!((share - 3.0 / 7.0).abs() < 1e-9);
                (cpu.user_ns_per_request + cpu.system_ns_per_request) / wanted
            });
            for ratios in [elapsed.collect(), processor.collect()] {
                // For a hundred draws, the mean is within three deviations, and the deviation is within a quarter.
                let (mean, deviation) = logs(ratios);
                assert!(mean.abs() < 3.0 * NOISE / 10.0, "{mean}");
                assert!((deviation / NOISE - 1.0).abs() < 0.25, "{deviation}");
            }
        }
    }

    #[test]
    fn drawn_values_are_within_a_factor_of_two_and_crowding_follows_its_adapter() {
        let library = Library::built_in();
        let system =
            assemble(&library, "hgst-ss300-1600gb@server-xeon-e5-sas2008:sas", &[]).unwrap();
        let mut rng = random();
        let own = |name: &str| {
            let record = system.values.iter().find(|value| value.parameter == name)?;
            record.text.split_once(' ')?.0.replace(',', "").parse::<f64>().ok()
        };
        let mut low = f64::INFINITY;
        let mut high = 0.0_f64;
        for _ in 0..50 {
            let mut crowding = Vec::new();
            let settings = draw_settings(&system, &OF_PLATFORM, &mut rng);
            assert!(!settings.is_empty());
            for setting in settings {
                let (name, value) = setting.split_once('=').unwrap();
                let number: f64 = value.split(' ').next().unwrap().parse().unwrap();
                let Some(file) = own(name).filter(|file| *file > 0.0) else { continue };
                let ratio = number / file;
                assert!((0.49..=2.01).contains(&ratio), "{setting}");
                (low, high) = (low.min(ratio), high.max(ratio));
                if name.contains(".adapter.") {
                    crowding.push(ratio);
                }
            }
            let alike = |pair: &[f64]| (pair[0] / pair[1] - 1.0).abs() < 0.01;
            assert!(crowding.windows(2).all(alike), "{crowding:?}");
        }
        assert!(low < 0.6 && high > 1.7, "{low} {high}");
    }

    #[test]
    fn half_of_the_drives_without_a_cache_collect() {
        let library = Library::built_in();
        let of = |name: &str| assemble(&library, name, &[]).unwrap();
        let plain = of("samsung-950-pro-512gb@workstation-z170:m2");
        let mut rng = random();
        let shares: Vec<f64> = (0..400)
            .filter_map(|_| collection(&plain, &mut rng))
            .map(|text| {
                let share = text.strip_prefix("drive.translation.beside_collection=").unwrap();
                share.trim_end_matches('%').parse().unwrap()
            })
            .collect();
        assert!((150..250).contains(&shares.len()), "{}", shares.len());
        assert!(shares.iter().all(|share| (5.0..=60.0).contains(share)));
        // In a log-uniform distribution, half of the draws are below the geometric mean of the bounds.
        let below = shares.iter().filter(|share| **share < (5.0_f64 * 60.0).sqrt()).count();
        let half = below as f64 / shares.len() as f64;
        assert!((half - 0.5).abs() < 0.12, "{half}");
        let cached = of("samsung-980-pro-1tb@workstation-x570:m2");
        assert!((0..20).all(|_| collection(&cached, &mut rng).is_none()));
        let disk = of("seagate-barracuda-2tb@workstation-z170:sata");
        assert_eq!(collection(&disk, &mut rng), None);
    }

    #[test]
    fn noise_is_normal() {
        let mut rng = random();
        let draws: Vec<f64> = (0..10_000).map(|_| normal(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 1e4;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / 1e4;
        let inside = draws.iter().filter(|draw| draw.abs() < 1.0).count();
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04, "{mean} {square}");
        assert!((6_650..7_000).contains(&inside), "{inside}");
    }

    #[test]
    fn a_fit_begins_with_the_generic_drive_of_the_connector() {
        let library = Library::built_in();
        let of = |drive: &str| {
            let (like, settings) = plug(&library, drive).unwrap();
            let text = |(key, value): (String, String)| format!("{key}={value}");
            (like, settings.into_iter().map(text).collect::<Vec<_>>().join(" "))
        };
        let wanted = |like, settings: &str| (like, settings.to_owned());
        let pcie = "drive.port.pcie.generation=3 drive.port.pcie.lanes=4";
        assert_eq!(of("samsung-950-pro-512gb"), wanted("generic-nvme", pcie));
        let sata = "drive.port.sata=6 Gb/s";
        assert_eq!(of("samsung-850-pro-1tb"), wanted("generic-sata", sata));
        let sas = "drive.port.sas.rate=12 Gb/s drive.port.sas.phys=2";
        assert_eq!(of("hgst-ss300-1600gb"), wanted("generic-sas", sas));
    }
}
