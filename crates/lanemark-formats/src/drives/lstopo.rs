//! `lstopo --of xml`: hwloc's tree of a machine, including its PCI bridges, functions and block devices.
//!
//! `pci_link_speed` is the rate of the link above an object in GB/s, for all lanes together. It does not determine the
//! number of lanes and the generation: four lanes of one generation carry as much as two lanes of the next.

use super::described::{DRIVES_MAX, DescribedDrive, TEXT_MAX, device_name};
use crate::xml::{self, Element};

/// Returns whether the text is hwloc's XML.
pub(super) fn is_ours(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('<') && text.contains("<topology")
}

pub(super) fn read(text: &str) -> Result<Vec<DescribedDrive>, (u64, String)> {
    let root = xml::parse(text)?;
    let mut drives = Vec::new();
    walk(&root, &mut Vec::new(), &mut drives);
    Ok(drives)
}

/// Collects the block devices below an element. The XML reader limits the depth.
fn walk(
    element: &Element,
    above: &mut Vec<(String, Option<f64>)>,
    drives: &mut Vec<DescribedDrive>,
) {
    for child in element.all("object") {
        let kind = child.attribute("type").unwrap_or_default();
        let address = child.attribute("pci_busid").filter(|_| matches!(kind, "PCIDev" | "Bridge"));
        if let Some(address) = address {
            let rate = child.attribute("pci_link_speed").and_then(|rate| rate.parse::<f64>().ok());
            let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0);
            above.push((address.chars().take(32).collect(), rate));
        }
        if kind == "OSDev" && drives.len() <= DRIVES_MAX {
            drives.extend(block(child, above));
        }
        walk(child, above, drives);
        if address.is_some() {
            above.pop();
        }
    }
}

/// Returns the drive of an object that is a block device; `None` for network and graphics devices.
fn block(object: &Element, above: &[(String, Option<f64>)]) -> Option<DescribedDrive> {
    let info = |name: &str| {
        let is_named = |info: &&Element| info.attribute("name") == Some(name);
        object.all("info").find(is_named).and_then(|info| info.attribute("value"))
    };
    // In version 2 the kinds are numbers, and 0 is a block device; in version 3 they are bits, and bit 1 is storage.
    let kind = object.attribute("osdev_type").or(object.attribute("subtype"));
    let is_block = match kind {
        Some("0" | "Disk" | "Block" | "1") => info("Size").is_some() || info("Model").is_some(),
        _ => false,
    };
    let name = object.attribute("name").and_then(device_name).filter(|_| is_block)?;
    let text = |value: Option<&str>| {
        let text: String = value?.trim().chars().take(TEXT_MAX).collect();
        (!text.is_empty()).then_some(text)
    };
    let kibibytes = info("Size").and_then(|size| size.parse::<u64>().ok());
    Some(DescribedDrive {
        name: Some(name),
        model: text(info("Model")),
        firmware: text(info("Revision")),
        size_bytes: kibibytes.and_then(|size| size.checked_mul(1024)),
        sector_bytes: info("SectorSize").and_then(|size| size.parse().ok()),
        pci: above.to_vec(),
        ..DescribedDrive::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_device_has_the_bridges_above_it() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine">
 <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[00-05]">
  <object type="Bridge" pci_busid="0000:00:1d.0" pci_link_speed="3.938462">
   <object type="PCIDev" pci_busid="0000:03:00.0" pci_link_speed="3.938462">
    <object type="OSDev" name="nvme0n1" subtype="Disk" osdev_type="0">
     <info name="Size" value="976762584"/><info name="SectorSize" value="512"/>
     <info name="Model" value="Samsung SSD 970 EVO Plus 1TB"/></object>
   </object></object>
  <object type="PCIDev" pci_busid="0000:00:02.0"><object type="OSDev" name="eth0" osdev_type="2"/></object>
 </object></object></topology>"#;
        let drives = read(text).unwrap();
        assert_eq!(drives.len(), 1);
        let drive = &drives[0];
        assert_eq!(
            (drive.name.as_deref(), drive.size_bytes),
            (Some("nvme0n1"), Some(1_000_204_886_016))
        );
        let addresses: Vec<&str> = drive.pci.iter().map(|(address, _)| address.as_str()).collect();
        assert_eq!(addresses, ["0000:00:1d.0", "0000:03:00.0"]);
        assert_eq!(drive.pci[1].1, Some(3.938462));
        let hostile = text.replace("3.938462", "inf").replace("976762584", "99999999999999999999");
        let drives = read(&hostile).unwrap();
        assert_eq!((drives[0].pci[1].1, drives[0].size_bytes), (None, None));
    }
}
