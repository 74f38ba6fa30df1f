//! Ceilings by law: the most that each hop of a system can carry for a test, without simulating it.
//!
//! Each is the hop's own law at saturation with everything else free of charge: block over the time that
//! one request keeps it, times how many of it there are. No hop of any run can exceed its ceiling, which a
//! property test holds; how close the narrowest comes is for the simulator to say. For a mix of reads and
//! writes the times add up in their shares, but for the two directions of PCI Express and of a drive's data
//! path, which carry at once.

use super::drive::law::{MediaDemand, law};
use super::hops;
use super::link::law::Asked;
use super::link::{LinkLaw, LinkSpec};
use super::protocol::COMPLETION;
use super::spec::{
    AdapterSpec, AttachmentSpec, Crowded, DriveSpec, Multipath, ProtocolKind, ProtocolSpec, SLOT,
    SystemSpec,
};
use super::station::Demand;
use crate::result::HopId;
use crate::units::{Bytes, BytesPerSecond, Duration};
use crate::workload::Test;

/// The ceiling of one hop for a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The hop.
    pub id: HopId,
    /// The hop's name, as in results.
    pub name: String,
    /// The hop's law in words.
    pub law: String,
    /// The most that the hop carries, where it has a limit.
    pub rate: Option<BytesPerSecond>,
    /// The time of a small message through it, one way, where that is known.
    pub latency: Option<Duration>,
}

/// The ceilings of all hops, from the processor to the media. `spec` and `test` must have been checked. The hops of
/// several drives are those of the first, each with what all like it carry together: a link that they share once.
pub fn ceilings(spec: &SystemSpec, test: &Test) -> Vec<Ceiling> {
    let mut hops = ceilings_of_one(spec, spec.first(), test);
    let Some(volume) = spec.volume else {
        together(spec, test, &mut hops);
        return hops;
    };
    let (own, shared) = volume.demand(spec.drives(), test.read_share());
    for hop in hops.iter_mut().filter(|hop| !of_host(hop.id)) {
        let demand = if of_trunk(hop.id, spec.trunk.len()) { shared } else { own };
        hop.rate = hop.rate.map(|rate| BytesPerSecond((rate.0 as f64 / demand) as u64));
    }
    note_drives(spec, &mut hops);
    hops
}

/// Whether a hop comes before the first link, so that all drives have it in common.
fn of_host(hop: HopId) -> bool {
    matches!(hop, HopId::Cpu | HopId::Protocol)
}

/// Whether a hop is one of so many links that several ways go over.
fn of_trunk(hop: HopId, trunk: usize) -> bool {
    matches!(hop, HopId::Link(place) if usize::from(place) < trunk)
}

/// Tells in the laws of hops whether each drive has its own.
fn note_drives(spec: &SystemSpec, hops: &mut [Ceiling]) {
    for hop in hops.iter_mut().filter(|hop| !of_host(hop.id)) {
        let note = if of_trunk(hop.id, spec.trunk.len()) { "shared" } else { "each" };
        hop.law += &format!(", {note} of {} drives", spec.drives());
    }
}

/// Adds to the hops of the first drive what further drives have of their own, each with a test of its own.
fn together(spec: &SystemSpec, test: &Test, hops: &mut [Ceiling]) {
    let first: Vec<Option<BytesPerSecond>> = hops.iter().map(|hop| hop.rate).collect();
    for other in &spec.attachments[1..] {
        let own = ceilings_of_one(spec, other, test);
        for (hop, first) in hops.iter_mut().zip(&first) {
            if of_host(hop.id) || of_trunk(hop.id, other.way.trunk) {
                continue;
            }
            // What another kind of drive has no hop for counts as much as the first drive's.
            let more = own.iter().find(|own| own.id == hop.id).map_or(*first, |own| own.rate);
            hop.rate =
                hop.rate.zip(more).map(|(sum, more)| BytesPerSecond(sum.0.saturating_add(more.0)));
        }
    }
    if spec.drives() > 1 {
        note_drives(spec, hops);
    }
}

fn ceilings_of_one(spec: &SystemSpec, one: &AttachmentSpec, test: &Test) -> Vec<Ceiling> {
    let mut hops = vec![processor(spec, one, test), protocol(one, test)];
    hops.extend(links(spec, one, test));
    hops.extend([front_end(one, test), data_path(&one.drive, test)]);
    let media = law(&one.drive.media).demands(test).into_iter();
    hops.extend(media.map(|hop| {
        let MediaDemand { id, name, law, demand, servers, latency } = hop;
        Ceiling { id, name: name.to_owned(), law, rate: served(test, demand, servers), latency }
    }));
    hops
}

/// Commands that a request is split into.
fn commands(one: &AttachmentSpec, test: &Test) -> u64 {
    test.block.get().div_ceil(one.transfer_max().get())
}

fn served(test: &Test, demand: Demand, servers: u64) -> Option<BytesPerSecond> {
    demand.rate(test.block, test.read_share(), servers)
}

fn processor(spec: &SystemSpec, one: &AttachmentSpec, test: &Test) -> Ceiling {
    let request = spec.cpu.request_submit + spec.cpu.request_complete;
    let protocol = &one.protocol;
    let count = commands(one, test);
    let demand = Demand {
        read: request + protocol.read_time * count,
        write: request + spec.cpu.write_submit + protocol.write_time * count,
    };
    let threads = test.threads.saturating_mul(spec.targets().len() as u32);
    let cores = u64::from(threads.min(spec.cpu.cores));
    let law = match protocol.kind {
        ProtocolKind::AtaDma => format!("{} a read, {} a write", demand.read, demand.write),
        _ if demand.read == demand.write => {
            format!("{} a request on {cores} of {} cores", demand.read, spec.cpu.cores)
        }
        _ => format!(
            "{} a read, {} a write on {cores} of {} cores",
            demand.read, demand.write, spec.cpu.cores
        ),
    };
    let (id, name) = (HopId::Cpu, hops::processor_name(protocol.kind).to_owned());
    Ceiling { id, name, law, rate: served(test, demand, cores), latency: None }
}

fn protocol(one: &AttachmentSpec, test: &Test) -> Ceiling {
    let ProtocolSpec { kind, queues, queue_depth, transfer_max, adapter, .. } = &one.protocol;
    let mut law = format!("{queues} x {queue_depth} commands of at most {transfer_max}");
    let mut rate = None;
    if let Some(AdapterSpec { command_time, crowded, cache }) = *adapter {
        law += &format!(", {command_time} each");
        if let Some(Crowded { above, command_time }) = crowded {
            law += &format!(", {command_time} beyond {above} outstanding");
        }
        if let Some(cache) = cache {
            law += &format!(", writes into {} of cache", cache.size);
        }
        // However many are outstanding: what some number of them can reach.
        let demand = command_time * commands(one, test);
        rate = served(test, Demand { read: demand, write: demand }, 1);
    }
    Ceiling { id: HopId::Protocol, name: kind.name().to_owned(), law, rate, latency: None }
}

/// The links of the way, and behind them those of the way to a second port. Where the two take turns, each carries
/// half of what the drive does.
fn links(spec: &SystemSpec, one: &AttachmentSpec, test: &Test) -> Vec<Ceiling> {
    let ceiling = |id: HopId, link: &LinkSpec, note: &str, times: u64| Ceiling {
        id,
        name: link.name.clone(),
        law: match link.speed {
            1 => format!("{}{note}", link.law),
            speed => format!("{} at {speed} times its speed{note}", link.law),
        },
        rate: Some(BytesPerSecond(
            over_link(&link.law, one.transfer_max(), test).0 * u64::from(link.speed) * times,
        )),
        latency: Some(link.latency),
    };
    let Some(second) = &one.second else {
        return first(spec, one).map(|(id, link)| ceiling(id, link, "", 1)).collect();
    };
    let (first_note, second_note, times) = match second.multipath {
        Multipath::RoundRobin => (", every other command", ", every other command", 2),
        Multipath::Failover => ("", ", when the first port fails", 1),
    };
    // What lies on both ways carries both halves.
    let both = one.way.trunk.min(second.way.trunk);
    let first = first(spec, one).map(|(id, link)| match of_trunk(id, both) {
        true => ceiling(id, link, "", 1),
        false => ceiling(id, link, first_note, times),
    });
    let own = second.way.links.iter().zip(0..);
    let own = own.map(|(link, place)| ceiling(HopId::SecondLink(place), link, second_note, times));
    first.chain(own).collect()
}

/// The links of the first way to a drive, with the hop that each is.
fn first<'s>(
    spec: &'s SystemSpec,
    one: &'s AttachmentSpec,
) -> impl Iterator<Item = (HopId, &'s LinkSpec)> {
    (0..).map(HopId::Link).zip(spec.links(&one.way))
}

/// The most that a link carries for a test whose requests are cut into commands of at most `transfer_max`.
pub fn over_link(law: &LinkLaw, transfer_max: Bytes, test: &Test) -> BytesPerSecond {
    law.ceiling(Asked { test, transfer_max, least: SLOT, end: COMPLETION })
}

fn front_end(one: &AttachmentSpec, test: &Test) -> Ceiling {
    let front_end = &one.drive.front_end;
    let count = commands(one, test);
    let units = test.block.get().div_ceil(SLOT.get()).saturating_sub(count);
    let read = front_end.read_time * count + front_end.read_unit_time * units;
    let demand = Demand { read, write: front_end.write_time * count };
    Ceiling {
        id: HopId::FrontEnd,
        name: "front end".to_owned(),
        law: match front_end.read_unit_time {
            Duration::ZERO => {
                format!("{} a read, {} a write command", front_end.read_time, front_end.write_time)
            }
            more => format!(
                "{} a read and {more} for each 4 KiB more, {} a write command",
                front_end.read_time, front_end.write_time
            ),
        },
        rate: served(test, demand, front_end.engines.into()),
        latency: Some(front_end.read_latency),
    }
}

fn data_path(drive: &DriveSpec, test: &Test) -> Ceiling {
    let time = |rate: Option<BytesPerSecond>| rate.map_or(Duration::ZERO, |rate| test.block / rate);
    let (read, write) = (drive.data_path_read, drive.data_path_write);
    let told = |rate: Option<BytesPerSecond>| {
        rate.map_or_else(|| "no limit".to_owned(), |rate| rate.to_string())
    };
    // Both directions go at once, each at its own rate.
    let nothing = Duration::ZERO;
    let reading = served(test, Demand { read: time(read), write: nothing }, 1);
    let writing = served(test, Demand { read: nothing, write: time(write) }, 1);
    Ceiling {
        id: HopId::DataPath,
        name: "data path".to_owned(),
        law: format!("reading {}, writing {}", told(read), told(write)),
        rate: reading.into_iter().chain(writing).min(),
        latency: None,
    }
}
