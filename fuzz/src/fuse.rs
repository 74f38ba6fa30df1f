//! Messages in the kernel's protocol to a served file. Every reply is well-formed and short, and no request changes the
//! length of the export.
//!
//! The input is a sequence of messages: an operation code, the length of the rest (both one byte) and the rest of the
//! message after its header.

use std::os::fd::OwnedFd;
use std::sync::LazyLock;
use std::thread;

use lanemark_schema::units::Bytes;
use lanemark_serve::clock::TimeScale;
use lanemark_serve::data::{DriveCache, ExportData};
use lanemark_serve::session::{Session, SessionPlan, StartContent};
use lanemark_sim::spec::WriteCacheMode;
use lanemark_sim::{CheckedSystem, SystemSpec};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send};

const SIZE: u64 = 1 << 16;
/// Length of the head of a request of `linux/fuse.h`.
const HEADER: usize = 40;
/// The operation with which each session begins.
const INIT: u32 = 26;
/// The operations that a served file implements. For other operations, fuser relies on lengths that the kernel states.
const OPERATIONS: [u32; 11] = [2, 3, 4, 14, 15, WRITE, 17, 18, 20, 43, 46];
/// A write, with the length of its arguments and the offset of the length of its data.
const WRITE: u32 = 16;
const WRITE_ARGUMENTS: usize = 40;
const WRITE_LENGTH: usize = 16;
static SYSTEM: LazyLock<CheckedSystem> = LazyLock::new(|| SystemSpec::example().checked().unwrap());

fn message(code: u32, unique: u64, body: &[u8]) -> Vec<u8> {
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(code.to_ne_bytes());
    message.extend(unique.to_ne_bytes());
    // The node is the root, which is the served file; user, group and process are zero.
    message.extend(1u64.to_ne_bytes());
    message.resize(HEADER, 0);
    message.extend(body);
    message
}

pub(crate) fn read(bytes: &[u8]) {
    let cache = DriveCache { kind: WriteCacheMode::Volatile, size: SIZE };
    let mut session = Session::start(SessionPlan {
        system: &SYSTEM,
        faults: &[],
        description: String::new(),
        data: ExportData::memory(SIZE, cache, 1).unwrap(),
        content: StartContent { written_bytes: Bytes(SIZE), is_just_written: false },
        endpoint: None,
        scale: TimeScale::ONE,
        seed: 1,
        outside: None,
        has_latency: false,
    })
    .unwrap();
    let (kernel, server): (OwnedFd, OwnedFd) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let mounts = session.mounts();
    thread::scope(|scope| {
        scope.spawn(|| {
            // The client violates the protocol at will, so that the server may end with an error.
            let _ = mounts.serve_protocol(server);
        });
        scope.spawn(|| {
            let mut reply = vec![0; 4 << 20];
            while let Ok((length, _)) = recv(&kernel, &mut reply[..], RecvFlags::empty()) {
                if length == 0 {
                    break;
                }
                let stated = u32::from_ne_bytes(reply[..4].try_into().unwrap());
                assert!(length >= 16 && stated as usize == length);
                assert!(length as u64 <= SIZE + 1024, "a reply has at most the whole file");
            }
        });
        let mut init = Vec::new();
        [7u32, 31, 0, 0].iter().for_each(|word| init.extend(word.to_ne_bytes()));
        init.resize(64, 0);
        let _ = send(&kernel, &message(INIT, 1, &init), SendFlags::NOSIGNAL);
        let mut rest = bytes;
        let mut unique = 1;
        while let [code, length, after @ ..] = rest {
            let (body, after) = after.split_at(usize::from(*length).min(after.len()));
            unique += 1;
            rest = after;
            let code = u32::from(*code);
            if !OPERATIONS.contains(&code) {
                continue;
            }
            let mut message = message(code, unique, body);
            if code == WRITE && body.len() >= WRITE_ARGUMENTS {
                // The kernel always states the length of the data, and fuser relies on it.
                let length = (body.len() - WRITE_ARGUMENTS) as u32;
                let at = HEADER + WRITE_LENGTH;
                message[at..at + 4].copy_from_slice(&length.to_ne_bytes());
            }
            if send(&kernel, &message, SendFlags::NOSIGNAL).is_err() {
                break;
            }
        }
        let _ = rustix::net::shutdown(&kernel, rustix::net::Shutdown::Write);
    });
    let (_, closed) = session.end();
    closed.unwrap();
}
