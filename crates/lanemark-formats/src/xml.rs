//! Reads small XML documents as trees of elements with attributes, text and children.
//!
//! The depth, the number of elements and the number of attributes of an element are limited, and the caller limits the
//! length of a document, so the work is proportional to this length. Only the five entities that XML predefines are
//! replaced, and a document type is skipped, so declarations cannot enlarge a document.

use std::collections::BTreeMap;

use quick_xml::escape::unescape;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use crate::error::shown;

const DEPTH_MAX: usize = 64;
const ELEMENTS_MAX: usize = 2_000_000;
/// Maximum number of attributes of an element. hwloc writes about thirty.
const ATTRIBUTES_MAX: usize = 256;

/// An element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    /// Name of the element.
    pub name: String,
    /// Attributes by name.
    pub attributes: BTreeMap<String, String>,
    /// The text between the children, without leading and trailing space.
    pub text: String,
    /// The child elements.
    pub children: Vec<Element>,
}

impl Element {
    /// Returns the first child with this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the children with this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the text of the first child with this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.as_str())
    }

    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    fn from_start(start: &BytesStart<'_>) -> Result<Self, String> {
        let name = start.name().as_ref().to_owned();
        let mut attributes = BTreeMap::new();
        // The reader would compare each attribute with all earlier ones. The map finds a second one by its name.
        for attribute in start.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| error.to_string())?;
            if attributes.len() >= ATTRIBUTES_MAX {
                return Err(format!("an element has more than {ATTRIBUTES_MAX} attributes"));
            }
            let value = unescape(&attribute.value).map_err(|error| error.to_string())?;
            let key = attribute.key.as_ref().to_owned();
            if attributes.insert(key.clone(), value.into_owned()).is_some() {
                return Err(format!("an element has two attributes `{}`", shown(&key)));
            }
        }
        Ok(Self { name, attributes, ..Self::default() })
    }
}

/// Returns the root element of the text.
///
/// # Errors
/// Returns the line of the first error, and a description of the error.
pub fn parse(text: &str) -> Result<Element, (u64, String)> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut count = 0;
    loop {
        let event = reader.read_event();
        let at = reader.buffer_position() as usize;
        let wrong = |message: String| {
            let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
            (before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1, message)
        };
        let mut closed = None;
        match event.map_err(|error| wrong(error.to_string()))? {
            Event::Start(start) => {
                if open.len() >= DEPTH_MAX {
                    return Err(wrong(format!("elements are nested more than {DEPTH_MAX} deep")));
                }
                open.push(Element::from_start(&start).map_err(wrong)?);
                count += 1;
            }
            Event::Empty(start) => {
                closed = Some(Element::from_start(&start).map_err(wrong)?);
                count += 1;
            }
            Event::End(_) => closed = open.pop(),
            Event::Text(part) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(part.trim());
                } else if !part.trim().trim_start_matches('\u{feff}').is_empty() {
                    return Err(wrong("text outside of all elements".to_owned()));
                }
            }
            Event::CData(part) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&part);
                }
            }
            Event::GeneralRef(entity) => {
                let letter = letter(&entity).map_err(wrong)?;
                if let Some(element) = open.last_mut() {
                    element.text.push(letter);
                }
            }
            Event::Eof => return Err(wrong("the document is cut short".to_owned())),
            _ => {}
        }
        if count > ELEMENTS_MAX {
            return Err(wrong(format!("more than {ELEMENTS_MAX} elements")));
        }
        match (closed, open.last_mut()) {
            (Some(closed), Some(parent)) => parent.children.push(closed),
            (Some(root), None) => return Ok(root),
            (None, _) => {}
        }
    }
}

/// Returns the character that an entity represents.
fn letter(entity: &BytesRef<'_>) -> Result<char, String> {
    if let Some(letter) = entity.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(letter);
    }
    match &**entity {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        _ => Err("an entity that XML does not define".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_names_attributes_and_text() {
        let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE a SYSTEM \"a.dtd\">\n<a x=\"1 &amp; 2\"><b>C:\\f &lt;</b><b/><c y='z'/></a>\n";
        let root = parse(text).unwrap();
        assert_eq!((root.name.as_str(), root.attribute("x")), ("a", Some("1 & 2")));
        assert_eq!((root.value("b"), root.all("b").count()), (Some("C:\\f<"), 2));
        assert_eq!(root.child("c").and_then(|c| c.attribute("y")), Some("z"));
    }

    #[test]
    fn text_has_the_five_entities_of_xml_and_numbers() {
        let all = "&amp;&lt;&gt;&quot;&apos;&#65;&#x42;";
        let root = parse(&format!("<a b=\"{all}\">{all}</a>")).unwrap();
        assert_eq!((root.text.as_str(), root.attribute("b")), ("&<>\"'AB", Some("&<>\"'AB")));
        let (line, message) = parse("<a>\n&nbsp;</a>").unwrap_err();
        assert_eq!((line, message.as_str()), (2, "an entity that XML does not define"));
    }

    #[test]
    fn hostile_documents_are_refused_at_their_line() {
        let deep = "<a>".repeat(100_000);
        assert!(parse(&deep).unwrap_err().1.contains("deep"));
        let laughs = "<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\"><!ENTITY c \"&b;&b;&b;\">]>\n<a>&c;</a>";
        assert_eq!(parse(laughs).unwrap_err().0, 2);
        // The first attribute beyond the maximum ends the work.
        let attributes = |count: usize| -> String {
            (0..count).map(|number| format!(" a{number}=\"\"")).collect()
        };
        assert!(parse(&format!("<a{}/>", attributes(ATTRIBUTES_MAX))).is_ok());
        let many = format!("\n<a{} b/>", attributes(200_000));
        let refused = "an element has more than 256 attributes";
        assert_eq!(parse(&many), Err((2, refused.to_owned())));
        assert!(parse("<a b='1' c='2' b='1'/>").unwrap_err().1.contains("two attributes `b`"));
        for text in ["", "<", "<a", "<a><b></a>", "<a x=1/>", "<a>&#0;</a>", "a", "<a>", "<!--"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
