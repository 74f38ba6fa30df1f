//! Tests of reading tables: locations, errors and overrides.

use super::*;
use crate::origin::Origin;
use lanemark_schema::units::{Bytes, Duration};

const TEXT: &str = r#"
[drive]
name = "A drive"
[flash]
source = "data sheet"
planes = 2
read = { value = "50 us", source = "another sheet" }
erase = { value = "3 ms", assumed = "typical" }
page = "16 KiB"
bad = "12"
"#;

fn error_of<T: std::fmt::Debug>(result: Result<T, StudyError>) -> String {
    let error = result.unwrap_err();
    let hint = error.hint.as_ref().map(|hint| format!(" | {hint}")).unwrap_or_default();
    format!("{error}{hint}")
}

#[test]
fn values_come_with_their_origin() {
    let document = Document::parse("d.toml", TEXT).unwrap();
    let ledger = Ledger::default();
    let overrides = Overrides::default();
    let root = document.root("drive", Some(Context { ledger: &ledger, overrides: &overrides }));
    assert_eq!(root.table("drive").unwrap().text("name").unwrap(), "A drive");
    let flash = root.table("flash").unwrap();
    assert_eq!(flash.integer("planes", 1, 4), Ok(2));
    assert_eq!(flash.quantity("read"), Ok(Duration::from_microseconds(50)));
    assert_eq!(flash.quantity("erase"), Ok(Duration::from_microseconds(3000)));
    assert_eq!(flash.quantity("page"), Ok(Bytes::kibi(16)));
    let records = ledger.records();
    let origins: Vec<_> =
        records.iter().map(|record| (record.parameter.as_str(), &record.origin)).collect();
    assert_eq!(
        origins,
        [
            ("drive.flash.planes", &Origin::Sourced("data sheet".to_owned())),
            ("drive.flash.read", &Origin::Sourced("another sheet".to_owned())),
            ("drive.flash.erase", &Origin::Assumed(Some("typical".to_owned()))),
            ("drive.flash.page", &Origin::Sourced("data sheet".to_owned())),
        ]
    );
}

#[test]
fn errors_say_where_and_how_to_put_it_right() {
    let document = Document::parse("d.toml", TEXT).unwrap();
    let flash = document.root("drive", None).table("flash").unwrap();
    assert_eq!(
        error_of(flash.quantity::<Bytes>("bad")),
        "d.toml:10:7: bad = 12: `12` lacks a unit; write it with one of B, kB, MB, GB, TB (powers \
             of ten), KiB, MiB, GiB, TiB (powers of two)"
    );
    assert_eq!(
        error_of(flash.integer("planes", 3, 4)),
        "d.toml:6:10: planes = 2: must be a whole number from 3 to 4"
    );
    assert!(error_of(flash.text("program")).starts_with("d.toml:4:1: `program` is missing | add"));
    flash.ask("badd");
    flash.ask("page");
    assert!(error_of(flash.finish()).starts_with("d.toml:7:1: unknown key `read`"));
}

#[test]
fn a_syntax_error_has_its_place() {
    let message = error_of(Document::parse("d.toml", "a = 1\nb = = 2\n"));
    assert!(message.starts_with("d.toml:2:5: "), "{message}");
}

#[test]
fn an_override_wins_and_an_unused_one_is_an_error() {
    let document = Document::parse("d.toml", TEXT).unwrap();
    let ledger = Ledger::default();
    let mut overrides = Overrides::default();
    overrides.set("drive.flash.read", "75 us", Location::file("--set"));
    overrides.set("drive.flash.raed", "75 us", Location::file("--set"));
    let root = document.root("drive", Some(Context { ledger: &ledger, overrides: &overrides }));
    let flash = root.table("flash").unwrap();
    assert_eq!(flash.quantity("read"), Ok(Duration::from_microseconds(75)));
    assert_eq!(ledger.records()[0].origin, Origin::Overridden);
    assert_eq!(
        error_of(overrides.check_used(&ledger)),
        "--set: unknown parameter `drive.flash.raed` | did you mean `drive.flash.read`?"
    );
}

#[test]
fn setting_a_key_creates_its_omitted_table() {
    let document = Document::parse("d.toml", TEXT).unwrap();
    let ledger = Ledger::default();
    let mut overrides = Overrides::default();
    overrides.set("drive.data_path.read", "2 GB/s", Location::file("--set"));
    let root = document.root("drive", Some(Context { ledger: &ledger, overrides: &overrides }));
    let path = root.optional_table("data_path").unwrap().expect("the table is reached");
    let rate = path.optional_quantity::<lanemark_schema::units::BytesPerSecond>("read").unwrap();
    assert_eq!(rate.unwrap().0, 2_000_000_000);
    assert!(root.optional_table("data_pat").unwrap().is_none());
    overrides.check_used(&ledger).unwrap();
}

/// Reads a file with two tables, similar to a drive file.
fn read_two(text: &str) -> Result<(Duration, Bytes), StudyError> {
    let document = Document::parse("d.toml", text).unwrap();
    document.read("drive", None, |root| {
        let drive = root.table("drive")?;
        drive.choice("kind", &[("ssd", 1), ("hdd", 2)])?;
        drive.text("name")?;
        drive.finish()?;
        let flash = root.table("flash")?;
        let read = flash.quantity("read")?;
        let page: Bytes = flash.quantity("page")?;
        flash.integer("planes", 1, 4)?;
        flash.finish()?;
        root.finish()?;
        Ok((read, page))
    })
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let good = "[drive]\nkind = \"ssd\"\nname = \"A\"\n[flash]\nread = \"1 us\"\npage = \"4 KiB\"\nplanes = 1\n";
    assert_eq!(read_two(good), Ok((Duration::from_microseconds(1), Bytes::kibi(4))));
    let bad =
        "[drive]\nkindd = \"ssd\"\n[flash]\nread = \"1\"\nplanes = 9\nerase = \"1 ms\"\n[other]\n";
    let seen = error_of(read_two(bad));
    let lines: Vec<&str> = seen.lines().collect();
    let wanted = [
        "d.toml:1:1: `name` is missing (add `name`, a string, to `drive`)",
        "d.toml:2:1: unknown key `kindd` (did you mean `kind`?)",
        "d.toml:3:1: `page` is missing (add `page`, a quantity with its unit, to `drive.flash`)",
        "d.toml:4:8: read = 1: `1` lacks a unit; write it with one of ps, ns, us, ms, s, min, h",
        "d.toml:5:10: planes = 9: must be a whole number from 1 to 4",
        "d.toml:6:1: unknown key `erase` (one of ",
        "d.toml:7:2: unknown key `other` (",
    ];
    assert_eq!(lines.len(), wanted.len(), "{seen}");
    for (line, wanted) in lines.iter().zip(wanted) {
        assert!(line.starts_with(wanted), "\n  seen: {line}\nwanted: {wanted}");
    }
}

#[test]
fn a_missing_table_is_reported_with_its_keys() {
    let missing = "[drive]\nkind = \"ssd\"\nname = \"A\"\n";
    let seen = error_of(read_two(missing));
    assert!(seen.ends_with("[flash] is missing, with `read`, `page`, `planes`"), "{seen}");
    let seen = error_of(read_two("[drive]\nname = \"A\"\n[flash]\nread = \"1 us\"\n"));
    assert!(seen.starts_with("d.toml:1:1: `kind` is missing | add `kind`"), "{seen}");
    // The choice determines which other keys are requested. If no choice is likely, the rest of the file is not read.
    assert_eq!(seen.lines().count(), 1, "{seen}");
}
