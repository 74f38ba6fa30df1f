//! The readers of foreign files, the promise of each reader for arbitrary bytes, and the valid files from which fuzzing
//! starts.
//!
//! Two programs use the readers: libFuzzer (`make fuzz`), which follows the branches that an input reaches, and the
//! test `readers` of `lanemark-cli`, which changes the valid files at random. The check of a reader panics if the
//! reader breaks its promise.

mod canary;
mod capture;
mod control;
mod drive;
mod fault;
mod fio_job;
mod fio_json;
mod foreign;
mod fuse;
mod host;
mod image;
mod iometer;
mod journal;
mod nbd;
mod platform;
mod priors;
mod result;
mod scenario;
mod served;
mod served_file;
mod study;
mod sweep;
mod trace;
mod ui_question;
mod workload;

use std::path::{Path, PathBuf};

pub struct Target {
    /// The name of the file in `fuzz_targets/`.
    pub name: &'static str,
    /// Reads bytes, and panics if the reader breaks its promise.
    pub read: fn(&[u8]),
    /// The folders of valid files, relative to the root of the tree, each with the suffix of the file names.
    pub seeds: &'static [(&'static str, &'static str)],
    /// Valid inputs that are not stored in files.
    pub texts: &'static [&'static str],
}

const fn target(
    name: &'static str,
    read: fn(&[u8]),
    seeds: &'static [(&'static str, &'static str)],
) -> Target {
    Target { name, read, seeds, texts: &[] }
}

/// A reader that breaks its promise, which each fuzzer must report.
pub const CANARY: Target = Target { texts: &["canary 1"], ..target("canary", canary::read, &[]) };

/// All readers.
pub const TARGETS: &[Target] = &[
    target("capture", capture::read, &[("crates/lanemark-inspect/tests/samples", "")]),
    Target {
        texts: &[
            "status",
            "fault list",
            "fault latency extra=2ms share=1% for=10s",
            "fault change 1 extra=5ms",
            "fault clear all",
            "power-cut 5s",
        ],
        ..target("control", control::read, &[])
    },
    target("drive", drive::read, &[("library/drives", ".toml")]),
    Target {
        texts: &[
            "latency extra=2ms share=1% at=1s for=3s",
            "media-error share=0.0000001% recovery=1ms heal=write at=0ps",
            "misdirected-write range=1MiB..2MiB share=100% at=0ps drive=1",
            "link-errors rate=1e-9 port=1 link=2 recovery=5ms at=0ps",
            "read-retries share=0% unworn=0.1% endurance=1000 at=1s",
            "retrain lanes=2 generation=1 at=1s for=1s",
            "stuck commands=3 timeout=1s abort=5ms then=fail at=1s",
        ],
        ..target("fault", fault::read, &[])
    },
    Target {
        texts: &[
            "Device r/s rkB/s r_await w/s wkB/s w_await f/s f_await aqu-sz %util\nsda 91 364 0.2 74 931 4.1 31 2.9 4.3 99\n",
        ],
        ..target("fio_job", fio_job::read, &[("crates/lanemark-formats/tests/jobs", ".fio")])
    },
    target("fio_json", fio_json::read, &[("crates/lanemark-formats/tests/samples", ".json")]),
    target(
        "foreign",
        foreign::read,
        &[("crates/lanemark-formats/tests/foreign", ""), ("samples", "-june.json")],
    ),
    Target {
        // An open, a write of 8 bytes, an fsync, a read and an fallocate.
        texts: &[
            "\x0e\x08\0\0\0\0\0\0\0\0",
            "\x10\x30\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
             \0\0\0\0\0\0\0\0abcdefgh",
            "\x14\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "\x0f\x28\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
             \0\0\0\0\0\0\0\0",
            "\x2b\x20\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\x03\0\0\0\0\0\0\0",
        ],
        ..target("fuse", fuse::read, &[])
    },
    target("host", host::read, &[("library/hosts", ".toml")]),
    target("image", image::read, &[("crates/lanemark-serve/tests/images", ".img")]),
    target("iometer", iometer::read, &[("crates/lanemark-formats/tests/samples", ".icf")]),
    target("journal", journal::read, &[("crates/lanemark-serve/tests/files", ".journal")]),
    target("nbd", nbd::read, &[("crates/lanemark-serve/tests/clients", ".nbd")]),
    target("platform", platform::read, &[("library/platforms", ".toml")]),
    target("priors", priors::read, &[("library/priors", ".toml")]),
    target("result", result::read, &[("crates/lanemark-cli/tests/saved", ".json")]),
    target("scenario", scenario::read, &[("crates/lanemark-study/tests/scenarios", ".toml")]),
    Target {
        texts: &["/dev/loop0 /mnt/data ext4 rw,relatime 0 0\n"],
        ..target("served", served::read, &[])
    },
    target("served_file", served_file::read, &[("crates/lanemark-serve/tests/files", ".journal")]),
    target("study", study::read, &[("studies", ".toml")]),
    Target {
        texts: &[
            "system = \"samsung-850-pro-1tb@workstation-z170:sata\"\nworkload = \"quick:rnd4k-q32t1-read\"\n\
             [[axis]]\nname = \"queue_depth\"\nrange = \"1..8*2\"\n\
             [[set]]\nparameter = \"drive.flash.read\"\nvalue = \"50 us\"\n",
        ],
        ..target("sweep", sweep::read, &[])
    },
    target("trace", trace::read, &[("crates/lanemark-trace/tests/samples", "")]),
    target(
        "ui_question",
        ui_question::read,
        &[
            ("crates/lanemark-ui/tests/questions", ".json"),
            ("crates/lanemark-cli/tests/saved", ".json"),
        ],
    ),
    target("workload", workload::read, &[("library/workloads", ".toml")]),
];

/// Runs the target with the name `name`.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().chain([&CANARY]).find(|target| target.name == name).unwrap();
    (target.read)(bytes);
}

/// Returns the folder with the library and the valid files.
pub fn root() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|folder| folder.join("library/priors").is_dir()).unwrap().to_owned()
}

/// Writes `text` to a file and passes its path to `read`, because some readers take a path.
fn with_file(text: &str, read: impl FnOnce(&Path)) {
    let file = tempfile::Builder::new().suffix(".toml").tempfile_in("/dev/shm").unwrap();
    std::fs::write(file.path(), text).unwrap();
    read(file.path());
}
