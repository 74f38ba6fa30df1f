//! Invalid host and adapter files: each error states its position, the bound, and a remedy.

mod spoilt;

use spoilt::system_says;

#[test]
fn impossible_hosts_are_reported_with_their_place() {
    const FILE: &str = "library/hosts/linux-block.toml";
    const HOSTED: &str = "samsung-950-pro-512gb@workstation-z170,linux-block:pcie-slot";
    let says = |from: &str, to: &str, expected: &str| system_says(HOSTED, FILE, from, to, expected);
    says("[host]", "[hosts]", "linux-block.toml:3:2: unknown key `hosts` | did you mean `host`?");
    says("request_submit ", "request_submitt ", "7:1: unknown key `request_submitt`");
    says("value = \"900 ns\"", "value = \"600 MB\"", "do not have the same unit as 600 MB");
    says("value = \"900 ns\"", "value = \"9 h\"", "request_submit");
    let far = ":9:8: wake = 120 s: at most 60 s";
    says("wake             = {", "wake = \"2 min\" # {", far);
    says("range = [\"530 ns\", \"1530 ns\"]", "range = [\"1530 ns\", \"530 ns\"]", "range");
}

#[test]
fn a_host_extends_a_complete_host_of_the_library() {
    const FILE: &str = "library/hosts/linux-file.toml";
    const HOSTED: &str = "samsung-950-pro-512gb@workstation-z170,linux-file:pcie-slot";
    let says = |to: &str, expected: &str| {
        system_says(HOSTED, FILE, "extends = \"linux-block\"", to, expected);
    };
    let unknown = "linux-file.toml:5:11: unknown host `linux-blok` | did you mean `linux-block`?";
    says("extends = \"linux-blok\"", unknown);
    let chain = "linux-file.toml:5:11: extends = `linux-polling`: that host file extends another";
    says("extends = \"linux-polling\"", chain);
    says("extends = \"linux-file\"", "extends = `linux-file`: that host file extends another");
    says("extends = 5", "extends");
    // The error about an inherited value names the file that contains it.
    let base = "library/hosts/linux-block.toml";
    let from = "\"10 us\", assumed = \"the AHCI";
    let expected = "linux-block.toml:27:25: the range of `driver_time`: 2 h";
    system_says(HOSTED, base, from, "\"2 h\", assumed = \"the AHCI", expected);
}

#[test]
fn impossible_file_systems_are_reported_with_their_location() {
    const FILE: &str = "library/hosts/linux-fsync.toml";
    const HOSTED: &str = "samsung-950-pro-512gb@workstation-z170,linux-fsync:m2";
    let says = |from: &str, to: &str, expected: &str| system_says(HOSTED, FILE, from, to, expected);
    says("[file_system]", "[filesystem]", "unknown key `filesystem`");
    says("journal_commit  =", "journal_comit  =", "unknown key `journal_comit`");
    says("value = \"8 KiB\"", "value = \"0 B\"", "journal_records");
    says("value = \"8 KiB\"", "value = \"6 KiB\"", "a multiple of 4 KiB up to 1 MiB");
    says("value = \"4 KiB\"", "value = \"4 us\"", "journal_commit");
}

#[test]
fn impossible_adapters_are_reported_with_their_place() {
    const FILE: &str = "library/platforms/server-xeon-e5-sas2008.toml";
    const BEHIND: &str = "unlimited-sata@server-xeon-e5-sas2008:hba-sata";
    let says = |from: &str, to: &str, expected: &str| system_says(BEHIND, FILE, from, to, expected);
    says("[sas.adapter]", "[sas.adaptor]", "unknown key `adaptor` | did you mean `adapter`?");
    says("value = \"3.4 us\", range = [\"2.8 us\", \"3.8 us\"]", "value = \"3.4 MB\"", "time");
    says(
        "crowded      = 64",
        "crowded      = 0",
        "crowded = 0: must be a whole number from 1 to 65536",
    );
    says("crowded      = 64\n", "", "`crowded` is missing");
    let expected = "crowded_time = 3 us: must be at least command_time, 3.4 us";
    says("value = \"4.5 us\", range = [\"4.0 us\", \"5.0 us\"]", "value = \"3 us\"", expected);
    says(
        "value = \"4.5 us\", range = [\"4.0 us\", \"5.0 us\"]",
        "value = \"61 s\"",
        "at most 60 s",
    );
}
