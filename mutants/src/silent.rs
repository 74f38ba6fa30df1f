//! Finds changes that no test can detect, regardless of its checks. These changes are not made, because their number
//! would not show anything about the tests.
//!
//! - **Code that is not built.** All features are enabled, and the target is this machine, so test programs do not
//!   contain code for builds without a feature or for another processor.
//! - **Exclusive or of separate bits.** `A | B` and `A ^ B` are equal if no bit is set in both A and B, as for flag
//!   constants, and for values that are shifted to separate positions.
//! - **Capacities.** A collection with a different capacity has the same contents, and a buffered reader with a
//!   different capacity returns the same bytes.
//! - **Debug output.** No behaviour depends on it.
//! - **The same value.** A function that returns a constant is not replaced with that constant, and an arm is not
//!   deleted if the wildcard arm has the same text.

use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Lit, Meta, Token};

/// Methods whose argument is only a capacity.
pub const CAPACITIES: [&str; 4] = ["reserve", "reserve_exact", "shrink_to", "with_capacity"];

/// Returns whether code with these attributes is part of a build with all features for this machine, without tests.
pub fn is_built(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        if attribute.path().is_ident("test") {
            return false;
        }
        !attribute.path().is_ident("cfg")
            || attribute.parse_args::<Meta>().is_ok_and(|meta| holds(&meta))
    })
}

/// Returns whether a `cfg` condition is true.
fn holds(meta: &Meta) -> bool {
    let all = |list: &syn::MetaList| {
        let parsed = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        parsed.map(|metas| metas.iter().map(holds).collect::<Vec<bool>>()).unwrap_or_default()
    };
    match meta {
        Meta::List(list) if list.path.is_ident("not") => all(list) == [false],
        Meta::List(list) if list.path.is_ident("any") => all(list).contains(&true),
        Meta::List(list) if list.path.is_ident("all") => !all(list).contains(&false),
        Meta::List(_) => false,
        Meta::NameValue(pair) => {
            let Expr::Lit(syn::ExprLit { lit: Lit::Str(value), .. }) = &pair.value else {
                return false;
            };
            let own = match pair.path.get_ident().map(ToString::to_string).as_deref() {
                Some("feature") => return true,
                Some("target_os") => std::env::consts::OS,
                Some("target_arch") => std::env::consts::ARCH,
                Some("target_family") => std::env::consts::FAMILY,
                _ => return false,
            };
            value.value() == own
        }
        Meta::Path(path) if path.is_ident("unix") => cfg!(unix),
        Meta::Path(path) => path.is_ident("debug_assertions"),
    }
}

/// Returns whether no bit can be set on both sides of `one | other`.
pub fn are_separate_bits(node: &syn::ExprBinary) -> bool {
    matches!(node.op, BinOp::BitOr(_))
        && (are_flags(&node.left) && are_flags(&node.right)
            || is_shifted_up(&node.left)
            || is_shifted_up(&node.right))
}

/// Returns whether an expression is a flag constant, or several flag constants joined with `|`.
fn are_flags(expression: &Expr) -> bool {
    match expression {
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            name.chars().any(char::is_alphabetic) && !name.chars().any(char::is_lowercase)
        }),
        Expr::Binary(both) => {
            matches!(both.op, BinOp::BitOr(_)) && are_flags(&both.left) && are_flags(&both.right)
        }
        Expr::Paren(inner) => are_flags(&inner.expr),
        _ => false,
    }
}

/// Returns whether an expression is shifted left by a constant, to bits above another value.
fn is_shifted_up(expression: &Expr) -> bool {
    match expression {
        Expr::Binary(both) => {
            matches!(both.op, BinOp::Shl(_)) && matches!(&*both.right, Expr::Lit(_))
        }
        Expr::Paren(inner) => is_shifted_up(&inner.expr),
        _ => false,
    }
}

/// Returns whether a function is a constructor that takes a capacity.
pub fn is_capacity(function: &Expr) -> bool {
    match function {
        Expr::Path(path) => {
            let last = path.path.segments.last();
            last.is_some_and(|last| CAPACITIES.contains(&last.ident.to_string().as_str()))
        }
        _ => false,
    }
}

/// Returns whether an implementation is only for debug output.
pub fn is_debug(node: &syn::ItemImpl) -> bool {
    node.trait_.as_ref().is_some_and(|implemented| {
        let last = implemented.0.segments.last();
        last.is_some_and(|last| last.ident == "Debug")
    })
}

/// Returns whether `text`, the only expression of a function, is `value` as the changes write it.
pub fn is_value(text: &str, value: &str) -> bool {
    let text = if text == "Vec::new()" { "vec![]" } else { text };
    text == value
}
