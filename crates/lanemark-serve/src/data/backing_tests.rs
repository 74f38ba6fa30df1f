//! Tests the bytes of an export against a model in memory, and over an image also in the states that a kill and a crash
//! of the machine leave.

use super::*;
use lanemark_schema::rng::{Rng, StreamKey};
use rustix::fs::{Mode, OFlags};
use std::io::Write;
use std::os::fd::AsRawFd;

const SIZE: u64 = 300 * 1024 + 512;
/// Number of records in half a log: so few that a test fills the log several times.
const RECORDS: u64 = 40;
/// Number of records in half a log that a test does not fill.
const RECORDS_ENOUGH: u64 = 400;

/// Compares random reads, writes and zeroes with bytes in memory.
fn holds_as_a_model_does(backing: &ExportBytes, model: &mut [u8], seed: u64) {
    let mut random = Rng::new(StreamKey::from_seed(seed));
    for step in 0..4_000 {
        let offset = random.below(SIZE);
        let most = if random.chance(0.2) { 40_000 } else { 5_000 };
        let length = 1 + random.below(most.min(SIZE - offset));
        let range = offset as usize..(offset + length) as usize;
        match random.below(4) {
            0 => {
                let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
                backing.write(offset, &bytes).unwrap();
                model[range].copy_from_slice(&bytes);
            }
            1 => {
                backing.zero(offset, length, random.chance(0.5)).unwrap();
                model[range].fill(0);
            }
            2 => {
                let mut at = offset;
                for stretch in backing.stretches(offset, length, 5) {
                    let within = at as usize..(at + stretch.length) as usize;
                    assert!(!stretch.hole || model[within].iter().all(|byte| *byte == 0));
                    at += stretch.length;
                }
                assert!(at > offset && at <= offset + length);
            }
            _ => {
                let mut bytes = vec![1; length as usize];
                backing.read(offset, &mut bytes).unwrap();
                assert_eq!(bytes, model[range], "step {step}");
            }
        }
    }
}

fn image() -> (File, Vec<u8>) {
    let mut file = tempfile::tempfile().unwrap();
    // The image is shorter than the export, and its length is not a multiple of a block.
    let mut random = Rng::new(StreamKey::from_seed(9));
    let bytes: Vec<u8> = (0..SIZE - 70_001).map(|_| random.below(256) as u8).collect();
    file.write_all(&bytes).unwrap();
    let mut model = bytes;
    model.resize(SIZE as usize, 0);
    (file, model)
}

#[test]
fn memory_and_files_contain_the_written_data() {
    let mut model = vec![0; SIZE as usize];
    holds_as_a_model_does(&ExportBytes::memory(SIZE).unwrap(), &mut model, 1);
    let mut model = vec![0; SIZE as usize];
    let file = ExportBytes::file(tempfile::tempfile().unwrap(), SIZE).sized().unwrap();
    holds_as_a_model_does(&file, &mut model, 2);
}

#[test]
fn an_image_shows_through_unwritten_ranges_and_stays_unchanged() {
    let (image, mut model) = image();
    let before = model.clone();
    let memory =
        ExportBytes::memory(SIZE).unwrap().over(image.try_clone().unwrap(), None, RECORDS).unwrap();
    holds_as_a_model_does(&memory, &mut model, 3);
    let mut now = vec![0; before.len() - 70_001];
    image.read_exact_at(&mut now, 0).unwrap();
    assert_eq!(now, before[..now.len()]);
}

#[test]
fn a_file_over_an_image_is_the_same_when_it_is_opened_again() {
    let (image, mut model) = image();
    let files = Files::new(&image, RECORDS);
    let open = || files.open();
    holds_as_a_model_does(&open(), &mut model, 4);
    let mut bytes = vec![0; SIZE as usize];
    open().read(0, &mut bytes).unwrap();
    assert!(bytes == model);
}

#[test]
fn a_file_that_was_cut_takes_no_writes_any_more() {
    let file = tempfile::tempfile().unwrap();
    let backing = ExportBytes::file(file.try_clone().unwrap(), SIZE).sized().unwrap();
    backing.write(SIZE - 512, &[7; 512]).unwrap();
    file.set_len(4096).unwrap();
    assert!(backing.read(8192, &mut [0; 512]).is_err());
    let refused = backing.write(16_384, &[1; 512]).unwrap_err().to_string();
    assert!(refused.contains("length of the data file"), "{refused}");
    assert_eq!(file.metadata().unwrap().len(), 4096);
    // The data is lost even after the file is extended to its former length.
    file.set_len(SIZE).unwrap();
    assert!(backing.write(0, &[1; 512]).is_err() && backing.sync().is_err());
    assert!(backing.zero(0, 512, true).is_err());
}

#[test]
fn a_map_of_another_export_is_refused() {
    let (image, _) = image();
    let files = Files::new(&image, RECORDS);
    let over = |size| {
        let backing = ExportBytes::file(tempfile::tempfile().unwrap(), size).sized().unwrap();
        backing.over(image.try_clone().unwrap(), files.map.try_clone().ok(), RECORDS)
    };
    assert!(over(SIZE).is_ok() && over(SIZE).is_ok());
    // The maps have equal lengths, since both exports have the same number of blocks.
    assert!(over(SIZE - 512).is_err());
    // A map of an older server lacks the log.
    let bits_end = 64 + SIZE.div_ceil(BLOCK).div_ceil(8);
    files.map.set_len(bits_end).unwrap();
    assert!(over(SIZE).is_ok());
    for length in [0, 70, bits_end - 1, bits_end + 1] {
        files.map.set_len(length).unwrap();
        assert!(over(SIZE).is_err(), "{length}");
    }
}

/// The files of an export over an image.
struct Files {
    image: File,
    own: File,
    map: File,
    records: u64,
}

impl Files {
    fn new(image: &File, records: u64) -> Self {
        let map = tempfile::tempfile().unwrap();
        BlockMap::create(&map, SIZE, records).unwrap();
        let image = image.try_clone().unwrap();
        Self { image, own: tempfile::tempfile().unwrap(), map, records }
    }

    /// Opens the export, as a server does after another server was killed.
    fn open(&self) -> ExportBytes {
        let backing = ExportBytes::file(self.own.try_clone().unwrap(), SIZE).sized().unwrap();
        let map = self.map.try_clone().ok();
        backing.over(self.image.try_clone().unwrap(), map, self.records).unwrap()
    }

    fn copy(&self) -> Self {
        let copy = Self::new(&self.image, self.records);
        let [own, map] = self.contents();
        copy.own.write_all_at(&own, 0).unwrap();
        copy.map.write_all_at(&map, 0).unwrap();
        copy
    }

    fn contents(&self) -> [Vec<u8>; 2] {
        [&self.own, &self.map].map(|file| {
            let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        })
    }

    /// Leaves the files as a crash of the machine does: each sector has a random one of its contents since the last
    /// flush. If the crash happens at the end of a flush (`is_data_stored`), only the map has older contents.
    fn crash(&self, history: &[[Vec<u8>; 2]], is_data_stored: bool, random: &mut Rng) {
        for (which, file) in [&self.own, &self.map].into_iter().enumerate() {
            let length = file.metadata().unwrap().len() as usize;
            for start in (0..length).step_by(512) {
                let moment = if which == 0 && is_data_stored {
                    history.len() - 1
                } else {
                    random.below(history.len() as u64) as usize
                };
                let sector = &history[moment][which][start..length.min(start + 512)];
                file.write_all_at(sector, start as u64).unwrap();
            }
        }
    }
}

/// An export over an image, with the contents that its sectors may have after a crash.
struct CrashModel {
    files: Files,
    export: Option<ExportBytes>,
    now: Vec<u8>,
    /// The contents of the export, and of its files, at the last flush and after each change since.
    allowed: Vec<Vec<u8>>,
    history: Vec<[Vec<u8>; 2]>,
    random: Rng,
}

impl CrashModel {
    fn new(image: &File, before: &[u8], seed: u64) -> Self {
        let files = Files::new(image, RECORDS_ENOUGH);
        let export = Some(files.open());
        let history = vec![files.contents()];
        let random = Rng::new(StreamKey::from_seed(seed));
        Self {
            files,
            export,
            now: before.to_vec(),
            allowed: vec![before.to_vec()],
            history,
            random,
        }
    }

    fn change(&mut self, value: u8) {
        let offset = self.random.below(40) * 512;
        let length = 512 * (1 + self.random.below(20));
        let range = offset as usize..(offset + length) as usize;
        let export = self.export.as_ref().unwrap();
        if self.random.chance(0.2) {
            export.zero(offset, length, self.random.chance(0.5)).unwrap();
            self.now[range].fill(0);
        } else {
            export.write(offset, &vec![value; length as usize]).unwrap();
            self.now[range].fill(value);
        }
        self.history.push(self.files.contents());
        self.allowed.push(self.now.clone());
        assert!(self.content() == self.now);
    }

    fn content(&self) -> Vec<u8> {
        let mut bytes = vec![0; SIZE as usize];
        self.export.as_ref().unwrap().read(0, &mut bytes).unwrap();
        bytes
    }

    fn flush(&mut self) {
        self.export.as_ref().unwrap().sync().unwrap();
        self.begin_history();
    }

    fn begin_history(&mut self) {
        self.history = vec![self.files.contents()];
        self.allowed = vec![self.now.clone()];
    }

    fn kill(&mut self) {
        drop(self.export.take());
        // The next server stores the blocks that it finds.
        self.export = Some(self.files.open());
        assert!(self.content() == self.now, "an acknowledged write is lost");
        self.begin_history();
    }

    /// Crashes between two requests, or at the end of a flush. Returns the number of sectors whose last write is lost.
    fn crash(&mut self, is_flushing: bool) -> usize {
        if is_flushing {
            self.export.as_ref().unwrap().sync().unwrap();
            self.history.push(self.files.contents());
        }
        drop(self.export.take());
        self.files.crash(&self.history, is_flushing, &mut self.random);
        self.export = Some(self.files.open());
        let content = self.content();
        let mut lost = 0;
        for (sector, bytes) in content.chunks(512).enumerate() {
            let range = sector * 512..sector * 512 + bytes.len();
            assert!(
                self.allowed.iter().any(|allowed| allowed[range.clone()] == *bytes),
                "sector {sector} has a content that it has not had since the flush"
            );
            lost += usize::from(bytes != &self.now[range]);
        }
        self.now = content;
        self.begin_history();
        lost
    }
}

/// A kill keeps every acknowledged write. After a crash, each sector has a content that it had at or after the last
/// flush: no sector turns into zeroes because its neighbour was written.
#[test]
fn a_kill_loses_nothing_and_a_crash_only_unflushed_writes() {
    let (image, before) = image();
    let mut lost = 0;
    for seed in 0..60 {
        let mut model = CrashModel::new(&image, &before, seed);
        for value in 1..=40 {
            match model.random.below(12) {
                0 => model.flush(),
                1 => model.kill(),
                2 => lost += model.crash(false),
                3 => lost += model.crash(true),
                _ => model.change(value),
            }
        }
    }
    assert!(lost > 1_000, "{lost}");
}

/// Blocks that are written while others are being stored stay in the log until the next flush.
#[test]
fn a_write_during_a_flush_survives_a_kill_and_may_be_lost_in_a_crash() {
    let (image, before) = image();
    let files = Files::new(&image, RECORDS);
    let export = files.open();
    let over = export.over.as_ref().unwrap();
    export.write(0, &[1; 512]).unwrap();
    let storing = over.change_map().begin_storing();
    let stored = files.contents();
    export.write(BLOCK, &[2; 512]).unwrap();
    let during = files.copy();
    drop(over.change_map().record_stored(storing).unwrap());
    let sectors = |export: &ExportBytes| {
        let mut bytes = [[0; 512]; 2];
        export.read(0, &mut bytes[0]).unwrap();
        export.read(BLOCK, &mut bytes[1]).unwrap();
        bytes
    };
    let map = files.contents()[1].clone();
    drop(export);
    // The kill comes during the flush, or after the map was written.
    assert_eq!(sectors(&during.open()), [[1; 512], [2; 512]]);
    assert_eq!(sectors(&files.open()), [[1; 512], [2; 512]]);
    // In the crash, the map is stored, and the data of the second write is not.
    files.own.write_all_at(&stored[0], 0).unwrap();
    files.map.write_all_at(&map, 0).unwrap();
    let image = before[BLOCK as usize..BLOCK as usize + 512].try_into().unwrap();
    assert_eq!(sectors(&files.open()), [[1; 512], image]);
}

#[test]
fn trimmed_memory_is_given_back() {
    use std::os::unix::fs::MetadataExt;
    let memory = ExportBytes::memory(1 << 20).unwrap();
    memory.write(0, &vec![1; 1 << 20]).unwrap();
    let before = memory.own.metadata().unwrap().blocks();
    memory.zero(0, 1 << 20, true).unwrap();
    assert!(before >= 2048 && memory.own.metadata().unwrap().blocks() == 0);
    assert_eq!(memory.stretches(0, 1 << 20, 9), [ExportRange { length: 1 << 20, hole: true }]);
}

/// A bit of the map is set after the data is stored; after an error, the data may be lost although later calls succeed.
#[test]
fn unstorable_data_fails_all_later_flushes() {
    let (image, _) = image();
    let files = Files::new(&image, RECORDS);
    let mut export = files.open();
    export.write(0, &[1; 512]).unwrap();
    let [_, map] = files.contents();
    // fdatasync(2) fails on a file that was opened with O_PATH.
    let path = format!("/proc/self/fd/{}", files.own.as_raw_fd());
    let unstorable = rustix::fs::open(path, OFlags::PATH, Mode::empty()).unwrap();
    let own = std::mem::replace(&mut export.own, unstorable.into());
    assert!(export.sync().is_err());
    assert!(files.contents()[1] == map);
    export.own = own;
    assert!(export.sync().unwrap_err().to_string().contains("could not be stored earlier"));
    drop(export);
    let mut bytes = [0; 512];
    files.open().read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [1; 512]);
}
