//! Command lines of other programs as workloads, if fio has an exact equivalent.
//!
//! | program | workload |
//! |---|---|
//! | `fio` | its options as a job file |
//! | `dd` | sequential reads or writes of `count` blocks, one at a time |
//! | `hdparm -t` | sequential reads of 2 MiB for 3 s |
//! | `diskspd` | the requests of one target |
//!
//! An option without an exact equivalent is an error that names it.

mod dd;
mod diskspd;
mod draft;
mod hdparm;

use crate::error::{FormatError, FormatErrors, shown};
use crate::fio::{self, FioCommandLine};

/// A program whose command lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Fio,
    Dd,
    Hdparm,
    Diskspd,
}

/// Maximum number of words of a command line.
const WORDS_MAX: usize = 10_000;

impl Program {
    /// Returns the program that a command line starts, possibly after `sudo`.
    fn of(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().skip_while(|word| *word == "sudo");
        let first = words.next()?;
        words.next()?;
        let name = first.rsplit(['/', '\\']).next()?.to_ascii_lowercase();
        match name.as_str() {
            "fio" => Some(Self::Fio),
            "dd" => Some(Self::Dd),
            "hdparm" => Some(Self::Hdparm),
            "diskspd" | "diskspd.exe" => Some(Self::Diskspd),
            _ => None,
        }
    }
}

/// Returns whether the words are a command line of a supported program.
pub fn is_command(text: &str) -> bool {
    Program::of(text).is_some()
}

/// Reads a command line as a fio job file. `file` is its name in errors.
///
/// # Errors
/// Returns an error for each word without an exact equivalent.
pub fn read(text: &str, file: &str) -> Result<FioCommandLine, FormatErrors> {
    let words = fio::words(text, file)?;
    let Some(program) = Program::of(text) else {
        let error =
            FormatError::file(file, format!("`{}` is not a supported command", shown(text)));
        return Err(error.hint(SUPPORTED).into());
    };
    if words.len() > WORDS_MAX {
        return Err(FormatError::file(file, "too many words").into());
    }
    let begin = words.iter().position(|word| word != "sudo").unwrap_or(0) + 1;
    let options = words.get(begin..).unwrap_or_default();
    match program {
        Program::Fio => fio::command(&words, file),
        Program::Dd => Ok(dd::job(options, file)?.finish("dd")),
        Program::Hdparm => Ok(hdparm::job(options, file)?.finish("hdparm")),
        Program::Diskspd => Ok(diskspd::job(options, file)?.finish("diskspd")),
    }
}

/// The command lines that are accepted, for messages.
pub const SUPPORTED: &str = "write -- fio --rw=randread --bs=4k, or name a workload; command lines of dd, hdparm -t and \
                             diskspd are also read";

#[cfg(test)]
mod tests {
    use super::*;

    fn job(line: &str) -> String {
        read(line, "line").unwrap_or_else(|error| panic!("{error}")).text.replace('\n', " ")
    }

    fn error(line: &str) -> String {
        read(line, "line").unwrap_err().to_string()
    }

    #[test]
    fn dd_is_one_sequential_stream() {
        assert_eq!(
            job("dd if=/dev/zero of=x bs=512 count=10 oflag=dsync"),
            "[dd] rw=write bs=512 size=5120 filename=x ioengine=psync iodepth=1 direct=0 sync=dsync zero_buffers=1"
        );
        assert_eq!(
            job("sudo dd if=/dev/nvme0n1 of=/dev/null bs=1M count=64 iflag=direct status=progress"),
            "[dd] rw=read bs=1048576 size=67108864 filename=/dev/nvme0n1 ioengine=psync iodepth=1 direct=1"
        );
        for (line, says) in [
            ("dd if=/dev/zero of=x bs=1M", "count"),
            ("dd if=a of=b count=1", "copies"),
            ("dd if=/dev/zero of=x count=1 conv=sparse", "conv=sparse"),
            ("dd if=/dev/zero of=x count=1 bs=99999999999999G", "bs="),
            ("dd if=/dev/zero of=x count=1 seek=9", "seek"),
            ("dd x y", "`x`"),
        ] {
            assert!(error(line).contains(says), "{line}: {}", error(line));
        }
    }

    #[test]
    fn hdparm_reads_two_mebibytes_for_three_seconds() {
        assert_eq!(
            job("hdparm -t --direct /dev/sda"),
            "[hdparm] rw=read bs=2m filename=/dev/sda ioengine=psync iodepth=1 direct=1 runtime=3"
        );
        assert!(job("hdparm -t /dev/sda").contains("direct=0"));
        assert!(error("hdparm -T /dev/sda").contains("-T"));
        assert!(error("hdparm -I /dev/sda").contains("-I"));
        assert!(error("hdparm /dev/sda --direct").contains("-t"));
    }

    #[test]
    fn diskspd_has_its_defaults_and_refuses_what_fio_cannot_do() {
        assert_eq!(
            job("diskspd -b8K -o32 -t8 -r -w30 -d10 -Sh testfile.dat"),
            "[diskspd] rw=randrw rwmixwrite=30 norandommap=1 bs=8192 iodepth=32 numjobs=8 runtime=10 time_based=1 \
             ramp_time=5 direct=1 ioengine=libaio filename=testfile.dat"
        );
        let plain = job("diskspd.exe -c1G -W0 d.dat");
        assert_eq!(
            plain,
            "[diskspd] rw=read bs=65536 iodepth=2 numjobs=1 runtime=10 time_based=1 direct=0 ioengine=libaio \
             filename=d.dat size=1073741824"
        );
        for (line, says) in [
            ("diskspd -g100 x", "-g100"),
            ("diskspd -rs50 x", "-rs50"),
            ("diskspd -b4K a b", "`b`"),
            ("diskspd -b4K", "target"),
            ("diskspd -o0 x", "-o0"),
            ("diskspd -si x", "-si"),
            ("diskspd -w101 x", "-w101"),
        ] {
            assert!(error(line).contains(says), "{line}: {}", error(line));
        }
    }

    #[test]
    fn hostile_words_are_errors_or_jobs() {
        assert!(is_command("fio --rw=read") && is_command("sudo /bin/dd if=a"));
        assert!(!is_command("dd") && !is_command("ddrescue a b") && !is_command(""));
        for word in
            ["", "é", "=", "-", "--", "bs=", "-b", "-bé", "count=-1", "of=a;b", "-t99999999999"]
        {
            for program in ["dd", "hdparm", "diskspd"] {
                let _ = read(&format!("{program} {word} {word}"), "line");
            }
        }
    }
}
