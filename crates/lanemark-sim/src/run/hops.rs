//! The hops of a system from the processor to the media, and their names.

use crate::drive::formulas::formulas_of;
use crate::engine::budget::{Hop, LINKS_MAX};
use crate::spec::{AttachmentSpec, ProtocolKind, SystemSpec};
use lanemark_schema::result::HopId;

pub(crate) fn order(spec: &SystemSpec) -> Vec<HopId> {
    let second = spec.second_ports().map(|port| port.port_path.links.len()).max().unwrap_or(0);
    let mut hops = vec![HopId::Cpu, HopId::Protocol];
    hops.extend((0..longest(spec)).map(HopId::Link));
    hops.extend((0..second as u8).map(HopId::SecondLink));
    hops.extend([
        HopId::Power,
        HopId::FrontEnd,
        HopId::Buffer,
        HopId::DataPath,
        HopId::Channels,
        HopId::Media,
    ]);
    hops
}

/// Returns the number of links on the longest first path to any drive.
pub(crate) fn longest(spec: &SystemSpec) -> u8 {
    let length = |attachment_spec: &AttachmentSpec| {
        attachment_spec.port_path.trunk + attachment_spec.port_path.links.len()
    };
    spec.attachments.iter().map(length).max().unwrap_or(0) as u8
}

/// Returns the index at which the simulator counts the time of a hop.
pub(crate) fn place(id: HopId) -> usize {
    let link = |place: u8| Hop::FirstLink as usize + usize::from(place);
    match id {
        HopId::Cpu => Hop::Cpu as usize,
        // A request that is not submitted yet is not in the simulator; its time counts as queue time.
        HopId::Unsubmitted | HopId::Protocol => Hop::Protocol as usize,
        HopId::Link(place) => link(place),
        HopId::SecondLink(place) => link(place) + LINKS_MAX,
        HopId::Power => Hop::Power as usize,
        HopId::FrontEnd => Hop::FrontEnd as usize,
        HopId::Buffer => Hop::Buffer as usize,
        HopId::DataPath => Hop::DataPath as usize,
        HopId::Channels => Hop::Channel as usize,
        HopId::Media => Hop::Die as usize,
    }
}

/// Returns the name of a hop of a system. The name of a link comes from the platform; the other names are the usual
/// technical terms.
pub(crate) fn name(spec: &SystemSpec, id: HopId) -> String {
    let protocol = spec.first().protocol.kind;
    let named = match id {
        HopId::Unsubmitted => "not yet submitted",
        HopId::Cpu => processor_name(protocol),
        HopId::Protocol => protocol.name(),
        HopId::Link(place) => {
            let port_paths = spec.attachments.iter().map(|attachment| &attachment.port_path);
            let mut found =
                port_paths.filter_map(|port_path| spec.links(port_path).nth(place.into()));
            found.next().map_or("", |link| &link.name)
        }
        HopId::SecondLink(place) => {
            let mut ports = spec.second_ports();
            let link = ports.find_map(|port| port.port_path.links.get(usize::from(place)));
            link.map_or("", |link| &link.name)
        }
        HopId::Power => "power state",
        HopId::FrontEnd => "front end",
        HopId::Buffer => "write buffer",
        HopId::DataPath => "data path",
        HopId::Channels => "flash channels",
        HopId::Media => return media_name(spec),
    };
    named.to_owned()
}

/// Returns the name of the processor that does the host's work for a request.
pub(crate) fn processor_name(protocol: ProtocolKind) -> &'static str {
    match protocol {
        ProtocolKind::AtaDma => "controller",
        ProtocolKind::Ahci
        | ProtocolKind::Nvme
        | ProtocolKind::SasHba
        | ProtocolKind::Uasp
        | ProtocolKind::BulkOnly => "CPU core",
    }
}

fn media_name(spec: &SystemSpec) -> String {
    let names = |alone| {
        let mut names: Vec<_> = spec
            .drive_specs()
            .map(|drive_spec| formulas_of(&drive_spec.media).name(alone))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let alone = names(true);
    if alone.len() == 1 { alone.concat() } else { names(false).join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::link::dual;
    use crate::tests::runs::{nvme, small_drive, times};

    #[test]
    fn the_hops_of_several_drives_match_the_longest_paths() {
        let links = |system: &SystemSpec| {
            let order = order(system);
            let count = |is: fn(&HopId) -> bool| order.iter().filter(|id| is(id)).count();
            let first = count(|id| matches!(id, HopId::Link(_)));
            let second = count(|id| matches!(id, HopId::SecondLink(_)));
            assert_eq!(order.len(), first + second + 8);
            (first, second)
        };
        assert_eq!(links(&nvme(small_drive())), (1, 0));
        let one = dual(&small_drive());
        assert_eq!(links(&one), (2, 1));
        for (longer, counts) in [([0, 1, 0], (3, 2)), ([2, 0, 1], (4, 3)), ([0, 0, 3], (5, 4))] {
            let mut system = times(one.clone(), 3);
            for (attachment, more) in system.attachments.iter_mut().zip(longer) {
                let second = attachment.second.as_mut().unwrap();
                for port_path in [&mut attachment.port_path, &mut second.port_path] {
                    let link = port_path.links[0].clone();
                    port_path.links.extend(vec![link; more]);
                }
            }
            assert_eq!(links(&system), counts, "{longer:?}");
        }
    }
}
