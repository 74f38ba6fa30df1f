//! The settings of a job file for the program that runs it, beside the workload.

use std::path::PathBuf;

use lanemark_core::workload::Workload;

use crate::error::Note;

/// The content of a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJobs {
    /// The jobs as tests.
    pub workload: Workload,
    /// Settings for the program that runs the jobs.
    pub settings: FioSettings,
    /// The options that are not kept to the letter, in the order of the file, each once.
    pub notes: Vec<Note>,
}

/// The settings for the program that runs the jobs. What the file does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FioSettings {
    /// Engine that makes the requests. Jobs of the file that differ are told in the notes.
    pub engine: Option<Engine>,
    /// Whether the page cache is bypassed.
    pub direct: Option<bool>,
    /// The files or devices that the jobs name.
    pub targets: Vec<PathBuf>,
    /// Durability of writes. The tests have it already, as a flush after each write.
    pub sync: Option<Sync>,
    /// Whether the run goes on when a request fails.
    pub goes_on: Option<bool>,
    /// Check of the data read that fio would make, `crc32c`.
    pub verify: Option<String>,
}

/// The engine that makes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Requests go through rings: `io_uring`, and other asynchronous engines.
    IoUring,
    /// Requests go through blocking calls: `sync`, `psync`, `pvsync` and their kin.
    Sync,
    /// Requests are not made.
    Null,
}

/// The way in which writes are made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Data and metadata (`O_SYNC`).
    All,
    /// Data only (`O_DSYNC`).
    Data,
}

/// The engine by fio's name for it, or why there is none.
pub(crate) fn engine(name: &str) -> Result<(Engine, Option<&'static str>), &'static str> {
    const RINGS: &str = "requests are made by io_uring";
    const CALLS: &str = "requests are made by read and write calls";
    match name {
        "io_uring" => Ok((Engine::IoUring, None)),
        "libaio" | "posixaio" | "solarisaio" | "windowsaio" => Ok((Engine::IoUring, Some(RINGS))),
        "io_uring_cmd" => {
            Ok((Engine::IoUring, Some("requests go through the block layer, by io_uring")))
        }
        "sync" | "psync" => Ok((Engine::Sync, None)),
        "vsync" | "pvsync" | "pvsync2" => Ok((Engine::Sync, Some(CALLS))),
        "sg" => Ok((Engine::Sync, Some("requests go through the block layer, one at a time"))),
        "null" => Ok((Engine::Null, None)),
        "mmap" | "splice" => Err("it does not make requests of its own; use psync"),
        "cpuio" => Err("it makes no requests"),
        "exec" => Err("no command of a job file is run"),
        "net" | "netsplice" | "rdma" | "http" | "nfs" | "libhdfs" | "gfapi" | "gfapi_async"
        | "rados" | "rbd" | "nbd" | "libiscsi" | "dfs" | "ime_psync" | "ime_psyncv" | "ime_aio" => {
            Err("it is for a network, and a target is a local file or block device")
        }
        "libcufile" | "libhipfile" => Err("it is for the memory of a graphics card"),
        "dev-dax" | "libpmem" | "pmemblk" | "mtd" | "libzbc" | "libblkio" | "xnvme"
        | "page_fault" => Err("it is for a kind of target that is not supported"),
        "e4defrag" | "falloc" | "ftruncate" | "filecreate" | "filedelete" | "filestat"
        | "filestat_at" | "dircreate" | "dirdelete" | "dirstat" | "fileoperations" => {
            Err("it tests a file system's own work; use requests on a file")
        }
        _ => Err("it is not known"),
    }
}
