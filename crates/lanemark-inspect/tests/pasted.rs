//! Tests lspci texts as users paste them: one of many functions, quoted text, wrapped lines, missing line breaks, and
//! output without privileges.

use std::path::Path;

use lanemark_inspect::{InspectError, LspciProblem, Sysfs, inspect};
use lanemark_report::{Style, inspection_svg, inspection_text};
use lanemark_schema::result::{Inspection, UnreadReason};

/// A drive that supports PCIe 3.0 x4, on a PCIe 2.0 x1 link, in the output of newer versions of lspci.
const DRIVE: &str = "\
0001:01:00.0 Non-Volatile memory controller: Maker SSD Controller X6 (rev 01) (prog-if 02 [NVM Express])
\tSubsystem: Maker Device 0001
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tCapabilities: [40] Express (v2) Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
\t\tDevCtl:\tCorrErr- NonFatalErr- FatalErr- UnsupReq-
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
\t\t\tMaxPayload 128 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <32us
\t\t\tClockPM+ Surprise- LLActRep- BwNot- ASPMOptComp+
\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 5GT/s (downgraded), Width x1 (downgraded)
\t\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
\t\tLnkCap2: Supported Link Speeds: 2.5-8GT/s, Crosslink- Retimer- 2Retimers- DRS-
\tKernel driver in use: nvme
";

/// The port above the drive.
const PORT: &str = "\
0001:00:00.0 PCI bridge: Maker Device 2711 (rev 10) (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [ac] Express (v2) Root Port (Slot-), MSI 00
\t\tLnkCap:\tPort #0, Speed 5GT/s, Width x1, ASPM L0s L1
\t\tLnkSta:\tSpeed 5GT/s, Width x1
\tKernel driver in use: pcieport
";

const SLOW: &str = "the link to 0001:01:00.0 runs at PCIe 2.0 x1, but the device supports PCIe 3.0 \
                    x4; the capability of its port is not known";

fn read(text: &str) -> Result<Inspection, InspectError> {
    inspect(&Sysfs::of_lspci(text, Path::new("lspci.txt"))?, None)
}

#[track_caller]
fn findings(text: &str) -> String {
    draw_in_one_line(&read(text).unwrap())
}

/// Returns the drawing of an inspection in one line, without line breaks.
fn draw_in_one_line(inspection: &Inspection) -> String {
    let text = inspection_text(inspection, &Style { width: 100, colour: false });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn problem(text: &str) -> (LspciProblem, String) {
    let error = read(text).unwrap_err();
    let InspectError::Lspci { problem, .. } = &error else { panic!("{error}") };
    (problem.clone(), error.hint())
}

#[test]
fn one_end_of_a_link_is_enough_to_see_that_it_is_slow() {
    let inspection = read(DRIVE).unwrap();
    let text = draw_in_one_line(&inspection);
    assert!(text.contains(&format!("! nvme0n1: {SLOW}.")), "{text}");
    assert!(text.contains("Advice: the whole output of `sudo lspci -vvv`"), "{text}");
    assert!(!text.contains("No limits were found"), "{text}");
    assert!(!text.contains("prog-if"), "the model is the name without lspci's remarks: {text}");
    assert!(inspection_svg(&inspection).contains("the capability of its port is not known"));
    // If the text also contains the port, the cause is known to be the slot.
    let both = findings(&format!("{PORT}\n{DRIVE}"));
    assert!(
        both.contains("supports PCIe 3.0 x4, but its port 0001:00:00.0 only PCIe 2.0 x1"),
        "{both}"
    );
    assert!(!both.contains("not known") && !both.contains("Nothing"), "{both}");
}

#[test]
fn a_paste_is_read_despite_added_and_lost_characters() {
    let flat = |with: &str| DRIVE.lines().map(str::trim).collect::<Vec<_>>().join(with);
    let quoted =
        |mark: &str| DRIVE.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
    let words: Vec<&str> = DRIVE.split_whitespace().collect();
    let wrapped: Vec<String> =
        words.chunks(7).map(|line| format!("> {}", line.join(" "))).collect();
    let coloured = DRIVE.replace("LnkSta:", "\u{1b}[01;31m\u{1b}[KLnkSta\u{1b}[m\u{1b}[K:");
    let cases = [
        ("quoted", quoted("> ")),
        ("quoted twice", quoted("> > ")),
        ("quoted without a space", quoted(">")),
        ("indented", quoted("    ")),
        ("line breaks of DOS", DRIVE.replace('\n', "\r\n")),
        ("without leading white space", flat("\n")),
        ("without line breaks", flat(" ")),
        ("wrapped and quoted", wrapped.join("\n")),
        ("in a code fence", format!("My drive is slow:\n\n```\n{DRIVE}```\n")),
        ("below a prompt", format!("pi@board:~ $ sudo lspci -vvv\n{DRIVE}pi@board:~ $ \n")),
        ("coloured", coloured),
        ("with hard spaces", DRIVE.replace('\t', "\u{a0}\u{a0}")),
        (
            "by numbers",
            DRIVE.replace("Non-Volatile memory controller: Maker SSD", "0108: 1e49:0001"),
        ),
        (
            "after a list",
            format!("0001:01:00.0 Non-Volatile memory controller: Maker X6\n\n{DRIVE}"),
        ),
        ("of before pciutils 3.7", DRIVE.replace(" (downgraded)", "")),
    ];
    for (name, text) in cases {
        let findings = findings(&text);
        assert!(findings.contains(SLOW), "{name}: {findings}");
    }
}

#[test]
fn the_words_of_pciutils_2_are_read() {
    let text = "\
03:00.0 RAID bus controller: Maker RAID (rev 01)
\tCapabilities: [d0] Express Endpoint IRQ 0
\t\tDevice: Supported: MaxPayload 4096 bytes, PhantFunc 0, ExtTag+
\t\tDevice: Latency L0s <64ns, L1 <1us
\t\tDevice: MaxPayload 128 bytes, MaxReadReq 512 bytes
\t\tLink: Supported Speed 2.5Gb/s, Width x8, ASPM L0s, Port 0
\t\tLink: Latency L0s <64ns, L1 <1us
\t\tLink: ASPM Disabled CommClk+ ExtSynch-
\t\tLink: Speed 2.5Gb/s, Width x4
";
    let findings = findings(text);
    assert!(
        findings.contains("runs at PCIe 1.0 x4, but the device supports PCIe 1.0 x8"),
        "{findings}"
    );
}

#[test]
fn nothing_limits_only_where_both_ends_of_every_link_are_known() {
    let same =
        |text: &str| text.replace("5GT/s (downgraded)", "8GT/s").replace("x1 (downgraded)", "x4");
    // The link runs at full speed, and the text does not contain the port.
    let alone = findings(&same(DRIVE));
    assert!(!alone.contains("No limits were found"), "{alone}");
    assert!(alone.contains("runs at PCIe 3.0 x4, the maximum of the device"), "{alone}");
    assert!(alone.contains("`sudo lspci -vvv` of the whole machine"), "{alone}");
    // The text states the link's capability, not its current state.
    let untrained: String = DRIVE
        .lines()
        .filter(|line| !line.contains("LnkSta:"))
        .map(|line| format!("{line}\n"))
        .collect();
    let untrained = findings(&untrained);
    assert!(
        untrained.contains("the trained rate of the link to 0001:01:00.0 (LnkSta)"),
        "{untrained}"
    );
    assert!(!untrained.contains("No limits were found"), "{untrained}");
    // The text states the current state, not the capability.
    let incapable: String = DRIVE
        .lines()
        .filter(|line| !line.contains("LnkCap:"))
        .map(|line| format!("{line}\n"))
        .collect();
    let incapable = findings(&incapable);
    assert!(
        incapable.contains("the capability of 0001:01:00.0 (LnkCap) is not known"),
        "{incapable}"
    );
    // Both ends are known, and support the same speed.
    let port = PORT.replace("5GT/s", "8GT/s").replace("Width x1", "Width x4");
    let both = findings(&same(&format!("{port}\n{DRIVE}")));
    assert!(both.contains("No limits were found for these devices."), "{both}");
    // The link of the controller is known, but the links of its drives are not.
    let sata = "01:00.0 SATA controller: Maker AHCI\n\t\tLnkCap:\tSpeed 8GT/s, Width x2\n\t\tLnkSta:\tSpeed \
                8GT/s, Width x2\n";
    let port = "00:01.0 PCI bridge: Maker Port\n\tBus: primary=00, secondary=01, subordinate=01\n\t\tLnkCap:\tSpeed \
                8GT/s, Width x2\n\t\tLnkSta:\tSpeed 8GT/s, Width x2\n";
    let hosted = findings(&format!("{port}{sata}"));
    assert!(
        hosted.contains("the rates of the links downstream of 0000:01:00.0 are not known"),
        "{hosted}"
    );
    assert!(!hosted.contains("No limits were found"), "{hosted}");
}

#[test]
fn without_privileges_the_reader_learns_which_command_shows_the_links() {
    let text = "01:00.0 Non-Volatile memory controller: Maker X6 (prog-if 02 [NVM Express])\n\
                \tFlags: bus master, fast devsel, latency 0\n\tCapabilities: <access denied>\n\
                \tKernel driver in use: nvme\n";
    let inspection = read(text).unwrap();
    let denied: Vec<&UnreadReason> = inspection.unread.iter().map(|one| &one.reason).collect();
    assert_eq!(denied, [&UnreadReason::Permission]);
    let findings = draw_in_one_line(&inspection);
    assert!(findings.contains("No link to nvme0n1 reports its rate"), "{findings}");
    assert!(findings.contains("`sudo lspci -vvv` shows the PCI Express links"), "{findings}");
    assert!(!findings.contains("No limits were found"), "{findings}");
}

#[test]
fn domains_are_kept_apart() {
    let other = |text: &str| text.replace("0001:0", "0000:0");
    let text = format!("{}\n{}\n{PORT}\n{DRIVE}", other(PORT), other(DRIVE));
    let inspection = read(&text).unwrap();
    let first = |name: &str| {
        let found = inspection.devices.iter().find(|device| device.name == name).unwrap();
        found.paths[0].hops[0].name.clone()
    };
    assert_eq!(
        (first("nvme0n1"), first("nvme1n1")),
        ("0000:00:00.0".into(), "0001:00:00.0".into())
    );
}

#[test]
fn an_unusable_text_is_refused_with_a_remedy() {
    let links = "\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4\n\t\tLnkSta:\tSpeed 5GT/s, Width x1\n";
    let bare = "00:00.0 Host bridge: Maker Device 1234\n00:02.0 VGA compatible controller: Maker Device 5678\n";
    let tree = "-[0000:00]-+-00.0  Maker Host\n           +-06.0-[01]----00.0  Maker NVMe SSD X\n           \
                \\-1c.0-[02]----00.0  Maker NVMe SSD Y\n";
    let stripped: String = tree.lines().map(|line| format!("{}\n", line.trim())).collect();
    let flat = tree.split_whitespace().collect::<Vec<_>>().join(" ");
    let cases = [
        (String::new(), LspciProblem::Empty, "sudo lspci -vvv"),
        ("hello\n".to_owned(), LspciProblem::NotLspci, "sudo lspci -vvv"),
        (links.to_owned(), LspciProblem::LinksOnly, "first line"),
        ("Slot:\t01:00.0\nClass:\tx\n".to_owned(), LspciProblem::MachineReadable, "lspci -vvv"),
        (
            bare.to_owned(),
            LspciProblem::NoStorage { functions: 2 },
            "the whole output of `sudo lspci -vvv`",
        ),
        (stripped, LspciProblem::BrokenTree, "lspci -tv > lspci.txt"),
        (flat, LspciProblem::BrokenTree, "lspci -tv > lspci.txt"),
    ];
    for (text, expected, hint) in cases {
        let (found, hint_text) = problem(&text);
        assert_eq!(found, expected, "{text}");
        assert!(hint_text.contains(hint), "{text}: {hint_text}");
    }
    assert!(
        findings(&tree.lines().map(|line| format!("> {line}\n")).collect::<String>())
            .contains("SSD Y")
    );
}

#[test]
fn functions_under_headings_of_the_writer_are_named_with_their_links() {
    let text = "=== 6.12  0001:02:03.0\n\tCapabilities: [80] Express (v2) Downstream Port (Slot+)\n\
                \t\tLnkCap:\tPort #3, Speed 5GT/s, Width x1\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x1\n\
                === 6.12  0001:04:00.0\n\tCapabilities: [80] Express (v2) Endpoint\n\
                \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4\n\
                \t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)\n";
    let (found, hint) = problem(text);
    let LspciProblem::NoClass { functions, slow } = &found else { panic!("{found:?}") };
    assert_eq!(*functions, 2);
    assert_eq!(slow[0], "0001:02:03.0 runs at 2.5 GT/s x1, of 5.0 GT/s x1");
    assert_eq!(slow[1], "0001:04:00.0 runs at 2.5 GT/s x1, of 8.0 GT/s x4");
    assert!(hint.contains("first line"), "{hint}");
    // With the class in a second list, the drive is recognised.
    let list = "0001:04:00.0 Non-Volatile memory controller: Maker SSD X\n";
    assert_eq!(read(&format!("{list}{text}")).unwrap().devices.len(), 1);
}

#[test]
fn long_texts_end() {
    let _ = read(&"01:00.0 ".repeat(200_000));
    let _ = read(&"LnkCap: ".repeat(200_000));
    let _ = read(&format!("-[0000:00]{}", "-[00]".repeat(200_000)));
    let many: String =
        (0..200).map(|at| format!("{at:04x}:00:00.0 SATA controller: x\n")).collect();
    assert_eq!(read(&many).unwrap().devices.len(), 200);
}
