//! A page without the ends that HTML lets a writer leave out, which are a tenth of a page with many tables and drawings.
//!
//! Cells, rows and entries of lists end where the next begins. Elements of SVG that hold nothing end themselves. Text is
//! escaped before, so that what looks like an end is one.

/// Ends that the next element or the end of its parent says. The page has no text between them.
const ENDS: [&str; 8] =
    ["</td>", "</th>", "</tr>", "</thead>", "</tbody>", "</li>", "</dt>", "</dd>"];
/// Elements of SVG that may hold nothing.
const EMPTY: [&str; 4] = ["path", "rect", "line", "circle"];

/// The page with no more ends than it needs.
pub(super) fn shortened(page: String) -> String {
    // An element that holds nothing ends behind its last attribute.
    let page = EMPTY.iter().fold(page, |page, name| page.replace(&format!("\"></{name}>"), "\"/>"));
    ENDS.iter().fold(page, |page, end| page.replace(end, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_say_nothing_are_left_out_and_text_is_kept() {
        let page = "<tr><td>1</td><td>&lt;/td&gt;</td></tr><path d=\"M0 0\"></path><g><path><title>a</title></path></g>";
        let short =
            "<tr><td>1<td>&lt;/td&gt;<path d=\"M0 0\"/><g><path><title>a</title></path></g>";
        assert_eq!(shortened(page.to_owned()), short);
    }
}
