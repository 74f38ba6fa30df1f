//! A path as it is shown. It has fewer steps than hops, because some adjacent hops are commonly regarded as one device.
//!
//! A controller is part of the step of its PCI function. A drive is part of the step of its block device, which is the
//! last step.

use lanemark_schema::result::{
    InspectedDevice, InspectedHop, InspectedHopKind, InspectedLink, InspectedPath, PciFunctionKind,
};

use super::words;

/// A step: the link that leads to it, its name and its description.
pub(super) struct PathStep<'a> {
    pub(super) link: Option<&'a InspectedLink>,
    /// Position in the device tree, which identifies the step.
    pub(super) position: &'a str,
    pub(super) name: String,
    pub(super) words: String,
}

/// Returns the steps of `path` to `device`; the last step has the description `words`.
pub(super) fn steps<'a>(
    device: &'a InspectedDevice,
    path: &'a InspectedPath,
    words: String,
) -> Vec<PathStep<'a>> {
    let mut steps: Vec<PathStep<'a>> = Vec::new();
    let mut before: Option<&InspectedHop> = None;
    let mut link = None;
    for (index, hop) in path.hops.iter().enumerate() {
        let last = index + 1 == path.hops.len();
        match steps.last_mut() {
            _ if last && matches!(hop.part, InspectedHopKind::ScsiDevice { .. }) => {
                link = hop.link.as_ref();
            }
            Some(step) if before.is_some_and(|before| is_one(before, hop)) => {
                step.name = format!("{} {}", step.name, hop.name);
                step.words = words::part(&hop.part);
            }
            _ => steps.push(PathStep {
                link: hop.link.as_ref(),
                position: &hop.place,
                name: hop.name.clone(),
                words: words::part(&hop.part),
            }),
        }
        before = Some(hop);
    }
    steps.push(PathStep { link, position: &device.name, name: device.name.clone(), words });
    steps
}

/// Returns whether a controller and the function before it form one device.
fn is_one(function: &InspectedHop, hop: &InspectedHop) -> bool {
    use PciFunctionKind as R;
    let function = matches!(
        function.part,
        InspectedHopKind::Pci { role: R::Nvme | R::Virtio | R::Network | R::FibreChannel, .. }
    );
    let controller = matches!(
        hop.part,
        InspectedHopKind::NvmeController { .. } | InspectedHopKind::Virtio { .. }
    );
    function && controller && hop.link.is_none()
}
