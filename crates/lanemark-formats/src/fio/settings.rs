//! The settings in a job file, other than the workload, for the program that runs it.

use std::path::PathBuf;

use lanemark_schema::workload::Workload;

use crate::error::OptionNote;

/// The content of a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJobs {
    /// The jobs as tests.
    pub workload: Workload,
    /// Settings for the program that runs the jobs.
    pub settings: FioSettings,
    /// Notes on the options that are not supported exactly, in the order of the file, each option once.
    pub notes: Vec<OptionNote>,
}

/// The settings for the program that runs the jobs. A setting is `None` if the file does not state it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FioSettings {
    /// Engine that submits the requests. If the jobs in the file have different engines, there is a note.
    pub engine: Option<IoEngine>,
    /// Whether the page cache is bypassed.
    pub direct: Option<bool>,
    /// The files or devices that the jobs name.
    pub targets: Vec<PathBuf>,
    /// Whether the run continues when a request fails.
    pub goes_on: Option<bool>,
    /// Names of the tests whose engine waits for each read that uses the page cache, regardless of the depth.
    pub wait_for_cache: Vec<String>,
    /// Names of the tests that transfer as much data as the target contains, because the job states neither a size nor
    /// an end.
    pub sized_by_target: Vec<String>,
}

/// The engine that submits requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoEngine {
    /// Requests are submitted through rings: `io_uring` and other asynchronous engines.
    IoUring,
    /// Requests are blocking system calls: `sync`, `psync`, `pvsync` and similar engines.
    Sync,
    /// No requests are submitted.
    Null,
}

/// Returns the engine with this name in fio, with an optional note, or the reason why it is not supported.
pub(crate) fn engine(name: &str) -> Result<(IoEngine, Option<&'static str>), &'static str> {
    const RINGS: &str = "requests are submitted by io_uring";
    const CALLS: &str = "requests are submitted by read and write calls";
    match name {
        "io_uring" => Ok((IoEngine::IoUring, None)),
        "libaio" | "posixaio" | "solarisaio" | "windowsaio" => Ok((IoEngine::IoUring, Some(RINGS))),
        "io_uring_cmd" => {
            Ok((IoEngine::IoUring, Some("requests go through the block layer, by io_uring")))
        }
        "sync" | "psync" => Ok((IoEngine::Sync, None)),
        "vsync" | "pvsync" | "pvsync2" => Ok((IoEngine::Sync, Some(CALLS))),
        "sg" => Ok((IoEngine::Sync, Some("requests go through the block layer, one at a time"))),
        "nbd" => {
            Ok((IoEngine::IoUring, Some("requests go to the target by io_uring, and not over NBD")))
        }
        "null" => Ok((IoEngine::Null, None)),
        "mmap" | "splice" => Err("it does not submit requests itself; use psync"),
        "cpuio" => Err("it does not submit requests"),
        "exec" => Err("commands in a job file are not executed"),
        "net" | "netsplice" | "rdma" | "http" | "nfs" | "libhdfs" | "gfapi" | "gfapi_async"
        | "rados" | "rbd" | "libiscsi" | "dfs" | "ime_psync" | "ime_psyncv" | "ime_aio" => {
            Err("it is a network engine; only local files and block devices are supported")
        }
        "libcufile" | "libhipfile" => Err("it is for the memory of a graphics card"),
        "dev-dax" | "libpmem" | "pmemblk" | "mtd" | "libzbc" | "libblkio" | "xnvme"
        | "page_fault" => Err("it is for a kind of target that is not supported"),
        "e4defrag" | "falloc" | "ftruncate" | "filecreate" | "filedelete" | "filestat"
        | "filestat_at" | "dircreate" | "dirdelete" | "dirstat" | "fileoperations" => {
            Err("it tests operations of a file system; use requests on a file")
        }
        _ => Err("it is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_of_fio_has_a_counterpart_or_a_reason() {
        let taken = [
            ("io_uring libaio posixaio solarisaio windowsaio io_uring_cmd nbd", IoEngine::IoUring),
            ("sync psync vsync pvsync pvsync2 sg", IoEngine::Sync),
            ("null", IoEngine::Null),
        ];
        for (names, wanted) in taken {
            for name in names.split(' ') {
                assert_eq!(engine(name).map(|(engine, _)| engine), Ok(wanted), "{name}");
            }
        }
        // Only engines that submit requests in the same way as Lanemark are without a note.
        let same = |name: &&str| engine(name).is_ok_and(|(_, note)| note.is_none());
        let names = taken.iter().flat_map(|(names, _)| names.split(' '));
        assert!(names.filter(same).eq(["io_uring", "sync", "psync", "null"]));
        let refused = [
            ("mmap splice", "does not submit requests itself"),
            ("cpuio", "does not submit requests"),
            ("exec", "not executed"),
            (
                "net netsplice rdma http nfs libhdfs gfapi gfapi_async rados rbd libiscsi dfs ime_psync \
                 ime_psyncv ime_aio",
                "a network engine",
            ),
            ("libcufile libhipfile", "graphics card"),
            (
                "dev-dax libpmem pmemblk mtd libzbc libblkio xnvme page_fault",
                "a kind of target that is not supported",
            ),
            (
                "e4defrag falloc ftruncate filecreate filedelete filestat filestat_at dircreate dirdelete dirstat \
                 fileoperations",
                "operations of a file system",
            ),
            ("io_urin IO_URING filecreated", "not known"),
        ];
        for (names, reason) in refused {
            for name in names.split(' ') {
                let given = engine(name).expect_err(name);
                assert!(given.contains(reason), "{name}: {given}");
            }
        }
    }
}
