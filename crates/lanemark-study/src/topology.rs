//! Checks that the links of a platform form a tree: each link has one parent, and no path contains a loop.
//!
//! A platform file lists the links on the path to each port. A link that is listed after one chip for one port and
//! after another chip for another port would have two parents. Two links that are each listed after the other form a
//! loop. The error message names both parents.

use crate::error::StudyError;
use crate::links::NamedLink;
use crate::platform::Port;

/// The name of the node before the first link of every path.
const PROCESSOR: &str = "the processor";

/// Checks that no link in `known` has the name of `link` but leads to another chip.
///
/// # Errors
/// Returns a message that names the chips at the far ends of both links.
pub(crate) fn check_link(link: &NamedLink, known: &[NamedLink]) -> Result<(), String> {
    match known.iter().find(|other| other.name == link.name) {
        None => Ok(()),
        Some(other) => Err(format!(
            "link `{}` is defined twice, to {} and to {}",
            link.name, other.to, link.to
        )),
    }
}

/// Checks the path `behind` to the port `name` for loops, and compares it with the paths to `ports`.
///
/// # Errors
/// Returns a message about the two parents of a link, as an error that `fail` creates.
pub(crate) fn check_way(
    name: &str,
    behind: &[NamedLink],
    ports: &[Port],
    fail: impl Fn(String) -> StudyError,
) -> Result<(), StudyError> {
    for (index, link) in behind.iter().enumerate() {
        let parent = parent_of(behind, index);
        if behind[..index].iter().any(|before| before.name == link.name) {
            let message = format!(
                "the path to port `{name}` is a loop: link `{}` leads from {parent} back to {}",
                link.name, link.to
            );
            return Err(
                fail(message).hint("name each link once, the nearest to the processor first")
            );
        }
        let port_paths = ports.iter().filter_map(|port| {
            let place = port.behind.iter().position(|other| other.name == link.name)?;
            Some((port, parent_of(&port.behind, place)))
        });
        if let Some((port, other)) = port_paths.into_iter().find(|(_, other)| *other != parent) {
            let message = format!(
                "link `{}` to {} would have two origins: {other} on the path to port `{}` and \
                 {parent} on the path to port `{name}`",
                link.name, link.to, port.name
            );
            return Err(fail(message).hint(
                "name the links in the same order for each port, beginning at the processor",
            ));
        }
    }
    Ok(())
}

/// Returns the name of the upper end of the link at `index` on a path: the chip, and the link that leads to the chip.
fn parent_of(behind: &[NamedLink], index: usize) -> String {
    index.checked_sub(1).map_or(PROCESSOR.to_owned(), |before| {
        let NamedLink { name, to, .. } = &behind[before];
        format!("{to} (`{name}`)")
    })
}
