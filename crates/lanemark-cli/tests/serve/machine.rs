//! The served system as the disk of a virtual machine: QEMU's firmware boots from it, and a program of one sector reads
//! from it and writes to it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lanemark_testbed::{NbdClient, Running, tool_or_skip};
use serde_json::Value;

use super::{Server, folder, stderr};

const SERVED: [&str; 5] = ["--memory", "--size", "64MiB", "--vhost-user", "disk"];
/// Offset from which the program reads.
const READ_AT: u64 = 8 * 512;
/// Offset to which the program writes.
const WRITTEN_AT: u64 = 64 * 512;
/// Number of bytes that the program reads and writes.
const LENGTH: usize = 8 * 512;
/// The bits that the program changes in each byte.
const FLIPPED: u8 = 0x5a;
/// QEMU's exit code: twice the value that the program writes to `isa-debug-exit`, plus one.
const DONE: i32 = 0x10 * 2 + 1;

/// The boot sector of a program that uses the firmware's INT 13h. It reads eight sectors, flips bits of each byte and
/// writes the sectors to a different offset, `times` times. Then it writes to `isa-debug-exit`: 0x10, or 0x11 if a
/// request failed.
fn boot_sector(times: u16) -> [u8; 512] {
    let [times_low, times_high] = times.to_le_bytes();
    let code = [
        0xfa, 0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xc0, 0x8e, 0xd0, // cli; ds, es, ss = 0
        0xbc, 0x00, 0x7c, 0xfb, // mov sp, 0x7c00; sti
        0xbf, times_low, times_high, // mov di, times
        // again:
        0xbe, 0x60, 0x7c, 0xb4, 0x42, 0xcd, 0x13, // mov si, read; mov ah, 0x42; int 0x13
        0x72, 0x1d, // jc failed
        0xbe, 0x00, 0x80, 0xb9, 0x00, 0x10, // mov si, 0x8000; mov cx, 4096
        0x80, 0x34, FLIPPED, 0x46, 0xe2, 0xfa, // xor byte [si], FLIPPED; inc si; loop
        0xbe, 0x70, 0x7c, 0xb8, 0x00, 0x43, 0xcd,
        0x13, // mov si, write; mov ax, 0x4300; int 0x13
        0x72, 0x07, // jc failed
        0x4f, 0x75, 0xde, // dec di; jnz again
        0xb0, 0x10, 0xeb, 0x02, // mov al, 0x10; jmp end
        0xb0, 0x11, // failed: mov al, 0x11
        0xe6, 0xf4, 0xf4, // end: out 0xf4, al; hlt
    ];
    let packet = |sector: u64| {
        let mut packet = [0x10, 0, 8, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        packet[8..].copy_from_slice(&sector.to_le_bytes());
        packet
    };
    let mut sector = [0; 512];
    sector[..code.len()].copy_from_slice(&code);
    sector[0x60..0x70].copy_from_slice(&packet(READ_AT / 512));
    sector[0x70..0x80].copy_from_slice(&packet(WRITTEN_AT / 512));
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// A virtual machine whose only disk is the socket `disk` in `folder`.
fn machine(folder: &Path) -> Running {
    let mut command = Command::new("qemu-system-x86_64");
    command.args(["-nodefaults", "-accel", "tcg", "-display", "none", "-no-reboot", "-m", "64"]);
    command.args(["-object", "memory-backend-memfd,id=mem,size=64M,share=on"]);
    command.args(["-machine", "pc,memory-backend=mem", "-chardev", "socket,id=disk,path=disk"]);
    command.args(["-device", "vhost-user-blk-pci,chardev=disk,num-queues=1,bootindex=1"]);
    command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=1"]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::new(command.spawn().unwrap())
}

/// Waits for a machine to end by itself, and returns its exit code and its output.
fn end_of(mut machine: Running) -> (Option<i32>, String) {
    let latest = Instant::now() + Duration::from_secs(120);
    while machine.try_wait().unwrap().is_none() {
        assert!(Instant::now() < latest, "the machine is still running");
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = machine.output();
    (output.status.code(), stderr(&output))
}

fn content() -> Vec<u8> {
    (0..LENGTH).map(|offset| (offset * 7 % 251) as u8).collect()
}

/// Writes the program and its input to the disk.
fn fill(client: &mut NbdClient, times: u16) {
    client.write(0, &boot_sector(times), false).unwrap().unwrap();
    client.write(READ_AT, &content(), false).unwrap().unwrap();
    client.write(WRITTEN_AT, &[0; LENGTH], true).unwrap().unwrap();
}

fn result(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("result.json")).unwrap()).unwrap()
}

#[test]
fn a_machine_boots_from_it_and_its_writes_are_kept() {
    if tool_or_skip("qemu-system-x86_64", &["--version"]).is_none() {
        return;
    }
    let server = Server::start(folder(), &SERVED);
    let mut client = server.client();
    let flipped: Vec<u8> = content().iter().map(|byte| byte ^ FLIPPED).collect();
    // The machines use the disk in succession.
    for _ in 0..2 {
        fill(&mut client, 3);
        assert_eq!(end_of(machine(server.folder.path())), (Some(DONE), String::new()));
        assert_eq!(client.read(WRITTEN_AT, LENGTH as u32).unwrap().unwrap(), flipped);
    }
    drop(client);
    let (folder, output) = server.stop();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Both machines wrote the data that they read three times, in addition to the initial data over NBD.
    let sample = &result(folder.path())["tests"][0]["samples"][0];
    let count = |what: &str| sample[what]["latency"]["count"].as_u64().unwrap();
    assert_eq!(count("writes"), 2 * (3 + 3));
    assert!(count("reads") >= 2 * (3 + 1 + 1), "{}", count("reads"));
}

#[test]
fn a_machine_that_is_killed_leaves_the_disk_to_the_next() {
    if tool_or_skip("qemu-system-x86_64", &["--version"]).is_none() {
        return;
    }
    let server = Server::start(folder(), &SERVED);
    let mut client = server.client();
    for times in [20_000, 20_000] {
        fill(&mut client, times);
        let killed = machine(server.folder.path());
        // The machine is in the middle of its reads and writes.
        let latest = Instant::now() + Duration::from_secs(120);
        while client.read(WRITTEN_AT, 512).unwrap().unwrap() == [0; 512] {
            assert!(Instant::now() < latest, "the machine writes nothing");
            std::thread::sleep(Duration::from_millis(5));
        }
        killed.kill();
    }
    // A second machine either waits for the disk or is refused. In both cases the first machine continues.
    fill(&mut client, 200);
    let (first, second) = (machine(server.folder.path()), machine(server.folder.path()));
    let ends = [end_of(first), end_of(second)];
    assert!(ends.iter().any(|(code, _)| *code == Some(DONE)), "{ends:?}");
    drop(client);
    let (_, output) = server.stop();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
