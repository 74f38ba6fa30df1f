//! Reading tables: places, errors, overrides.

use super::*;
use lanemark_core::units::{Bytes, Duration};

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
    let (ledger, overrides) = (Ledger::default(), Overrides::default());
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
        "d.toml:10:7: bad = 12: `12` has no unit; write it with one of B, kB, MB, GB, TB (powers \
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
