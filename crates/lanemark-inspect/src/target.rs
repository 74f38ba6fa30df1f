//! The target of an inspection: a device, identified by its name, its node, or a path on it.

#[cfg(feature = "machine")]
use std::path::Path;
use std::path::PathBuf;

use crate::below::DeviceNames;
use crate::error::InspectError;
use crate::sysfs::Sysfs;

/// Maximum number of names that an error suggests.
const NEAREST_MAX: usize = 3;
/// Minimum similarity of a suggested name, on a scale from 0 to 1.
const LIKENESS: f64 = 0.6;

/// Returns the name of the device that `target` refers to.
pub(crate) fn resolve(
    sysfs: &Sysfs,
    names: &DeviceNames,
    target: &str,
) -> Result<String, InspectError> {
    let plain = target.strip_prefix("/dev/").unwrap_or(target);
    // Sysfs replaces a slash in a node's name with an exclamation mark.
    for name in [plain.to_owned(), plain.replace('/', "!")] {
        if names.get(&name).is_some() {
            return Ok(name);
        }
    }
    if let Some(mapped) =
        plain.strip_prefix("mapper/").and_then(|name| mapper_device_name(sysfs, names, name))
    {
        return Ok(mapped);
    }
    match path_device(sysfs, names, target) {
        Some(named) => named,
        None if target.contains('/') && !target.starts_with("/dev/") => {
            Err(InspectError::ForeignPath {
                path: PathBuf::from(target),
                root: sysfs.named().to_owned(),
            })
        }
        None => Err(unknown(names, plain)),
    }
}

/// Returns the device on which a path of this machine is; `None` if the tree does not belong to this machine, or if a
/// name without a slash is not a path.
#[cfg(feature = "machine")]
fn path_device(
    sysfs: &Sysfs,
    names: &DeviceNames,
    target: &str,
) -> Option<Result<String, InspectError>> {
    let path = Path::new(target);
    if !sysfs.is_live() || (!target.contains('/') && !path.exists()) {
        return None;
    }
    Some(crate::locate::locate(path).and_then(|location| {
        let named = crate::below::by_number(sysfs, &location.numbers);
        named.filter(|name| names.get(name).is_some()).ok_or_else(|| InspectError::NoDevice {
            path: path.to_owned(),
            file_system: location.file_system,
        })
    }))
}

#[cfg(not(feature = "machine"))]
fn path_device(_: &Sysfs, _: &DeviceNames, _: &str) -> Option<Result<String, InspectError>> {
    None
}

/// Returns the device whose device-mapper name is `name`.
fn mapper_device_name(sysfs: &Sysfs, names: &DeviceNames, name: &str) -> Option<String> {
    let is_named = |device: &&str| {
        names
            .get(device)
            .and_then(|block| sysfs.text(&block.position, "dm/name"))
            .is_some_and(|mapped_name| mapped_name == name)
    };
    names.all().filter(|device| device.starts_with("dm-")).find(is_named).map(str::to_owned)
}

fn unknown(names: &DeviceNames, name: &str) -> InspectError {
    let mut alike: Vec<(f64, &str)> =
        names.all().map(|known| (strsim::jaro_winkler(name, known), known)).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let nearest = alike
        .into_iter()
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .take(NEAREST_MAX)
        .map(|(_, known)| known.to_owned())
        .collect();
    InspectError::UnknownDevice { name: name.to_owned(), nearest }
}
