//! `rw`: the directions of requests, and the order of their offsets.

use super::job::{Job, JobProblems};
use super::number;

/// A value of `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RwOption {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) trims: bool,
    pub(crate) random: bool,
    /// Distance that is added to the offset after each request, in bytes; a negative distance means that offsets
    /// decrease.
    pub(crate) step: i64,
}

/// The values of `rw`, each with whether it reads, writes, trims, and is random.
const WORDS: [(&str, [bool; 4]); 11] = [
    ("read", [true, false, false, false]),
    ("write", [false, true, false, false]),
    ("trim", [false, false, true, false]),
    ("rw", [true, true, false, false]),
    ("readwrite", [true, true, false, false]),
    ("trimwrite", [false, true, true, false]),
    ("randread", [true, false, false, true]),
    ("randwrite", [false, true, false, true]),
    ("randtrim", [false, false, true, true]),
    ("randrw", [true, true, false, true]),
    ("randtrimwrite", [false, true, true, true]),
];

const EXPECTED: &str = "read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite or \
                        randtrimwrite, optionally followed by a colon and the step";

impl RwOption {
    /// Random reads and writes, which permit nearly every option.
    pub(crate) const MIXED: Self =
        Self { reads: true, writes: true, trims: false, random: true, step: 0 };

    /// Reads `rw` of a job; the default is sequential reads.
    pub(crate) fn from_job(job: &Job, findings: &mut JobProblems) -> Option<Self> {
        if !job.has("rw") {
            let [reads, writes, trims, random] = WORDS[0].1;
            return Some(Self { reads, writes, trims, random, step: 0 });
        }
        job.parsed("rw", findings, |text| parse(text, job.kb_base()))
    }

    /// Returns the direction if the job has only one.
    pub(crate) fn only(self) -> Option<usize> {
        match (self.reads, self.writes, self.trims) {
            (true, false, false) => Some(0),
            (false, true, false) => Some(1),
            (false, false, true) => Some(2),
            _ => None,
        }
    }

    /// Returns the requested directions, as indices from 0 to 2.
    pub(crate) fn kinds(self) -> impl Iterator<Item = usize> {
        let flags = [self.reads, self.writes, self.trims];
        (0..3).filter(move |&kind| flags[kind])
    }
}

fn parse(text: &str, kb_base: u64) -> Result<RwOption, &'static str> {
    let (word, step) = match text.split_once(':') {
        Some((word, step)) => (word.trim(), Some(step.trim())),
        None => (text.trim(), None),
    };
    let [reads, writes, trims, random] = WORDS
        .iter()
        .find(|(known, _)| word.eq_ignore_ascii_case(known))
        .map(|(_, flags)| *flags)
        .ok_or(EXPECTED)?;
    let step = match step {
        None => 0,
        Some(count) if random && count == "1" => 0,
        Some(_) if random => return Err("a new offset for each random request"),
        Some(step) => {
            let (sign, digits) = step.strip_prefix('-').map_or((1, step), |digits| (-1, digits));
            let bytes = number::bytes(digits.trim_start_matches('+'), kb_base)?;
            sign * i64::try_from(bytes).map_err(|_| "a step below 8 EiB")?
        }
    };
    Ok(RwOption { reads, writes, trims, random, step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_one_kind_has_only_that_kind() {
        for (word, only, kinds) in [
            ("read", Some(0), &[0][..]),
            ("randread", Some(0), &[0]),
            ("write", Some(1), &[1]),
            ("randwrite", Some(1), &[1]),
            ("trim", Some(2), &[2]),
            ("rw", None, &[0, 1]),
            ("randrw", None, &[0, 1]),
            ("trimwrite", None, &[1, 2]),
        ] {
            let direction = parse(word, 1024).unwrap();
            assert_eq!(direction.only(), only, "{word}");
            assert_eq!(direction.kinds().collect::<Vec<_>>(), kinds, "{word}");
        }
    }

    #[test]
    fn every_word_is_read_with_its_step() {
        for (word, [reads, writes, trims, random]) in WORDS {
            let direction = RwOption { reads, writes, trims, random, step: 0 };
            assert_eq!(parse(word, 1024), Ok(direction));
        }
        assert_eq!(parse("read:-8k", 1024).unwrap().step, -8192);
        assert_eq!(parse("write:112k", 1024).unwrap().step, 114_688);
        for bad in ["", "readx", "randread:8", "read:", "read:x"] {
            assert!(parse(bad, 1024).is_err(), "{bad}");
        }
    }
}
