//! Tests the imports between the rooms of ARCHITECTURE.md, and the import cycles between the files of each crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::crates::Crate;
use super::map::{self, Names};
use super::source::{self, File};

/// Maximum number of rooms of a crate, so that a newcomer can understand its layout.
const ROOMS_MAX: usize = 12;

/// The number of files in the largest import cycle of each crate that has a cycle. These numbers may only decrease, and
/// may not exceed two.
pub(crate) const CIRCLES: &[(&str, usize)] = &[
    ("lanemark-cli", 2),
    ("lanemark-oltp", 2),
    ("lanemark-predict", 2),
    ("lanemark-report", 2),
    ("lanemark-schema", 2),
    ("lanemark-sim", 2),
    ("lanemark-study", 2),
];

/// Returns each import between rooms of a crate that its table does not permit, and each unused permission.
pub(crate) fn breaches(root: &Path, one: &Crate) -> Vec<String> {
    let rooms = map::rooms(root, &one.name);
    if rooms.is_empty() {
        return Vec::new();
    }
    let name = &one.name;
    let core = &one.targets[0].files;
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let room_of = |file: &File| {
        let depth = |room: &&String| room.split('/').count();
        let within = |room: &&String| {
            let parts: Vec<&str> = room.split('/').collect();
            file.module.len() >= parts.len() && file.module.iter().zip(parts).all(|(a, b)| a == b)
        };
        rooms.keys().filter(within).max_by_key(depth).cloned()
    };
    let own: Vec<Option<String>> = core.iter().map(room_of).collect();
    for (at, file) in core.iter().enumerate() {
        if own[at].is_none() && !file.module.is_empty() && !file.test {
            let path = file.path.strip_prefix(root).unwrap_or(&file.path).display();
            found.push(format!("ARCHITECTURE.md: {path} lies in no room of the table of {name}"));
        }
    }
    for (from, edges) in source::imports(core).iter().enumerate() {
        for to in edges {
            let (Some(room), Some(other)) = (&own[from], &own[*to]) else { continue };
            if room == other {
                continue;
            }
            seen.insert((room.clone(), other.clone()));
            if !rooms[room].contains(other) {
                let path = core[from].path.strip_prefix(root).unwrap_or(&core[from].path).display();
                found.push(format!(
                    "{path}: room `{room}` of {name} imports `{other}`, which the table in ARCHITECTURE.md forbids"
                ));
            }
        }
    }
    if rooms.len() > ROOMS_MAX {
        found.push(format!(
            "ARCHITECTURE.md: {name} has {} rooms; the maximum is {ROOMS_MAX}",
            rooms.len()
        ));
    }
    found.extend(room_circle(&rooms).map(|circle| {
        format!("ARCHITECTURE.md: the rooms {circle} of {name} may import one another in a circle")
    }));
    for (room, others) in &rooms {
        if !own.iter().flatten().any(|own| own == room) {
            found.push(format!("ARCHITECTURE.md: there is no room `{room}` in {name}"));
        }
        for other in others.iter().filter(|other| !seen.contains(&(room.clone(), (*other).clone())))
        {
            found.push(format!(
                "ARCHITECTURE.md: room `{room}` may import `{other}` and does not; remove it"
            ));
        }
    }
    found
}

/// Returns the rooms of a circle of permitted imports, if there is a circle.
pub(crate) fn room_circle(rooms: &BTreeMap<String, Names>) -> Option<String> {
    let names: Vec<&String> = rooms.keys().collect();
    let number = |other: &String| names.iter().position(|name| *name == other);
    let edges: Vec<BTreeSet<usize>> =
        rooms.values().map(|others| others.iter().filter_map(number).collect()).collect();
    let circle = largest_circle(&edges);
    let listed = circle.iter().map(|at| names[*at].as_str()).collect::<Vec<_>>().join(", ");
    (circle.len() > 1).then_some(listed)
}

/// Returns every crate whose largest import cycle differs from the recorded cycle.
pub(crate) fn circles(root: &Path, crates: &[Crate], recorded: &[(&str, usize)]) -> Vec<String> {
    let mut found = Vec::new();
    for one in crates {
        let circles = one
            .targets
            .iter()
            .map(|target| (target, largest_circle(&source::imports(&target.files))));
        let (target, circle) = circles.max_by_key(|(_, circle)| circle.len()).unwrap();
        let most = recorded.iter().find(|(name, _)| *name == one.name).map_or(1, |(_, most)| *most);
        let count = circle.len().max(1);
        let files = circle.iter().map(|at| &target.files[*at].path);
        let files: Vec<String> = files
            .map(|path| {
                path.strip_prefix(&one.folder)
                    .unwrap_or(path.strip_prefix(root).unwrap_or(path))
                    .display()
                    .to_string()
            })
            .collect();
        if count > most {
            found.push(format!(
                "{}: {count} files import one another in a circle, and {most} did before: {}",
                one.name,
                files.join(", ")
            ));
        } else if count < most {
            found.push(format!("{}: its largest circle of imports fell from {most} to {count} files; record it in lanemark-tidy/tests/tidy/rooms.rs", one.name));
        }
    }
    found
}

/// Returns the largest set of nodes that can all reach each other; without a cycle, the set has one node or is empty.
pub(crate) fn largest_circle(edges: &[BTreeSet<usize>]) -> Vec<usize> {
    let reached = |from: usize| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            open.extend(edges[node].iter().filter(|next| seen.insert(**next)));
        }
        seen
    };
    let all: Vec<BTreeSet<usize>> = (0..edges.len()).map(reached).collect();
    let circle_of = |node: usize| -> Vec<usize> {
        all[node].iter().copied().filter(|other| all[*other].contains(&node)).collect()
    };
    (0..edges.len()).map(circle_of).max_by_key(Vec::len).unwrap_or_default()
}
