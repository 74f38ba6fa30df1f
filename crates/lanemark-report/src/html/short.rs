//! Removes the end tags that HTML makes optional; they are a tenth of a page with many tables and drawings.
//!
//! Table cells, rows and list entries end at the beginning of the next one. Empty SVG elements become self-closing.
//! Text was escaped earlier, so anything that looks like an end tag is an end tag.

/// Tags that may be omitted because the next element, or the end of the parent, implies them. The page does not contain
/// text between these elements.
const ENDS: [&str; 8] =
    ["</td>", "</th>", "</tr>", "</thead>", "</tbody>", "</li>", "</dt>", "</dd>"];
/// Elements of SVG that may be empty.
const EMPTY: [&str; 4] = ["path", "rect", "line", "circle"];

/// Returns the page without the optional end tags.
pub(super) fn without_end_tags(page: String) -> String {
    // The last attribute of an empty element directly precedes its end.
    let page = EMPTY.iter().fold(page, |page, name| page.replace(&format!("\"></{name}>"), "\"/>"));
    ENDS.iter().fold(page, |page, end| page.replace(end, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_say_nothing_are_omitted_and_text_is_kept() {
        let page = "<tr><td>1</td><td>&lt;/td&gt;</td></tr><path d=\"M0 0\"></path><g><path><title>a</title></path></g>";
        let short =
            "<tr><td>1<td>&lt;/td&gt;<path d=\"M0 0\"/><g><path><title>a</title></path></g>";
        assert_eq!(without_end_tags(page.to_owned()), short);
    }
}
