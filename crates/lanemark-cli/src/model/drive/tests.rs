//! Drive files that the command writes, and the values that it prints.

use clap::Parser;
use lanemark_testbed::documents::words;

use super::*;
use crate::args::{Args, Command};

/// Returns the file that `lanemark drive` writes with the options of a line, or the error.
fn made(options: &str) -> Result<String, String> {
    let words = words(&format!("lanemark drive \"Box 9\" {options}"));
    let Command::Drive(args) = Args::try_parse_from(words).unwrap().command else { panic!() };
    text(&args.name, &args.ratings).map_err(|failure| failure.to_string())
}

#[test]
fn a_drive_file_states_every_given_value_in_its_unit() {
    let text = made(
        "--protocol nvme --capacity \"2 TB\" --generation 4 --lanes 2 --year 2021 --read \"7450 MB/s\" \
         --write \"1500 B/s\" --steady-write \"900 MB/s\" --random-read 101 --random-write 102 \
         --random-read-qd1 103 --write-latency \"15 us\" --steady-random-write 105 \
         --pseudo-slc \"1000000001 B\" --compresses-to 46% --nand tlc --memory host --market client \
         --source \"a box\"",
    );
    let wanted = format!(
        "{} Box 9: ratings from its box, written by `lanemark drive`. All other values are derived from them.\n\n\
         [drive]\nname = \"Box 9\"\nkind = \"ssd\"\nsource = \"a box\"\ncapacity = \"2000 GB\"\n\
         port = {{ protocol = \"nvme\", pcie = {{ generation = 4, lanes = 2 }} }}\n\n\
         [rated]\nsource = \"a box\"\nyear = 2021\nrandom_read = 101\nrandom_write = 102\n\
         random_read_qd1 = 103\nsteady_random_write = 105\nnand = \"tlc\"\nmemory = \"host\"\n\
         market = \"client\"\nread = \"7450 MB/s\"\nwrite = \"1500 B/s\"\nsteady_write = \"900 MB/s\"\n\
         write_latency = \"15 us\"\npseudo_slc = \"1000000001 B\"\ncompresses_to = \"46%\"\n",
        RATED.mark
    );
    assert_eq!(text.unwrap(), wanted);
    let text = made(
        "--protocol sas --kind hdd --capacity \"600 GB\" --rate \"12 Gb/s\" --phys 2 --rpm 10000 --heads 6 \
         --read-latency \"1500 ns\" --random-write-qd1 9 --average-seek \"4 ms\" --track-to-track \"200 us\" \
         --cache \"128 GB\"",
    );
    let text = text.unwrap();
    let (_, body) = text.split_once("\n\n").unwrap();
    assert_eq!(
        body,
        "[drive]\nname = \"Box 9\"\nkind = \"hdd\"\nsource = \"as printed on the box\"\ncapacity = \"600 GB\"\n\
         port = { protocol = \"sas\", sas = { rate = \"12000 Mb/s\", phys = 2 } }\n\n\
         [rated]\nsource = \"as printed on the box\"\nrandom_write_qd1 = 9\nrpm = 10000\nheads = 6\n\
         read_latency = \"1500000 ps\"\naverage_seek = \"4000 us\"\ntrack_to_track = \"200 us\"\n\
         cache = \"128 GB\"\n"
    );
}

#[test]
fn a_port_follows_from_the_protocol() {
    let port = |options: &str| {
        let text = made(&format!("--capacity \"2 TB\" {options}")).unwrap();
        text.lines().find_map(|line| line.strip_prefix("port = ")).unwrap().to_owned()
    };
    assert_eq!(
        port("--protocol sata --rate \"6 Gb/s\""),
        "{ protocol = \"ahci\", sata = \"6000 Mb/s\" }"
    );
    assert_eq!(
        port("--protocol pcie-ahci --generation 2 --lanes 4"),
        "{ protocol = \"ahci\", pcie = { generation = 2, lanes = 4 } }"
    );
}

#[test]
fn missing_and_needless_options_are_listed_together() {
    let lines = |options: &str| -> Vec<String> {
        let error = made(options).unwrap_err();
        let lines = error.lines().skip(1).take_while(|line| line.starts_with("  "));
        lines
            .filter_map(|line| line.split([',', ' ']).find(|word| word.starts_with("--")))
            .map(str::to_owned)
            .collect()
    };
    for (options, wanted) in [
        ("", &["--protocol", "--capacity"][..]),
        ("--protocol nvme", &["--capacity", "--generation", "--lanes"]),
        ("--protocol pcie-ahci --lanes 4", &["--capacity", "--generation"]),
        ("--protocol sata --capacity \"2 TB\"", &["--rate"]),
        ("--protocol sas --capacity \"2 TB\"", &["--rate"]),
        (
            "--protocol nvme --capacity \"2 TB\" --generation 4 --lanes 4 --rate \"6 Gb/s\"",
            &["--rate"],
        ),
        (
            "--protocol sata --capacity \"2 TB\" --rate \"6 Gb/s\" --generation 4 --lanes 4",
            &["--generation", "--lanes"],
        ),
        // Without a protocol, it is not known which options are unnecessary.
        ("--capacity \"2 TB\" --lanes 4", &["--protocol"]),
    ] {
        assert_eq!(lines(options), wanted, "{options}");
    }
}

#[test]
fn a_path_differs_from_a_name_of_the_library() {
    let names = ["box.toml", "a/box.toml", "/box.toml"].map(|path| in_folder(Path::new(path)));
    assert_eq!(names, ["./box.toml", "a/box.toml", "/box.toml"]);
}
