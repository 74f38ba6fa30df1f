//! Changes that no test can notice, regardless of its checks. They are not made, because their number would say nothing
//! about the tests.
//!
//! - **Code that is not built.** All features are enabled and the target is this machine, so that code for builds
//!   without a feature, or for another processor, is not in any test program.
//! - **Exclusive or of separate bits.** `A | B` and `A ^ B` are equal if no bit is in both, as for constants that name
//!   flags, and for values that a shift moves above each other.
//! - **Capacities.** A collection with another capacity has the same contents. A buffered reader returns the same
//!   bytes.
//! - **Debug output.** No behaviour depends on it.
//! - **The same value.** A function that returns a constant is not replaced by that constant, and an arm is not deleted
//!   if the arm of all other values has the same text.

use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Lit, Meta, Token};

/// Methods whose argument is only a capacity.
pub const CAPACITIES: [&str; 4] = ["reserve", "reserve_exact", "shrink_to", "with_capacity"];

/// Returns whether code with these attributes is in a build of all features for this machine, without its tests.
pub fn is_built(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        if attribute.path().is_ident("test") {
            return false;
        }
        !attribute.path().is_ident("cfg")
            || attribute.parse_args::<Meta>().is_ok_and(|meta| holds(&meta))
    })
}

/// Returns whether a condition of `cfg` holds.
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

/// Returns whether the bits of both sides of `one | other` are separate.
pub fn are_separate_bits(node: &syn::ExprBinary) -> bool {
    matches!(node.op, BinOp::BitOr(_))
        && (are_flags(&node.left) && are_flags(&node.right)
            || is_shifted_up(&node.left)
            || is_shifted_up(&node.right))
}

/// Returns whether an expression is a constant of flags, or several with `|` between them.
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

/// Returns whether an expression is shifted left by a constant, to a position above another value.
fn is_shifted_up(expression: &Expr) -> bool {
    match expression {
        Expr::Binary(both) => {
            matches!(both.op, BinOp::Shl(_)) && matches!(&*both.right, Expr::Lit(_))
        }
        Expr::Paren(inner) => is_shifted_up(&inner.expr),
        _ => false,
    }
}

/// Returns whether a function is a constructor with a capacity.
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
