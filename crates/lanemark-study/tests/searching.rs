//! The search of systems and entries: every word matches, or is named; an incompatible port is never found.

use lanemark_study::library::LibraryKind;
use lanemark_study::search::{EntrySearch, LibraryIndex};
use lanemark_study::{Library, catalogue};

mod systems;
use systems::with_settings;

const PRESENT: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";

#[test]
fn every_word_matches_the_system_or_is_named() {
    let library = Library::built_in();
    let index = LibraryIndex::new(&library);
    for (text, unknown) in
        [("hetzner nvme", "hetzner"), ("toshiba xg6", "xg6"), ("transcend 220s", "220s")]
    {
        let result = index.find(&library, text, Some(PRESENT), 8);
        assert_eq!(
            (result.found, result.unknown),
            (Vec::new(), vec![unknown.to_owned()]),
            "{text}"
        );
    }
    for (text, says) in [
        ("kingston 980 pro b550", "`kingston` does not match"),
        ("980 pro in a sata port of a b550", "`sata` does not match"),
    ] {
        let result = index.find(&library, text, Some(PRESENT), 8);
        assert_eq!(result.found, Vec::new(), "{text}");
        let misfit = result.misfit.unwrap();
        assert!(misfit.contains(says) && misfit.contains("980 PRO"), "{text}: {misfit}");
    }
    for (text, drive) in [
        ("970evo", "samsung-970-evo-"),
        ("MZ-V8P1T0BW", "samsung-980-pro-1tb@"),
        ("MZ-V8P1T0BW, b550", "samsung-980-pro-1tb@amd-b550:"),
        ("SA400S37/480G z270", "kingston-a400-480gb@intel-z270:"),
    ] {
        let found = index.find(&library, text, Some(PRESENT), 8).found;
        assert!(found[0].system.starts_with(drive), "{text}: {found:?}");
    }
}

#[test]
fn a_cloud_volume_is_found_only_in_its_cloud() {
    let library = Library::built_in();
    let index = LibraryIndex::new(&library);
    for text in ["gp3", "gp3 raspberry pi 5", "980 pro aws m5", "azure premium aws"] {
        for found in index.find(&library, text, Some(PRESENT), 8).found {
            let (drive, platform) = found.system.split_once('@').unwrap();
            assert_eq!(
                drive.starts_with("aws-"),
                platform.starts_with("aws-"),
                "{text}: {found:?}"
            );
            assert_eq!(drive.starts_with("azure-"), platform.starts_with("azure-"), "{found:?}");
        }
    }
    assert!(index.find(&library, "gp3", Some(PRESENT), 8).found[0].system.contains("@aws-"));
    assert!(index.find(&library, "gp3 raspberry pi 5", None, 8).misfit.is_some());
}

#[test]
fn no_system_that_is_found_is_refused() {
    let library = Library::built_in();
    let index = LibraryIndex::new(&library);
    let drives = library.names(LibraryKind::Drive);
    for text in drives.iter().step_by(7).map(String::as_str).chain(["nvme", "sata", "usb", "sas"]) {
        for found in index.find(&library, text, Some(PRESENT), 4).found {
            let system = with_settings(&found.system, &[]);
            assert!(system.is_ok(), "{text}: {}: {:?}", found.system, system.err());
        }
    }
}

#[test]
fn a_search_of_entries_needs_every_word() {
    let library = Library::built_in();
    let found = |text: &str| -> (Vec<String>, Vec<String>) {
        let mut search = EntrySearch::new(&library, text);
        let drives = library.names(LibraryKind::Drive).into_iter();
        let drives = drives.map(|id| catalogue::drive(&library, &id).unwrap());
        let matched = drives.filter(|drive| search.matches(&drive.id, &drive.name, Some(drive)));
        let ids = matched.map(|drive| drive.id.clone()).collect();
        (ids, search.unmatched().into_iter().map(str::to_owned).collect())
    };
    let (evo, unmatched) = found("970evo");
    assert!(evo.len() >= 2 && evo.iter().all(|id| id.contains("970-evo")), "{evo:?}");
    assert!(unmatched.is_empty());
    assert_eq!(found("MZ-V8P1T0BW").0, ["samsung-980-pro-1tb"]);
    assert_eq!(found("toshiba xg6"), (Vec::new(), vec!["xg6".to_owned()]));
    // A number whose drive the library lacks is a word without a match.
    assert!(found("MZ-V8P9T0BW").1.contains(&"v8p9t0bw".to_owned()));
}

#[test]
fn more_drives_than_ports_lead_to_a_platform_with_the_ports() {
    let hint = |system: &str| {
        let error = with_settings(system, &[]).unwrap_err();
        error.hint.unwrap_or_default()
    };
    let seven = "samsung-850-pro-1tb@server-xeon-e5-sas2008:\
                 sas+sas-2+sas-3+sas-4+hba-sata+hba-sata-2+hba-sata-3";
    let found = hint(seven);
    assert!(found.contains("for 7 drives behind one adapter or link, use "), "{found}");
    let ports: usize =
        found.rsplit('(').next().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(ports >= 7, "{found}");
    // A single drive in an unknown port is only a spelling.
    let single = hint("samsung-850-pro-1tb@server-xeon-e5-sas2008:hba-sata-3");
    assert!(single.contains("did you mean") && !single.contains("adapter"), "{single}");
}
