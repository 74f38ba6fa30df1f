//! Failed requests by kind; simulated and measured runs use the same form.
//!
//! A failed request counts towards neither throughput nor latency. In a measured run, the kernel's error number
//! determines the kind of failure. The table contains the error numbers that Linux's block layer returns for the
//! answers of drives and drivers (`blk_errors` in the kernel's `block/blk-core.c`), and the error numbers of file
//! systems. `EIO` only reports that a request failed, so it does not determine a specific kind.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason of a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The medium could not be read or written (`ENODATA`), or the data read was wrong (`EILSEQ`).
    Media,
    /// The device did not answer in time (`ETIMEDOUT`).
    Timeout,
    /// The command was aborted, for example by a reset (`ECANCELED`).
    Aborted,
    /// A link lost or corrupted the command, and retries failed (`ENOLINK`).
    Link,
    /// The target had no free space (`ENOSPC`).
    NoSpace,
    /// The device no longer exists (`ENODEV`).
    DeviceGone,
    /// The device or file system accepts no writes (`EROFS`).
    ReadOnly,
    /// No data was transferred because the offset is beyond the end of the target.
    Ended,
    /// Any other error, identified by its number if it has one.
    Other,
}

impl ErrorKind {
    /// Returns the kind that Linux's error number `errno` denotes.
    pub fn of_errno(errno: u32) -> Self {
        let known = ERRNOS.iter().find(|(number, ..)| *number == errno);
        known.map_or(Self::Other, |(.., kind)| *kind)
    }

    fn words(self, requests: u64) -> &'static str {
        let is_single = requests == 1;
        match self {
            Self::Media if is_single => "media error",
            Self::Media => "media errors",
            Self::Timeout if is_single => "timeout",
            Self::Timeout => "timeouts",
            Self::Aborted => "aborted",
            Self::Link if is_single => "link error",
            Self::Link => "link errors",
            Self::NoSpace => "without space",
            Self::DeviceGone => "because the device disappeared",
            Self::ReadOnly => "rejected as read-only",
            Self::Ended => "beyond the end of the target",
            Self::Other if is_single => "other error",
            Self::Other => "other errors",
        }
    }
}

/// Linux's error numbers (`asm-generic/errno.h`), each with its name and the kind of failure that it denotes.
const ERRNOS: [(u32, &str, ErrorKind); 26] = [
    (1, "EPERM", ErrorKind::Other),
    (5, "EIO", ErrorKind::Other),
    (6, "ENXIO", ErrorKind::DeviceGone),
    (9, "EBADF", ErrorKind::Other),
    (12, "ENOMEM", ErrorKind::Other),
    (16, "EBUSY", ErrorKind::Other),
    (19, "ENODEV", ErrorKind::DeviceGone),
    (22, "EINVAL", ErrorKind::Other),
    (27, "EFBIG", ErrorKind::Other),
    (28, "ENOSPC", ErrorKind::NoSpace),
    (30, "EROFS", ErrorKind::ReadOnly),
    (52, "EBADE", ErrorKind::Other),
    (61, "ENODATA", ErrorKind::Media),
    (62, "ETIME", ErrorKind::Timeout),
    (67, "ENOLINK", ErrorKind::Link),
    (74, "EBADMSG", ErrorKind::Media),
    (84, "EILSEQ", ErrorKind::Media),
    (95, "EOPNOTSUPP", ErrorKind::Other),
    (108, "ESHUTDOWN", ErrorKind::DeviceGone),
    (110, "ETIMEDOUT", ErrorKind::Timeout),
    (117, "EUCLEAN", ErrorKind::Media),
    (121, "EREMOTEIO", ErrorKind::Other),
    (122, "EDQUOT", ErrorKind::NoSpace),
    (123, "ENOMEDIUM", ErrorKind::DeviceGone),
    (125, "ECANCELED", ErrorKind::Aborted),
    (131, "ENOTRECOVERABLE", ErrorKind::Other),
];

/// The requests that failed with one kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Reason of the failures.
    pub kind: ErrorKind,
    /// The kernel's error number, if a kernel returned the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<u32>,
    /// Number of failed requests.
    pub requests: u64,
}

/// The requests of a sample that failed, by kind and error number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestErrors {
    counts: Vec<ErrorCount>,
}

impl RequestErrors {
    /// Counts a failed request of a simulated run.
    pub fn record(&mut self, kind: ErrorKind) {
        self.add(ErrorCount { kind, errno: None, requests: 1 });
    }

    /// Counts a request for which the kernel returned an error number.
    pub fn record_errno(&mut self, errno: u32) {
        let kind = ErrorKind::of_errno(errno);
        self.add(ErrorCount { kind, errno: Some(errno), requests: 1 });
    }

    /// Adds failed requests of one kind and number. Counts stay ordered by kind and number, so that a result does
    /// not depend on the order of the threads.
    pub fn add(&mut self, more: ErrorCount) {
        let key = (more.kind, more.errno);
        match self.counts.binary_search_by_key(&key, |count| (count.kind, count.errno)) {
            Ok(index) => {
                let known = &mut self.counts[index].requests;
                *known = known.saturating_add(more.requests);
            }
            Err(index) => self.counts.insert(index, more),
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|count| self.add(*count));
    }

    /// Returns the failed requests since `earlier`, an earlier state of these counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |count: &ErrorCount| {
            let same = |other: &&ErrorCount| (other.kind, other.errno) == (count.kind, count.errno);
            earlier.counts.iter().find(same).map_or(0, |other| other.requests)
        };
        let mut since = Self::default();
        for count in &self.counts {
            let requests = count.requests.saturating_sub(before(count));
            if requests > 0 {
                since.add(ErrorCount { requests, ..*count });
            }
        }
        since
    }

    /// Returns the counts in order of kind and error number.
    pub fn counts(&self) -> &[ErrorCount] {
        &self.counts
    }

    /// Returns the number of failed requests.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(count.requests))
    }

    /// Returns whether no request failed.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

/// Writes a list such as `3 media errors (ENODATA), 1 timeout`.
impl fmt::Display for RequestErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, count) in self.counts.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{} {}", count.requests, count.kind.words(count.requests))?;
            if let Some(errno) = count.errno {
                match ERRNOS.iter().find(|(number, ..)| *number == errno) {
                    Some((_, name, _)) => write!(f, " ({name})")?,
                    None => write!(f, " (error number {errno})")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_do_not_depend_on_their_order() {
        let numbers = [110, 5, 61, 5, 4095, 61, 5];
        let mut errors = RequestErrors::default();
        let mut other = RequestErrors::default();
        numbers.iter().for_each(|&errno| errors.record_errno(errno));
        numbers[3..].iter().rev().for_each(|&errno| other.record_errno(errno));
        let mut rest = RequestErrors::default();
        numbers[..3].iter().for_each(|&errno| rest.record_errno(errno));
        other.merge(&rest);
        assert_eq!(errors, other);
        assert_eq!(
            errors.to_string(),
            "2 media errors (ENODATA), 1 timeout (ETIMEDOUT), 3 other errors (EIO), 1 other error \
             (error number 4095)"
        );
        assert_eq!((errors.total(), errors.is_empty()), (7, false));
        assert_eq!(
            errors.since(&rest).to_string(),
            "1 media error (ENODATA), 2 other errors (EIO), 1 other error \
             (error number 4095)"
        );
        assert!(errors.since(&errors).is_empty());
    }

    #[test]
    fn a_simulated_error_lacks_a_number_and_json_has_counts() {
        let mut errors = RequestErrors::default();
        errors.record(ErrorKind::NoSpace);
        errors.record_errno(28);
        let json = serde_json::to_string(&errors).unwrap();
        let simulated = r#"{"kind":"no-space","requests":1}"#;
        let real = r#"{"kind":"no-space","errno":28,"requests":1}"#;
        assert_eq!(json, format!("[{simulated},{real}]"));
        assert_eq!(serde_json::from_str::<RequestErrors>(&json).unwrap(), errors);
    }

    #[test]
    fn numbers_are_in_order_each_once() {
        assert!(ERRNOS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
