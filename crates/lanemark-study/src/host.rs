//! `library/hosts/*.toml`: an operating system with its drivers, file system and I/O interface, on one class of
//! processors.
//!
//! `platform,host` names a platform whose processor times come from a host file. A host file contains `[cpu]` and one
//! table per protocol, each with some keys of the same table in a platform file. With `extends`, all other values come
//! from another host file of the library, which must not extend a third file.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_sim::spec::STEP_TIME_MAX;

use crate::document::{Context, Document, Section};
use crate::error::StudyError;
use crate::origin::{Ledger, Overrides, ValueRecord};

/// The tables of a platform file that a host replaces, with their keys.
pub(crate) const TABLES: [(&str, &[&str]); 7] = [
    (
        "cpu",
        &[
            "request_submit",
            "write_submit",
            "request_complete",
            "pin_per_mib",
            "read_work",
            "read_work_per_mib",
            "write_work",
            "write_work_per_mib",
            "io_threads",
            "wake",
            "idle_after",
            "deep_wake",
            "deep_idle_after",
            "thread_growth",
            "times_for",
        ],
    ),
    ("ahci", DRIVER),
    ("nvme", DRIVER),
    ("sas", DRIVER),
    ("uasp", DRIVER),
    ("bulk_only", DRIVER),
    (FILE_SYSTEM, &["journal_records", "journal_commit", "timestamp_step"]),
];
/// The table that a host adds if the platform does not contain it.
pub(crate) const FILE_SYSTEM: &str = "file_system";
const DRIVER: &[&str] = &["driver_time", "submit_share", "interrupt_time", "transfer_max"];

/// The characters that separate the parts of a system.
pub const SEPARATORS: [char; 5] = [',', ':', '+', '|', '@'];

/// Reads the host file `document` and returns its display name.
///
/// # Errors
/// Returns all errors in the file.
pub(crate) fn check(document: &Document) -> Result<String, StudyError> {
    read(document, "host", None)
}

/// Returns the host file with the values of the host file that it extends, which `open` reads by its name.
///
/// # Errors
/// Returns an error if the other file cannot be read, or if it extends another file itself.
pub(crate) fn extended(
    document: Document,
    open: impl FnOnce(&str) -> Result<Document, StudyError>,
) -> Result<Document, StudyError> {
    let root = document.root("host", None);
    let Some(host) = root.optional_table("host")? else { return Ok(document) };
    let Some(name) = host.optional_text("extends")? else { return Ok(document) };
    let base = open(&name).map_err(|error| error.located_at(&host.location_of("extends")))?;
    check(&base)?;
    if base.root("host", None).table("host")?.has("extends") {
        let message = format!("extends = `{name}`: that host file extends another file itself");
        return Err(host.error("extends", message).hint("name the file that it extends"));
    }
    let offset = host.offset_of("extends");
    Ok(document.extending(&base, &TABLES, offset))
}

/// Returns a platform, a port or a system with the host `host`: `drive@platform,host:port`. This is impossible if the
/// platform already has a host, or if the name of the host contains a character that separates the parts of a system.
pub fn hosted(system: &str, host: &str) -> Option<String> {
    let (drive, rest) = system.split_at(system.find('@').map_or(0, |at| at + 1));
    // Additional drives of a system follow after `+` and name ports of the same platform.
    let first = rest.split('+').next().unwrap_or_default();
    let platform = first.rsplit_once(':').map_or(first, |(platform, _)| platform);
    let is_possible = !platform.contains(',') && !host.contains(SEPARATORS);
    is_possible.then(|| format!("{drive}{platform},{host}{}", &rest[platform.len()..]))
}

/// Returns the display name of the host file `document`, and its values.
///
/// # Errors
/// Returns all errors in the file.
pub fn values(document: &Document) -> Result<(String, Vec<ValueRecord>), StudyError> {
    let ledger = Ledger::default();
    let overrides = Overrides::default();
    let name =
        read(document, "platform", Some(Context { ledger: &ledger, overrides: &overrides }))?;
    Ok((name, ledger.records()))
}

fn read(
    document: &Document,
    kind: &str,
    context: Option<Context<'_>>,
) -> Result<String, StudyError> {
    document.read(kind, context, |root| {
        let host = root.table("host")?;
        let name = host.text("name")?;
        host.optional_text("extends")?;
        host.finish()?;
        for (table, keys) in TABLES {
            let Some(section) = root.optional_table(table)? else { continue };
            for key in keys {
                value(&section, key)?;
            }
            section.finish()?;
        }
        root.finish()?;
        Ok(name)
    })
}

/// Reads a single-thread speed relative to the Intel Core i7-6700.
pub(crate) fn processor_speed(section: &Section<'_>, key: &str) -> Result<Option<f64>, StudyError> {
    let speed = |text: &str| text.parse().ok().filter(|speed| (0.01..=100.0).contains(speed));
    section.optional_parsed(key, "a number from 0.01 to 100", speed)
}

fn value(section: &Section<'_>, key: &str) -> Result<(), StudyError> {
    match key {
        "submit_share" | "thread_growth" => section.optional_quantity::<Ratio>(key).map(drop),
        "transfer_max" | "journal_records" | "journal_commit" => {
            section.optional_quantity::<Bytes>(key).map(drop)
        }
        "times_for" => processor_speed(section, key).map(drop),
        "io_threads" => section.optional_integer(key, 0, 1024).map(drop),
        "idle_after" | "deep_idle_after" | "timestamp_step" => {
            section.optional_quantity::<Duration>(key).map(drop)
        }
        // These times are steps of a request.
        _ => match section.optional_quantity::<Duration>(key)? {
            Some(time) if time > STEP_TIME_MAX => {
                Err(section.error(key, format!("{key} = {time}: at most {STEP_TIME_MAX}")))
            }
            _ => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_follows_the_platform() {
        for (system, expected) in [
            ("p", Some("p,./h.toml")),
            ("p:m2", Some("p,./h.toml:m2")),
            ("d@p:m2", Some("d@p,./h.toml:m2")),
            ("./d.toml@./p.toml:m2+m2b+e:sata", Some("./d.toml@./p.toml,./h.toml:m2+m2b+e:sata")),
            ("stripe:d@p:a|b", Some("stripe:d@p,./h.toml:a|b")),
            ("d@p,other:m2", None),
            ("p,other", None),
        ] {
            assert_eq!(hosted(system, "./h.toml").as_deref(), expected, "{system}");
        }
        for separator in SEPARATORS {
            assert_eq!(hosted("d@p:m2", &format!("a{separator}b.json")), None);
        }
    }
}
