//! Tests of the search with valid, incomplete and hostile texts.

use super::*;

const PRESENT: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";

/// Returns the systems that `text` finds, relative to a current system.
fn names_found(text: &str) -> Vec<String> {
    let library = Library::built_in();
    let result = LibraryIndex::new(&library).find(&library, text, Some(PRESENT), 8);
    result.found.into_iter().map(|one| one.system).collect()
}

#[test]
fn parts_that_a_text_does_not_name_stay() {
    assert_eq!(names_found("m2")[0], "samsung-950-pro-512gb@workstation-z170:m2");
    assert_eq!(names_found("amd b550")[0], "samsung-950-pro-512gb@amd-b550:m2");
    assert_eq!(names_found("intel z270")[0].split('@').next(), Some("samsung-950-pro-512gb"));
    // If several capacities match, the current capacity is chosen.
    assert_eq!(names_found("950 pro m2")[0], "samsung-950-pro-512gb@workstation-z170:m2");
    let other = names_found("860 evo");
    assert!(other[0].starts_with("samsung-860-evo"), "{other:?}");
    assert!(other[0].contains("@workstation-z170:sata"), "{other:?}");
    // An empty text finds the ports that accept the drive.
    assert_eq!(names_found("").len(), 2);
    // The platform changes if the current platform does not accept the drive.
    let library = Library::built_in();
    let result = LibraryIndex::new(&library).find(&library, "kioxia pm6", Some(PRESENT), 4);
    let first = &result.found[0].system;
    assert!(first.starts_with("kioxia-pm6-r-7680gb@") && !first.contains("z170"), "{result:?}");
}

#[test]
fn parts_that_do_not_fit_are_reported() {
    let library = Library::built_in();
    let result = LibraryIndex::new(&library).find(&library, "kioxia pm6 in a b550", None, 4);
    assert!(result.found.is_empty());
    let misfit = result.misfit.unwrap();
    assert!(misfit.contains("no port of") && misfit.contains("SAS 22.5 Gb/s"), "{misfit}");
}

#[test]
fn hostile_texts_find_nothing_and_take_no_time() {
    let library = Library::built_in();
    let index = LibraryIndex::new(&library);
    let began = std::time::Instant::now();
    for text in [
        "\u{0}\u{1b}[2J\u{202e}".to_owned(),
        "zzzzqqqq".to_owned(),
        "x".repeat(1 << 20),
        "zz ".repeat(100_000),
        "@:@:@:".to_owned(),
        "../../etc/passwd@/dev/zero:m2x".to_owned(),
        "磁盘 ".repeat(1000),
        "é".repeat(5000),
    ] {
        let result = index.find(&library, &text, Some(PRESENT), 8);
        assert_eq!(result.found, Vec::new(), "{text:.40}");
    }
    // An invalid current system is not used to complete a text.
    for present in ["", "@", "\u{0}@\u{0}:\u{0}", "nothing@nowhere:none"] {
        assert!(index.find(&library, "m2", Some(present), 8).found.is_empty());
    }
    let unknown = index.find(&library, "980 pro zzzzqqqq", Some(PRESENT), 1);
    assert_eq!((unknown.unknown, unknown.found.len()), (vec!["zzzzqqqq".to_owned()], 0));
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn the_number_of_systems_is_bounded_and_each_is_there_once() {
    let library = Library::built_in();
    let index = LibraryIndex::new(&library);
    let result = index.find(&library, "samsung sata", Some(PRESENT), 5);
    let mut systems: Vec<&str> = result.found.iter().map(|one| one.system.as_str()).collect();
    assert_eq!(systems.len(), 5);
    systems.sort_unstable();
    systems.dedup();
    assert_eq!(systems.len(), 5);
}

#[test]
fn the_current_platform_stays_if_it_accepts_one_of_the_drives() {
    let index = LibraryIndex::new(&Library::built_in());
    let drive = |id: &str| index.drives.iter().position(|(drive, _)| drive.id == id).unwrap();
    let [nvme, sas] = ["samsung-950-pro-512gb", "kioxia-pm6-r-7680gb"].map(drive);
    let current = index.platforms.iter().position(|(one, _)| one.id == "workstation-z170").unwrap();
    let present = SystemName::parse(PRESENT).unwrap();
    for (drives, stays) in [
        (&[nvme][..], true),
        (&[sas], false),
        (&[nvme, sas], true),
        (&[sas, nvme], true),
        (&[], false),
    ] {
        let drives: Vec<(usize, f64)> = drives.iter().map(|&drive| (drive, 1.0)).collect();
        let found = index.present_platform(Some(&present), &drives);
        assert_eq!(found == [(current, 1.0)], stays, "{drives:?}: {found:?}");
        assert!(stays || found.iter().all(|(platform, _)| *platform != current), "{found:?}");
    }
}

#[test]
fn a_numbered_port_is_one_word_and_equal_ports_are_found_once() {
    assert_eq!(names_found("980 pro 1tb b550 m2-2"), ["samsung-980-pro-1tb@amd-b550:m2-2"]);
    // The platform lacks a third slot, although one of its slots is PCIe 3.0.
    assert!(names_found("980 pro b550 m2-3").is_empty());
    assert_eq!(names_found("850 pro 1tb z170"), ["samsung-850-pro-1tb@workstation-z170:sata"]);
    let third = names_found("850 pro 1tb z170 sata-3");
    assert_eq!(third, ["samsung-850-pro-1tb@workstation-z170:sata-3"]);
}

#[test]
fn each_text_has_its_own_first_answer() {
    let library = Library::built_in();
    let index = LibraryIndex::new(&library);
    for (text, system) in [
        ("980 pro 2tb b550", "samsung-980-pro-2tb@amd-b550:m2"),
        ("980 pro 1tb b550 uplink", "samsung-980-pro-1tb@amd-b550:m2-2"),
        ("980 pro 1tb, b550, at the PCH", "samsung-980-pro-1tb@amd-b550:m2-2"),
        ("980 pro 1tb b550 cpu", "samsung-980-pro-1tb@amd-b550:m2"),
        ("980 pro 1tb in the pcie slot of a b550", "samsung-980-pro-1tb@amd-b550:pcie-slot"),
        ("980 pro in the second slot of a B550", "samsung-980-pro-1tb@amd-b550:m2-2"),
        ("B550 980pro", "samsung-980-pro-1tb@amd-b550:m2"),
        ("samsnug 980 pro 1tb b550 chipset", "samsung-980-pro-1tb@amd-b550:m2-2"),
        ("WDS100T2B0C in b550", "wd-blue-sn550-1tb@amd-b550:m2"),
        (PRESENT, PRESENT),
        ("samsung 990 pro 4tb x570", "samsung-990-pro-4tb@workstation-x570:m2"),
        (
            "990 pro 4tb in the third m.2 slot of the x570",
            "samsung-990-pro-4tb@workstation-x570:m2-3",
        ),
        ("samsung 990 pro 4tb x570 last m2", "samsung-990-pro-4tb@workstation-x570:m2-3"),
        ("samsung 850 pro 1tb z270 sata 2", "samsung-850-pro-1tb@intel-z270:sata-2"),
        ("850 pro 1tb in the first sata port of a z270", "samsung-850-pro-1tb@intel-z270:sata"),
        ("intel 520 240gb, last sata port, z270", "intel-520-240gb@intel-z270:sata-4"),
        ("crucial mx500 500gb z170 sata 2", "crucial-mx500-500gb@workstation-z170:sata-2"),
        ("crucail mx500 500gb z170", "crucial-mx500-500gb@workstation-z170:sata"),
        ("kingston a400 z270", "kingston-a400-480gb@intel-z270:sata"),
        ("seagate ironwolf pro 18tb z270", "seagate-ironwolf-pro-18tb@intel-z270:sata"),
        ("B550 m2-2", "samsung-950-pro-512gb@amd-b550:m2-2"),
        ("pcie-slot", PRESENT),
        (" samsung-850-pro-1tb@intel-z270:sata-4 ", "samsung-850-pro-1tb@intel-z270:sata-4"),
    ] {
        let result = index.find(&library, text, Some(PRESENT), 8);
        let first = result.found.first().map(|one| one.system.as_str());
        assert_eq!(first, Some(system), "{text}: {:?}", result.found);
        assert_eq!((result.unknown, result.misfit), (Vec::new(), None), "{text}");
    }
    let exact = index.find(&library, "samsung-850-pro-1tb@intel-z270:sata-4", None, 8).found;
    let [found] = &exact[..] else { panic!("{exact:?}") };
    assert_eq!(
        (found.drive.as_str(), found.platform.as_str()),
        ("Samsung SSD 850 PRO 1TB", "Intel Z270")
    );
    assert_eq!((found.port.as_str(), found.connector.as_str()), ("sata-4", "SATA 6 Gb/s"));
    assert_eq!(found.behind.len(), 1, "the chipset's link: {:?}", found.behind);
}

#[test]
fn a_rare_word_has_a_large_weight_and_a_word_for_ports_a_small_one() {
    let names = ["alpha one", "alpha two", "beta", "sata"];
    let entries: Vec<((), NameWords)> =
        names.iter().map(|name| ((), NameWords::new(name))).collect();
    let words = ["alpha", "one", "zeta", "sata"].map(str::to_owned);
    let weights = weights(&words, &entries);
    // Of the 4 entries, 2, 1, 0 and 1 contain the respective word.
    let two = 3.0_f64.ln();
    let one = 5.0_f64.ln();
    let near = |found: &[f64], wanted: [f64; 4]| {
        assert_eq!(found.len(), 4);
        assert!(
            found.iter().zip(wanted).all(|(one, other)| (one - other).abs() < 1e-12),
            "{found:?}"
        );
    };
    near(&weights.scores(&[]), [two + one, two, 0.0, 0.05 * one]);
    near(&weights.scores(&[0]), [one, 0.0, 0.0, 0.05 * one]);
    assert_eq!(weights.best_words(&weights.scores(&[])), [0, 1]);
    assert_eq!(weights.best_words(&weights.scores(&[0, 1])), [3]);
    assert_eq!(weights.best_words(&[0.0; 4]), [0; 0]);
    assert_eq!([0, 1, 2, 3].map(|word| weights.matches_any(word)), [true, true, false, true]);
}

#[test]
fn entries_from_six_tenths_of_the_best_score_are_alternatives() {
    let order = |at: usize| [(1, "e"), (3, "d"), (1, "c"), (1, "b"), (2, "a"), (3, "a")][at];
    let ranked = |scores: &[f64], most: usize| {
        ranked(scores, most, |at| {
            let (words, name) = order(at);
            (words, name.to_owned())
        })
    };
    let scores = [0.0, 10.0, 6.0, 5.5, 10.0, 10.0];
    // Entries with equal scores are ordered by the number of their words, and then by name.
    let all = [(4, 1.0), (5, 1.0), (1, 1.0), (2, 0.6)];
    assert_eq!(ranked(&scores, 9), all);
    assert_eq!(ranked(&scores, 2), all[..2]);
    assert_eq!(ranked(&[0.0; 6], 9), []);
    for (present, wanted) in [
        (5, [(5, 1.0), (4, 1.0), (1, 1.0), (2, 0.6)]),
        (1, [(1, 1.0), (4, 1.0), (5, 1.0), (2, 0.6)]),
        // The present entry does not displace a better entry.
        (2, all),
        (3, all),
    ] {
        assert_eq!(prefer_present(all.to_vec(), |at| at == present), wanted, "{present}");
    }
}
