//! Rust source as tokens: the files of a crate, and the names in each file.
//!
//! The scan reads tokens instead of text, so that it ignores comments and strings. It also reads tokens instead of
//! syntax, so that it covers the arguments of macros. The scan recognises a path that is written with `::` or in a
//! `use`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Words before a `!` that means "not" instead of marking a macro.
const BEFORE_NOT: [&str; 9] =
    ["if", "while", "match", "return", "in", "else", "break", "mut", "move"];

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Named {
    /// A path of two or more segments, or a path in a `use`. `<>` represents a type in angle brackets.
    Path(Vec<String>),
    /// A method that is called.
    Method(String),
    Macro(String),
    /// A macro that is defined here.
    Defined(String),
    /// A condition of compilation, as written in the source.
    Condition(String),
    /// A keyword, or a single-word type.
    Word(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) what: Named,
    pub(crate) line: usize,
    /// Whether the line is compiled only for tests.
    pub(crate) test: bool,
    /// The inline modules of the file that contain the name.
    pub(crate) inline: Vec<String>,
    /// The name that a `use` introduces, and whether it is public.
    pub(crate) import: Option<(String, bool)>,
}

#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// Path of the file's module, starting at the crate's root.
    pub(crate) module: Vec<String>,
    /// Whether the file is compiled only for tests.
    pub(crate) test: bool,
    pub(crate) names: Vec<Name>,
}

/// A module that is declared here and defined in another file.
struct Child {
    name: String,
    inline: Vec<String>,
    path: Option<String>,
    test: bool,
}

/// Returns the files that are reached from `root` through `mod`.
pub(crate) fn files(root: &Path, of_tests: bool) -> Vec<File> {
    let mut found = Vec::new();
    follow(root, &[], of_tests, true, &mut found);
    found
}

fn follow(path: &Path, module: &[String], test: bool, owns_folder: bool, found: &mut Vec<File>) {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tokens: TokenStream =
        text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut scan = Scan { names: Vec::new(), children: Vec::new() };
    scan.stream(tokens, test, &[]);
    let Scan { names, children } = scan;
    found.push(File { path: path.to_owned(), module: module.to_vec(), test, names });
    let folder = path.parent().unwrap();
    let own = if owns_folder { folder.to_owned() } else { path.with_extension("") };
    for child in children {
        let inner = [module, &child.inline, std::slice::from_ref(&child.name)].concat();
        let below = child.inline.iter().fold(own.clone(), |folder, part| folder.join(part));
        let beside = below.join(&child.name).with_extension("rs");
        let within = below.join(&child.name).join("mod.rs");
        let (file, owns) = match &child.path {
            Some(path) => (folder.join(path), true),
            None if beside.exists() => (beside, false),
            None => (within, true),
        };
        follow(&file, &inner, child.test, owns, found);
    }
}

struct Scan {
    names: Vec<Name>,
    children: Vec<Child>,
}

impl Scan {
    fn add(&mut self, named: Named, at: &TokenTree, test: bool, inline: &[String]) {
        let line = at.span().start().line;
        let inline = inline.to_vec();
        self.names.push(Name { what: named, line, test, inline, import: None });
    }

    fn stream(&mut self, stream: TokenStream, of_test: bool, inline: &[String]) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        // The attributes before an item apply to the whole item.
        let mut for_test = false;
        let mut path = None;
        let mut public = false;
        let mut at = 0;
        while at < tokens.len() {
            let test = of_test || for_test;
            let here = &tokens[at];
            match here {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    at += 1 + usize::from(is_mark(tokens.get(at + 1), '!'));
                    if let Some(TokenTree::Group(group)) = tokens.get(at) {
                        let content = group.stream();
                        for_test |= content.to_string().replace(' ', "") == "cfg(test)";
                        path = path_attribute(&content).or(path);
                        self.attribute(content, test || for_test, inline);
                    }
                    at += 1;
                }
                TokenTree::Punct(mark) if mark.as_char() == '\'' => at += 2,
                TokenTree::Punct(mark) if mark.as_char() == ';' => {
                    (for_test, path, public) = (false, None, false);
                    at += 1;
                }
                TokenTree::Group(group) => {
                    self.stream(group.stream(), test, inline);
                    if group.delimiter() == Delimiter::Brace {
                        (for_test, path, public) = (false, None, false);
                    }
                    at += 1;
                }
                TokenTree::Ident(_) if word(here) == "pub" => {
                    public = true;
                    at += 1;
                }
                TokenTree::Ident(_) if word(here) == "use" => {
                    let end = (at..tokens.len()).find(|at| is_mark(tokens.get(*at), ';'));
                    let end = end.unwrap_or(tokens.len());
                    self.uses(&tokens[at + 1..end], &[], (test, public, inline));
                    at = end;
                }
                TokenTree::Ident(_) if word(here) == "mod" => {
                    let name = tokens.get(at + 1).map(word).unwrap_or_default();
                    if is_mark(tokens.get(at + 2), ';') {
                        self.children.push(Child {
                            name,
                            inline: inline.to_vec(),
                            path: path.take(),
                            test,
                        });
                    } else if let Some(TokenTree::Group(group)) = tokens.get(at + 2) {
                        self.stream(group.stream(), test, &[inline, &[name]].concat());
                        (for_test, public) = (false, false);
                        at += 1;
                    }
                    at += 2;
                }
                TokenTree::Ident(_) => at = self.word_or_path(&tokens, at, test, inline),
                _ => at += 1,
            }
        }
    }

    /// Scans the token at `at`, and returns the index of the next token to scan.
    fn word_or_path(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        test: bool,
        inline: &[String],
    ) -> usize {
        let here = &tokens[at];
        let called = is_mark(tokens.get(at + 1), '!') && !is_mark(tokens.get(at + 2), '=');
        let group_at = |at: usize| matches!(tokens.get(at), Some(TokenTree::Group(_)));
        if called && !BEFORE_NOT.contains(&word(here).as_str()) {
            if group_at(at + 2) {
                self.add(Named::Macro(word(here)), here, test, inline);
                return at + 2;
            }
            if group_at(at + 3) && word(here) == "macro_rules" {
                self.add(Named::Defined(word(&tokens[at + 2])), here, test, inline);
                return at + 3;
            }
        }
        let mut path = vec![word(here)];
        let before_colons = at.checked_sub(3).map(|before| &tokens[before]);
        if at >= 2 && is_colons(tokens, at - 2) && is_mark(before_colons, '>') {
            path.insert(0, "<>".to_owned());
        }
        let mut end = at;
        while is_colons(tokens, end + 1) {
            let Some(TokenTree::Ident(_)) = tokens.get(end + 3) else { break };
            end += 3;
            path.push(word(&tokens[end]));
        }
        let macro_at_end = is_mark(tokens.get(end + 1), '!') && group_at(end + 2);
        let after_dot = at >= 1
            && is_mark(tokens.get(at - 1), '.')
            && !(at >= 2 && is_mark(tokens.get(at - 2), '.'));
        if path.len() > 1 {
            if macro_at_end {
                self.add(Named::Macro(path.join("::")), here, test, inline);
            }
            self.add(Named::Path(path), here, test, inline);
        } else if after_dot && (group_at(at + 1) || is_colons(tokens, at + 1)) {
            self.add(Named::Method(word(here)), here, test, inline);
        } else if !after_dot {
            self.add(Named::Word(word(here)), here, test, inline);
        }
        end + 1
    }

    /// Adds the paths in the tree of a `use`.
    fn uses(&mut self, tree: &[TokenTree], before: &[String], how: (bool, bool, &[String])) {
        let (test, public, inline) = how;
        for branch in tree.split(|token| is_mark(Some(token), ',')) {
            let mut path = before.to_vec();
            let mut alias = None;
            let mut tokens = branch.iter();
            let mut ended = false;
            while let Some(token) = tokens.next() {
                match token {
                    TokenTree::Ident(_) if word(token) == "as" => {
                        alias = tokens.next().map(word);
                    }
                    TokenTree::Ident(_) if word(token) == "self" && !path.is_empty() => {}
                    TokenTree::Ident(_) => path.push(word(token)),
                    TokenTree::Punct(mark) if mark.as_char() == '*' => path.push("*".to_owned()),
                    TokenTree::Group(group) => {
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.uses(&inner, &path, how);
                        ended = true;
                    }
                    _ => {}
                }
            }
            if let (Some(last), false, Some(at)) = (path.last(), ended, branch.first()) {
                let import = Some((alias.unwrap_or_else(|| last.clone()), public));
                let line = at.span().start().line;
                self.names.push(Name {
                    what: Named::Path(path),
                    line,
                    test,
                    inline: inline.to_vec(),
                    import,
                });
            }
        }
    }

    fn attribute(&mut self, content: TokenStream, test: bool, inline: &[String]) {
        let tokens: Vec<TokenTree> = content.clone().into_iter().collect();
        let Some(first) = tokens.first() else { return };
        match word(first).as_str() {
            "cfg" | "cfg_attr" => {
                let condition = content.to_string().replace(' ', "");
                self.add(Named::Condition(condition), first, test, inline);
            }
            "doc" => {}
            _ => self.stream(content, test, inline),
        }
    }
}

fn path_attribute(content: &TokenStream) -> Option<String> {
    let text = content.to_string();
    let value = text.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// Returns a word as written, without the prefix of a raw identifier; empty for other tokens.
fn word(token: &TokenTree) -> String {
    match token {
        TokenTree::Ident(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
        _ => String::new(),
    }
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let joint = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':' && mark.spacing() == Spacing::Joint);
    tokens.get(at).is_some_and(joint) && is_mark(tokens.get(at + 1), ':')
}

/// Returns the imports between the files of one crate, by index in `files`, without tests.
pub(crate) fn imports(files: &[File]) -> Vec<BTreeSet<usize>> {
    let tree = Tree::from_files(files);
    let mut edges = vec![BTreeSet::new(); files.len()];
    for (from, file) in files.iter().enumerate().filter(|(_, file)| !file.test) {
        for name in file.names.iter().filter(|name| !name.test) {
            let own = [file.module.clone(), name.inline.clone()].concat();
            let path = match &name.what {
                // A public re-export of a name does not use it.
                Named::Path(_) if name.import.as_ref().is_some_and(|(_, public)| *public) => {
                    continue;
                }
                Named::Path(path) => path.clone(),
                Named::Word(word) if tree.aliases.contains_key(&(own.clone(), word.clone())) => {
                    vec![word.clone()]
                }
                _ => continue,
            };
            if let Some(to) = tree.file_of(&own, &path, 0).filter(|to| *to != from) {
                edges[from].insert(to);
            }
        }
    }
    edges
}

/// The modules of a crate.
struct Tree {
    /// The index of each module's file.
    modules: BTreeMap<Vec<String>, usize>,
    /// Imports of each module, by their local names.
    aliases: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl Tree {
    fn from_files(files: &[File]) -> Tree {
        let mut modules = BTreeMap::new();
        let mut aliases = BTreeMap::new();
        for (at, file) in files.iter().enumerate() {
            modules.insert(file.module.clone(), at);
            for name in &file.names {
                let own = [file.module.clone(), name.inline.clone()].concat();
                modules.entry(own.clone()).or_insert(at);
                if let (Named::Path(path), Some((alias, _))) = (&name.what, &name.import) {
                    aliases.insert((own, alias.clone()), path.clone());
                }
            }
        }
        Tree { modules, aliases }
    }

    fn file_of(&self, current_module: &[String], path: &[String], depth: u32) -> Option<usize> {
        self.module_of(current_module, path, depth).map(|module| self.modules[&module])
    }

    /// Returns the module that contains the item that `path` names in module `own`, or `None` for other crates.
    fn module_of(
        &self,
        current_module: &[String],
        path: &[String],
        depth: u32,
    ) -> Option<Vec<String>> {
        if depth > 16 {
            return None;
        }
        let mut module = current_module.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (module, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|first| first == "super") {
                    module.pop()?;
                    rest = &rest[1..];
                }
            }
            first => {
                let child = [current_module, &[first.to_owned()]].concat();
                let alias = self.aliases.get(&(current_module.to_vec(), first.to_owned()));
                if !self.modules.contains_key(&child) && alias.is_none_or(|alias| alias == path) {
                    return None;
                }
            }
        }
        for (at, segment) in rest.iter().enumerate() {
            let child = [module.as_slice(), std::slice::from_ref(segment)].concat();
            if self.modules.contains_key(&child) {
                module = child;
            } else if let Some(alias) = self.aliases.get(&(module.clone(), segment.clone())) {
                let whole = [alias.as_slice(), &rest[at + 1..]].concat();
                return self.module_of(&module, &whole, depth + 1);
            } else {
                break;
            }
        }
        Some(module)
    }
}
