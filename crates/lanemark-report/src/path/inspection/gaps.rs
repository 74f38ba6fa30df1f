//! Gaps: unknown properties of the links to a device. Because of a gap, a link cannot be excluded as a limit.
//!
//! A link is known not to be a limit only if it runs at the full capability of both its ends. There is a gap if the
//! rate of a link or the capability of one end is not known. There is also a gap if a part of the path shows no link at
//! all: a network, the drives' side of a controller, or USB, which does not report the capabilities of the ends. A link
//! inside a chipset does not have ends, so it is not counted as a gap.

use std::collections::BTreeMap;

use lanemark_schema::result::{
    Finding, InspectedDevice, InspectedHop, InspectedHopKind, InspectedLink, InspectedPath,
    Inspection, PciFunctionKind, PcieLink,
};

use super::{has_own_path, join_names};

/// An unknown property; its text names a program that shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InspectionGap {
    /// No link of the device reports its rate.
    AllLinks {
        /// Whether the path contains a PCI function, whose links lspci can show.
        on_pci: bool,
    },
    /// Rate of the PCIe link to a hop.
    Rate(String),
    /// Capability of a PCIe hop.
    Device(String),
    /// Capability of the port to which a PCIe hop is attached; the second string is the current speed of the link.
    Port(String, Option<String>),
    /// Capabilities of both ends of a link other than PCIe.
    Ends(String),
    /// The links downstream of a controller.
    Behind(String),
    /// The network to a controller.
    Network(String),
}

/// Returns the gaps of `inspection` as sentences, grouped by type and location; a gap that a finding already states is
/// omitted.
pub(super) fn sentences(inspection: &Inspection) -> Vec<String> {
    let mut gaps: BTreeMap<InspectionGap, Vec<&InspectedDevice>> = BTreeMap::new();
    for device in inspection.devices.iter().filter(|device| has_own_path(device)) {
        for gap in find_gaps(device) {
            if !is_found(&gap, device, inspection) {
                gaps.entry(gap).or_default().push(device);
            }
        }
    }
    gaps.into_iter().map(|(gap, devices)| gap.sentence(&join_names(&devices))).collect()
}

pub(super) fn find_gaps(device: &InspectedDevice) -> Vec<InspectionGap> {
    let hops = || device.paths.iter().flat_map(|path| &path.hops);
    if !hops().filter_map(|hop| hop.link.as_ref()).any(has_rate) {
        let on_pci = hops().any(|hop| role(hop).is_some_and(is_shown_by_lspci));
        return vec![InspectionGap::AllLinks { on_pci }];
    }
    let mut gaps: Vec<InspectionGap> = device.paths.iter().flat_map(of_path).collect();
    gaps.sort();
    gaps.dedup();
    gaps
}

/// Returns whether a link reports its rate, or the capability of one of its ends.
fn has_rate(link: &InspectedLink) -> bool {
    let ends = match link {
        InspectedLink::Pcie(link) => link.upper_max.or(link.lower_max),
        InspectedLink::Sata(_)
        | InspectedLink::Pata(_)
        | InspectedLink::Sas(_)
        | InspectedLink::Usb(_) => None,
    };
    ends.is_some() || link.range().is_some()
}

fn of_path(path: &InspectedPath) -> Vec<InspectionGap> {
    let mut gaps: Vec<InspectionGap> = path.hops.iter().flat_map(of_hop).collect();
    let is_pci = |hop: &InspectedHop| matches!(hop.part, InspectedHopKind::Pci { .. });
    let end = path.hops.iter().rposition(is_pci);
    if let Some(end) = end
        && role(&path.hops[end]).is_some_and(has_links_behind)
        && path.hops[end + 1..].iter().all(|hop| hop.link.is_none())
    {
        gaps.push(InspectionGap::Behind(path.hops[end].name.clone()));
    }
    gaps
}

fn of_hop(hop: &InspectedHop) -> Vec<InspectionGap> {
    if let InspectedHopKind::NvmeController { transport: Some(transport), .. } = &hop.part
        && transport != "pcie"
    {
        return vec![InspectionGap::Network(hop.name.clone())];
    }
    let unknown_ends = || vec![InspectionGap::Ends(hop.name.clone())];
    match &hop.link {
        Some(InspectedLink::Pcie(link)) => of_pcie(hop, link),
        Some(InspectedLink::Sata(link)) => {
            let port = link.port_bits_per_second.or(link.limit_bits_per_second);
            match (link.negotiated_bits_per_second, port, link.drive_bits_per_second) {
                (Some(_), Some(_), Some(_)) => Vec::new(),
                _ => unknown_ends(),
            }
        }
        Some(InspectedLink::Sas(link)) => {
            match (link.negotiated_bits_per_second, link.capable_bits_per_second) {
                (Some(_), Some(_)) => Vec::new(),
                _ => unknown_ends(),
            }
        }
        Some(InspectedLink::Usb(_) | InspectedLink::Pata(_)) => unknown_ends(),
        None => Vec::new(),
    }
}

fn of_pcie(hop: &InspectedHop, link: &PcieLink) -> Vec<InspectionGap> {
    let name = || hop.name.clone();
    let missing = [
        link.current.is_none().then(|| InspectionGap::Rate(name())),
        link.lower_max.is_none().then(|| InspectionGap::Device(name())),
        link.upper_max.is_none().then(|| {
            // A device that already runs at its full capability would not be faster on a faster port.
            let full = link.current.filter(|current| Some(*current) == link.lower_max);
            InspectionGap::Port(name(), full.map(|rate| rate.to_string()))
        }),
    ];
    missing.into_iter().flatten().collect()
}

/// Returns whether a finding already states the gap.
fn is_found(gap: &InspectionGap, device: &InspectedDevice, inspection: &Inspection) -> bool {
    let findings =
        inspection.findings.iter().filter(|finding| finding.devices.contains(&device.name));
    findings.map(|finding| &finding.finding).any(|finding| match (gap, finding) {
        (InspectionGap::Port(name, _), Finding::LinkBelowDevice { hop, .. }) => name == hop,
        (InspectionGap::Behind(name), Finding::DrivesHidden { adapter }) => {
            adapter.contains(name.as_str())
        }
        (InspectionGap::Ends(_), Finding::UsbSlow { .. }) => true,
        (InspectionGap::Ends(name), Finding::SataBelowCapability { hop, .. }) => name == hop,
        _ => false,
    })
}

impl InspectionGap {
    fn sentence(&self, devices: &str) -> String {
        const BOTH_ENDS: &str =
            "`sudo lspci -vvv` of the whole machine, or `lanemark inspect` on it, shows both ends.";
        match self {
            Self::AllLinks { on_pci } => {
                let how = if *on_pci {
                    " `sudo lspci -vvv` shows the PCI Express links, and `lanemark inspect` on \
                         the machine itself shows all links."
                } else {
                    ""
                };
                format!(
                    "No link to {devices} reports its rate, so no limit on these links can be determined.{how}"
                )
            }
            Self::Rate(hop) => format!(
                "{devices}: the trained rate of the link to {hop} (LnkSta) is not known. {BOTH_ENDS}"
            ),
            Self::Device(hop) => {
                format!("{devices}: the capability of {hop} (LnkCap) is not known. {BOTH_ENDS}")
            }
            Self::Port(hop, Some(full)) => format!(
                "{devices}: the link to {hop} runs at {full}, the maximum of the device. Its port \
                 and the links above it are not known. {BOTH_ENDS}"
            ),
            Self::Port(hop, None) => {
                format!("{devices}: the capability of the port of {hop} is not known. {BOTH_ENDS}")
            }
            Self::Ends(hop) => {
                format!("{devices}: the capability of both ends of the link to {hop} is not known.")
            }
            Self::Behind(hop) => format!(
                "{devices}: the rates of the links downstream of {hop} are not known. `lanemark inspect` \
                 on the machine itself shows the SATA, SAS and USB links."
            ),
            Self::Network(hop) => {
                format!("{devices}: the rate of the network to {hop} is not known.")
            }
        }
    }
}

fn role(hop: &InspectedHop) -> Option<PciFunctionKind> {
    if let InspectedHopKind::Pci { role, .. } = hop.part { Some(role) } else { None }
}

fn is_shown_by_lspci(role: PciFunctionKind) -> bool {
    role == PciFunctionKind::Nvme || has_links_behind(role)
}

/// Returns whether the drives of a function with this role are attached by links other than PCIe.
fn has_links_behind(role: PciFunctionKind) -> bool {
    use PciFunctionKind as R;
    matches!(role, R::Ahci | R::Ide | R::Sas | R::Raid | R::Storage | R::Usb | R::FibreChannel)
}

#[cfg(test)]
mod tests;
