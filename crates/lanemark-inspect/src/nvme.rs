//! NVMe controllers and namespaces, and the paths of a multipath namespace.
//!
//! A namespace is below its controller; with native multipath, it is below
//! `devices/virtual/nvme-subsystem/nvme-subsysN`, a folder with a link to each controller. Below each controller is its
//! path to the namespace, `nvmeXcYnZ`, with the numbers of the subsystem, the controller and the namespace.

use lanemark_schema::result::{DeviceIdentity, InspectedHopKind};

use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::{is_decimal, is_numbered, node, number};

/// The numbers in the name of a namespace.
pub(crate) struct Namespace<'a> {
    /// Number of the controller or subsystem, such as `0` in nvme0n1.
    pub(crate) instance: &'a str,
    /// Number of the namespace, such as `1` in nvme0n1.
    pub(crate) number: &'a str,
}

/// A path to a namespace: its controller, its name if it has one, and its state.
pub(crate) struct NamespacePath {
    pub(crate) controller: DevicePosition,
    pub(crate) name: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) numa_node: Option<u32>,
}

impl<'a> Namespace<'a> {
    /// Parses a name such as `nvme0n1`.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (instance, number) = name.strip_prefix("nvme")?.split_once('n')?;
        (is_decimal(instance) && is_decimal(number)).then_some(Self { instance, number })
    }
}

/// Returns whether `name` is the name of a controller.
pub(crate) fn is_controller(name: &str) -> bool {
    is_numbered(name, "nvme")
}

/// Returns the subsystem of the multipath namespace at `at`.
pub(crate) fn subsystem(at: &DevicePosition) -> Option<String> {
    let parent = at.parent().name();
    is_numbered(&parent, "nvme-subsys").then_some(parent)
}

/// Returns the namespaces below controllers and subsystems. The kernel also lists them among the block devices, but a
/// capture of only NVMe devices may not contain that list.
pub(crate) fn namespaces(sysfs: &Sysfs) -> Vec<DevicePosition> {
    let mut found = Vec::new();
    for folder in ["class/nvme-subsystem", "class/nvme"] {
        let Some(folder) = sysfs.position(folder) else { continue };
        for owner in sysfs.names(&folder) {
            let Some(owner) = sysfs.resolve_from(&folder, owner) else { continue };
            let names = sysfs.names_in(&owner, ".").into_iter();
            let names = names.filter(|name| Namespace::parse(name).is_some());
            found.extend(names.filter_map(|name| sysfs.resolve_from(&owner, name)));
        }
    }
    found
}

/// Returns the paths of the `namespace` at `at` through the controllers of its subsystem.
pub(crate) fn paths(
    sysfs: &Sysfs,
    at: &DevicePosition,
    namespace: &Namespace<'_>,
) -> Vec<NamespacePath> {
    let folder = at.parent();
    let controllers: Vec<DevicePosition> = sysfs
        .names(&folder)
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .filter(|name| is_controller(name))
        .filter_map(|name| sysfs.resolve_from(&folder, name))
        .collect();
    let path = |controller: &DevicePosition| {
        let name_of_controller = controller.name();
        let name = format!(
            "nvme{}c{}n{}",
            namespace.instance,
            name_of_controller.trim_start_matches("nvme"),
            namespace.number
        );
        let position = sysfs.resolve_from(controller, &name)?;
        let state = sysfs.text(&position, "ana_state");
        let numa_node = sysfs.value(&position, "numa_node", node).flatten();
        Some(NamespacePath { controller: controller.clone(), name: Some(name), state, numa_node })
    };
    let named: Vec<NamespacePath> = controllers.iter().filter_map(path).collect();
    if !named.is_empty() {
        return named;
    }
    // If the kernel hides the paths, or a capture does not contain them, every controller counts as one path.
    let path_without_name =
        |controller| NamespacePath { controller, name: None, state: None, numa_node: None };
    controllers.into_iter().map(path_without_name).collect()
}

/// Returns the controller at `at` as a hop.
pub(crate) fn controller(sysfs: &Sysfs, at: &DevicePosition) -> InspectedHopKind {
    let transport = sysfs.text(at, "transport");
    let fabric = transport.as_deref().is_some_and(|transport| transport != "pcie");
    InspectedHopKind::NvmeController {
        identity: DeviceIdentity {
            vendor: None,
            model: sysfs.text(at, "model"),
            serial: sysfs.text(at, "serial"),
            firmware: sysfs.text(at, "firmware_rev"),
        },
        address: if fabric { sysfs.text(at, "address") } else { None },
        transport,
        state: sysfs.text(at, "state"),
        queues: sysfs.value(at, "queue_count", number),
    }
}
