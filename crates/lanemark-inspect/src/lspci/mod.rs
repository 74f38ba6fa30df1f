//! Reads the output of `lspci -vvv` and `lspci -tv` (pciutils), as far as it concerns storage.
//!
//! The text is converted to a sysfs tree of its functions in memory, and the tree is inspected. `restored` removes the
//! characters that were added around pasted text. From `-vvv` output, `verbose` reads bridges with the buses below
//! them, classes, drivers, the capabilities and states of links (`LnkCap`, `LnkSta`), and payload sizes (`DevCap`,
//! `DevCtl`). From `-tv` output, `bus_tree` reads the position and name of each function. Neither format names drives:
//! an NVMe function counts as one drive with one namespace, and the drives on a SATA, SAS, RAID or USB controller
//! appear as one device with the name of the controller. A text may contain only a part of a machine; if a port is
//! missing, its end of the link is unknown.
//!
//! Dumps (`-x`), `-vmm` output, and trees that were printed with other options are not read.

mod bus_tree;
mod function;
mod verbose;

use std::collections::BTreeMap;
use std::path::Path;

use lanemark_schema::pasted::restored;
use lanemark_schema::result::DRIVES_NOT_SHOWN;

use crate::tree::MemoryTree;
use function::{FunctionAddress, LspciFunction};

/// Maximum number of links that a message describes.
const SLOW_MAX: usize = 8;
/// Maximum number of bridges above a function.
const DEPTH_MAX: usize = 32;

/// Kinds of storage controllers, each with its name and its class without the lowest byte.
const CONTROLLERS: [(&str, u32); 7] = [
    ("ide", 0x01_01),
    ("ata", 0x01_05),
    ("raid", 0x01_04),
    ("sata", 0x01_06),
    ("sas", 0x01_07),
    ("storage", 0x01_80),
    ("usb", 0x0c_03),
];

/// The tree that a text describes.
#[derive(Debug)]
pub(crate) struct LspciTree {
    pub(crate) tree: MemoryTree,
    /// Positions in the tree of the functions whose capabilities were hidden from an unprivileged user.
    pub(crate) denied: Vec<String>,
}

/// The reason why a text does not describe a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LspciProblem {
    Empty,
    /// The text does not contain output of lspci.
    NotLspci,
    /// The text contains lines about links without the heading of their function.
    LinksOnly,
    /// The text is the output of `lspci -vmm`, which does not print links.
    MachineReadable,
    /// A tree of `lspci -tv` has lost its line breaks or its indentation.
    BrokenTree,
    /// The text contains functions, but no storage controller.
    NoStorage {
        functions: usize,
    },
    /// The text contains functions under other headings than lspci's, which lack their classes.
    NoClass {
        functions: usize,
        /// The links that run below their capability, as text.
        slow: Vec<String>,
    },
}

/// Creates a sysfs tree from a text.
///
/// # Errors
/// Returns the reason why the text does not describe a tree.
pub(crate) fn tree(text: &str) -> Result<LspciTree, LspciProblem> {
    let functions = functions(&restored(text))?;
    let mut tree = MemoryTree::default();
    tree.add_folder(Path::new("block"));
    let mut drives = 0;
    let mut controllers = 0;
    let mut denied = Vec::new();
    for (address, function) in &functions {
        let Some(position) = position_of(&functions, address) else { continue };
        add_function(&mut tree, &position, function);
        if function.class == Some(0x01_0802) {
            let block = format!("nvme{drives}n1");
            let controller = format!("{position}/nvme/nvme{drives}");
            add_line(&mut tree, &controller, "model", &function.name);
            add_block(&mut tree, &format!("{controller}/{block}"), &block);
            drives += 1;
        }
        let class = function.class.map(|class| class >> 8);
        if let Some((kind, _)) = CONTROLLERS.iter().find(|(_, known)| Some(*known) == class) {
            let (domain, bus, rest) = address;
            let block = format!("{kind}-{domain:04x}:{bus:02x}:{rest}");
            let device = format!("{position}/{block}");
            let model = format!("{DRIVES_NOT_SHOWN}, on {}", function.name);
            add_line(&mut tree, &format!("{device}/device"), "model", &model);
            add_block(&mut tree, &device, &block);
            controllers += 1;
        }
        if function.denied {
            denied.push(position);
        }
    }
    match drives + controllers {
        0 if functions.values().any(|function| function.lacks_class) => {
            Err(LspciProblem::NoClass { functions: functions.len(), slow: slow_links(&functions) })
        }
        0 => Err(LspciProblem::NoStorage { functions: functions.len() }),
        _ => Ok(LspciTree { tree, denied }),
    }
}

/// Adds the folder of a function, with its class, links and driver.
fn add_function(tree: &mut MemoryTree, position: &str, function: &LspciFunction) {
    let at = Path::new(position);
    tree.add_folder(at);
    if let Some(class) = function.class {
        add_line(tree, position, "class", &format!("{class:#08x}"));
    }
    for (rates, speed, width) in [
        (&function.trained, "current_link_speed", "current_link_width"),
        (&function.capable, "max_link_speed", "max_link_width"),
    ] {
        if let Some((rate, lanes)) = rates {
            add_line(tree, position, speed, &format!("{rate} GT/s PCIe"));
            add_line(tree, position, width, lanes);
        }
    }
    if let Some(driver) = &function.driver {
        tree.add_link(&at.join("driver"), &format!("../../bus/pci/drivers/{driver}"));
    }
    if let Some(config) = function.config() {
        tree.add_file(&at.join("config"), config);
    }
}

fn add_line(tree: &mut MemoryTree, folder: &str, name: &str, text: &str) {
    tree.add_file(&Path::new(folder).join(name), format!("{text}\n"));
}

/// Adds the folder of a block device, and its link in `block`.
fn add_block(tree: &mut MemoryTree, position: &str, name: &str) {
    tree.add_folder(Path::new(position));
    tree.add_link(&Path::new("block").join(name), &format!("../{position}"));
}

/// Describes the links that run below the capability of their function, up to [`SLOW_MAX`].
fn slow_links(functions: &BTreeMap<FunctionAddress, LspciFunction>) -> Vec<String> {
    let describe = |((domain, bus, rest), function): (&FunctionAddress, &LspciFunction)| {
        let (rate, lanes) = function.trained.as_ref()?;
        let (rate_max, lanes_max) = function.capable.as_ref()?;
        let number = |text: &str| text.parse::<f64>().ok();
        let is_slow = number(rate)? < number(rate_max)? || number(lanes)? < number(lanes_max)?;
        is_slow.then(|| {
            format!(
                "{domain:04x}:{bus:02x}:{rest} runs at {rate} GT/s x{lanes}, of {rate_max} GT/s x{lanes_max}"
            )
        })
    };
    functions.iter().filter_map(describe).take(SLOW_MAX).collect()
}

/// Reads the functions of a text. If the text contains both `-vvv` output and a tree, the bridges above a function come
/// from the tree.
fn functions(text: &str) -> Result<BTreeMap<FunctionAddress, LspciFunction>, LspciProblem> {
    let mut functions = verbose::read(text);
    if bus_tree::is_in(text) {
        let tree =
            bus_tree::read(text).map_err(|bus_tree::UnreadableTree| LspciProblem::BrokenTree);
        match tree {
            Ok(tree) => {
                for (address, other) in tree {
                    functions.entry(address).or_default().complete(other);
                }
            }
            Err(problem) if functions.is_empty() => return Err(problem),
            Err(_) => {}
        }
    }
    let is_machine_readable =
        || text.lines().any(|line| line.starts_with("Slot:")) && text.contains("\nClass:");
    if !functions.is_empty() {
        Ok(functions)
    } else if text.trim().is_empty() {
        Err(LspciProblem::Empty)
    } else if verbose::has_links(text) {
        Err(LspciProblem::LinksOnly)
    } else if is_machine_readable() {
        Err(LspciProblem::MachineReadable)
    } else {
        Err(LspciProblem::NotLspci)
    }
}

impl LspciFunction {
    /// Returns a configuration space with the values of the PCI Express capability from the text; `None` if the text
    /// does not contain them.
    fn config(&self) -> Option<Vec<u8>> {
        let capable = self.payload_capable?;
        let set = self.payload?;
        let mut config = vec![0; 256];
        // The list consists of one capability, at 40h, with its id, the end of the list, flags, supported values and
        // set values.
        config[0x06] = 0x10;
        config[0x34] = 0x40;
        config[0x40] = 0x10;
        config[0x42] = self.port_type? << 4 | 2;
        config[0x44..0x46].copy_from_slice(&capable.to_le_bytes());
        // If the text does not contain a code, a reserved code is used.
        let control = set << 5 | self.read_request.unwrap_or(7) << 12;
        config[0x48..0x4a].copy_from_slice(&control.to_le_bytes());
        Some(config)
    }
}

/// Returns the position of a function: below the bridge to its bus, the bridge to that bridge's bus, and so on up to a
/// bus without a bridge.
fn position_of(
    functions: &BTreeMap<FunctionAddress, LspciFunction>,
    address: &FunctionAddress,
) -> Option<String> {
    let mut steps = vec![address];
    for _ in 0..DEPTH_MAX {
        let (domain, bus, _) = steps.last()?;
        let is_above = |(other, function): &(&FunctionAddress, &LspciFunction)| {
            other.0 == *domain && other.1 < *bus && function.below == Some(*bus)
        };
        match functions.iter().find(is_above) {
            Some((bridge, _)) => steps.push(bridge),
            None => {
                let names = steps.iter().rev();
                let names =
                    names.map(|(domain, bus, rest)| format!("{domain:04x}:{bus:02x}:{rest}"));
                let path = names.collect::<Vec<_>>().join("/");
                return Some(format!("devices/pci{domain:04x}:{bus:02x}/{path}"));
            }
        }
    }
    None
}
