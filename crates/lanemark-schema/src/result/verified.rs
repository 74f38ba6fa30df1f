//! The results of a verification: the data that was written, and the findings of the check.
//!
//! The types are plain data. The crate `lanemark-verify` documents the rules of the check.

use serde::{Deserialize, Serialize};

use crate::named_enum;
use crate::text::saved_as_text;
use crate::units::{Bytes, Duration};

/// The write phase of a verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerificationWrites {
    /// Path of the target.
    pub path: String,
    /// Path of the journal.
    pub journal: String,
    /// The workload's id.
    pub workload: String,
    /// Number of the run; every unit contains it.
    pub run: u64,
    /// The smallest unit that the check judges.
    pub unit_bytes: Bytes,
    /// Start of the written range on the target, which extends from the start of the first test to the end of the last
    /// test.
    pub from_bytes: Bytes,
    /// End of the written range.
    pub to_bytes: Bytes,
    /// Number of acknowledged writes, including the writes that filled the target first.
    pub writes: u64,
    /// Amount of data in these writes.
    pub written_bytes: Bytes,
    /// Number of acknowledged flushes.
    pub flushes: u64,
    /// Number of acknowledged trims.
    pub trims: u64,
    /// Number of reads of the workload, which are part of the load and are not judged.
    pub reads: u64,
    /// Run time of the workload, without the time for filling the target first.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
    /// Amount of data written in that time.
    pub load_bytes: Bytes,
    /// False if the verification was stopped.
    pub complete: bool,
    /// Reasons why the evidence of the verification is limited.
    pub warnings: Vec<VerifyWarning>,
}

/// The event between writing and checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterveningEvent {
    /// The program ended or was killed; kernel and device kept their data.
    Kill,
    /// The power failed, so acknowledged data that was not flushed may be lost from a volatile cache.
    PowerCut,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerificationResult {
    /// Path of the target.
    pub path: String,
    /// Path of the journal.
    pub journal: String,
    /// Number of the run that wrote the journal.
    pub run: u64,
    /// Time at which that run began, in seconds since 1970.
    pub begun_unix_s: u64,
    /// The smallest unit that the check judges.
    pub unit_bytes: Bytes,
    /// Event that was assumed between writing and checking.
    pub since: InterveningEvent,
    /// Whether acknowledged data that was not flushed was allowed to be lost.
    pub volatile_cache: bool,
    /// Number of units by finding.
    pub units: UnitCounts,
    /// Number of requests in the journal, by progress.
    pub requests: RequestCounts,
    /// Damaged ranges, in order of their offsets on the target.
    pub damage: Vec<DamagedRange>,
    /// Number of damaged ranges that `damage` does not list.
    pub damage_more: u64,
    /// Ranges of acknowledged data that is lost and was never flushed, if such a loss is allowed.
    pub unflushed: Vec<DamagedRange>,
    /// Reasons why the evidence of the check is limited.
    pub warnings: Vec<VerifyWarning>,
}

impl VerificationResult {
    /// Returns whether all data that had to be correct is correct.
    pub fn is_intact(&self) -> bool {
        self.damage.is_empty() && self.damage_more == 0
    }
}

/// Numbers of units by finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitCounts {
    /// Units that were read.
    pub read: u64,
    /// Units whose data is required or allowed.
    pub intact: u64,
    /// Intact units with sectors from several writes that were outstanding at the same time.
    pub mixed: u64,
    /// Intact units that are not required to contain acknowledged data.
    pub unjudged: u64,
    /// Units with acknowledged data that is lost and was never flushed, if such a loss is allowed.
    pub unflushed: u64,
    /// Units of writes that were recorded in the missing tail of the journal, if such a loss is allowed.
    pub unjournalled: u64,
    /// Units with wrong data.
    pub wrong: u64,
}

/// Numbers of requests by progress, from the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Submitted writes and trims.
    pub submitted: u64,
    /// Acknowledged writes.
    pub acknowledged: u64,
    /// Acknowledged writes that an acknowledged flush covered afterwards.
    pub flushed: u64,
    /// Unacknowledged writes that are completely missing on the target.
    pub unacknowledged_absent: u64,
    /// Unacknowledged writes that are partly on the target: torn, which is allowed, or partly overwritten.
    pub unacknowledged_partly: u64,
    /// Unacknowledged writes that the target contains completely.
    pub unacknowledged_whole: u64,
}

named_enum! {
    /// The kind of error in a range.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    pub enum DamageKind {
        /// The range still contains the data that immediately preceded the newest acknowledged write.
        Lost = "lost",
        /// The range contains data that is even older.
        Stale = "stale",
        /// The range contains a part of the newest acknowledged write, and the rest is older.
        Torn = "torn",
        /// The data belongs to a different offset.
        Misplaced = "misplaced",
        /// The data was never written.
        Corrupt = "corrupt",
        /// A different run wrote the data.
        Foreign = "foreign",
        /// The data identifies a write that the journal does not contain.
        Unrecorded = "unrecorded",
        /// The device returns an error instead of data.
        Unreadable = "unreadable",
    }
}
saved_as_text!(DamageKind);

/// A range of adjacent units with the same kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedRange {
    /// Kind of the damage.
    pub kind: DamageKind,
    /// Start of the range on the target.
    pub offset_bytes: Bytes,
    /// Length of the range.
    pub length_bytes: Bytes,
    /// The newest acknowledged write in the range; `None` if no write was acknowledged there.
    pub expected: Option<AcknowledgedChange>,
    /// Data found in the range.
    pub found: FoundData,
}

/// An acknowledged write or trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcknowledgedChange {
    /// Number of the write in the run, its generation.
    pub generation: u64,
    /// Start of the write on the target.
    pub offset_bytes: Bytes,
    /// Length of the write.
    pub length_bytes: Bytes,
    /// Whether the request was a trim.
    pub trim: bool,
    /// Whether an acknowledged flush, or forced unit access of the write itself, had made it durable.
    pub durable: bool,
    /// Time at which the acknowledgement was recorded, counted from the start of the run.
    #[serde(rename = "acknowledged_ns")]
    pub acknowledged: Duration,
}

/// The data found in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoundData {
    /// Zeros.
    Zeros,
    /// A unit of this run and this offset.
    Generation(u64),
    /// A unit of this run that belongs to a different offset.
    Elsewhere {
        /// Offset for which the data was written.
        offset_bytes: Bytes,
        /// Number of the write.
        generation: u64,
    },
    /// A unit of a different run.
    Foreign {
        /// Number of that run.
        run: u64,
    },
    /// Sectors from several writes.
    Sectors,
    /// A unit with Lanemark's mark, but with changed contents.
    Changed {
        /// Number of the write in the unit's header.
        generation: u64,
    },
    /// Data without a valid header.
    Unknown,
    /// The unit could not be read.
    Error,
}

/// The reason why the evidence of a verification is limited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyWarning {
    /// The journal and the target are on one device, which may lose both.
    JournalOnTarget {
        /// Name of the device.
        device: String,
    },
    /// The journal was not synced, and the power may have failed since.
    JournalNotSynced,
    /// The journal ends with an invalid record.
    JournalTail {
        /// Amount of data that was not read.
        bytes: Bytes,
    },
    /// The run did not finish; the target may or may not contain its last requests.
    NotEnded,
    /// The target ends before the written span; data beyond its end is treated as lost.
    TargetShort {
        /// Amount of data in the written span that the target still contains.
        #[serde(rename = "held_bytes")]
        held: Bytes,
        /// The span that was written.
        #[serde(rename = "written_bytes")]
        written: Bytes,
    },
    /// Writes went through the page cache, which a power cut empties.
    PageCache {
        /// Reason as text.
        reason: String,
    },
    /// Tests that do not write were skipped.
    TestsLeftOut {
        /// Names of the tests.
        tests: Vec<String>,
    },
}

impl VerifyWarning {
    /// Returns the warning and its advice, each in one sentence.
    pub fn text(&self) -> String {
        match self {
            Self::JournalOnTarget { device } => format!(
                "the journal and the target are both on {device}, which can lose both; \
                 use --journal with a file on a different device"
            ),
            Self::TargetShort { held, written } => format!(
                "the target ends after {held} of the {written} that were written; the rest of the data is lost"
            ),
            Self::JournalNotSynced => {
                "the journal was not synced: after a power cut its end is missing, and the last \
                                       writes cannot be judged; write with --journal-sync"
                    .to_owned()
            }
            Self::JournalTail { bytes } => {
                format!(
                    "the last {} B of the journal are not a complete record and were skipped",
                    bytes.get()
                )
            }
            Self::NotEnded => {
                "the run did not finish: its last requests may or may not have been executed"
                    .to_owned()
            }
            Self::PageCache { reason } => format!(
                "writes went through the page cache ({reason}), so acknowledged data may not have reached the device"
            ),
            Self::TestsLeftOut { tests } => {
                format!("tests that only read were skipped: {}", tests.join(", "))
            }
        }
    }
}
