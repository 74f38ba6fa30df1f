//! `filename`, `size`, `offset` and related options: the part of the target that a job uses.
//!
//! fio opens one file for each job that does not name one, and several files if the job requests several. In Lanemark
//! there is one target, and the files become adjacent parts of the target; jobs that name the same file share its part.

use lanemark_schema::units::Bytes;

use super::job::{Job, JobProblems};
use super::number::WrittenSize;
use crate::error::SupportLevel;

/// Alignment of the parts.
const PART: u64 = 1 << 20;
/// Maximum number of visits of zones.
const ZONES_MAX: u64 = 4095;
/// Maximum number of clones that become separate tests.
const CLONES_MAX: u64 = 1024;

/// The files and the range that a job requests.
#[derive(Clone, Debug)]
pub(crate) struct RequestedRange {
    /// Names of the files, as one key; the key is equal for jobs that share the files.
    key: String,
    /// Number of files per clone.
    files: u64,
    /// Whether each clone has separate files.
    own: bool,
    clones: u64,
    offset: WrittenSize,
    increment: WrittenSize,
    size: Option<WrittenSize>,
    filesize: Option<u64>,
}

/// The range of a job's requests, with a part at a separate offset for each clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRange {
    pub(crate) offset: Bytes,
    pub(crate) span: Bytes,
    pub(crate) threads: u32,
    /// Number of bytes that a clone transfers if it transfers its size once.
    pub(crate) each: Bytes,
    /// Whether the part begins after the end of the previous part, like the zones of a stride.
    pub(crate) after: bool,
    /// Whether the threads have separate adjacent parts, as `offset_increment` requests.
    pub(crate) parted: bool,
}

impl RequestedRange {
    pub(crate) fn from_job(job: &Job, findings: &mut JobProblems) -> Option<Self> {
        let clones = job.integer("numjobs", findings).unwrap_or(1);
        if clones == 0 || clones > CLONES_MAX {
            findings.add_error(job.error("numjobs", "from 1 to 1024"));
            return None;
        }
        let named = job.text("filename").map(|names| names_of(names).len() as u64);
        let nrfiles = job.integer("nrfiles", findings).unwrap_or(1).clamp(1, 1 << 20);
        let files = named.unwrap_or(nrfiles).max(1);
        let folder = job.text("directory").unwrap_or("");
        let key = match job.text("filename") {
            Some(names) => format!("{folder}/{names}"),
            // No file can have this name.
            None => format!("\0{}\0{}", job.name, job.line),
        };
        let size = match job.flag("fill_device", findings) {
            Some(true) => None,
            _ => job.size("size", findings),
        };
        // An option that was already reported as an error is not reported as unknown in addition.
        if size.is_none() && job.has("size") && job.flag("fill_device", findings) != Some(true) {
            return None;
        }
        let filesize = job.parsed("filesize", findings, |text| {
            let most = text.rsplit('-').next().unwrap_or(text);
            super::number::bytes(most, job.kb_base())
        });
        if job.text("filesize").is_some_and(|text| text.contains('-')) {
            job.note("filesize", findings, SupportLevel::Nearly, "all files have the maximum size");
        }
        let nothing = |size: Option<WrittenSize>| size == Some(WrittenSize::Bytes(0));
        if nothing(size) || filesize == Some(0) {
            let name = if nothing(size) { "size" } else { "filesize" };
            findings.add_error(job.error(name, "a size above 0"));
            return None;
        }
        if files > 1 {
            let name = if named.is_some() { "filename" } else { "nrfiles" };
            job.note(name, findings, SupportLevel::Nearly, "all files are one part of the target");
        }
        Some(Self {
            key,
            files,
            own: named.is_none(),
            clones,
            offset: job.size("offset", findings).unwrap_or(WrittenSize::Bytes(0)),
            increment: job.size("offset_increment", findings).unwrap_or(WrittenSize::Bytes(0)),
            size,
            filesize,
        })
    }

    /// Returns the minimum size of all files of a clone, if it is known.
    fn known_size(&self) -> Option<u64> {
        let of_files = self.filesize.map(|size| size.saturating_mul(self.files));
        let of_size = match (self.size, self.offset, self.increment) {
            (
                Some(WrittenSize::Bytes(size)),
                WrittenSize::Bytes(offset),
                WrittenSize::Bytes(step),
            ) => {
                let last = step.saturating_mul(self.clones - 1);
                Some(offset.saturating_add(last).saturating_add(size))
            }
            _ => None,
        };
        match of_files {
            // A size that exceeds the files is an amount of data, such as 999G for files of 128G.
            Some(files) => Some(files),
            None => of_size,
        }
    }
}

/// Returns the names in a list that is separated by colons; `\:` is a colon in a name.
pub(crate) fn names_of(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        let last = names.len() - 1;
        match letter {
            '\\' => names[last].extend(letters.next()),
            ':' => names.push(String::new()),
            letter => names[last].push(letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Assigns each job its part of a target of `target_size`, if the size is known. An element is `None` if the job's part
/// of the target cannot be determined.
pub(crate) fn job_ranges(
    jobs: &[(&Job, Option<RequestedRange>)],
    target_size: Option<Bytes>,
    findings: &mut JobProblems,
) -> Vec<Option<Vec<JobRange>>> {
    let parts = parts(jobs, target_size);
    let several = parts.len() > 1;
    jobs.iter()
        .map(|(job, wanted)| {
            let wanted = wanted.as_ref()?;
            let part = parts.iter().find(|part| part.key == wanted.key)?;
            let Some(length) = part.length else {
                findings.add_error(
                    job.error("size", "a size, because the size of the target is not known").hint(
                        "set size= in the job or use --size, or run on a file or device that exists",
                    ),
                );
                return None;
            };
            if several || wanted.own && wanted.clones > 1 {
                let reason = format!(
                    "the files of job `{}` are a part of one target, from offset {}",
                    job.name,
                    Bytes(part.offset)
                );
                let named = ["filename", "directory", "filesize", "size"];
                if let Some(line) = named.iter().find_map(|name| job.line(name)) {
                    findings.note(line, SupportLevel::Nearly, reason);
                }
            }
            ranges_at(job, wanted, part.offset, length, findings)
        })
        .collect()
}

struct CloneRange {
    key: String,
    offset: u64,
    /// Total length of a clone's files; `None` if it cannot be determined.
    length: Option<u64>,
}

fn parts(jobs: &[(&Job, Option<RequestedRange>)], target_size: Option<Bytes>) -> Vec<CloneRange> {
    /// A part whose offset is not known yet: its key, whether clones have separate files, and its minimum length.
    struct CloneRangeDraft {
        key: String,
        clones: u64,
        length: Option<u64>,
    }
    let mut drafts: Vec<CloneRangeDraft> = Vec::new();
    for wanted in jobs.iter().filter_map(|(_, wanted)| wanted.as_ref()) {
        let clones = if wanted.own { wanted.clones } else { 1 };
        match drafts.iter_mut().find(|draft| draft.key == wanted.key) {
            Some(draft) => draft.length = draft.length.max(wanted.known_size()),
            None => {
                drafts.push(CloneRangeDraft {
                    key: wanted.key.clone(),
                    clones,
                    length: wanted.known_size(),
                });
            }
        }
    }
    let total_length =
        |draft: &CloneRangeDraft| draft.length.unwrap_or(0).saturating_mul(draft.clones);
    let stated: u64 = drafts.iter().map(total_length).fold(0, u64::saturating_add);
    let unstated: u64 =
        drafts.iter().filter(|draft| draft.length.is_none()).map(|draft| draft.clones).sum();
    let rest = target_size.map(|size| size.get().saturating_sub(stated) / unstated.max(1));
    // If a target contains only one file, the file uses the whole target up to the last sector.
    let rest =
        rest.map(|rest| if drafts.len() > 1 || unstated > 1 { rest / PART * PART } else { rest });
    let mut offset: u64 = 0;
    let assign = |draft: CloneRangeDraft| {
        let length = draft.length.or(rest.filter(|&rest| rest > 0));
        let part = CloneRange { key: draft.key, offset, length };
        let whole = length.unwrap_or(0).saturating_mul(draft.clones);
        offset = offset.saturating_add(whole).checked_next_multiple_of(PART).unwrap_or(u64::MAX);
        part
    };
    drafts.into_iter().map(assign).collect()
}

fn ranges_at(
    job: &Job,
    wanted: &RequestedRange,
    start: u64,
    length: u64,
    findings: &mut JobProblems,
) -> Option<Vec<JobRange>> {
    let bytes = |size: WrittenSize| match size {
        WrittenSize::Bytes(bytes) => bytes,
        // A share of a file is rounded down to a multiple of 4 KiB.
        WrittenSize::Share(share) => (length as f64 * share) as u64 / 4096 * 4096,
    };
    let offset = bytes(wanted.offset);
    let increment = bytes(wanted.increment);
    // The rest of the file that is left for the last clone, which has the highest offset.
    let all_steps = increment.saturating_mul(wanted.clones - 1);
    let last = length.checked_sub(offset.saturating_add(all_steps)).filter(|&room| room > 0);
    let Some((last, room)) = last.map(|last| (last, length - offset)) else {
        findings.add_error(
            job.error("offset", &format!("an offset inside the file of {}", Bytes(length))),
        );
        return None;
    };
    let each = wanted.size.map_or(room, bytes);
    let span = each.min(room);
    let threads = wanted.clones as u32;
    let begin = start.saturating_add(offset);
    let of = |offset: u64, span: u64, threads: u32| JobRange {
        offset: Bytes(offset),
        span: Bytes(span),
        threads,
        each: Bytes(each),
        after: false,
        parted: false,
    };
    if is_strided(job) {
        return strided_ranges(job, wanted, begin, room, each, findings);
    }
    if wanted.own && increment == 0 {
        return Some(vec![of(begin, span.saturating_mul(wanted.clones), threads)]);
    }
    if increment == 0 || wanted.clones == 1 {
        return Some(vec![of(begin, span, threads)]);
    }
    let equal_part = each.min(last);
    if !wanted.own && equal_part == increment && equal_part == span {
        let parts = of(begin, span.saturating_mul(wanted.clones), threads);
        return Some(vec![JobRange { parted: true, ..parts }]);
    }
    // A clone without a size uses its file up to the end.
    let of_clone = |clone: u64| {
        let room = room - clone * increment;
        let each = wanted.size.map_or(room, bytes);
        let file = if wanted.own { clone.saturating_mul(length) } else { 0 };
        let offset = begin.saturating_add(file).saturating_add(clone * increment);
        JobRange { each: Bytes(each), ..of(offset, each.min(room), 1) }
    };
    Some((0..wanted.clones).map(of_clone).collect())
}

/// Returns whether the requests of a job stay in one zone until they have transferred its size.
pub(crate) fn is_strided(job: &Job) -> bool {
    job.text("zonemode") == Some("strided")
}

/// Returns the zones of `zonemode=strided` in the order in which the job visits them. After the last zone of the
/// `room` from `begin`, the job continues with the first zone, until it has transferred `size` bytes or its io_size.
fn strided_ranges(
    job: &Job,
    wanted: &RequestedRange,
    begin: u64,
    room: u64,
    size: u64,
    findings: &mut JobProblems,
) -> Option<Vec<JobRange>> {
    let zone = job.integer("zonesize", findings).filter(|&zone| zone > 0);
    let Some(zone) = zone else {
        findings.add_error(job.error("zonesize", "a size above 0"));
        return None;
    };
    let range = job.integer("zonerange", findings).filter(|&range| range > 0).unwrap_or(zone);
    let stride = range.saturating_add(job.integer("zoneskip", findings).unwrap_or(0));
    let unsupported = job.flag("time_based", findings).unwrap_or(false) || job.has("number_ios");
    if wanted.own && wanted.clones > 1 || unsupported {
        let expected = "a single clone, which stops after size or io_size";
        findings.add_error(job.error("zonemode", expected));
        return None;
    }
    let each = match job.size("io_size", findings) {
        Some(WrittenSize::Bytes(bytes)) => bytes,
        Some(WrittenSize::Share(share)) => (size as f64 * share) as u64,
        None => size,
    };
    let total = each.saturating_mul(job.integer("loops", findings).unwrap_or(1).max(1));
    let zones = (room - 1) / stride + 1;
    let span_of = |visit: u64| range.min(room - visit % zones * stride);
    let length_of = |visit: u64| if range < zone { zone } else { zone.min(span_of(visit)) };
    let round = zone.saturating_mul(zones - 1).saturating_add(length_of(zones - 1));
    let of_rounds = (total / round).saturating_mul(zones);
    let visits = of_rounds.saturating_add((total % round).div_ceil(zone));
    if visits > ZONES_MAX {
        let expected =
            "larger zones, because each visit of a zone is a test, and the maximum is 4,095 tests";
        findings.add_error(job.error("zonesize", expected));
        return None;
    }
    job.note("zonemode", findings, SupportLevel::Nearly, "each visit of a zone is a test");
    let mut rest = total;
    let visit = |visit: u64| {
        let each = length_of(visit).min(rest);
        rest -= each;
        JobRange {
            offset: Bytes(begin.saturating_add(visit % zones * stride)),
            span: Bytes(span_of(visit)),
            threads: wanted.clones as u32,
            each: Bytes(each),
            after: true,
            parted: false,
        }
    };
    Some((0..visits).map(visit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_names_may_have_colons_in_them() {
        assert_eq!(names_of("/dev/sda:/dev/sdb"), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(names_of(r"/dev/bsg/0\:0"), ["/dev/bsg/0:0"]);
        assert!(names_of(":").is_empty());
    }
}
