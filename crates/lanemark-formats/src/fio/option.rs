//! The fio options that a job for a local file can have, and how each is treated.
//!
//! The names are from `fio --cmdhelp` of fio 3.33 and later versions. All other options are unknown.

/// The way in which an option is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionTreatment {
    /// The option is read and becomes a part of the workload or of its settings.
    Read,
    /// The option does not affect the figures.
    Needless(&'static str),
    /// The option is approximated, for the stated reason.
    Nearly(&'static str),
    /// The option causes an error, unless its value disables it.
    Refused(&'static str),
}

use OptionTreatment::{Nearly, Needless, Read, Refused};

/// The support for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionSupport {
    /// The option is read. If one of its values is only approximated, a note states this.
    Read,
    /// The option is reported as approximated, regardless of its value.
    Nearly,
    /// The option is reported as not needed.
    Needless,
    /// The option causes an error, unless its value disables it.
    Refused,
}

/// Returns every known option under its primary name in fio.
pub fn options() -> impl Iterator<Item = (&'static str, OptionSupport)> {
    let support = |fate: OptionTreatment| match fate {
        Read => OptionSupport::Read,
        Needless(_) => OptionSupport::Needless,
        Nearly(_) => OptionSupport::Nearly,
        Refused(_) => OptionSupport::Refused,
    };
    OPTIONS.iter().map(move |known| (known.name, support(known.fate)))
}

/// An option with its names in fio.
pub(crate) struct KnownOption {
    pub(crate) name: &'static str,
    aliases: &'static [&'static str],
    pub(crate) fate: OptionTreatment,
}

/// Returns the option with this name or alias.
pub(crate) fn find(name: &str) -> Option<&'static KnownOption> {
    OPTIONS.iter().find(|known| known.name == name || known.aliases.contains(&name))
}

/// Maximum length of a name that is compared with the known names. The comparison takes the square of the length.
const COMPARED_MAX: usize = 64;

/// Returns the most similar known name. A very long name is not similar to any known name.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    if name.len() > COMPARED_MAX {
        return None;
    }
    let names = OPTIONS.iter().flat_map(|known| known.aliases.iter().chain([&known.name]));
    let scored = names.map(|known| (strsim::jaro_winkler(known, name), *known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}

const fn read(name: &'static str) -> KnownOption {
    KnownOption { name, aliases: &[], fate: Read }
}

const fn with_aliases(
    name: &'static str,
    aliases: &'static [&'static str],
    fate: OptionTreatment,
) -> KnownOption {
    KnownOption { name, aliases, fate }
}

const fn known_option(name: &'static str, fate: OptionTreatment) -> KnownOption {
    KnownOption { name, aliases: &[], fate }
}

const ALWAYS: OptionTreatment = Needless("all times are always measured and recorded in full");
const SEEDS: OptionTreatment = Needless("--seed sets the seed of a run");
const SHOWN: OptionTreatment =
    Needless("a result contains all statistics; reports select from them");
const LAID: OptionTreatment = Needless("the whole file is filled with random data before the run");
const MEMORY: OptionTreatment = Needless("buffers are aligned and registered with the kernel");
const LOG_SHAPE: OptionTreatment = Needless("a series has equal intervals in the result's file");
const PLACED: OptionTreatment =
    Nearly("the kernel chooses the processors on which threads run; use taskset or numactl");
const URGENCY: OptionTreatment =
    Nearly("requests have the priority of the program; use ionice or nice");
const CACHED: OptionTreatment = Needless("relevant only to the page cache");
const VERIFIED: OptionTreatment = Nearly("written data is not read back and compared");
const ENDS: OptionTreatment = Nearly("each test runs until its own end");
const BATCH: OptionTreatment = Nearly("requests that are due are submitted together");
const DEVICE: OptionTreatment =
    Nearly("requests go through the block layer, like the kernel's own requests");
const TRACE: &str = "`lanemark sim SYSTEM TRACE` and `lanemark bench TARGET TRACE` replay traces";
const ZONED: &str = "zoned block devices are not supported";
const ORDERED: &str = "priority classes and shares are not supported";
const PASSED: &str =
    "NVMe pass-through is not supported; use ioengine=io_uring on the block device";
const TRIMMED: &str = "trims that depend on verification are not supported; use rw=randtrim";

static OPTIONS: &[KnownOption] = &[
    // The job.
    known_option("description", Needless("a workload is named after its file")),
    read("name"),
    read("numjobs"),
    read("loops"),
    with_aliases("stonewall", &["wait_for_previous"], Read),
    read("wait_for"),
    read("startdelay"),
    with_aliases("runtime", &["timeout"], Read),
    read("time_based"),
    read("ramp_time"),
    known_option("thread", Needless("threads are used instead of processes")),
    known_option("threads", Needless("threads are used instead of processes")),
    known_option(
        "group_reporting",
        Needless("the clones of a job are always reported as one figure"),
    ),
    known_option("new_group", Needless("every job is reported separately")),
    known_option("exitall", ENDS),
    known_option("exit_what", ENDS),
    known_option("exitall_on_error", Needless("an error that ends a test ends the run")),
    read("continue_on_error"),
    known_option("ignore_error", Nearly("every error counts, regardless of its errno")),
    known_option("error_dump", Needless("errors are always shown")),
    known_option("stats", SHOWN),
    known_option("profile", Refused("write the jobs of the profile into the file")),
    known_option(
        "exec_prerun",
        Refused("commands in a job file are not executed; run this command before the measurement"),
    ),
    known_option(
        "exec_postrun",
        Refused("commands in a job file are not executed; run this command after the measurement"),
    ),
    // The target.
    read("filename"),
    read("directory"),
    known_option("filename_format", Nearly("all files are parts of one target")),
    known_option("unique_filename", Nearly("all files are parts of one target")),
    known_option("opendir", Refused("name the files with filename=")),
    known_option("lockfile", Nearly("the parts of the target are not locked")),
    with_aliases("nrfiles", &["nr_files"], Read),
    known_option("openfiles", Nearly("all files are parts of one target, which stays open")),
    known_option(
        "file_service_type",
        Nearly("all files are parts of one target, which requests access in one order"),
    ),
    read("filesize"),
    read("size"),
    with_aliases("io_size", &["io_limit"], Read),
    with_aliases("fill_device", &["fill_fs"], Read),
    with_aliases("offset", &["fileoffset"], Read),
    read("offset_increment"),
    known_option("offset_align", Nearly("parts of the target begin at multiples of 1 MiB")),
    read("number_ios"),
    known_option("fallocate", LAID),
    known_option("overwrite", LAID),
    known_option("file_append", Refused("a test stays within its part of the target")),
    known_option("create_serialize", LAID),
    known_option("create_fsync", LAID),
    known_option("create_on_open", LAID),
    known_option("create_only", Refused("every test makes requests; remove the job")),
    known_option("allow_file_create", Needless("the command line states what may be written")),
    known_option("allow_mounted_write", Needless("the command line states what may be written")),
    known_option("pre_read", CACHED),
    known_option("unlink", Needless("only a file that was created for the run is removed")),
    known_option("unlink_each_loop", Nearly("the file is kept for the whole run")),
    known_option("invalidate", CACHED),
    known_option("fadvise_hint", CACHED),
    // The requests.
    with_aliases("rw", &["readwrite"], Read),
    with_aliases("bs", &["blocksize"], Read),
    with_aliases("bsrange", &["blocksize_range"], Read),
    read("bssplit"),
    with_aliases("ba", &["blockalign"], Read),
    with_aliases(
        "bs_unaligned",
        &["blocksize_unaligned"],
        Refused("requests are multiples of 512 B"),
    ),
    known_option("bs_is_seq_rand", Refused("set one block size per job")),
    read("rwmixread"),
    read("rwmixwrite"),
    read("norandommap"),
    known_option("softrandommap", Needless("the order is computed without a map")),
    read("random_distribution"),
    known_option("random_sequence_stride", Refused("a sequence of offsets is not supported")),
    read("percentage_random"),
    known_option("rw_sequencer", Refused("each offset is random, or follows the previous one")),
    with_aliases("randrepeat", &["allrandrepeat"], SEEDS),
    known_option("randseed", SEEDS),
    known_option("random_generator", Nearly("Lanemark generates the order of offsets")),
    known_option("num_range", Refused("each trim covers one range")),
    known_option("atomic", Nearly("writes are not marked as atomic")),
    known_option("write_hint", Nearly("writes are submitted without a hint")),
    // Their submission.
    read("ioengine"),
    known_option("uri", Nearly("the target is an argument of the command")),
    read("iodepth"),
    with_aliases("iodepth_batch", &["iodepth_batch_submit"], BATCH),
    with_aliases("iodepth_batch_complete_min", &["iodepth_batch_complete"], BATCH),
    known_option("iodepth_batch_complete_max", BATCH),
    known_option("iodepth_low", Nearly("the queue is kept full")),
    known_option("serialize_overlap", Nearly("requests may overlap")),
    known_option(
        "io_submit_mode",
        Nearly("latency is measured from the time at which a request was due"),
    ),
    read("direct"),
    read("buffered"),
    read("sync"),
    read("fsync"),
    read("fdatasync"),
    known_option("write_barrier", Refused("use fsync")),
    known_option("sync_file_range", Refused("use fsync or fdatasync")),
    known_option("end_fsync", Nearly("nothing is flushed after a test")),
    known_option("fsync_on_close", Nearly("nothing is flushed after a test")),
    known_option("hipri", Nearly("completions are not polled")),
    known_option("hipri_percentage", Nearly("completions are not polled")),
    known_option(
        "userspace_reap",
        Needless("completions are always read from the ring in user space"),
    ),
    known_option("fixedbufs", MEMORY),
    known_option("registerfiles", MEMORY),
    known_option("nonvectored", Needless("each request uses one buffer")),
    known_option("sqthread_poll", Nearly("requests are submitted by system calls")),
    known_option("sqthread_poll_cpu", Nearly("requests are submitted by system calls")),
    known_option("force_async", Nearly("the kernel decides which requests its workers execute")),
    known_option("nowait", Nearly("requests may wait in the kernel")),
    known_option("uncached", CACHED),
    known_option("cmd_type", DEVICE),
    known_option("readfua", Nearly("reads may come from the drive's cache")),
    known_option("writefua", Nearly("writes may remain in the drive's cache; use sync=1")),
    known_option(
        "sg_write_mode",
        Refused("SCSI commands other than reads and writes are not supported"),
    ),
    known_option("stream_id", Refused("SCSI streams are not supported")),
    known_option("write_mode", Refused(PASSED)),
    known_option("verify_mode", Refused(PASSED)),
    known_option("deac", Refused(PASSED)),
    with_aliases("fdp", &["dataplacement", "data_placement"], Refused(PASSED)),
    with_aliases("fdp_pli", &["plids"], Refused(PASSED)),
    with_aliases("fdp_pli_select", &["plid_select"], Refused(PASSED)),
    known_option("md_per_io_size", Refused(PASSED)),
    known_option("pi_act", Refused(PASSED)),
    known_option("pi_chk", Refused(PASSED)),
    known_option("apptag", Refused(PASSED)),
    known_option("apptag_mask", Refused(PASSED)),
    with_aliases("mem", &["iomem"], MEMORY),
    with_aliases("iomem_align", &["mem_align"], MEMORY),
    known_option("hugepage-size", MEMORY),
    known_option("lockmem", Nearly("no memory is allocated in addition to the buffers")),
    // Data.
    read("zero_buffers"),
    read("buffer_compress_percentage"),
    known_option("buffer_compress_chunk", Nearly("this share applies within each 4 KiB block")),
    read("buffer_pattern"),
    known_option("refill_buffers", Needless("written data is random")),
    known_option("scramble_buffers", Needless("written data is random")),
    known_option("dedupe_percentage", Nearly("all written blocks differ")),
    known_option("dedupe_mode", Nearly("all written blocks differ")),
    known_option("dedupe_working_set_percentage", Nearly("all written blocks differ")),
    known_option("dedupe_global", Nearly("all written blocks differ")),
    // Their times.
    read("rate"),
    read("rate_iops"),
    read("rate_process"),
    with_aliases("rate_min", &["ratemin"], Nearly("a test that falls below a rate continues")),
    known_option("rate_iops_min", Nearly("a test that falls below a rate continues")),
    with_aliases("rate_cycle", &["ratecycle"], Nearly("each request has its own due time")),
    known_option("rate_ignore_thinktime", Needless("a test uses either a rate or a think time")),
    read("thinktime"),
    known_option(
        "thinktime_spin",
        Nearly("threads do not use the processor during the think time"),
    ),
    read("thinktime_blocks"),
    known_option("thinktime_blocks_type", Nearly("submitted requests are counted")),
    known_option("thinktime_iotime", Refused("use thinktime_blocks")),
    known_option("flow", Nearly("concurrent tests do not limit each other's share")),
    known_option("flow_id", Nearly("concurrent tests do not limit each other's share")),
    known_option("flow_watermark", Nearly("concurrent tests do not limit each other's share")),
    known_option("flow_sleep", Nearly("concurrent tests do not limit each other's share")),
    known_option("max_latency", Nearly("a slow request does not end the test")),
    known_option(
        "latency_target",
        Refused("Lanemark does not search for a depth; run several depths"),
    ),
    known_option(
        "latency_window",
        Refused("Lanemark does not search for a depth; run several depths"),
    ),
    known_option(
        "latency_percentile",
        Refused("Lanemark does not search for a depth; run several depths"),
    ),
    known_option(
        "latency_run",
        Refused("Lanemark does not search for a depth; run several depths"),
    ),
    with_aliases("steadystate", &["ss"], Read),
    with_aliases("steadystate_duration", &["ss_dur"], Read),
    with_aliases("steadystate_ramp_time", &["ss_ramp"], Read),
    with_aliases("steadystate_check_interval", &["ss_interval"], Needless("each round is checked")),
    // Verification.
    read("verify"),
    read("do_verify"),
    known_option("verify_only", Refused("data on the target is not compared")),
    known_option("verify_interval", VERIFIED),
    known_option("verify_offset", VERIFIED),
    known_option("verify_pattern", VERIFIED),
    known_option("verify_fatal", VERIFIED),
    known_option("verify_dump", VERIFIED),
    known_option("verify_async", VERIFIED),
    known_option("verify_async_cpus", VERIFIED),
    known_option("verify_backlog", VERIFIED),
    known_option("verify_backlog_batch", VERIFIED),
    known_option("verify_write_sequence", VERIFIED),
    known_option("verify_header_seed", VERIFIED),
    known_option("verify_state_load", VERIFIED),
    known_option("verify_state_save", VERIFIED),
    known_option("experimental_verify", VERIFIED),
    known_option("trim_percentage", Refused(TRIMMED)),
    known_option("trim_verify_zero", Refused(TRIMMED)),
    known_option("trim_backlog", Refused(TRIMMED)),
    known_option("trim_backlog_batch", Refused(TRIMMED)),
    // Traces.
    known_option("write_iolog", Refused("the seed of a test determines its requests")),
    known_option("read_iolog", Refused(TRACE)),
    known_option("read_iolog_chunked", Refused(TRACE)),
    known_option("replay_no_stall", Refused(TRACE)),
    known_option("replay_redirect", Refused(TRACE)),
    known_option("replay_scale", Refused(TRACE)),
    known_option("replay_align", Refused(TRACE)),
    known_option("replay_time_scale", Refused(TRACE)),
    known_option("replay_skip", Refused(TRACE)),
    known_option("merge_blktrace_file", Refused(TRACE)),
    known_option("merge_blktrace_scalars", Refused(TRACE)),
    known_option("merge_blktrace_iters", Refused(TRACE)),
    // Zones, and the preconditioning of an SSD.
    read("zonemode"),
    read("zonesize"),
    known_option("zonecapacity", Refused(ZONED)),
    read("zonerange"),
    read("zoneskip"),
    known_option("read_beyond_wp", Refused(ZONED)),
    known_option("max_open_zones", Refused(ZONED)),
    known_option("job_max_open_zones", Refused(ZONED)),
    known_option("ignore_zone_limits", Refused(ZONED)),
    known_option("zone_reset_threshold", Refused(ZONED)),
    known_option("zone_reset_frequency", Refused(ZONED)),
    known_option(
        "sprandom",
        Refused("use rounds (--steady), which bring a drive to its steady state"),
    ),
    known_option(
        "spr_op",
        Refused("use rounds (--steady), which bring a drive to its steady state"),
    ),
    known_option(
        "spr_num_regions",
        Refused("use rounds (--steady), which bring a drive to its steady state"),
    ),
    known_option(
        "spr_cache_size",
        Refused("use rounds (--steady), which bring a drive to its steady state"),
    ),
    // The machine.
    known_option("cpumask", PLACED),
    known_option("cpus_allowed", PLACED),
    known_option("cpus_allowed_policy", PLACED),
    known_option("numa_cpu_nodes", PLACED),
    known_option("numa_mem_policy", PLACED),
    known_option("nice", URGENCY),
    known_option("prio", URGENCY),
    known_option("prioclass", URGENCY),
    known_option("priohint", URGENCY),
    known_option("cmdprio_percentage", Refused(ORDERED)),
    known_option("cmdprio_class", Refused(ORDERED)),
    known_option("cmdprio_hint", Refused(ORDERED)),
    known_option("cmdprio", Refused(ORDERED)),
    known_option("cmdprio_bssplit", Refused(ORDERED)),
    known_option(
        "ioscheduler",
        Nearly("the scheduler of the device is not changed; set it before the run"),
    ),
    known_option("cgroup", Nearly("the run stays in its control group; start it in another one")),
    known_option(
        "cgroup_nodelete",
        Nearly("the run stays in its control group; start it in another one"),
    ),
    known_option(
        "cgroup_weight",
        Nearly("the run stays in its control group; start it in another one"),
    ),
    known_option("uid", Refused("start the program as that user")),
    known_option("gid", Refused("start the program as that group")),
    known_option("clocksource", ALWAYS),
    known_option("gtod_reduce", ALWAYS),
    known_option("gtod_cpu", ALWAYS),
    known_option("disable_lat", ALWAYS),
    known_option("disable_clat", ALWAYS),
    known_option("disable_slat", ALWAYS),
    with_aliases("disable_bw_measurement", &["disable_bw"], ALWAYS),
    // Logs and their display.
    read("write_bw_log"),
    read("write_lat_log"),
    read("write_iops_log"),
    read("write_hist_log"),
    read("log_avg_msec"),
    known_option("per_job_logs", LOG_SHAPE),
    known_option("bwavgtime", LOG_SHAPE),
    known_option("iopsavgtime", LOG_SHAPE),
    known_option("log_entries", LOG_SHAPE),
    known_option("log_hist_msec", LOG_SHAPE),
    known_option("log_hist_coarseness", LOG_SHAPE),
    with_aliases("log_window_value", &["log_max_value"], LOG_SHAPE),
    known_option("log_offset", LOG_SHAPE),
    known_option("log_prio", LOG_SHAPE),
    known_option("log_issue_time", LOG_SHAPE),
    known_option("log_compression", LOG_SHAPE),
    known_option("log_compression_cpus", LOG_SHAPE),
    with_aliases("log_store_compressed", &[], LOG_SHAPE),
    known_option("log_unix_epoch", LOG_SHAPE),
    known_option("log_alternate_epoch", LOG_SHAPE),
    known_option("log_alternate_epoch_clock_id", LOG_SHAPE),
    known_option("block_error_percentiles", SHOWN),
    known_option("clat_percentiles", SHOWN),
    known_option("lat_percentiles", SHOWN),
    known_option("slat_percentiles", SHOWN),
    known_option("percentile_list", SHOWN),
    known_option("significant_figures", SHOWN),
    known_option("disk_util", SHOWN),
    known_option("unified_rw_reporting", SHOWN),
    read("kb_base"),
    known_option("unit_base", SHOWN),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_has_a_nearest_unless_it_is_long() {
        assert_eq!(nearest("rwmixreed"), Some("rwmixread"));
        assert_eq!(nearest("qqqq"), None);
        let long = format!("rwmixread{}", "d".repeat(COMPARED_MAX));
        assert_eq!(nearest(&long), None);
    }

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
}
