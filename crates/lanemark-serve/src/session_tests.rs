//! Tests a session whose engine fails: clients and users of the mounted file receive errors instead of waiting forever,
//! and the session ends cleanly.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use lanemark_sim::SystemSpec;
use lanemark_testbed::NbdClient;

use lanemark_schema::units::Bytes;

use super::*;
use crate::nbd::PAYLOAD_MAX;
use crate::nbd::negotiation::OPTION_MAX;

/// The number of an I/O error in the protocol and in the kernel.
const EIO: u32 = 5;

const SIZE: u64 = 8 << 20;
/// Time limit for each step, after which the step counts as hung.
const LONGEST: Duration = Duration::from_secs(60);

fn session(socket: &std::path::Path) -> Session {
    let system = SystemSpec::example().checked().unwrap();
    let cache = DriveCache { kind: WriteCacheMode::Volatile, size: 1 << 20 };
    let plan = SessionPlan {
        system: &system,
        faults: &[],
        description: "the example".to_owned(),
        data: ExportData::memory(SIZE, cache, 1).unwrap(),
        endpoint: Some(Endpoint::Unix(socket.to_owned())),
        content: StartContent { written_bytes: Bytes(SIZE), is_just_written: false },
        scale: TimeScale::ONE,
        seed: 1,
        outside: None,
        has_latency: true,
    };
    Session::start(plan).unwrap()
}

fn fail(session: &Session) {
    let (engine, _) = session.engine.as_ref().unwrap();
    let answer = engine.ask(|_| -> u32 { panic!("a fault of the engine, as tests make it") });
    assert_eq!(answer, None);
    let latest = Instant::now() + LONGEST;
    while !session.is_broken() {
        assert!(Instant::now() < latest, "the engine has not failed");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn clients_of_a_failed_engine_get_errors_and_the_data_stays() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let session = session(&socket);
    let mut client = NbdClient::connect(&socket).unwrap();
    client.write(4096, &[7; 4096], true).unwrap().unwrap();
    fail(&session);
    assert_eq!(client.read(4096, 4096).unwrap(), Err(EIO));
    assert_eq!(client.write(0, &[8; 512], false).unwrap(), Err(EIO));
    assert_eq!(client.flush().unwrap(), Err(EIO));
    // A client that connects after the failure also receives a reply.
    let mut later = NbdClient::connect(&socket).unwrap();
    assert_eq!(later.read(0, 512).unwrap(), Err(EIO));
    let began = Instant::now();
    let figures = session.figures();
    assert_eq!((figures.outstanding, figures.connections), (0, 2));
    assert!(session.add_fault("latency at=1s for=1s extra=1ms".parse().unwrap()).is_err());
    let data = Arc::clone(&session.data);
    let (_, closed) = session.end();
    closed.unwrap();
    assert!(began.elapsed() < LONGEST);
    let mut bytes = [0; 4096];
    data.read(4096, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 4096]);
}

#[test]
fn a_failed_engines_file_has_errors_until_the_end() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder.path().join("socket"));
    let path = folder.path().join("disk");
    if let Err(error) = session.mounts().mount(&path) {
        return lanemark_testbed::skipped(&error.to_string());
    }
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    file.write_all_at(&[7; 4096], 0).unwrap();
    fail(&session);
    let mut bytes = [0; 512];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap_err().raw_os_error(), Some(EIO as i32));
    assert_eq!(file.write_at(&bytes, 0).unwrap_err().raw_os_error(), Some(EIO as i32));
    assert!(file.sync_all().is_err());
    drop(file);
    let began = Instant::now();
    let (_, closed) = session.end();
    closed.unwrap();
    assert!(began.elapsed() < LONGEST && !path.exists());
}

/// Returns the type of the reply to an option of `length` bytes that the server does not know, or `None` if the server
/// closes the connection.
fn reply_to_option(socket: &std::path::Path, length: u64) -> Option<u32> {
    let mut client = UnixStream::connect(socket).unwrap();
    client.set_read_timeout(Some(LONGEST)).unwrap();
    let mut greeting = [0; 18];
    client.read_exact(&mut greeting).unwrap();
    let mut option = 3_u32.to_be_bytes().to_vec();
    option.extend(b"IHAVEOPT");
    option.extend(99_u32.to_be_bytes());
    option.extend(u32::try_from(length).unwrap().to_be_bytes());
    client.write_all(&option).unwrap();
    // A write error is ignored, because a server that closes the connection does not read the data.
    let _ = client.write_all(&vec![0; length as usize]);
    let mut reply = [0; 20];
    client.read_exact(&mut reply).ok()?;
    Some(u32::from_be_bytes(reply[12..16].try_into().unwrap()))
}

#[test]
fn an_option_is_read_refused_or_ends_the_connection_by_its_length() {
    const UNKNOWN: u32 = 0x8000_0001;
    const TOO_BIG: u32 = 0x8000_0009;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let session = session(&socket);
    let option_max = u64::from(OPTION_MAX);
    for (length, reply) in [
        (0, Some(UNKNOWN)),
        (option_max, Some(UNKNOWN)),
        (option_max + 1, Some(TOO_BIG)),
        (PAYLOAD_MAX, Some(TOO_BIG)),
        (PAYLOAD_MAX + 1, None),
    ] {
        assert_eq!(reply_to_option(&socket, length), reply, "{length} bytes");
    }
    let _ = session.end();
}

#[test]
fn every_open_file_learns_of_lost_writes_from_its_first_flush() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let mut session = session(&folder.path().join("socket"));
    let path = folder.path().join("disk");
    if let Err(error) = session.mounts().mount(&path) {
        return lanemark_testbed::skipped(&error.to_string());
    }
    let open = || std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let [one, other] = [open(), open()];
    (0..100).for_each(|page| one.write_all_at(&[7; 4096], page * 4096).unwrap());
    session.add_fault("power-cut at=0s boot=1ms".parse().unwrap()).unwrap();
    while session.figures().lost.is_empty() {
        std::thread::yield_now();
    }
    let late = open();
    for file in [&one, &other] {
        let [first, second] = [file.sync_data(), file.sync_all()];
        assert_eq!(first.unwrap_err().raw_os_error(), Some(EIO as i32));
        second.unwrap();
    }
    late.sync_all().unwrap();
    drop((one, other, late));
    session.end().1.unwrap();
}
