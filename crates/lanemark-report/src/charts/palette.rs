//! The only list of the colours of systems and hops, which pages, drawings and the browser laboratory use.
//!
//! A system has one colour in all parts of a page; the colour depends on the number of the system on the page. A hop
//! has one colour in all pages and drawings; the colour depends on the hop's identity, so a page about another system
//! shows the same hop in the same colour.

use lanemark_schema::result::HopId;

/// Number of system colours before they repeat.
pub const SYSTEM_COLOURS: usize = 6;
pub const HOP_COLOURS: usize = 12;
/// Colours of links, counted from the host. Links deeper than the third have the colour of the third.
const LINKS: [usize; 3] = [2, 8, 11];
/// Colours that need light text.
const DARK: [usize; 4] = [2, 3, 5, 9];

/// Returns the colours as variables of a style sheet, in a light and a dark version: `--s0` to `--s5` for systems, and
/// `--h0` to `--h11` for hops.
#[must_use]
pub fn style() -> &'static str {
    include_str!("colours.css")
}

/// Returns the number of the colour for the system at `index` of a page.
#[must_use]
pub fn system(index: usize) -> usize {
    index % SYSTEM_COLOURS
}

/// Returns the number of a hop's colour.
#[must_use]
pub fn hop(id: HopId) -> usize {
    match id {
        HopId::Cpu => 0,
        HopId::Protocol => 1,
        HopId::Link(index) | HopId::SecondLink(index) => {
            LINKS[usize::from(index).min(LINKS.len() - 1)]
        }
        HopId::FrontEnd => 4,
        HopId::Buffer => 9,
        HopId::DataPath => 5,
        HopId::Channels => 6,
        HopId::Media => 3,
        HopId::Unsubmitted => 7,
        HopId::Power => 10,
    }
}

/// Returns whether text on the colour of a hop is light.
pub(crate) fn is_dark(hop: usize) -> bool {
    DARK.contains(&hop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_hops_of_a_path_have_distinct_colours() {
        let path = [
            HopId::Unsubmitted,
            HopId::Cpu,
            HopId::Protocol,
            HopId::Link(0),
            HopId::Link(1),
            HopId::Link(2),
            HopId::Power,
            HopId::FrontEnd,
            HopId::Buffer,
            HopId::DataPath,
            HopId::Channels,
            HopId::Media,
        ];
        let colours: BTreeSet<usize> = path.into_iter().map(hop).collect();
        assert_eq!(colours, (0..HOP_COLOURS).collect());
        // A deep path repeats the last link colour.
        assert_eq!(hop(HopId::Link(9)), hop(HopId::Link(2)));
    }

    #[test]
    fn the_style_sheet_has_every_colour() {
        for (letter, count) in [('s', SYSTEM_COLOURS), ('h', HOP_COLOURS)] {
            for index in 0..count {
                let name = format!("--{letter}{index}: #");
                assert_eq!(style().matches(&name).count(), 2, "{name}: light and dark");
            }
            assert!(!style().contains(&format!("--{letter}{count}:")));
        }
    }
}
