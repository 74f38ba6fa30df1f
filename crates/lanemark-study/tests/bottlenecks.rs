//! The bottleneck of drives on a shared uplink is the same by its formula, in the tree, and in a run.

use lanemark_schema::result::{HopId, PathHop, Provenance, TopologyNode};
use lanemark_study::{Library, path, workload};

mod systems;
use systems::with_settings;

/// Collects the names of the links in the tree that are the bottleneck.
fn marked<'a>(node: &'a TopologyNode, narrow: HopId, found: &mut Vec<&'a str>) {
    found.extend(node.link.as_deref().filter(|_| node.on_path && node.hop == Some(narrow)));
    node.children.iter().for_each(|child| marked(child, narrow, found));
}

#[test]
fn drives_behind_one_uplink_have_one_bottleneck_hop() {
    let library = Library::built_in();
    let cases = [
        // Two ports at 6 Gb/s are slower than the link that they share, but three ports are not.
        ("samsung-850-pro-1tb@dell-r730xd:sata+sata-2", 2, "SATA"),
        ("samsung-850-pro-1tb@dell-r730xd:sata+sata-2+sata-3", 1, "DMI"),
        ("samsung-850-pro-1tb@dell-r730xd:sata", 1, "SATA"),
    ];
    for (name, links, kind) in cases {
        let system = with_settings(name, &[]).unwrap();
        let mut workload =
            workload::open(&library, "iometer-128k-qd32:128kb-sequential-read").unwrap();
        workload.repeats = 1;
        let run = system.run(&workload, Provenance::default()).unwrap();
        let sample = &run.tests[0].samples[0];
        let view = path::view(&system, &workload.tests[0], Some(sample.throughput()));
        let least = |hop: &&PathHop| hop.ceiling.map_or(u64::MAX, |rate| rate.0);
        let narrow = view.hops.iter().min_by_key(least).unwrap();
        assert!(narrow.name.contains(kind), "{name}: {:?}", view.hops);
        let busiest = sample.path.as_ref().unwrap().busiest_hop().unwrap();
        assert_eq!(narrow.id, busiest.id, "{name}");
        let mut found = Vec::new();
        marked(&view.topology, narrow.id, &mut found);
        assert_eq!(found.len(), links, "{name}: {found:?}");
        assert!(found.iter().all(|link| *link == narrow.name), "{name}: {found:?}");
        let carried = sample.throughput().0;
        let most = narrow.ceiling.unwrap().0;
        assert!(carried as f64 <= most as f64 * 1.001, "{name}: {carried} of {most}");
    }
}
