//! Named colours, light and dark, for drawings outside a page.

use super::palette;

/// Rules for the marks in drawings, with colours by name.
const MARKS: &str = include_str!("marks.css");

/// Returns the variables of a block in a style sheet, merged with the inherited variables.
pub(crate) fn variables<'a>(
    block: &'a str,
    inherited: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut all = inherited.to_vec();
    let declared = block.split([';', '{', '}']).filter_map(|line| line.trim().split_once(": "));
    for (name, value) in declared.filter(|(_, value)| value.starts_with('#')) {
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
    }
    all
}

/// Returns the first block of `:root` after `from`; empty if there is no block.
pub(crate) fn root<'s>(style: &'s str, from: &str) -> &'s str {
    let behind = style.find(from).map_or("", |at| &style[at..]);
    let block = behind.find(":root").map_or("", |at| &behind[at..]);
    block.split('}').next().unwrap_or_default()
}

/// Returns the rules for the marks, with colour values substituted for the names.
pub(crate) fn marks(dark: bool) -> String {
    let light = variables(root(palette::style(), ":root"), &[]);
    let all = if dark {
        variables(root(palette::style(), "@media (prefers-color-scheme: dark)"), &light)
    } else {
        light
    };
    all.iter().fold(MARKS.to_owned(), |rules, (name, value)| {
        rules.replace(&format!("var({name})"), value)
    })
}

/// Returns the background colour of the page.
pub(crate) fn page(dark: bool) -> &'static str {
    if dark { "#16181a" } else { "#ffffff" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_no_colour_that_is_not_known() {
        for dark in [false, true] {
            let rules = marks(dark);
            assert!(!rules.contains("var("), "{}", &rules[rules.find("var(").unwrap()..][..40]);
            assert!(rules.contains(&format!("stroke: {}", if dark { "#16181a" } else { "#fff" })));
        }
    }
}
