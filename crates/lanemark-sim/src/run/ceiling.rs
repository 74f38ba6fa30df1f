//! Ceilings: the maximum load that each hop of a system can carry for a test, computed by formula without simulation.
//!
//! Each ceiling is computed from the hop's own formula at saturation, as if all other hops took no time: the block size
//! divided by the time for which one request occupies the hop, times the number of servers. A hop cannot exceed its
//! ceiling in any run, which a property test verifies; the simulator shows how close the bottleneck is to its ceiling.
//! For a mix of reads and writes, the times are added in proportion to their shares, except on PCI Express and a
//! controller data path, whose two directions carry data at the same time.

use super::hops;
use crate::drive::formulas::{MediaDemand, formulas_of};
use crate::engine::station::Demand;
use crate::host::protocol::COMPLETION;
use crate::link::formulas::LinkLoad;
use crate::link::{LinkModel, LinkSpec};
use crate::spec::{
    AdapterSpec, AttachmentSpec, CpuSpec, DataWorkSpec, DriveSpec, FrontEndSpec, OverloadCost,
    ProtocolKind, ProtocolSpec, SLOT, SystemSpec,
};
use lanemark_schema::result::HopId;
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::Test;

/// The ceiling of one hop for a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The hop.
    pub id: HopId,
    /// The hop's name, as it appears in results.
    pub name: String,
    /// The hop's formula as text.
    pub formula: String,
    /// The maximum throughput of the hop, if it has a limit.
    pub rate: Option<BytesPerSecond>,
    /// The time of a small message through the hop, in one direction, if known.
    pub latency: Option<Duration>,
}

/// Returns the ceilings of all hops, from the processor to the media. `spec` and `test` must have been checked. If
/// there are several drives, the hops of the first drive represent the hops of all drives, each with the combined
/// throughput of all corresponding hops; a shared link counts once.
pub fn ceilings(spec: &SystemSpec, test: &Test) -> Vec<Ceiling> {
    let mut hops = ceilings_of_one(spec, spec.first(), test);
    let Some(volume) = spec.volume else {
        add_further_drives(spec, test, &mut hops);
        return hops;
    };
    let (own, shared) = volume.demand(spec.drives(), test.ceiling_read_share());
    for hop in hops.iter_mut().filter(|hop| !of_host(hop.id)) {
        let demand = if of_trunk(hop.id, spec.trunk.len()) { shared } else { own };
        hop.rate = hop.rate.map(|rate| BytesPerSecond((rate.0 as f64 / demand) as u64));
    }
    note_drives(spec, &mut hops);
    hops
}

/// Returns whether a hop precedes the first link, so that all drives share it.
fn of_host(hop: HopId) -> bool {
    matches!(hop, HopId::Cpu | HopId::Protocol)
}

/// Returns whether a hop is one of the `trunk` links that several paths use.
fn of_trunk(hop: HopId, trunk: usize) -> bool {
    matches!(hop, HopId::Link(place) if usize::from(place) < trunk)
}

/// States in the formulas of hops whether each drive has a separate hop.
fn note_drives(spec: &SystemSpec, hops: &mut [Ceiling]) {
    for hop in hops.iter_mut().filter(|hop| !of_host(hop.id)) {
        let note = if of_trunk(hop.id, spec.trunk.len()) { "shared" } else { "each" };
        hop.formula += &format!(", {note} of {} drives", spec.drives());
    }
}

/// Adds the ceilings of the other drives' hops to the ceilings of the first drive's hops, except for hops that the
/// drives share. Each drive runs the same test.
fn add_further_drives(spec: &SystemSpec, test: &Test, hops: &mut [Ceiling]) {
    let first: Vec<Option<BytesPerSecond>> = hops.iter().map(|hop| hop.rate).collect();
    for other in &spec.attachments[1..] {
        let own = ceilings_of_one(spec, other, test);
        for (hop, first) in hops.iter_mut().zip(&first) {
            if of_host(hop.id) || of_trunk(hop.id, other.port_path.trunk) {
                continue;
            }
            // If a drive of another kind lacks the hop, the ceiling of the first drive's hop is added instead.
            let more = own.iter().find(|own| own.id == hop.id).map_or(*first, |own| own.rate);
            hop.rate =
                hop.rate.zip(more).map(|(sum, more)| BytesPerSecond(sum.0.saturating_add(more.0)));
        }
    }
    if spec.drives() > 1 {
        note_drives(spec, hops);
    }
}

fn ceilings_of_one(
    spec: &SystemSpec,
    attachment_spec: &AttachmentSpec,
    test: &Test,
) -> Vec<Ceiling> {
    let mut hops = vec![processor(spec, attachment_spec, test), protocol(attachment_spec, test)];
    hops.extend(links(spec, attachment_spec, test));
    hops.extend([front_end(attachment_spec, test), data_path(&attachment_spec.drive, test)]);
    let media = formulas_of(&attachment_spec.drive.media).demands(test).into_iter();
    hops.extend(media.map(|hop| {
        let MediaDemand { id, name, formula, demand, servers, latency } = hop;
        Ceiling {
            id,
            name: name.to_owned(),
            formula,
            rate: served_rate(test, demand, servers),
            latency,
        }
    }));
    hops
}

/// Returns the number of commands into which a request is split.
fn commands(attachment_spec: &AttachmentSpec, test: &Test) -> u64 {
    test.block.get().div_ceil(attachment_spec.transfer_max().get())
}

fn served_rate(test: &Test, demand: Demand, servers: u64) -> Option<BytesPerSecond> {
    demand.rate(test.block, test.ceiling_read_share(), servers)
}

fn processor(spec: &SystemSpec, attachment_spec: &AttachmentSpec, test: &Test) -> Ceiling {
    // All values are named, so that adding a value is a compile error here.
    let CpuSpec {
        cores: all,
        request_submit,
        write_submit,
        request_complete,
        pin_per_mib: _,
        read_work,
        write_work,
        io_threads,
        wake: _,
        idle_after: _,
        deep_wake: _,
        deep_idle_after: _,
        thread_growth: _,
    } = spec.cpu;
    let request = request_submit + request_complete + spec.cpu.pin_time(test.block);
    let protocol = &attachment_spec.protocol;
    let count = commands(attachment_spec, test);
    let demand = Demand {
        read: request + protocol.read_time * count,
        write: request + write_submit + protocol.write_time * count,
    };
    let threads = test.threads.saturating_mul(spec.targets().len() as u32);
    let cores = u64::from(threads.min(all));
    // Kernel threads work on all cores, next to the threads of the test.
    let data_work = |work: DataWorkSpec| work.command_time * (count - 1) + work.time(test.block);
    let whole = Demand {
        read: demand.read + data_work(read_work),
        write: demand.write + data_work(write_work),
    };
    let by_threads = served_rate(test, demand, cores);
    if io_threads > 0 {
        let outside = Demand { read: data_work(read_work), write: data_work(write_work) };
        let rate = served_rate(test, outside, io_threads.into());
        if rate.is_some() && (by_threads.is_none() || rate < by_threads) {
            let Demand { read, write } = outside;
            let formula = format!("{read} a read, {write} a write, on {io_threads} I/O threads");
            return Ceiling {
                id: HopId::Cpu,
                name: hops::processor_name(protocol.kind).to_owned(),
                formula,
                rate,
                latency: None,
            };
        }
    }
    let by_all = served_rate(test, whole, u64::from(all)).filter(|_| io_threads == 0);
    if spec.cpu.works_on_data() && by_all.is_some() && by_all < by_threads {
        let formula = format!("{} a read, {} a write, on {all} cores", whole.read, whole.write);
        return Ceiling {
            id: HopId::Cpu,
            name: hops::processor_name(protocol.kind).to_owned(),
            formula,
            rate: by_all,
            latency: None,
        };
    }
    let formula = match protocol.kind {
        ProtocolKind::AtaDma => format!("{} a read, {} a write", demand.read, demand.write),
        _ if demand.read == demand.write => {
            format!("{} a request on {cores} of {all} cores", demand.read)
        }
        ProtocolKind::Ahci
        | ProtocolKind::Nvme
        | ProtocolKind::SasHba
        | ProtocolKind::Uasp
        | ProtocolKind::BulkOnly => {
            format!("{} a read, {} a write on {cores} of {all} cores", demand.read, demand.write)
        }
    };
    Ceiling {
        id: HopId::Cpu,
        name: hops::processor_name(protocol.kind).to_owned(),
        formula,
        rate: served_rate(test, demand, cores),
        latency: None,
    }
}

fn protocol(attachment_spec: &AttachmentSpec, test: &Test) -> Ceiling {
    let ProtocolSpec {
        kind,
        queues,
        queue_depth,
        // `processor` accounts for these two times.
        read_time: _,
        write_time: _,
        submit_share: _,
        transfer_max,
        memory_read: _,
        interrupt_time: _,
        adapter,
    } = &attachment_spec.protocol;
    let mut formula = format!("{queues} x {queue_depth} commands of at most {transfer_max}");
    let mut rate = None;
    if let Some(AdapterSpec { command_time, crowded, cache }) = *adapter {
        formula += &format!(", {command_time} each");
        if let Some(OverloadCost { above, command_time }) = crowded {
            formula += &format!(", {command_time} with more than {above} outstanding");
        }
        if let Some(cache) = cache {
            formula += &format!(", writes into {} of cache", cache.size);
        }
        // The ceiling must hold for every number of outstanding commands, so it is the maximum rate over these numbers.
        let demand = command_time * commands(attachment_spec, test);
        rate = served_rate(test, Demand { read: demand, write: demand }, 1);
    }
    Ceiling { id: HopId::Protocol, name: kind.name().to_owned(), formula, rate, latency: None }
}

/// Returns the links of the path, followed by the links of the path to a second port. If the two paths take turns, each
/// carries half of the drive's data.
fn links(spec: &SystemSpec, attachment_spec: &AttachmentSpec, test: &Test) -> Vec<Ceiling> {
    let ceiling = |id: HopId, link: &LinkSpec, note: &str, times: u64| Ceiling {
        id,
        name: link.name.clone(),
        formula: match link.speed {
            1 => format!("{}{note}", link.model),
            speed => format!("{} at {speed} times its speed{note}", link.model),
        },
        rate: Some(BytesPerSecond(
            over_link(&link.model, attachment_spec.transfer_max(), test).0
                * u64::from(link.speed)
                * times,
        )),
        latency: Some(link.latency),
    };
    let Some(second) = &attachment_spec.second else {
        return first_path_links(spec, attachment_spec)
            .map(|(id, link)| ceiling(id, link, "", 1))
            .collect();
    };
    const NOTE: &str = ", every other command";
    // A link on both paths carries both halves.
    let both = attachment_spec.port_path.trunk.min(second.port_path.trunk);
    let first = first_path_links(spec, attachment_spec).map(|(id, link)| {
        if of_trunk(id, both) { ceiling(id, link, "", 1) } else { ceiling(id, link, NOTE, 2) }
    });
    let second_port_links = second.port_path.links.iter().zip(0..);
    let second_port_links =
        second_port_links.map(|(link, place)| ceiling(HopId::SecondLink(place), link, NOTE, 2));
    first.chain(second_port_links).collect()
}

/// Returns the links of the first path to a drive, each with its hop.
fn first_path_links<'s>(
    spec: &'s SystemSpec,
    attachment_spec: &'s AttachmentSpec,
) -> impl Iterator<Item = (HopId, &'s LinkSpec)> {
    (0..).map(HopId::Link).zip(spec.links(&attachment_spec.port_path))
}

/// Returns the maximum throughput of a link for a test whose requests are split into commands of up to `transfer_max`.
pub fn over_link(model: &LinkModel, transfer_max: Bytes, test: &Test) -> BytesPerSecond {
    model.ceiling(LinkLoad { test, transfer_max, least: SLOT, end: COMPLETION })
}

fn front_end(attachment_spec: &AttachmentSpec, test: &Test) -> Ceiling {
    // All values are named, so that adding a value is a compile error here: a value that occupies an engine limits the
    // rate.
    let FrontEndSpec {
        engines,
        read_time,
        write_time,
        read_unit_time,
        read_latency,
        miss_latency: _,
        write_latency: _,
        flush_latency: _,
    } = attachment_spec.drive.front_end;
    let count = commands(attachment_spec, test);
    let units = test.block.get().div_ceil(SLOT.get()).saturating_sub(count);
    let read = read_time * count + read_unit_time * units;
    let demand = Demand { read, write: write_time * count };
    Ceiling {
        id: HopId::FrontEnd,
        name: "front end".to_owned(),
        formula: match read_unit_time {
            Duration::ZERO => format!("{read_time} a read, {write_time} a write command"),
            more => format!(
                "{read_time} a read and {more} for each further 4 KiB, {write_time} a write command"
            ),
        },
        rate: served_rate(test, demand, engines.into()),
        latency: Some(read_latency),
    }
}

fn data_path(drive: &DriveSpec, test: &Test) -> Ceiling {
    let time = |rate: Option<BytesPerSecond>| rate.map_or(Duration::ZERO, |rate| test.block / rate);
    let read = drive.data_path_read;
    let write = drive.data_path_write;
    let rate_text = |rate: Option<BytesPerSecond>| {
        rate.map_or_else(|| "no limit".to_owned(), |rate| rate.to_string())
    };
    // Both directions carry data at the same time, each at its own rate.
    let nothing = Duration::ZERO;
    let reading = served_rate(test, Demand { read: time(read), write: nothing }, 1);
    let writing = served_rate(test, Demand { read: nothing, write: time(write) }, 1);
    Ceiling {
        id: HopId::DataPath,
        name: "data path".to_owned(),
        formula: format!("reading {}, writing {}", rate_text(read), rate_text(write)),
        rate: reading.into_iter().chain(writing).min(),
        latency: None,
    }
}
