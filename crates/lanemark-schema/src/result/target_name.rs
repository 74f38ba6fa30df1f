//! The name of the target of a run, for tables and sentences.

use super::{DeviceIdentity, InspectedDevice, Inspection, MeasuredTarget, RunResult, Target};

impl RunResult {
    /// Returns the host file that was measured with this result, if there is one.
    pub fn measured_host(&self) -> Option<&str> {
        match &self.target {
            Target::Measured(target) => target.host.as_deref(),
            Target::Simulated(_) | Target::Database(_) => None,
        }
    }

    /// Returns the target's short name: the user's name for it; or the name of the simulated or served system; or the
    /// models of the measured drives; or the host and the device.
    pub fn target_name(&self) -> String {
        if let Some(name) = &self.provenance.name {
            return name.clone();
        }
        if let Some(served) = self.target.served() {
            return match served.time_scale {
                1.0 => format!("{}, served", served.system),
                scale => format!("{}, served at a time scale of {scale}", served.system),
            };
        }
        match &self.target {
            Target::Simulated(target) => target.system.clone(),
            Target::Measured(target) => self.measured_name(target),
            Target::Database(target) => target.name.clone(),
        }
    }

    /// Returns the name of a measured target. A path is used as a name only if it is absolute, because `.` is
    /// meaningless on a different machine.
    fn measured_name(&self, target: &MeasuredTarget) -> String {
        if let Some(models) = self.inspection.as_ref().and_then(Inspection::models) {
            return models;
        }
        let host = self.provenance.machine.as_ref().and_then(|machine| machine.host.as_deref());
        let device = target.block_device.as_deref();
        match (host, device) {
            (Some(host), Some(device)) => format!("{device} of {host}"),
            _ if target.path.starts_with('/') => target.path.clone(),
            (None, Some(device)) => device.to_owned(),
            (Some(host), None) => format!("a file of {host}"),
            // Imported results use the name that the other program used.
            (None, None) if !target.path.trim_matches(['.', '/']).is_empty() => target.path.clone(),
            (None, None) => "a file".to_owned(),
        }
    }
}

impl Inspection {
    /// Returns the models of the target's drives, such as `Maker X`, `4 x Maker X` or `Maker X + Maker Y`; `None` if a
    /// drive does not report its model.
    pub fn models(&self) -> Option<String> {
        let device_named = |name: &str| self.devices.iter().find(|device| device.name == name);
        let first = match &self.target {
            Some(target) => device_named(target)?,
            None => self.devices.first().filter(|_| self.devices.len() == 1)?,
        };
        let mut open: Vec<&InspectedDevice> = vec![first];
        let mut seen: Vec<&str> = Vec::new();
        let mut counts: Vec<(String, usize)> = Vec::new();
        while let Some(device) = open.pop() {
            if seen.contains(&device.name.as_str()) {
                continue;
            }
            seen.push(&device.name);
            for below in &device.below {
                open.push(device_named(below)?);
            }
            if device.below.is_empty() {
                let model = device.identity.full_name();
                device.identity.model.as_ref().filter(|model| !model.trim().is_empty())?;
                match counts.iter_mut().find(|(known, _)| *known == model) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((model, 1)),
                }
            }
        }
        counts.sort();
        let text = |(model, count): &(String, usize)| match count {
            1 => model.clone(),
            count => format!("{count} x {model}"),
        };
        Some(counts.iter().map(text).collect::<Vec<_>>().join(" + "))
    }
}

impl DeviceIdentity {
    /// Returns the vendor and the model, such as `Maker X`. A model may already begin with its vendor. On an ATA host,
    /// the kernel reports the host as the vendor.
    pub fn full_name(&self) -> String {
        let vendor = self.vendor.as_deref().filter(|vendor| {
            *vendor != "ATA"
                && !self.model.as_deref().is_some_and(|model| model.starts_with(vendor))
        });
        let words: Vec<&str> = vendor.into_iter().chain(self.model.as_deref()).collect();
        words.join(" ").trim().to_owned()
    }
}
