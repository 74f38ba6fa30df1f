//! `lanemark drive`: writes drive files from the ratings on a box or from measured results.

use std::path::Path;

use lanemark_lab::LabError;
use lanemark_lab::results::OutputFile;
use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration};
use lanemark_study::rated::{self, FileValue};

use crate::args::{DriveArgs, Media, Protocol, RatingArgs};
use crate::model::library::DescribedModel;
use crate::model::{fit, library};
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::RATED;

pub(crate) fn run(args: &DriveArgs) -> Result<CommandOutcome, Failure> {
    if args.fit.from.is_empty() { new(args) } else { fit::run(args) }
}

/// Writes the file after checking that other commands accept it.
fn new(args: &DriveArgs) -> Result<CommandOutcome, Failure> {
    let library = library::open(&args.library)?;
    let text = text(&args.name, &args.ratings)?;
    let path = args.file()?;
    // The user may have edited an existing file.
    if path.symlink_metadata().is_ok() {
        let message = format!("{} already exists", path.display());
        return Err(Failure::from(
            LabError::refused(message).hint("use a different file for --out"),
        ));
    }
    rated::check(&library, &text)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::input(format!("{}: can't be created: {error}", folder.display()))
        })?;
    }
    let outlet = OutputFile::open(&path, &RATED)?;
    outlet.write(&text)?;
    let named = in_folder(&path);
    let described = library::describe(&library, &named)?;
    // The file also contains the evidence for the printed answer.
    outlet.write(&(text + &notes(&described)))?;
    library::print(&described, args.explain, args.json)?;
    tell!("wrote {named}");
    Ok(CommandOutcome::Done)
}

/// Returns the values that are derived from the ratings or assumed, as comments of a drive file.
fn notes(described: &DescribedModel) -> String {
    let mut notes = "\n# Values that the file does not state, with their origin:\n".to_owned();
    let values = described.values.iter().zip(&described.rows);
    for (_, value) in values.filter(|(value, _)| value.origin != "sourced") {
        let line = format!("# {} = {}: {}", value.parameter, value.text, value.origin);
        notes += &line.replace(['\n', '\r'], " ");
        notes.push('\n');
    }
    notes
}

/// Returns the path in a form that commands can distinguish from a library name.
fn in_folder(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains('/') { text } else { format!("./{text}") }
}

/// Returns the text of the file, or one error for all missing values.
fn text(name: &str, args: &RatingArgs) -> Result<String, Failure> {
    check_options(args)?;
    let source = args.source.as_deref().unwrap_or("as printed on the box");
    let kind = match args.kind.unwrap_or_default() {
        Media::Ssd => "ssd",
        Media::Hdd => "hdd",
    };
    let mut drive = vec![
        ("name", text_value(name)),
        ("kind", text_value(kind)),
        ("source", text_value(source)),
    ];
    drive.extend(args.capacity.map(|capacity| ("capacity", size_value(capacity))));
    let head = format!(
        "{} {}: ratings from its box, written by `lanemark drive`. All other values are derived from them.\n\n",
        RATED.mark,
        name.replace(['\n', '\r'], " ")
    );
    Ok(head + &rated::file_text(&drive, &port_values(args), &rated_values(args, source)))
}

/// Checks that the options describe a drive.
fn check_options(args: &RatingArgs) -> Result<(), Failure> {
    let mut missing = Vec::new();
    let mut need = |given: bool, what: &str| {
        if !given {
            missing.push(what.to_owned());
        }
    };
    need(args.protocol.is_some(), "--protocol nvme, sata, sas or pcie-ahci");
    need(args.capacity.is_some(), "--capacity, such as \"2 TB\"");
    match args.protocol {
        Some(Protocol::Nvme | Protocol::PcieAhci) => {
            need(args.generation.is_some(), "--generation, the PCI Express generation, 1 to 5");
            need(args.lanes.is_some(), "--lanes, the number of PCI Express lanes");
        }
        Some(Protocol::Sata) => need(args.rate.is_some(), "--rate, such as \"6 Gb/s\""),
        Some(Protocol::Sas) => need(args.rate.is_some(), "--rate, such as \"12 Gb/s\""),
        None => {}
    }
    let is_pcie = matches!(args.protocol, Some(Protocol::Nvme | Protocol::PcieAhci));
    for (given, option) in [
        (args.rate.is_some() && is_pcie, "--rate"),
        (args.generation.is_some() && !is_pcie, "--generation"),
        (args.lanes.is_some() && !is_pcie, "--lanes"),
    ] {
        if given && args.protocol.is_some() {
            missing.push(format!("{option} does not apply to that protocol and must be removed"));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("the options do not describe a drive:\n  {}", missing.join("\n  "));
    Err(Failure::input(message).hint("`lanemark drive --help` has an example"))
}

fn text_value(text: &str) -> FileValue {
    FileValue::Text(text.to_owned())
}

/// Returns a value exactly as given: in the large unit if it is a multiple of it, otherwise in the small unit.
fn unit_value(value: u64, large: u64, unit: &str, small: &str) -> FileValue {
    FileValue::Text(if value.is_multiple_of(large) {
        format!("{} {unit}", value / large)
    } else {
        format!("{value} {small}")
    })
}

fn size_value(size: Bytes) -> FileValue {
    unit_value(size.get(), 1_000_000_000, "GB", "B")
}

/// Returns the values of the table `[drive.port]`.
fn port_values(args: &RatingArgs) -> Vec<(&'static str, FileValue)> {
    let text = text_value;
    let line = |rate: Option<BitsPerSecond>| {
        unit_value(rate.unwrap_or_default().0, 1_000_000, "Mb/s", "b/s")
    };
    match args.protocol {
        Some(protocol @ (Protocol::Nvme | Protocol::PcieAhci)) => vec![
            ("protocol", text(if protocol == Protocol::Nvme { "nvme" } else { "ahci" })),
            (
                "pcie",
                FileValue::Bare(format!(
                    "{{ generation = {}, lanes = {} }}",
                    args.generation.unwrap_or(4),
                    args.lanes.unwrap_or(4)
                )),
            ),
        ],
        Some(Protocol::Sas) => vec![
            ("protocol", text("sas")),
            (
                "sas",
                FileValue::Bare(format!(
                    "{{ rate = {}, phys = {} }}",
                    line(args.rate),
                    args.phys.unwrap_or(1)
                )),
            ),
        ],
        _ => vec![("protocol", text("ahci")), ("sata", line(args.rate))],
    }
}

/// Returns the values of the table `[rated]`.
fn rated_values(args: &RatingArgs, source: &str) -> Vec<(&'static str, FileValue)> {
    let text = text_value;
    let bare = |value: &dyn std::fmt::Display| FileValue::Bare(value.to_string());
    let rate = |rate: BytesPerSecond| unit_value(rate.0, 1_000_000, "MB/s", "B/s");
    let time = |time: Duration| unit_value(time.picoseconds(), 1_000_000, "us", "ps");
    let mut rated = vec![("source", text(source))];
    let counts = [
        ("year", args.year),
        ("random_read", args.random_read),
        ("random_write", args.random_write),
        ("random_read_qd1", args.random_read_qd1),
        ("random_write_qd1", args.random_write_qd1),
        ("steady_random_write", args.steady_random_write),
        ("rpm", args.rpm),
        ("heads", args.heads),
    ];
    rated.extend(counts.into_iter().filter_map(|(key, value)| Some((key, bare(&value?)))));
    let words = [("nand", &args.nand), ("memory", &args.memory), ("market", &args.market)];
    rated.extend(words.into_iter().filter_map(|(key, value)| Some((key, text(value.as_ref()?)))));
    let rates = [("read", args.read), ("write", args.write), ("steady_write", args.steady_write)];
    rated.extend(rates.into_iter().filter_map(|(key, value)| Some((key, rate(value?)))));
    let times = [
        ("read_latency", args.read_latency),
        ("write_latency", args.write_latency),
        ("average_seek", args.average_seek),
        ("track_to_track", args.track_to_track),
    ];
    rated.extend(times.into_iter().filter_map(|(key, value)| Some((key, time(value?)))));
    let sizes = [("pseudo_slc", args.pseudo_slc), ("cache", args.cache)];
    rated.extend(sizes.into_iter().filter_map(|(key, value)| Some((key, size_value(value?)))));
    rated.extend(args.compresses_to.map(|share| ("compresses_to", text(&share.to_string()))));
    rated
}

#[cfg(test)]
mod tests;
