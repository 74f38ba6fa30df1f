//! Checks of faults: the system must contain the drives, ports, ranges and links of its faults.

use super::{AttachmentSpec, SpecError, SystemSpec, VolumeSpec};
use crate::link::LinkSpec;
use lanemark_schema::workload::fault::{FAULTS_MAX, Fault, FaultKind, LinkSelector};

impl SystemSpec {
    /// Returns the faults that this system does not support, each with the accepted values.
    pub(crate) fn fault_errors(&self) -> Vec<SpecError> {
        if self.faults.len() > FAULTS_MAX {
            let bound = format!("at most {FAULTS_MAX}");
            let value = self.faults.len().to_string();
            return vec![SpecError { field: "number of faults", value, bound }];
        }
        let error = |fault: &Fault| {
            let bound = self.misfit(fault)?;
            Some(SpecError { field: "fault", value: fault.to_string(), bound })
        };
        self.faults.iter().filter_map(error).collect()
    }

    /// Returns the reason why this system does not support a fault, or `None` if it supports the fault.
    fn misfit(&self, fault: &Fault) -> Option<String> {
        if let Some(drive) = fault.drive
            && usize::from(drive) >= self.drives()
        {
            return Some(format!("the system has drives 0 to {}", self.drives() - 1));
        }
        if self.volume == Some(VolumeSpec::Mirror) && fault.drive.is_some() && fails(&fault.kind) {
            let bound = "a fault of all drives: a mirror that continues with its other drives is not modelled";
            return Some(bound.to_owned());
        }
        let hurt = self.attachments.iter().zip(0..).filter(|(_, drive)| fault.hurts(*drive));
        hurt.map(|(attachment, _)| attachment).find_map(|one| self.misfit_of(fault, one))
    }

    fn misfit_of(&self, fault: &Fault, attachment: &AttachmentSpec) -> Option<String> {
        if attachment.protocol.adapter_cache().is_some() {
            return Some("faults are not modelled behind the cache of an adapter".to_owned());
        }
        let capacity = attachment.drive.capacity;
        if fault.kind.range().is_some_and(|range| range.end > capacity) {
            return Some(format!("the drive ends at {capacity}"));
        }
        match fault.kind {
            FaultKind::LyingFlush => {
                let is_volatile = attachment.drive.write_cache == super::WriteCacheMode::Volatile;
                let bound = "the drive lacks a volatile cache, so a flush does not store any data";
                (!is_volatile).then(|| bound.to_owned())
            }
            FaultKind::ReadRetries(_) => {
                let flash = matches!(attachment.drive.media, super::MediaSpec::Flash(_));
                (!flash).then(|| "the drive does not have flash".to_owned())
            }
            FaultKind::PortLoss { port, .. } => {
                let ports = attachment.port_paths().count();
                (usize::from(port) >= ports)
                    .then(|| format!("a port of the drive, which has {ports}, counted from 0"))
            }
            FaultKind::LinkErrors { link, .. } => self.link_at(attachment, link).err(),
            FaultKind::Retrain { link, to } => match self.link_at(attachment, link) {
                Err(bound) => Some(bound),
                Ok(spec) => {
                    let fits = spec.model.trained(to).is_some();
                    (!fits).then(|| format!("`{}` trains to {}", spec.name, spec.model.trainings()))
                }
            },
            FaultKind::MediaError { .. }
            | FaultKind::WriteError { .. }
            | FaultKind::BitFlips { .. }
            | FaultKind::LostWrite { .. }
            | FaultKind::MisdirectedWrite { .. }
            | FaultKind::Latency { .. }
            | FaultKind::Pause
            | FaultKind::Stuck(_)
            | FaultKind::ReadOnly { .. }
            | FaultKind::PowerCut { .. } => None,
        }
    }

    /// Returns the link at a position on the paths of an attachment.
    fn link_at<'s>(
        &'s self,
        attachment_spec: &'s AttachmentSpec,
        place: LinkSelector,
    ) -> Result<&'s LinkSpec, String> {
        let ports = attachment_spec.port_paths().count();
        let port_path = attachment_spec.port_paths().nth(place.port.into());
        let port_path = port_path
            .ok_or_else(|| format!("a port of the drive, which has {ports}, counted from 0"))?;
        let links: Vec<&LinkSpec> = self.links(port_path).collect();
        let number = place.number.map_or(links.len() - 1, usize::from);
        let count = links.len();
        links.get(number).copied().ok_or_else(|| format!("the path has links 0 to {}", count - 1))
    }
}

/// Returns whether requests to a drive with such a fault fail.
fn fails(kind: &FaultKind) -> bool {
    match kind {
        FaultKind::MediaError { .. }
        | FaultKind::WriteError { .. }
        | FaultKind::Stuck(_)
        | FaultKind::ReadOnly { .. }
        | FaultKind::PortLoss { .. }
        | FaultKind::PowerCut { .. } => true,
        FaultKind::LyingFlush
        | FaultKind::ReadRetries(_)
        | FaultKind::LinkErrors { .. }
        | FaultKind::Retrain { .. }
        | FaultKind::BitFlips { .. }
        | FaultKind::LostWrite { .. }
        | FaultKind::MisdirectedWrite { .. }
        | FaultKind::Latency { .. }
        | FaultKind::Pause => false,
    }
}
