//! Platforms with more ports, for a system that names a port that its platform lacks.

use crate::catalogue;
use crate::document::Context;
use crate::library::{Library, LibraryKind};
use crate::origin::{Ledger, Overrides};
use crate::platform::Platform;

/// Maximum number of platforms that a hint names.
const NAMED_MAX: usize = 3;

/// Names platforms of the library that have ports for `count` drives like `drive` below one link. Returns `None` if a
/// single drive is requested, or if the platform with the ports `known` has the `port`.
pub(crate) fn roomier_platforms(
    library: &Library,
    drive: &str,
    count: usize,
    port: &str,
    known: &[&str],
) -> Option<String> {
    if port.split('|').all(|port| known.contains(&port)) {
        return None;
    }
    let plug = catalogue::drive(library, drive).ok()?.plug;
    if count < 2 {
        return None;
    }
    let mut all: Vec<(usize, String)> = Vec::new();
    for id in library.names(LibraryKind::Platform) {
        let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
        let platform = library.open(LibraryKind::Platform, &id);
        let Ok(platform) = platform.and_then(|file| Platform::read(&file, context)) else {
            continue;
        };
        let fitting = platform.ports.iter().filter(|port| plug.fits(port.plug));
        let mut below: Vec<(String, usize)> = Vec::new();
        for port in fitting {
            let link = port.behind.last().map_or(String::new(), |link| link.name.clone());
            match below.iter_mut().find(|(known, _)| *known == link) {
                Some((_, ports)) => *ports += 1,
                None => below.push((link, 1)),
            }
        }
        let most = below.into_iter().filter(|(link, _)| !link.is_empty()).map(|(_, n)| n).max();
        all.extend(most.filter(|most| *most >= count).map(|most| (most, id)));
    }
    all.sort();
    let names: Vec<String> = all
        .into_iter()
        .take(NAMED_MAX)
        .map(|(ports, id)| format!("{id} ({ports} ports)"))
        .collect();
    (!names.is_empty())
        .then(|| format!("for {count} drives behind one adapter or link, use {}", names.join(", ")))
}
