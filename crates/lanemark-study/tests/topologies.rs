//! Systems that cannot be assembled, and the messages about them, which always name both ends.

use lanemark_testbed::systems::{DRIVE, NVME, SATA};

mod spoilt;
use spoilt::{Spoilt, system_says};

const DELL: &str = "library/platforms/dell-r730xd.toml";
const SAS: &str = "kioxia-rm5-960gb@dell-r730xd:sas";
/// The path to the first port of the adapter.
const BEHIND_HBA: &str = "behind = [\"hba\"]";

#[test]
fn a_port_behind_a_link_that_is_not_there_gets_the_nearest() {
    let expected = "dell-r730xd.toml:67:10: unknown link `hab` | did you mean `hba`?";
    system_says(SAS, DELL, BEHIND_HBA, "behind = [\"hab\"]", expected);
}

#[test]
fn a_circular_path_is_reported_with_its_link() {
    let expected = "dell-r730xd.toml:67:10: the path to port `sas` is a loop: link `dmi` leads \
                    from SAS adapter (`hba`) back to C610 chipset | name each link once";
    system_says(SAS, DELL, BEHIND_HBA, "behind = [\"dmi\", \"hba\", \"dmi\"]", expected);
    let platform = "library/platforms/workstation-z170.toml";
    let from = "\"pcie-slot\"";
    let to = "\"pcie-slot\"\nbehind = [\"dmi\", \"dmi\"]";
    let expected = "is a loop: link `dmi` leads from Intel Z170 (`dmi`) back to Intel Z170";
    system_says(NVME, platform, from, to, expected);
}

/// Two links appear in opposite orders on the paths to two ports.
#[test]
fn links_in_a_row_come_from_two_files() {
    let expected = "dell-r730xd.toml:67:10: link `dmi` to C610 chipset would have two origins: the \
                    processor on the path to port `sata` and SAS adapter (`hba`) on the path to \
                    port `sas`";
    system_says(SAS, DELL, BEHIND_HBA, "behind = [\"hba\", \"dmi\"]", expected);
}

#[test]
fn a_link_with_two_parents_is_reported_with_both() {
    // The first port is downstream of the chipset, and the second is attached to the processor.
    let expected = "dell-r730xd.toml:72:10: link `hba` to SAS adapter would have two origins: C610 \
                    chipset (`dmi`) on the path to port `sas` and the processor on the path to \
                    port `sas-2` (name the links";
    system_says(SAS, DELL, BEHIND_HBA, "behind = [\"dmi\", \"hba\"]", expected);
}

#[test]
fn a_duplicate_link_is_reported_with_both_far_ends() {
    let from = "name             = \"hba\"";
    let to = "name             = \"dmi\"";
    let expected = "link `dmi` is defined twice, to C610 chipset and to SAS adapter";
    system_says(SAS, DELL, from, to, expected);
    // TOML rejects a duplicate key.
    let twice = "behind = [\"hba\"]\nbehind = [\"dmi\"]";
    system_says(SAS, DELL, BEHIND_HBA, twice, "dell-r730xd.toml:68:1: duplicate key");
}

#[test]
fn a_link_that_names_its_parent_is_reported() {
    let from = "to               = \"SAS";
    let to = "behind = [\"dmi\"]\nto               = \"SAS";
    let expected = "a link does not state its position, because the ports state it | list the links on each port's path in";
    system_says(SAS, DELL, from, to, expected);
}

#[test]
fn a_port_with_two_drives_is_reported_with_both() {
    let spoilt = Spoilt::new(DRIVE, "mlc", "mlc");
    let system = "samsung-850-pro-1tb@workstation-z170:sata+unlimited-sata:sata";
    let seen = spoilt.shown(&spoilt.system(system).unwrap_err());
    let expected = "port `sata` of Workstation, Intel Z170 is taken twice, by Samsung SSD 850 PRO 1TB and by \
                    `unlimited-sata`";
    assert!(seen.contains(expected), "{seen}");
    let platform = "library/platforms/workstation-z170.toml";
    let from = "name   = \"sata-2\"";
    let to = "name   = \"sata\"";
    system_says(SATA, platform, from, to, "port `sata` is defined twice");
}
