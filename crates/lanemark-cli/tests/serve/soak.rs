//! Many operations on a served system, and file systems on it. Counts are small; `make serve-soak` uses the full
//! counts.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::PoisonError;

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_testbed::{Mounted, NbdClient, skipped, tool};

use super::mounted::{DISKS, open, start};
use super::{Server, count, folder, stderr};

/// Length of each thread's own part of the drive.
const PART: u64 = 16 << 20;
const THREADS: u64 = 4;

trait BlockInterface {
    fn read(&mut self, offset: u64, length: u64) -> Vec<u8>;
    fn write(&mut self, offset: u64, bytes: &[u8], stored: bool);
    fn zero(&mut self, offset: u64, length: u64, hole: bool);
    fn flush(&mut self);
}

impl BlockInterface for NbdClient {
    fn read(&mut self, offset: u64, length: u64) -> Vec<u8> {
        self.read(offset, length as u32).unwrap().unwrap()
    }

    fn write(&mut self, offset: u64, bytes: &[u8], stored: bool) {
        self.write(offset, bytes, stored).unwrap().unwrap();
    }

    fn zero(&mut self, offset: u64, length: u64, hole: bool) {
        self.zero(offset, length as u32, hole).unwrap().unwrap();
    }

    fn flush(&mut self) {
        self.flush().unwrap().unwrap();
    }
}

impl BlockInterface for fs::File {
    fn read(&mut self, offset: u64, length: u64) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        self.read_exact_at(&mut bytes, offset).unwrap();
        bytes
    }

    fn write(&mut self, offset: u64, bytes: &[u8], stored: bool) {
        self.write_all_at(bytes, offset).unwrap();
        if stored {
            self.sync_data().unwrap();
        }
    }

    fn zero(&mut self, offset: u64, length: u64, hole: bool) {
        use rustix::fs::{FallocateFlags as Flags, fallocate};
        let mode = if hole { Flags::PUNCH_HOLE } else { Flags::ZERO_RANGE };
        fallocate(&*self, mode | Flags::KEEP_SIZE, offset, length).unwrap();
    }

    fn flush(&mut self) {
        self.sync_all().unwrap();
    }
}

/// Returns the checksum of a sector in the model of a part, from its location and its last write.
fn sector(part: u64, at: u64, write: u64) -> [u8; 512] {
    let mut random = Rng::new(StreamKey::from_seed(part << 60 | at << 30 | write));
    let mut bytes = [0; 512];
    bytes.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
    bytes
}

/// Runs random operations in a part of the drive. The data of each read is compared with the last write.
fn operations(interface: &mut dyn BlockInterface, part: u64, number: u64) -> u64 {
    let mut random = Rng::new(StreamKey::from_seed(part));
    // The number of the last write to each sector; 0 means that the sector contains zeros.
    let mut model = vec![0u64; (PART / 512) as usize];
    let mut compared = 0;
    for write in 1..=number {
        let most = if random.chance(0.02) { 512 } else { 16 };
        let sectors = 1 + random.below(most);
        let first = random.below(PART / 512 - sectors);
        let offset = part * PART + first * 512;
        let length = sectors * 512;
        let range = first as usize..(first + sectors) as usize;
        match random.below(8) {
            0..3 => {
                let bytes: Vec<u8> =
                    (first..first + sectors).flat_map(|at| sector(part, at, write)).collect();
                interface.write(offset, &bytes, random.chance(0.02));
                model[range].fill(write);
            }
            3 => {
                interface.zero(offset, length, random.chance(0.5));
                model[range].fill(0);
            }
            4 if random.chance(0.1) => interface.flush(),
            _ => {
                let bytes = interface.read(offset, length);
                for (at, bytes) in range.zip(bytes.chunks(512)) {
                    let wanted = match model[at] {
                        0 => [0; 512],
                        write => sector(part, at as u64, write),
                    };
                    assert!(bytes == wanted, "operation {write} of part {part}: sector {at}");
                    compared += 1;
                }
            }
        }
    }
    compared
}

#[test]
fn random_operations_by_all_interfaces_find_the_written_data() {
    let arguments = ["--memory", "--size", "64MiB", "--mount", "disk"];
    let Some(server) = start(folder(), &arguments) else { return };
    let number = count(20_000, 1_000_000) / THREADS;
    let compared: u64 = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..THREADS)
            .map(|part| {
                let mut interface: Box<dyn BlockInterface + Send> = match part % 2 {
                    0 => Box::new(server.client()),
                    _ => Box::new(open(&server.path("disk"))),
                };
                scope.spawn(move || operations(&mut *interface, part, number))
            })
            .collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    assert!(compared > number, "{compared} sectors were compared");
    println!("{} operations, {compared} sectors compared", number * THREADS);
    let (_, output) = server.stop();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Writes files of random bytes until they contain `most` bytes or the file system is full, and returns their seeds.
fn fill(folder: &Path, most: u64) -> Vec<(u64, usize)> {
    let mut random = Rng::new(StreamKey::from_seed(5));
    let mut written = 0;
    let mut files = Vec::new();
    while written < most {
        let length = if random.chance(0.1) { 4 << 20 } else { random.below(200_000) as usize };
        let seed = files.len() as u64;
        if fs::write(folder.join(seed.to_string()), content(seed, length)).is_err() {
            let _ = fs::remove_file(folder.join(seed.to_string()));
            break;
        }
        written += length as u64;
        files.push((seed, length));
    }
    files
}

fn content(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Rng::new(StreamKey::from_seed(seed));
    let mut bytes: Vec<u8> =
        (0..length / 8 + 1).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}

/// Creates a file system, fills it, unmounts and checks it, then mounts it again and reads it.
fn holds_a_file_system(make: &[&str], check: &[&str]) {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    for program in [make[0], check[0]] {
        if tool("which", &[program]).is_err() {
            return skipped(&format!("{program} is not installed"));
        }
    }
    let size = "640MiB";
    let arguments = ["--memory", "--size", size, "--attach"];
    let Some(server) = start(folder(), &arguments) else { return };
    let node = server.addresses[1].clone();
    tool(make[0], &[&make[1..], &[&node]].concat()).unwrap();
    let Some(mounted) = Mounted::with(&[&node]) else { return };
    let files = fill(mounted.path(), count(64 << 20, u64::MAX));
    let bytes: usize = files.iter().map(|(_, length)| length).sum();
    assert!(bytes >= 60 << 20, "{bytes} bytes");
    fs::remove_file(mounted.path().join("3")).unwrap();
    drop(mounted);
    tool(check[0], &[&check[1..], &[&node]].concat()).unwrap();
    let Some(mounted) = Mounted::with(&[&node]) else { return };
    for (seed, length) in files.iter().filter(|(seed, _)| *seed != 3) {
        let there = fs::read(mounted.path().join(seed.to_string())).unwrap();
        assert!(there == content(*seed, *length), "file {seed}");
    }
    tool("fstrim", &[mounted.path().to_str().unwrap()]).unwrap();
    drop(mounted);
    println!("{}: {} files, {} MiB", make[0], files.len(), bytes >> 20);
    end(server);
}

pub(super) fn end(server: Server) {
    let (_, output) = server.stop();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("still mounted"), "{}", stderr(&output));
}

#[test]
fn ext4_is_sound_on_a_disk() {
    holds_a_file_system(&["mkfs.ext4", "-q", "-F"], &["e2fsck", "-fn"]);
}

#[test]
fn xfs_is_sound_on_a_disk() {
    holds_a_file_system(&["mkfs.xfs", "-q", "-f"], &["xfs_repair", "-n"]);
}

#[test]
fn btrfs_is_sound_on_a_disk() {
    holds_a_file_system(&["mkfs.btrfs", "-q", "-f"], &["btrfs", "check", "--readonly"]);
}
