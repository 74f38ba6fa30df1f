//! The locations that can be changed, and their changes.
//!
//! The changes follow cargo-mutants 25, so that rates can be compared with other projects: a function returns a fixed
//! value immediately, a binary operator becomes a different operator, a unary operator is deleted, a guard is always
//! true or false, or an arm of a match is deleted. Calls also become their siblings (`min` becomes `max`). Tests are
//! not changed, and neither are constants and patterns, which cannot contain a switch. `silent` finds the changes that
//! no test can detect.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, UnOp};

use crate::silent;

/// A location in the source, with a change.
#[derive(Clone, Debug)]
pub struct Site {
    /// Path of the file, relative to the root of the tree.
    pub file: PathBuf,
    /// Number of the line, counted from one.
    pub line: usize,
    /// Range of the bytes that are replaced.
    pub range: Range<usize>,
    /// The text in this range.
    pub before: String,
    /// The replacement text.
    pub after: String,
    pub kind: ChangeKind,
}

/// The kind of source text that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// An expression becomes a different expression.
    Expression,
    /// A function returns a value at its opening brace.
    Body,
    /// A guard that is false is added to an arm of a match.
    Arm,
}

impl Site {
    /// Returns the change as one line, such as `a < b -> a <= b`.
    pub fn description(&self) -> String {
        let short = |text: &str| -> String {
            let words: Vec<&str> = text.split_whitespace().collect();
            words.join(" ").chars().take(100).collect()
        };
        match self.kind {
            ChangeKind::Expression => format!("{} -> {}", short(&self.before), short(&self.after)),
            ChangeKind::Body => short(&self.after),
            ChangeKind::Arm => format!("without the arm {}", short(&self.after)),
        }
    }

    /// Returns the source with both variants; switch `number` selects the change.
    pub fn switched(&self, number: usize) -> String {
        let before = &self.before;
        let after = &self.after;
        match self.kind {
            ChangeKind::Expression => {
                format!("(if crate::switch::is_on({number}) {{ {after} }} else {{ {before} }})")
            }
            ChangeKind::Body => {
                let value = after.rsplit_once(" returns ").map_or("", |(_, value)| value);
                format!("{{ if crate::switch::is_on({number}) {{ return {value}; }}")
            }
            ChangeKind::Arm => format!(" if !crate::switch::is_on({number}) "),
        }
    }
}

/// Returns all locations of the tree below `root`, sorted by file and position.
pub fn all(root: &Path) -> Result<Vec<Site>, String> {
    let mut files = Vec::new();
    let crates = fs::read_dir(root.join("crates")).map_err(|error| format!("crates: {error}"))?;
    for folder in crates.flatten() {
        // Code that only tests use is not changed.
        if folder.file_name() != "lanemark-testbed" {
            sources(&folder.path().join("src"), &mut files);
        }
    }
    files.sort();
    let mut all = Vec::new();
    let mut parsed_files = Vec::new();
    let mut unbuilt = Vec::new();
    for path in files {
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let parsed =
            syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        unbuilt.extend(unbuilt_modules(&path, &parsed));
        parsed_files.push((path, text, parsed));
    }
    for (path, text, parsed) in parsed_files {
        if unbuilt.iter().any(|module| path.starts_with(module)) {
            continue;
        }
        let file = path.strip_prefix(root).unwrap_or(&path).to_owned();
        all.extend(of_file(file, &text, &parsed));
    }
    Ok(all)
}

/// Returns the locations in a file.
fn of_file(file: PathBuf, text: &str, parsed: &syn::File) -> Vec<Site> {
    let mut finder = Finder { file, text, sites: Vec::new() };
    if silent::is_built(&parsed.attrs) {
        finder.visit_file(parsed);
    }
    finder.sites
}

/// Returns the source files below `folder` that are not tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_test = name == "tests"
            || name == "tests.rs"
            || name.trim_end_matches(".rs").ends_with("_tests");
        if path.is_dir() && !is_test {
            sources(&path, files);
        } else if name.ends_with(".rs") && !is_test {
            files.push(path);
        }
    }
}

/// Returns the possible files and folders of the modules that a file declares only for tests or for other builds.
fn unbuilt_modules(path: &Path, parsed: &syn::File) -> Vec<PathBuf> {
    let folder = match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => path.parent().map(Path::to_owned).unwrap_or_default(),
        _ => path.with_extension(""),
    };
    let declared = parsed.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && !silent::is_built(&module.attrs) => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    declared.flat_map(|name| [folder.join(format!("{name}.rs")), folder.join(name)]).collect()
}

struct Finder<'t> {
    file: PathBuf,
    text: &'t str,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn source_text(&self, node: &impl Spanned) -> String {
        self.text[node.span().byte_range()].to_owned()
    }

    fn add(&mut self, node: &impl Spanned, after: String) {
        let span = node.span();
        self.push(span.byte_range(), span.start().line, after, ChangeKind::Expression);
    }

    fn push(&mut self, range: Range<usize>, line: usize, after: String, kind: ChangeKind) {
        let before = self.text[range.clone()].to_owned();
        self.sites.push(Site { file: self.file.clone(), line, range, before, after, kind });
    }

    /// Returns whether an arm has the same text as the wildcard arm, and no arm with a guard follows it.
    fn is_like_wild(&self, arm: &syn::Arm, arms: &[syn::Arm]) -> bool {
        let after = arms.iter().skip_while(|other| !std::ptr::eq(*other, arm)).skip(1);
        let mut after =
            after.skip_while(|other| !matches!(other.pat, syn::Pat::Guard(_) | syn::Pat::Wild(_)));
        after.next().is_some_and(|other| {
            matches!(other.pat, syn::Pat::Wild(_))
                && self.source_text(&other.body) == self.source_text(&arm.body)
        })
    }

    /// Adds a change for each fixed value of a function's result type, which the function returns immediately.
    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if signature.constness.is_some()
            || !matches!(signature.safety, syn::Safety::Default)
            || block.stmts.is_empty()
        {
            return;
        }
        let values = match &signature.output {
            syn::ReturnType::Default => vec![String::new()],
            syn::ReturnType::Type(_, of) => values(of),
        };
        let brace = block.brace_token.span.open();
        let only = match &block.stmts[..] {
            [syn::Stmt::Expr(only, None)] => self.source_text(only),
            _ => String::new(),
        };
        for value in values.into_iter().filter(|value| !silent::is_value(&only, value)) {
            let after = format!("{} returns {value}", signature.ident);
            self.push(brace.byte_range(), brace.start().line, after, ChangeKind::Body);
        }
    }
}

/// Returns the fixed values of a type that cargo-mutants would choose.
fn values(of: &syn::Type) -> Vec<String> {
    let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    match of {
        syn::Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            let inner = || match &last.arguments {
                syn::PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
                    Some(syn::GenericArgument::Type(of)) => values(of),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            let within =
                |name: &'static str| inner().into_iter().map(move |one| format!("{name}({one})"));
            match last.ident.to_string().as_str() {
                "bool" => all(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => all(&["0", "1"]),
                "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => all(&["0", "1", "-1"]),
                "f32" | "f64" => all(&["0.0", "1.0", "-1.0"]),
                "String" => all(&["String::new()", "\"xyzzy\".into()"]),
                "Option" => all(&["None"]).into_iter().chain(within("Some")).collect(),
                "Result" => within("Ok").collect(),
                "Vec" => {
                    let one = inner().into_iter().map(|one| format!("vec![{one}]"));
                    all(&["vec![]"]).into_iter().chain(one).collect()
                }
                _ => all(&["Default::default()"]),
            }
        }
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => all(&["()"]),
        syn::Type::Tuple(tuple) => {
            let parts: Option<Vec<String>> =
                tuple.elems.iter().map(|elem| values(elem).into_iter().next()).collect();
            parts.map(|parts| format!("({})", parts.join(", "))).into_iter().collect()
        }
        syn::Type::Reference(reference) if reference.mutability.is_none() => match &*reference.elem
        {
            syn::Type::Path(path) if path.path.is_ident("str") => all(&["\"\"", "\"xyzzy\""]),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns whether a condition binds names.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        Expr::Paren(inner) => binds(&inner.expr),
        _ => false,
    }
}

fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        _ => &[],
    }
}

/// Methods with a sibling that has the same arguments and result.
const SIBLINGS: [(&str, &str); 16] = [
    ("min", "max"),
    ("max", "min"),
    ("any", "all"),
    ("all", "any"),
    ("is_some", "is_none"),
    ("is_none", "is_some"),
    ("first", "last"),
    ("last", "first"),
    ("min_by", "max_by"),
    ("max_by", "min_by"),
    ("min_by_key", "max_by_key"),
    ("max_by_key", "min_by_key"),
    ("floor", "ceil"),
    ("ceil", "floor"),
    ("push_back", "push_front"),
    ("pop_front", "pop_back"),
];

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        if !binds(&node.left) && !binds(&node.right) {
            for operator in others(&node.op) {
                if *operator == "^" && silent::are_separate_bits(node) {
                    continue;
                }
                let after = format!(
                    "{} {operator} {}",
                    self.source_text(&node.left),
                    self.source_text(&node.right)
                );
                self.add(node, after);
            }
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        if matches!(node.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let after = self.source_text(&node.expr);
            self.add(node, after);
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast syn::ExprMatch) {
        let is_wild = |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_));
        let wild = node.arms.iter().any(is_wild);
        for arm in node.arms.iter().filter(|arm| silent::is_built(&arm.attrs)) {
            match &arm.pat {
                syn::Pat::Guard(guarded) if !binds(&guarded.guard) => {
                    self.add(&*guarded.guard, "true".to_owned());
                    self.add(&*guarded.guard, "false".to_owned());
                }
                syn::Pat::Guard(_) => {}
                _ if wild && !is_wild(arm) && !self.is_like_wild(arm, &node.arms) => {
                    let arrow = arm.fat_arrow_token.span();
                    let at = arrow.byte_range().start;
                    let after = self.source_text(&arm.pat);
                    self.push(at..at, arrow.start().line, after, ChangeKind::Arm);
                }
                _ => {}
            }
        }
        visit::visit_expr_match(self, node);
    }

    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        let name = node.method.to_string();
        if silent::CAPACITIES.contains(&name.as_str()) {
            return self.visit_expr(&node.receiver);
        }
        if let Some((_, sibling)) = SIBLINGS.iter().find(|(own, _)| *own == name) {
            let whole = node.span().byte_range();
            let method = node.method.span().byte_range();
            let head = &self.text[whole.start..method.start];
            let tail = &self.text[method.end..whole.end];
            let after = format!("{head}{sibling}{tail}");
            self.add(node, after);
        }
        visit::visit_expr_method_call(self, node);
    }

    fn visit_expr_call(&mut self, node: &'ast syn::ExprCall) {
        if !silent::is_capacity(&node.func) {
            visit::visit_expr_call(self, node);
        }
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        if silent::is_built(&node.attrs) {
            visit::visit_arm(self, node);
        }
    }

    fn visit_local(&mut self, node: &'ast syn::Local) {
        if silent::is_built(&node.attrs) {
            visit::visit_local(self, node);
        }
    }

    fn visit_expr_block(&mut self, node: &'ast syn::ExprBlock) {
        if silent::is_built(&node.attrs) {
            visit::visit_expr_block(self, node);
        }
    }

    // A constant cannot contain a switch.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}

    fn visit_expr_repeat(&mut self, node: &'ast syn::ExprRepeat) {
        self.visit_expr(&node.expr);
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        if node.sig.constness.is_none() && silent::is_built(&node.attrs) {
            self.body(&node.sig, &node.block);
            visit::visit_item_fn(self, node);
        }
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        if node.sig.constness.is_none() && silent::is_built(&node.attrs) {
            self.body(&node.sig, &node.block);
            visit::visit_impl_item_fn(self, node);
        }
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if silent::is_built(&node.attrs) {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        if silent::is_built(&node.attrs) && !silent::is_debug(node) {
            visit::visit_item_impl(self, node);
        }
    }
}

#[cfg(test)]
mod tests;
