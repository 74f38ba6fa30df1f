//! The fio options that a job for a local file can have, and the treatment of each.
//!
//! The names are from `fio --cmdhelp` of fio 3.33 and from later versions. All other options are unknown.

/// The treatment of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionTreatment {
    /// The option is read, and becomes a part of the workload or of its settings.
    Read,
    /// The figures are the same without it.
    Needless(&'static str),
    /// The option is approximated.
    Nearly(&'static str),
    /// The option causes an error, unless its value switches it off.
    Refused(&'static str),
}

use OptionTreatment::{Nearly, Needless, Read, Refused};

/// The support for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Support {
    /// The option is read. If one of its values is only approximated, a note says so.
    Read,
    /// The option is reported as approximated, regardless of its value.
    Nearly,
    /// The option is reported as not needed.
    Needless,
    /// The option causes an error, unless its value switches it off.
    Refused,
}

/// Returns every known option, by its first name in fio.
pub fn options() -> impl Iterator<Item = (&'static str, Support)> {
    let support = |fate: OptionTreatment| match fate {
        Read => Support::Read,
        Needless(_) => Support::Needless,
        Nearly(_) => Support::Nearly,
        Refused(_) => Support::Refused,
    };
    OPTIONS.iter().map(move |known| (known.name, support(known.fate)))
}

/// An option by its name in fio.
pub(crate) struct KnownOption {
    pub(crate) name: &'static str,
    aliases: &'static [&'static str],
    pub(crate) fate: OptionTreatment,
}

/// Returns the option with this name or alias.
pub(crate) fn find(name: &str) -> Option<&'static KnownOption> {
    OPTIONS.iter().find(|known| known.name == name || known.aliases.contains(&name))
}

/// Returns the most similar known name.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let names = OPTIONS.iter().flat_map(|known| known.aliases.iter().chain([&known.name]));
    let scored = names.map(|known| (strsim::jaro_winkler(known, name), *known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}

const fn read(name: &'static str) -> KnownOption {
    KnownOption { name, aliases: &[], fate: Read }
}

const fn also(
    name: &'static str,
    aliases: &'static [&'static str],
    fate: OptionTreatment,
) -> KnownOption {
    KnownOption { name, aliases, fate }
}

const fn known(name: &'static str, fate: OptionTreatment) -> KnownOption {
    KnownOption { name, aliases: &[], fate }
}

const ALWAYS: OptionTreatment = Needless("all times are always measured and recorded in full");
const SEEDS: OptionTreatment = Needless("the seed of a run is --seed");
const SHOWN: OptionTreatment =
    Needless("a result contains all statistics; reports select from them");
const LAID: OptionTreatment = Needless("the whole file is filled with random data before the run");
const MEMORY: OptionTreatment = Needless("buffers are aligned and registered with the kernel");
const LOG_SHAPE: OptionTreatment = Needless("a series has equal intervals in the result's file");
const PLACED: OptionTreatment =
    Nearly("the kernel chooses the processors of threads; use taskset or numactl");
const URGENCY: OptionTreatment =
    Nearly("requests have the priority of the program; use ionice or nice");
const CACHED: OptionTreatment = Needless("relevant only to the page cache");
const VERIFIED: OptionTreatment = Nearly("written data is not read back and compared");
const ENDS: OptionTreatment = Nearly("each test continues to its own end");
const BATCH: OptionTreatment = Nearly("requests that are due are submitted together");
const DEVICE: OptionTreatment =
    Nearly("requests go through the block layer, like the kernel's own requests");
const TRACE: &str = "traces are replayed by `lanemark replay`";
const ZONED: &str = "zoned block devices are not supported";
const ORDERED: &str = "priority classes and shares are not supported";
const PASSED: &str =
    "NVMe pass-through is not supported; use ioengine=io_uring on the block device";
const TRIMMED: &str = "trims that depend on verification are not supported; use rw=randtrim";

static OPTIONS: &[KnownOption] = &[
    // The job.
    known("description", Needless("a workload is named after its file")),
    read("name"),
    read("numjobs"),
    read("loops"),
    also("stonewall", &["wait_for_previous"], Read),
    read("wait_for"),
    read("startdelay"),
    also("runtime", &["timeout"], Read),
    read("time_based"),
    read("ramp_time"),
    known("thread", Needless("threads are used instead of processes")),
    known("threads", Needless("threads are used instead of processes")),
    known("group_reporting", Needless("the clones of a job are always reported as one figure")),
    known("new_group", Needless("every job is reported separately")),
    known("exitall", ENDS),
    known("exit_what", ENDS),
    known("exitall_on_error", Needless("an error that ends a test ends the run")),
    read("continue_on_error"),
    known("ignore_error", Nearly("every error counts, regardless of its number")),
    known("error_dump", Needless("errors are always shown")),
    known("stats", SHOWN),
    known("profile", Refused("write the jobs of the profile in the file")),
    known(
        "exec_prerun",
        Refused("commands of a job file are not executed; run it before the measurement"),
    ),
    known(
        "exec_postrun",
        Refused("commands of a job file are not executed; run this command after the measurement"),
    ),
    // The target.
    read("filename"),
    read("directory"),
    known("filename_format", Nearly("all files are parts of one target")),
    known("unique_filename", Nearly("all files are parts of one target")),
    known("opendir", Refused("name the files with filename=")),
    known("lockfile", Nearly("the parts of the target are not locked")),
    also("nrfiles", &["nr_files"], Read),
    known("openfiles", Nearly("all files are parts of one target, which stays open")),
    known("file_service_type", Nearly("all files are parts of one target, in one order")),
    read("filesize"),
    read("size"),
    also("io_size", &["io_limit"], Read),
    also("fill_device", &["fill_fs"], Read),
    also("offset", &["fileoffset"], Read),
    read("offset_increment"),
    known("offset_align", Nearly("parts of the target begin at multiples of 1 MiB")),
    read("number_ios"),
    known("fallocate", LAID),
    known("overwrite", LAID),
    known("file_append", Refused("a test stays within its part of the target")),
    known("create_serialize", LAID),
    known("create_fsync", LAID),
    known("create_on_open", LAID),
    known("create_only", Refused("every test makes requests; remove the job")),
    known("allow_file_create", Needless("the command line states what may be written")),
    known("allow_mounted_write", Needless("the command line states what may be written")),
    known("pre_read", CACHED),
    known("unlink", Needless("a file that was created for a run is removed, and no other file")),
    known("unlink_each_loop", Nearly("the file stays for the whole run")),
    known("invalidate", CACHED),
    known("fadvise_hint", CACHED),
    // The requests.
    also("rw", &["readwrite"], Read),
    also("bs", &["blocksize"], Read),
    also("bsrange", &["blocksize_range"], Read),
    read("bssplit"),
    also("ba", &["blockalign"], Read),
    also("bs_unaligned", &["blocksize_unaligned"], Refused("requests are multiples of 512 B")),
    known("bs_is_seq_rand", Refused("give each job one block size")),
    read("rwmixread"),
    read("rwmixwrite"),
    read("norandommap"),
    known("softrandommap", Needless("the order is computed without a map")),
    read("random_distribution"),
    known("random_sequence_stride", Refused("a sequence of offsets is not supported")),
    read("percentage_random"),
    known("rw_sequencer", Refused("each offset is random, or follows the previous one")),
    also("randrepeat", &["allrandrepeat"], SEEDS),
    known("randseed", SEEDS),
    known("random_generator", Nearly("Lanemark generates the order of offsets")),
    known("num_range", Refused("a trim has one range")),
    known("atomic", Nearly("writes are not marked as atomic")),
    known("write_hint", Nearly("writes are submitted without a hint")),
    // Their submission.
    read("ioengine"),
    known("uri", Nearly("the target is given to the command instead")),
    read("iodepth"),
    also("iodepth_batch", &["iodepth_batch_submit"], BATCH),
    also("iodepth_batch_complete_min", &["iodepth_batch_complete"], BATCH),
    known("iodepth_batch_complete_max", BATCH),
    known("iodepth_low", Nearly("the depth is kept full")),
    known("serialize_overlap", Nearly("requests may overlap")),
    known("io_submit_mode", Nearly("latency counts from the time at which a request was due")),
    read("direct"),
    read("buffered"),
    read("sync"),
    read("fsync"),
    read("fdatasync"),
    known("write_barrier", Refused("use fsync")),
    known("sync_file_range", Refused("use fsync or fdatasync")),
    known("end_fsync", Nearly("nothing is flushed after a test")),
    known("fsync_on_close", Nearly("nothing is flushed after a test")),
    known("hipri", Nearly("completions are not polled")),
    known("hipri_percentage", Nearly("completions are not polled")),
    known("userspace_reap", Needless("completions are always read from the ring in user space")),
    known("fixedbufs", MEMORY),
    known("registerfiles", MEMORY),
    known("nonvectored", Needless("requests have one buffer")),
    known("sqthread_poll", Nearly("requests are submitted by system calls")),
    known("sqthread_poll_cpu", Nearly("requests are submitted by system calls")),
    known("force_async", Nearly("the kernel decides which requests its workers execute")),
    known("nowait", Nearly("requests may wait in the kernel")),
    known("uncached", CACHED),
    known("cmd_type", DEVICE),
    known("readfua", Nearly("reads may come from the drive's cache")),
    known("writefua", Nearly("writes may remain in the drive's cache; use sync=1")),
    known("sg_write_mode", Refused("SCSI commands other than reads and writes are not supported")),
    known("stream_id", Refused("SCSI streams are not supported")),
    known("write_mode", Refused(PASSED)),
    known("verify_mode", Refused(PASSED)),
    known("deac", Refused(PASSED)),
    also("fdp", &["dataplacement", "data_placement"], Refused(PASSED)),
    also("fdp_pli", &["plids"], Refused(PASSED)),
    also("fdp_pli_select", &["plid_select"], Refused(PASSED)),
    known("md_per_io_size", Refused(PASSED)),
    known("pi_act", Refused(PASSED)),
    known("pi_chk", Refused(PASSED)),
    known("apptag", Refused(PASSED)),
    known("apptag_mask", Refused(PASSED)),
    also("mem", &["iomem"], MEMORY),
    also("iomem_align", &["mem_align"], MEMORY),
    known("hugepage-size", MEMORY),
    known("lockmem", Nearly("no memory is allocated in addition to the buffers")),
    // Data.
    read("zero_buffers"),
    read("buffer_compress_percentage"),
    known("buffer_compress_chunk", Nearly("each block of 4 KiB has this share")),
    read("buffer_pattern"),
    known("refill_buffers", Needless("written data is random")),
    known("scramble_buffers", Needless("written data is random")),
    known("dedupe_percentage", Nearly("all written blocks differ")),
    known("dedupe_mode", Nearly("all written blocks differ")),
    known("dedupe_working_set_percentage", Nearly("all written blocks differ")),
    known("dedupe_global", Nearly("all written blocks differ")),
    // Their times.
    read("rate"),
    read("rate_iops"),
    read("rate_process"),
    also("rate_min", &["ratemin"], Nearly("a test that falls below a rate continues")),
    known("rate_iops_min", Nearly("a test that falls below a rate continues")),
    also("rate_cycle", &["ratecycle"], Nearly("each request has its own due time")),
    known("rate_ignore_thinktime", Needless("a test has a rate or a think time")),
    read("thinktime"),
    known("thinktime_spin", Nearly("threads do not use the processor during the think time")),
    read("thinktime_blocks"),
    known("thinktime_blocks_type", Nearly("the think time follows each request")),
    known("thinktime_iotime", Refused("give thinktime_blocks")),
    known("flow", Nearly("concurrent tests do not limit each other's share")),
    known("flow_id", Nearly("concurrent tests do not limit each other's share")),
    known("flow_watermark", Nearly("concurrent tests do not limit each other's share")),
    known("flow_sleep", Nearly("concurrent tests do not limit each other's share")),
    known("max_latency", Nearly("a slow request does not end the test")),
    known("latency_target", Refused("Lanemark does not search for a depth; give several depths")),
    known("latency_window", Refused("Lanemark does not search for a depth; give several depths")),
    known(
        "latency_percentile",
        Refused("Lanemark does not search for a depth; give several depths"),
    ),
    known("latency_run", Refused("Lanemark does not search for a depth; give several depths")),
    also("steadystate", &["ss"], Read),
    also("steadystate_duration", &["ss_dur"], Read),
    also("steadystate_ramp_time", &["ss_ramp"], Read),
    also("steadystate_check_interval", &["ss_interval"], Needless("each round is checked")),
    // Verification.
    read("verify"),
    read("do_verify"),
    known("verify_only", Refused("data on the target is not compared")),
    known("verify_interval", VERIFIED),
    known("verify_offset", VERIFIED),
    known("verify_pattern", VERIFIED),
    known("verify_fatal", VERIFIED),
    known("verify_dump", VERIFIED),
    known("verify_async", VERIFIED),
    known("verify_async_cpus", VERIFIED),
    known("verify_backlog", VERIFIED),
    known("verify_backlog_batch", VERIFIED),
    known("verify_write_sequence", VERIFIED),
    known("verify_header_seed", VERIFIED),
    known("verify_state_load", VERIFIED),
    known("verify_state_save", VERIFIED),
    known("experimental_verify", VERIFIED),
    known("trim_percentage", Refused(TRIMMED)),
    known("trim_verify_zero", Refused(TRIMMED)),
    known("trim_backlog", Refused(TRIMMED)),
    known("trim_backlog_batch", Refused(TRIMMED)),
    // Traces.
    known("write_iolog", Refused("the requests of a test follow from its seed")),
    known("read_iolog", Refused(TRACE)),
    known("read_iolog_chunked", Refused(TRACE)),
    known("replay_no_stall", Refused(TRACE)),
    known("replay_redirect", Refused(TRACE)),
    known("replay_scale", Refused(TRACE)),
    known("replay_align", Refused(TRACE)),
    known("replay_time_scale", Refused(TRACE)),
    known("replay_skip", Refused(TRACE)),
    known("merge_blktrace_file", Refused(TRACE)),
    known("merge_blktrace_scalars", Refused(TRACE)),
    known("merge_blktrace_iters", Refused(TRACE)),
    // Zones, and the preconditioning of an SSD.
    read("zonemode"),
    read("zonesize"),
    known("zonecapacity", Refused(ZONED)),
    read("zonerange"),
    read("zoneskip"),
    known("read_beyond_wp", Refused(ZONED)),
    known("max_open_zones", Refused(ZONED)),
    known("job_max_open_zones", Refused(ZONED)),
    known("ignore_zone_limits", Refused(ZONED)),
    known("zone_reset_threshold", Refused(ZONED)),
    known("zone_reset_frequency", Refused(ZONED)),
    known("sprandom", Refused("rounds bring a drive to its steady state")),
    known("spr_op", Refused("rounds bring a drive to its steady state")),
    known("spr_num_regions", Refused("rounds bring a drive to its steady state")),
    known("spr_cache_size", Refused("rounds bring a drive to its steady state")),
    // The machine.
    known("cpumask", PLACED),
    known("cpus_allowed", PLACED),
    known("cpus_allowed_policy", PLACED),
    known("numa_cpu_nodes", PLACED),
    known("numa_mem_policy", PLACED),
    known("nice", URGENCY),
    known("prio", URGENCY),
    known("prioclass", URGENCY),
    known("priohint", URGENCY),
    known("cmdprio_percentage", Refused(ORDERED)),
    known("cmdprio_class", Refused(ORDERED)),
    known("cmdprio_hint", Refused(ORDERED)),
    known("cmdprio", Refused(ORDERED)),
    known("cmdprio_bssplit", Refused(ORDERED)),
    known(
        "ioscheduler",
        Nearly("the scheduler of the device is not changed; set it before the run"),
    ),
    known("cgroup", Nearly("the run stays in its control group; start it in another one")),
    known("cgroup_nodelete", Nearly("the run stays in its control group; start it in another one")),
    known("cgroup_weight", Nearly("the run stays in its control group; start it in another one")),
    known("uid", Refused("start the program as that user")),
    known("gid", Refused("start the program as that group")),
    known("clocksource", ALWAYS),
    known("gtod_reduce", ALWAYS),
    known("gtod_cpu", ALWAYS),
    known("disable_lat", ALWAYS),
    known("disable_clat", ALWAYS),
    known("disable_slat", ALWAYS),
    also("disable_bw_measurement", &["disable_bw"], ALWAYS),
    // Logs and their display.
    read("write_bw_log"),
    read("write_lat_log"),
    read("write_iops_log"),
    read("write_hist_log"),
    read("log_avg_msec"),
    known("per_job_logs", LOG_SHAPE),
    known("bwavgtime", LOG_SHAPE),
    known("iopsavgtime", LOG_SHAPE),
    known("log_entries", LOG_SHAPE),
    known("log_hist_msec", LOG_SHAPE),
    known("log_hist_coarseness", LOG_SHAPE),
    also("log_window_value", &["log_max_value"], LOG_SHAPE),
    known("log_offset", LOG_SHAPE),
    known("log_prio", LOG_SHAPE),
    known("log_issue_time", LOG_SHAPE),
    known("log_compression", LOG_SHAPE),
    known("log_compression_cpus", LOG_SHAPE),
    also("log_store_compressed", &[], LOG_SHAPE),
    known("log_unix_epoch", LOG_SHAPE),
    known("log_alternate_epoch", LOG_SHAPE),
    known("log_alternate_epoch_clock_id", LOG_SHAPE),
    known("block_error_percentiles", SHOWN),
    known("clat_percentiles", SHOWN),
    known("lat_percentiles", SHOWN),
    known("slat_percentiles", SHOWN),
    known("percentile_list", SHOWN),
    known("significant_figures", SHOWN),
    known("disk_util", SHOWN),
    known("unified_rw_reporting", SHOWN),
    read("kb_base"),
    known("unit_base", SHOWN),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_there_twice() {
        let mut names: Vec<&str> = OPTIONS
            .iter()
            .flat_map(|known| known.aliases.iter().chain([&known.name]))
            .copied()
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_misspelt_name_has_a_nearest() {
        assert_eq!(nearest("iodept"), Some("iodepth"));
        assert_eq!(nearest("qqqq"), None);
    }
}
