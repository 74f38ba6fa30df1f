//! Tests links that retrain during a run: from then on, the system must behave like a system with the new links.

use crate::engine::budget::Budget;
use crate::link::{
    LinkModel, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands, SataRate, UsbRate,
    UsbTransport,
};
use crate::spec::SystemSpec;
use crate::spec::submission::Submission;
use crate::tests::fault::with;
use crate::tests::link::{dual, enclosed, pio};
use crate::tests::ms;
use crate::tests::runs::{nvme, sas, sata, share, small_drive, storage_at_rest, times};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::fault::{Fault, FaultKind, LinkSelector};
use lanemark_schema::workload::{Access, Operation};

fn access(operation: Operation, offset: u64, length: u64) -> Access {
    Access { operation, offset: Bytes::kibi(offset), length: Bytes::kibi(length) }
}

/// Returns every kind of request in isolation, queued reads, and simultaneous reads and writes.
fn load() -> Vec<(Duration, Access)> {
    use Operation::{Flush, Read, Trim, Write};
    let one =
        [(Read, 4), (Write, 4), (Read, 128), (Write, 12), (Flush, 0), (Trim, 64), (Write, 128)];
    let mut all: Vec<(Duration, Access)> = (0..)
        .zip(one)
        .map(|(index, (operation, length))| {
            let offset = if operation == Flush { 0 } else { 1024 + 256 * index };
            (ms(5 * index), access(operation, offset, length))
        })
        .collect();
    for index in 0..12 {
        let operation = if index % 3 == 2 { Write } else { Read };
        all.push((ms(50), access(operation, 128 * index, 4 + 16 * (index % 2))));
    }
    all
}

/// Time reserved for one load, in ms.
const LOAD: u64 = 100;

/// Runs the load on every drive twice, and returns the latency and budget of each request of the second run.
fn second_load(system: &SystemSpec) -> Vec<(Duration, Budget)> {
    let mut storage = storage_at_rest(system, Bytes::mebi(32).into());
    let mut tag = 0;
    for begin in [ms(0), ms(LOAD)] {
        for drive in 0..system.drives() as u16 {
            for (at, access) in load() {
                let request = Submission::new(Instant::ZERO + begin + at, access);
                storage.submit(request.to(drive).tagged(tag)).unwrap();
                tag += 1;
            }
        }
    }
    let mut seen: Vec<_> = std::iter::from_fn(|| storage.advance()).collect();
    seen.sort_by_key(|done| done.tag);
    assert_eq!(seen.len() as u64, tag);
    let (first, second) = seen.split_at(seen.len() / 2);
    let end = first.iter().map(|done| done.completed).max().unwrap();
    assert!(end < Instant::ZERO + ms(LOAD - 2), "the first load ends before the second: {end:?}");
    second.iter().map(|done| (done.completed.since(done.submitted), done.budget)).collect()
}

/// Returns the system after its links have trained as the fault `text` states.
fn trained(system: &SystemSpec, text: &str) -> SystemSpec {
    let fault: Fault = format!("{text} at=1ms").parse().unwrap();
    let FaultKind::Retrain { link: LinkSelector { port, number }, to } = fault.kind else {
        unreachable!()
    };
    let mut new = system.clone();
    for attachment in &mut new.attachments {
        let port_path = match port {
            0 => &mut attachment.port_path,
            _ => &mut attachment.second.as_mut().unwrap().port_path,
        };
        let number = number.map_or(port_path.trunk + port_path.links.len() - 1, usize::from);
        let link = match number.checked_sub(port_path.trunk) {
            Some(own) => &mut port_path.links[own],
            None => &mut new.trunk[number],
        };
        link.model = link.model.trained(to).unwrap();
    }
    assert_ne!(&new, system, "{text}");
    new
}

/// Returns two SATA drives downstream of a shared uplink.
fn behind_an_uplink() -> SystemSpec {
    let mut system = sata(small_drive());
    system.attachments[0].port_path.links[0].model =
        LinkModel::Pcie(Pcie::new(PcieGeneration::Two, 4, Bytes(128), Bytes(512)));
    share(&mut system, 1);
    times(system, 2)
}

fn cases() -> Vec<(SystemSpec, &'static str)> {
    let mut closed = sas(small_drive(), 4);
    closed.attachments[0].port_path.links[1].model = LinkModel::Sas(Sas::new(SasRate::Gen3, 4));
    let mut unqueued = sata(small_drive());
    unqueued.attachments[0].port_path.links[1].model =
        LinkModel::Sata(Sata::new(SataRate::Gen3, SataCommands::Unqueued));
    unqueued.attachments[0].protocol.queue_depth = 1;
    let usb = |transport| enclosed(&small_drive(), UsbRate::Gen2, transport);
    let mut faster = nvme(small_drive());
    faster.attachments[0].port_path.links[0].speed = 3;
    let mut shared = behind_an_uplink();
    shared.trunk[0].speed = 2;
    vec![
        (nvme(small_drive()), "retrain lanes=1"),
        (nvme(small_drive()), "retrain lanes=16"),
        (nvme(small_drive()), "retrain generation=1"),
        (faster, "retrain lanes=2 generation=2"),
        (sata(small_drive()), "retrain speed=1.5Gb/s"),
        (sata(small_drive()), "retrain link=0 lanes=1"),
        (unqueued, "retrain speed=3Gb/s"),
        (pio(&small_drive()), "retrain speed=3Gb/s"),
        (sas(small_drive(), 2), "retrain lanes=1"),
        (sas(small_drive(), 1), "retrain lanes=4 speed=6Gb/s"),
        (closed, "retrain lanes=2 speed=3Gb/s"),
        (usb(UsbTransport::AttachedScsi), "retrain link=1 speed=5Gb/s"),
        (usb(UsbTransport::BulkOnly), "retrain link=3 speed=1.5Gb/s"),
        (dual(&small_drive()), "retrain port=1 speed=3Gb/s"),
        (behind_an_uplink(), "retrain link=0 lanes=1"),
        (shared, "retrain link=0 generation=1"),
        (behind_an_uplink(), "retrain link=1 speed=1.5Gb/s"),
    ]
}

#[test]
fn a_retrained_system_equals_the_new_system() {
    for (system, text) in cases() {
        let before = second_load(&system);
        let after = second_load(&trained(&system, text));
        assert_ne!(before, after, "{text} makes a difference");
        // The link retrains before the first request, or after it has carried all data.
        for at in ["0s", "90ms"] {
            let seen = second_load(&with(&system, &[&format!("{text} at={at}")]));
            assert!(seen == after, "{text} at={at}");
        }
        for span in ["at=0s for=90ms", "at=2ms for=90ms"] {
            let seen = second_load(&with(&system, &[&format!("{text} {span}")]));
            assert!(seen == before, "{text} {span}");
        }
    }
}

#[test]
fn a_link_follows_the_last_fault_that_holds_by_whichever_name() {
    let after = |system: &SystemSpec, text: &str| second_load(&trained(system, text));
    // The only link of a path is both its first and its last link.
    let system = nvme(small_drive());
    let wide = "retrain lanes=2 at=1ms";
    let narrow = "retrain link=0 lanes=1 at=2ms for=90ms";
    assert!(second_load(&with(&system, &[wide, narrow])) == after(&system, "retrain lanes=2"));
    let kept = second_load(&with(&system, &[wide, "retrain link=0 lanes=1 at=2ms"]));
    assert!(kept == after(&system, "retrain lanes=1"));
    // A shared link can be addressed on the path of each drive.
    let system = behind_an_uplink();
    let first = "retrain link=0 lanes=1 drive=0 at=1ms";
    let second = "retrain link=0 lanes=2 drive=1 at=2ms for=90ms";
    let narrow = after(&system, "retrain link=0 lanes=1");
    assert!(second_load(&with(&system, &[first, second])) == narrow);
    let second = "retrain link=0 lanes=2 drive=1 at=2ms";
    let seen = second_load(&with(&system, &[first, second]));
    assert!(seen == after(&system, "retrain link=0 lanes=2"));
    // The links of two ports are distinct.
    let system = dual(&small_drive());
    let first = "retrain speed=3Gb/s at=2ms for=90ms";
    let second = "retrain port=1 speed=6Gb/s";
    let seen = second_load(&with(&system, &[first, &format!("{second} at=3ms")]));
    assert!(seen == after(&system, second));
    let system = behind_an_uplink();
    // A fault of one drive's own link does not affect the link of the other drive.
    let own = "retrain link=1 speed=1.5Gb/s drive=0 at=1ms";
    let other = "retrain link=1 speed=3Gb/s drive=1 at=2ms for=90ms";
    let seen = second_load(&with(&system, &[own, other]));
    assert!(seen == second_load(&with(&system, &[own])));
    assert!(seen != second_load(&system));
}
