//! Bindings: each statement binds one expression, so that a reader finds the value of a name next to the name.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::crates::Crate;
use super::parameters::is_mark;

/// Returns each `let` that binds a tuple pattern to a tuple expression. A tuple that a function returns, and a `let`
/// with `else` or in a condition, are ignored.
pub(crate) fn tuples(root: &Path, crates: &[Crate]) -> Vec<String> {
    let files = crates.iter().flat_map(|one| &one.targets).flat_map(|target| &target.files);
    let mut found = Vec::new();
    for file in files {
        let path = file.path.strip_prefix(root).unwrap_or(&file.path).display();
        let text = fs::read_to_string(&file.path).unwrap();
        for line in tuple_lines(text.parse().unwrap()) {
            found.push(format!(
                "{path}:{line}: a tuple is bound to a tuple; write one `let` per name"
            ));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the line of each `let (…) = (…);`, with or without a type.
fn tuple_lines(stream: TokenStream) -> Vec<usize> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut lines = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => lines.extend(tuple_lines(group.stream())),
            TokenTree::Ident(word) if word == "let" => {
                let rest = &tokens[at + 1..];
                let rest = match rest {
                    [pattern, colon, kind, ..]
                        if is_tuple(pattern) && is_mark(colon, ':') && is_tuple(kind) =>
                    {
                        &rest[3..]
                    }
                    [pattern, ..] if is_tuple(pattern) => &rest[1..],
                    _ => &[],
                };
                if let [equals, value, end, ..] = rest
                    && is_mark(equals, '=')
                    && is_tuple(value)
                    && is_mark(end, ';')
                {
                    lines.push(word.span().start().line);
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    lines
}

/// Returns whether `token` is a pair of parentheses that contains a comma.
fn is_tuple(token: &TokenTree) -> bool {
    let has_comma = |group: &Group| group.stream().into_iter().any(|inner| is_mark(&inner, ','));
    matches!(token, TokenTree::Group(group)
        if group.delimiter() == Delimiter::Parenthesis && has_comma(group))
}

#[test]
fn tuples_bound_to_tuples_are_found() {
    let lines = |source: &str| tuple_lines(source.parse().unwrap());
    assert_eq!(lines("fn f() {\n let (a, mut b) = (1, g(2));\n}"), [2]);
    assert_eq!(lines("mod m { fn f() { let (a, b): (u8, u8) = (1, 2); } }"), [1]);
    assert_eq!(lines("html! {\n @let (a, (b, c)) = (1, pair);\n}"), [2]);
    for source in [
        "let (a, b) = pair();",
        "let (a, b) = (1, 2).max((3, 4));",
        "let (Some(a), Some(b)) = (x, y) else { return };",
        "if let (Some(a), Some(b)) = (x, y) {}",
        "let a = (1, 2);",
        "let (a) = (1);",
    ] {
        assert!(lines(source).is_empty(), "{source}");
    }
}
