//! Some crates are pure: a list states which items of other crates they may name, and all other items are forbidden.
//!
//! Code that accesses files, clocks, threads, processes or the environment must name an item: through a path into `std`
//! or into a crate that does so, or through a macro. Methods of primitive types do not need a path. A list below
//! contains the float methods whose last digits differ between machines, according to the standard library's
//! documentation ("unspecified precision").

use std::path::Path;

use super::crates::Crate;
use super::source::{File, Named};

/// The pure crates. Each may name items of the others.
pub(crate) const CRATES: &[&str] = &["lanemark-schema", "lanemark-sim", "lanemark-plan"];

/// Paths of other crates that a pure crate may name, each including everything below it.
pub(crate) const PATHS: &[&str] = &[
    "csv",
    "hdrhistogram::Histogram",
    "libm",
    "proptest",
    "rand_core::Rng",
    "rand_core::SeedableRng",
    "rand_xoshiro::SplitMix64",
    "rand_xoshiro::Xoshiro256PlusPlus",
    "serde",
    "serde_json",
    "shlex",
    "std::borrow::Cow",
    "std::collections::BTreeMap",
    "std::collections::BTreeSet",
    "std::collections::VecDeque",
    "std::convert::Infallible",
    "std::error::Error",
    "std::f64::consts",
    "std::fmt",
    "std::hint::black_box",
    "std::iter",
    "std::marker::PhantomData",
    "std::mem",
    "std::ops",
    "std::str::FromStr",
    "thiserror::Error",
];

/// The macros that a pure crate may call.
pub(crate) const MACROS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "format",
    "matches",
    "offset_of",
    "panic",
    "prop_assert",
    "prop_assert_eq",
    "prop_assume",
    "prop_compose",
    "prop_oneof",
    "proptest",
    "unreachable",
    "vec",
    "write",
];

/// Float functions whose results differ between machines; `libm` provides each of them.
const FLOAT: &[&str] = &[
    "powi", "powf", "exp", "exp2", "ln", "log", "log2", "log10", "cbrt", "hypot", "sin", "cos",
    "tan", "asin", "acos", "atan", "atan2", "sin_cos", "exp_m1", "ln_1p", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "gamma", "ln_gamma", "erf", "erfc", "abs_sub",
];

/// Keywords that give access to code or state outside safe Rust.
const WORDS: &[&str] = &["unsafe", "extern", "static"];

/// Returns each forbidden name in a pure crate, and each entry of the lists that no pure crate names.
pub(crate) fn breaches(root: &Path, crates: &[&Crate]) -> (Vec<String>, Vec<String>) {
    let mut found = Vec::new();
    let mut used = Vec::new();
    for one in crates {
        let impure: Vec<String> = one
            .others
            .iter()
            .filter(|other| !CRATES.contains(&other.replace('_', "-").as_str()))
            .cloned()
            .collect();
        breaches_of(root, &one.targets[0].files, &impure, &mut found, &mut used);
    }
    let needless = [PATHS, MACROS].concat().into_iter().filter(|listed| !used.contains(listed));
    let needless = needless.map(|listed| {
        format!("tests/tidy/purity.rs: no pure crate names `{listed}`; remove it from the list")
    });
    (found, needless.collect())
}

fn breaches_of(
    root: &Path,
    files: &[File],
    others: &[String],
    found: &mut Vec<String>,
    used: &mut Vec<&'static str>,
) {
    let own: Vec<&String> = files
        .iter()
        .flat_map(|file| &file.names)
        .filter_map(|name| match &name.what {
            Named::Defined(name) => Some(name),
            _ => None,
        })
        .collect();
    for file in files {
        for name in &file.names {
            let what = match &name.what {
                Named::Path(path) => {
                    let whole = path.join("::");
                    let last = path.last().unwrap().as_str();
                    let allowed = PATHS.iter().find(|allowed| {
                        whole
                            .strip_prefix(**allowed)
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
                    });
                    used.extend(allowed);
                    let outside = ["std", "core", "alloc"].contains(&path[0].as_str())
                        || others.contains(&path[0]);
                    let float = FLOAT.contains(&last) && path[0] != "libm" && path.len() > 1;
                    (outside && allowed.is_none() || float).then_some(whole)
                }
                Named::Macro(called) => {
                    let allowed = MACROS.iter().find(|allowed| *allowed == called);
                    used.extend(allowed);
                    (allowed.is_none() && !own.contains(&called) && !called.contains("::"))
                        .then(|| format!("{called}!"))
                }
                Named::Method(called) => {
                    FLOAT.contains(&called.as_str()).then(|| format!(".{called}()"))
                }
                // A lint does not change the program.
                Named::Condition(condition) => (condition != "cfg(test)"
                    && !condition.starts_with("cfg_attr(not(test),warn("))
                .then(|| format!("#[{condition}]")),
                Named::Word(word) => WORDS.contains(&word.as_str()).then(|| word.clone()),
                Named::Defined(_) => None,
            };
            if let Some(what) = what {
                let path = file.path.strip_prefix(root).unwrap_or(&file.path).display();
                found.push(format!(
                    "{path}:{}: a pure crate names `{what}`, which is not on its list (tests/tidy/purity.rs)",
                    name.line
                ));
            }
        }
    }
}
