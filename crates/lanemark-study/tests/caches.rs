//! Each TLC or QLC client drive in the library states its pseudo-SLC cache, or states that it does not have one. A
//! cache consists of a part that remains on a full drive, and a part that grows in unused capacity.

use lanemark_study::Library;
use lanemark_study::library::LibraryKind;
use lanemark_study::rated::{Market, explain};

/// Data center drives whose files do not contain ratings that show the market. These drives write directly to all bits
/// of their cells, so they do not have such a cache.
const DATA_CENTER: [&str; 8] = [
    "intel-s4500-960gb",
    "kingston-dc600m-960gb",
    "kioxia-rm5-960gb",
    "samsung-pm1643-3840gb",
    "samsung-pm1653-3840gb",
    "samsung-pm1743-7680gb",
    "samsung-pm983-3840gb",
    "samsung-pm9a3-7680gb",
];

#[test]
fn each_client_drive_of_three_or_four_bits_states_its_cache_and_its_growth() {
    let library = Library::built_in();
    let mut silent = Vec::new();
    let mut grow = 0;
    let mut fixed = 0;
    let mut none = 0;
    for name in library.names(LibraryKind::Drive) {
        let drive = explain(&library, &name).unwrap();
        let text = |parameter: &str| {
            let mut values = drive.values.iter();
            values.find(|value| value.parameter == parameter).map(|value| value.text.clone())
        };
        let technology = text("drive.flash.technology");
        if !technology.is_some_and(|bits| ["tlc", "qlc"].contains(&bits.as_str())) {
            continue;
        }
        let cache = (text("drive.pseudo_slc.capacity"), text("drive.pseudo_slc.growth"));
        let market = drive.rated.as_ref().map(|rated| rated.market);
        match (DATA_CENTER.contains(&name.as_str()), market, cache) {
            (true, None, (None, None)) | (false, Some(Market::DataCenter), _) => {}
            (false, _, (Some(capacity), Some(growth))) => {
                let is_none = |size: &str| size.starts_with("0 ");
                match (is_none(&capacity), is_none(&growth)) {
                    (true, true) => none += 1,
                    (false, true) => fixed += 1,
                    (_, false) => grow += 1,
                }
            }
            (_, _, cache) => silent.push(format!("{name}: {cache:?}")),
        }
    }
    assert!(silent.is_empty(), "no capacity, or no growth, of the cache: {silent:#?}");
    assert!(
        grow > 80 && fixed >= 4 && none >= 4,
        "{grow} grow, {fixed} are fixed, {none} are absent"
    );
}
