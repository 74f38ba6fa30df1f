//! The page as one HTML file: its scripts, its styles, the compressed module, and the documents that were put inside.
//!
//! The scripts are modules of JavaScript in separate files. `bundle` joins them, because a file that was opened from
//! a disk cannot import others. The content security policy permits only this script, this style and the page's
//! workers, and no connection.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lanemark_report::{SAVE_BUTTONS, palette};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::laboratory::MachineFile;
use crate::questions::PageStart;

/// The scripts, each after the scripts that it imports.
const SCRIPTS: [(&str, &str); 8] = [
    ("save", SAVE_BUTTONS),
    ("draw", include_str!("page/draw.js")),
    ("laboratory", include_str!("page/laboratory.js")),
    ("curves", include_str!("page/curves.js")),
    ("pick", include_str!("page/pick.js")),
    ("details", include_str!("page/details.js")),
    ("results", include_str!("page/results.js")),
    ("ui", include_str!("page/ui.js")),
];

/// The documents inside a page.
#[derive(Debug, Default, Serialize)]
pub struct PageContents {
    /// Results that the page shows at its start.
    pub documents: Vec<PageDocument>,
    /// The machine on which the command ran.
    pub machine: Option<MachineFile>,
}

/// A result inside a page.
#[derive(Debug, Serialize)]
pub struct PageDocument {
    /// The name of the file.
    pub name: String,
    pub text: String,
}

/// Returns the page with `module`, the WebAssembly module compressed by gzip.
pub fn html(module: &[u8], contents: &PageContents) -> String {
    let script = bundle(&SCRIPTS);
    let style = format!("{}\n{}", palette::style(), include_str!("page/ui.css"));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src {} 'wasm-unsafe-eval' blob:; style-src {}; img-src blob: data:; worker-src blob:; \
         base-uri 'none'; form-action 'none'\">",
        hash(&script),
        hash(&style)
    );
    let inside = inert_json(contents);
    // The list of the library is made here, because the module would need half a second for it.
    let start = inert_json(&PageStart::new());
    let blocks = format!(
        "<script type=\"application/json\" id=\"inside\">{inside}</script>\n\
         <script type=\"application/json\" id=\"start\">{start}</script>\n\
         <script type=\"text/plain\" id=\"worker\">\n{}</script>\n\
         <script type=\"text/plain\" id=\"module\">{}</script>\n<script>{script}</script>",
        include_str!("page/worker.js"),
        BASE64_STANDARD.encode(module)
    );
    include_str!("page/index.html")
        .replace("{policy}", &policy)
        .replace("{style}", &format!("<style>{style}</style>"))
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{blocks}", &blocks)
}

/// Returns JSON for an element of the page. Without `<`, the text cannot end the element.
fn inert_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default().replace('<', "\\u003c")
}

/// Returns the hash of a script or a style, as a content security policy names it.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// Joins scripts. Each becomes a function that returns its exported names; an import reads the names of another script.
fn bundle(scripts: &[(&str, &str)]) -> String {
    let mut text = String::from("\"use strict\";\nconst page = {};\n");
    for (name, script) in scripts {
        let mut exported = Vec::new();
        text += &format!("page.{name} = (() => {{\n");
        for line in script.lines() {
            if let Some((names, source)) = import(line) {
                text += &format!("const {{ {names} }} = page.{source};\n");
                continue;
            }
            let definition = line.strip_prefix("export ");
            exported.extend(definition.and_then(defined_name));
            text += definition.unwrap_or(line);
            text.push('\n');
        }
        text += &format!("return {{ {} }};\n}})();\n", exported.join(", "));
    }
    text
}

/// Splits `import { a, b } from "./draw.js";` into `a, b` and `draw`.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, source) = line.strip_prefix("import { ")?.split_once(" } from \"./")?;
    Some((names, source.strip_suffix(".js\";")?))
}

/// Returns the name that a line without `export` defines.
fn defined_name(line: &str) -> Option<&str> {
    let words = ["async function* ", "async function ", "function ", "const "];
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_joined_in_the_order_of_their_imports() {
        let joined = bundle(&[
            ("one", "export const a = 1;\nexport async function* b() {}\nlet c = 2;\n"),
            ("two", "import { a, b } from \"./one.js\";\nb(a);\n"),
        ]);
        assert!(
            joined.contains("const a = 1;\nasync function* b() {}\nlet c = 2;\nreturn { a, b };")
        );
        assert!(joined.contains("const { a, b } = page.one;\nb(a);\nreturn {  };"));
        let whole = bundle(&SCRIPTS);
        let is_left = |line: &str| line.starts_with("import ") || line.starts_with("export ");
        assert_eq!(whole.lines().filter(|line| is_left(line)).count(), 0);
        for (place, (name, script)) in SCRIPTS.iter().enumerate() {
            for (names, source) in script.lines().filter_map(import) {
                let (_, text) = SCRIPTS[..place].iter().find(|(own, _)| *own == source).unwrap();
                let exported = text.lines().filter_map(|line| line.strip_prefix("export "));
                let exported: Vec<&str> = exported.filter_map(defined_name).collect();
                for import in names.split(", ") {
                    assert!(exported.contains(&import), "{name}: {import} of {source}");
                }
            }
        }
    }

    #[test]
    fn a_document_cannot_leave_its_element() {
        let text = "</script><script>alert(1)</script>".to_owned();
        let document = PageDocument { name: "<x>".to_owned(), text };
        let contents = PageContents { documents: vec![document], machine: None };
        let page = html(b"module", &contents);
        assert!(!page.contains("alert(1)</script>") && page.contains("\\u003c/script>"));
        assert!(page.contains("bW9kdWxl") && !page.contains("{blocks}"));
        assert!(page.contains(lanemark_report::palette::style()));
    }
}
