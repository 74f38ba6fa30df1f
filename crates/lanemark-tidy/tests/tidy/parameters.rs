//! Parameters of functions: each has a name, so that a signature shows how many values a caller passes.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::crates::Crate;

/// Returns each parameter of a named function that is a tuple pattern. Closures are ignored, because the items of their
/// iterators may be tuples.
pub(crate) fn tuples(root: &Path, crates: &[Crate]) -> Vec<String> {
    let files = crates.iter().flat_map(|one| &one.targets).flat_map(|target| &target.files);
    let mut found = Vec::new();
    for file in files {
        let path = file.path.strip_prefix(root).unwrap_or(&file.path).display();
        let text = fs::read_to_string(&file.path).unwrap();
        for (name, line) in tuples_in(text.parse().unwrap()) {
            found.push(format!(
                "{path}:{line}: a parameter of `{name}` is a tuple; name each value, or use a struct"
            ));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns each tuple pattern among the parameters of named functions: the function's name and the pattern's line.
fn tuples_in(stream: TokenStream) -> Vec<(String, usize)> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => found.extend(tuples_in(group.stream())),
            TokenTree::Ident(word) if word == "fn" => {
                let Some(TokenTree::Ident(name)) = tokens.get(at + 1) else { continue };
                let Some(parameters) = parameters(&tokens[at + 2..]) else { continue };
                let lines = pattern_lines(parameters);
                found.extend(lines.into_iter().map(|line| (name.to_string(), line)));
            }
            _ => {}
        }
    }
    found
}

/// Returns the parameters of a function, from the tokens after its name: the first parentheses after its generics.
fn parameters(tokens: &[TokenTree]) -> Option<&Group> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group)
                if depth == 0 && group.delimiter() == Delimiter::Parenthesis =>
            {
                return Some(group);
            }
            token if is_mark(token, '<') => depth += 1,
            token if is_mark(token, '>') && !is_arrow(tokens, at) => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the line of each parameter that is a tuple pattern, or a reference to a tuple pattern.
fn pattern_lines(parameters: &Group) -> Vec<usize> {
    let tokens: Vec<TokenTree> = parameters.stream().into_iter().collect();
    let mut lines = Vec::new();
    let mut depth = 0;
    let mut begins = true;
    for (at, token) in tokens.iter().enumerate() {
        if let (true, TokenTree::Group(group)) = (begins, token)
            && group.delimiter() == Delimiter::Parenthesis
            && tokens.get(at + 1).is_some_and(|next| is_mark(next, ':'))
        {
            lines.push(group.span_open().start().line);
        }
        begins = depth == 0 && is_mark(token, ',') || begins && is_mark(token, '&');
        if is_mark(token, '<') {
            depth += 1;
        } else if is_mark(token, '>') && !is_arrow(&tokens, at) {
            depth -= 1;
        }
    }
    lines
}

pub(crate) fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Returns whether the punctuation mark at `at` ends `->`.
fn is_arrow(tokens: &[TokenTree], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| is_mark(&tokens[before], '-'))
}

#[test]
fn tuples_of_named_functions_are_found() {
    let lines = |source: &str| tuples_in(source.parse().unwrap());
    let one = |name: &str, line| vec![(name.to_owned(), line)];
    assert_eq!(lines("fn a(x: u8, (y, z): (u8, u8)) {}"), one("a", 1));
    assert_eq!(
        lines("mod m {\n impl A {\n fn b(&self,\n &(y, z): &(u8, u8)) {}\n}\n}"),
        one("b", 4)
    );
    assert_eq!(lines("fn c<F: Fn(u8) -> (u8, u8)>(f: F, (y, z): (u8, u8)) {}"), one("c", 1));
    assert_eq!(lines("fn d(f: &dyn Fn(Vec<u8>, (u8, u8)) -> u8) {}"), []);
    assert_eq!(lines("fn e(pair: (u8, u8)) { pairs.map(|(y, z): (u8, u8)| y + z); }"), []);
    assert_eq!(lines("fn f((y, z) in pairs()) {}"), []);
    assert_eq!(lines("type G = fn((u8, u8)) -> u8;"), []);
}
