//! Removes the end tags that HTML lets a writer omit, which are a tenth of a page with many tables and drawings.
//!
//! Table cells, rows and list entries end at the beginning of the next one. Empty SVG elements become self-closing.
//! Text has been escaped before, so anything that looks like an end tag is an end tag.

/// End tags that the next element or the end of the parent implies. The page does not have text between them.
const ENDS: [&str; 8] =
    ["</td>", "</th>", "</tr>", "</thead>", "</tbody>", "</li>", "</dt>", "</dd>"];
/// Elements of SVG that may be empty.
const EMPTY: [&str; 4] = ["path", "rect", "line", "circle"];

/// Returns the page with only the end tags that it needs.
pub(super) fn shortened(page: String) -> String {
    // An empty element ends after its last attribute.
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
