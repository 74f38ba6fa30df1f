//! Ranges of a file with and without data.

use std::fs::File;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Returns the length of the range that begins at `at` and ends by `end`, and whether it is a hole. The whole file
/// counts as data on a file system that does not report holes.
pub(super) fn stretch_of(file: &File, at: u64, end: u64) -> (u64, bool) {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) if data > at => (data.min(end) - at, true),
        Ok(_) => {
            let hole = seek(file, SeekFrom::Hole(at)).unwrap_or(end);
            (hole.clamp(at + 1, end) - at, false)
        }
        // The rest of the file contains no data.
        Err(Errno::NXIO) => (end - at, true),
        Err(_) => (end - at, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn ranges_of_a_sparse_file_begin_and_end_at_its_data() {
        let file = tempfile::tempfile().unwrap();
        let block = 1 << 16;
        file.set_len(5 * block).unwrap();
        file.write_all_at(&[1; 1 << 16], 2 * block).unwrap();
        for (at, end, wanted) in [
            (0, 5 * block, (2 * block, true)),
            (block, 2 * block, (block, true)),
            (block, 5 * block, (block, true)),
            (2 * block, 5 * block, (block, false)),
            (2 * block + 512, 2 * block + 1024, (512, false)),
            // No data follows.
            (3 * block, 5 * block, (2 * block, true)),
            (4 * block, 5 * block - 512, (block - 512, true)),
        ] {
            assert_eq!(stretch_of(&file, at, end), wanted, "{at} to {end}");
        }
    }
}
