//! Attacks on the data of a server: crashes of the host, kills of the server, power cuts of the drive, and a full disk.
//! Counts are small; `make crash` uses the full counts.
//!
//! A host crashes as follows: its disk is itself a served drive with ext4, which loses power and stays off, and the
//! server under attack is killed. Another server then serves the file that the cut left, and ext4 replays its journal.
//! As the kernel may write any page of any file at any time, a thread stores single files of the server meanwhile.

mod clients;
mod ledger;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_testbed::{MountFolder, Mounted, NbdClient, Running, tool};

use super::mounted::{DISKS, start};
use super::{SATA, Server, command, folder, stderr};
use clients::{Shared, read_export, write_during};
use ledger::{Content, Event, Judgement, Ledger, SECTOR};

/// Length of the export under attack.
const SIZE: u64 = 8 << 20;
/// Length of the image under it, which ends inside a block.
const IMAGE: u64 = SIZE - 5 * 512 - (1 << 20);
/// The note about a server that had flushed all its writes.
const FLUSHED: &str = "no data is lost";

/// Returns the count of an attack: `full` if `LANEMARK_CRASH` is set, as in `make crash`.
fn count(short: u64, full: u64) -> u64 {
    if std::env::var_os("LANEMARK_CRASH").is_some() { full } else { short }
}

/// A server under attack. Its data is in one folder; its sockets and messages are in another.
struct Victim {
    child: Running,
    socket: PathBuf,
    /// The messages that it printed before it listened.
    notes: String,
}

impl Victim {
    /// Starts a server over the image with the file `disk` in `data`.
    fn start(data: &Path, sockets: &Path) -> Self {
        let messages = sockets.join("messages");
        let mut server = command(data, &["serve", SATA, "--no-latency", "--size"]);
        server.arg(format!("{SIZE}B")).args(["--data", "disk", "--over", "image", "--socket"]);
        server.arg(sockets.join("victim")).stderr(File::create(&messages).unwrap());
        let mut child = Running::new(server.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let notes = fs::read_to_string(messages).unwrap();
        assert!(!line.is_empty(), "{notes}");
        Self { child, socket: sockets.join("victim"), notes }
    }
}

fn write_image(folder: &Path) {
    let bytes: Vec<u8> =
        (0..IMAGE / SECTOR as u64).flat_map(|sector| Content::Of(0).bytes(sector)).collect();
    fs::write(folder.join("image"), bytes).unwrap();
    File::open(folder.join("image")).unwrap().sync_all().unwrap();
}

fn new_ledger() -> Ledger {
    Ledger::new(SIZE / SECTOR as u64, IMAGE / SECTOR as u64)
}

/// The sum of all rounds of an attack.
#[derive(Default)]
struct Total {
    events: u64,
    acknowledged: u64,
    judgement: Judgement,
    /// Statements that no data was lost, although acknowledged data was absent.
    false_statements: u64,
}

impl Total {
    /// Adds the judgement of one event, which the server described in `notes`.
    fn add(&mut self, judgement: Judgement, notes: &str) {
        self.events += 1;
        self.judgement += judgement;
        let is_false = notes.contains(FLUSHED) && judgement.unflushed_lost + judgement.lost > 0;
        self.false_statements += u64::from(is_false);
    }

    /// Prints the sum, and panics if promised data was lost, or more was claimed than is true.
    fn check(&self, what: &str) {
        let Self { events, acknowledged, judgement, false_statements } = self;
        println!(
            "{events} {what}, {acknowledged} acknowledged writes; {judgement}; {false_statements} false statements"
        );
        assert!(judgement.lost == 0 && judgement.foreign == 0, "{what}: {judgement}");
        assert_eq!(*false_statements, 0, "{what}");
        assert!(judgement.required > 20 * events, "{what}: too few writes: {judgement}");
    }
}

/// Lets the kernel's writeback take place at other times: stores one file of the server after another, in random order.
fn store_files(folder: &Path, random: &mut Rng, until: Instant) {
    while Instant::now() < until {
        let names: Vec<PathBuf> = fs::read_dir(folder)
            .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
            .unwrap_or_default();
        let own: Vec<&PathBuf> = names.iter().filter(|path| path.is_file()).collect();
        if !own.is_empty() && random.chance(0.5) {
            // The disk may already be without power.
            let _ = File::open(own[random.below(own.len() as u64) as usize])
                .and_then(|file| file.sync_data());
        }
        std::thread::sleep(Duration::from_millis(1 + random.below(20)));
    }
}

#[test]
fn a_crash_of_the_host_loses_no_flushed_write_and_changes_no_other_byte() {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = Shared::default();
    let mut random = Rng::new(StreamKey::from_seed(51));
    let mut ledger = new_ledger();
    let mut total = Total::default();
    let mut kept = Some(folder());
    let sockets = folder();
    let crashes = count(3, 100);
    for crash in 0..=crashes {
        let seed = (crash + 1).to_string();
        let arguments = ["--data", "host", "--size", "96MiB", "--attach", "--seed", &seed];
        let Some(host) = start(kept.take().unwrap(), &arguments) else { return };
        let node = host.addresses[1].clone();
        if crash == 0 {
            tool("mkfs.ext4", &["-q", "-F", &node]).unwrap();
        }
        let Some(mounted) = Mounted::with(&[&node]) else { return };
        if crash == 0 {
            write_image(mounted.path());
        }
        let victim = Victim::start(mounted.path(), sockets.path());
        if crash > 0 {
            let judgement = ledger.judge(&read_export(&victim.socket), Event::PowerLoss);
            total.add(judgement, &victim.notes);
        }
        if crash == crashes {
            drop(victim);
            drop(mounted);
            tool("e2fsck", &["-fn", &node]).unwrap();
            super::soak::end(host);
            break;
        }
        let mut until = Instant::now();
        until += Duration::from_millis(100 + random.below(700));
        let mut stored = Rng::new(StreamKey::from_seed(crash));
        total.acknowledged += write_during(&victim.socket, &shared, &mut ledger, crash, || {
            store_files(mounted.path(), &mut stored, until);
            assert!(host.control(&["cut", "600s"]).status.success());
            // The drive is off: no request after the cut reaches it. Only its end lets the victim's requests fail.
            kept = Some(host.kill());
        });
        victim.child.kill();
        drop(mounted);
    }
    total.check("crashes of the host");
}

#[test]
fn a_kill_loses_no_acknowledged_write() {
    let data = folder();
    let sockets = folder();
    write_image(data.path());
    let total = kill_repeatedly(data.path(), &sockets, count(6, 200), 7);
    total.check("kills");
}

/// Kills a server at random moments, and judges its data after each kill.
fn kill_repeatedly(data: &Path, sockets: &MountFolder, kills: u64, seed: u64) -> Total {
    let shared = Shared::default();
    let mut random = Rng::new(StreamKey::from_seed(seed));
    let mut ledger = new_ledger();
    let mut total = Total::default();
    // A server needs room for its journal, which the clients of the server before must not have taken.
    let room = data.join("room");
    for kill in 0..=kills {
        let _ = fs::remove_file(&room);
        let mut victim = Some(Victim::start(data, sockets.path()));
        let started = victim.as_ref().unwrap();
        fs::write(&room, vec![1; 128 << 10]).unwrap();
        if kill > 0 {
            let judgement = ledger.judge(&read_export(&started.socket), Event::Kill);
            total.add(judgement, &started.notes);
        }
        if kill == kills {
            break;
        }
        let pause = Duration::from_millis(20 + random.below(300));
        let socket = started.socket.clone();
        total.acknowledged += write_during(&socket, &shared, &mut ledger, seed + kill, || {
            std::thread::sleep(pause);
            victim.take().unwrap().child.kill();
        });
    }
    total
}

#[test]
fn a_full_disk_fails_writes_and_keeps_acknowledged_ones() {
    let Some(small) = Mounted::with(&["-t", "tmpfs", "-o", "size=10m", "lanemark"]) else { return };
    write_image(small.path());
    let sockets = folder();
    let total = kill_repeatedly(small.path(), &sockets, count(3, 20), 11);
    total.check("kills on a full disk");
    // The file system was full: with the image it has room for a third of the export only.
    let room = rustix::fs::statvfs(small.path()).unwrap();
    assert!(room.f_bavail * room.f_frsize < 64 << 10, "{} blocks are free", room.f_bavail);
}

#[test]
fn a_power_cut_loses_no_flushed_write_and_the_next_flush_reports_lost_ones() {
    let shared = Shared::default();
    let mut random = Rng::new(StreamKey::from_seed(13));
    let mut ledger = new_ledger();
    let mut total = Total::default();
    let mut unreported = 0;
    let mut lossless = 0;
    let folder = folder();
    write_image(folder.path());
    let size = format!("{SIZE}B");
    let server = Server::start(folder, &["--data", "disk", "--over", "image", "--size", &size]);
    let socket = server.path("nbd");
    let cuts = count(5, 200);
    let mut idle = NbdClient::connect(&socket).unwrap();
    for cut in 0..cuts {
        assert!(idle.flush().unwrap().is_ok());
        let pause = Duration::from_millis(30 + random.below(150));
        total.acknowledged += write_during(&socket, &shared, &mut ledger, 1000 + cut, || {
            std::thread::sleep(pause);
            shared.stop.store(true, std::sync::atomic::Ordering::SeqCst);
            assert!(server.control(&["cut", "1ms"]).status.success());
        });
        let judgement = ledger.judge(&read_export(&socket), Event::PowerLoss);
        // A client without a request in flight learns of the loss from its next flush.
        let is_reported = idle.flush().unwrap().is_err();
        unreported += u64::from(judgement.unflushed_lost > 0 && !is_reported);
        lossless += u64::from(judgement.unflushed_lost + judgement.lost == 0);
        total.add(judgement, "");
    }
    drop(idle);
    let (folder, output) = server.stop();
    assert!(stderr(&output).contains("power cut"), "{}", stderr(&output));
    let journal = fs::read_to_string(folder.path().join("disk.lanemark")).unwrap();
    let stated = journal.lines().filter(|line| line.contains(FLUSHED)).count() as u64;
    total.false_statements = stated.saturating_sub(lossless);
    total.check("power cuts");
    println!("{lossless} cuts without loss; {unreported} losses unreported by the next flush");
    assert_eq!(unreported, 0);
}
