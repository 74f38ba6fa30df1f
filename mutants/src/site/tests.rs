//! Tests the changes to small sources.

use super::*;

/// Returns the descriptions of all changes to a source.
fn changes(text: &str) -> Vec<String> {
    let parsed = syn::parse_file(text).unwrap();
    of_file(PathBuf::from("a.rs"), text, &parsed).iter().map(Site::description).collect()
}

/// Returns the changes to an expression, in a function whose result type does not have a fixed value.
fn within(expression: &str) -> Vec<String> {
    changes(&format!("fn f() -> &'static mut Unknown {{ {expression} }}"))
}

#[test]
fn operators_calls_and_values_become_others() {
    assert_eq!(within("a < b"), ["a < b -> a == b", "a < b -> a > b", "a < b -> a <= b"]);
    assert_eq!(within("a.max(b)"), ["a.max(b) -> a.min(b)"]);
    assert_eq!(within("!a"), ["!a -> a"]);
    assert_eq!(changes("fn f() -> bool { g() }"), ["f returns true", "f returns false"]);
    assert_eq!(within("if let Some(a) = b && c { d }"), [""; 0]);
}

#[test]
fn separate_bits_do_not_become_an_exclusive_or() {
    assert_eq!(within("a | b"), ["a | b -> a & b", "a | b -> a ^ b"]);
    for flags in ["READ | WRITE", "Flags::READ | Flags::WRITE", "READ | WRITE | SYNC_2"] {
        let all = within(flags);
        assert!(!all.is_empty() && all.iter().all(|change| !change.contains('^')), "{all:?}");
    }
    assert_eq!(within("READ | flag").len(), 2);
    assert_eq!(within("READ ^ WRITE").len(), 2);
    let all = within("high << 8 | low");
    assert!(all.iter().all(|change| !change.contains('^')), "{all:?}");
    assert!(within("high << width | low").iter().any(|change| change.contains('^')));
}

#[test]
fn capacities_do_not_change() {
    assert_eq!(within("Vec::with_capacity(a + b)"), [""; 0]);
    assert_eq!(within("BufReader::with_capacity(a * 4, !b)"), [""; 0]);
    assert_eq!(within("out.reserve(a + b)"), [""; 0]);
    // The receiver of the call is not a capacity, so it is changed.
    assert_eq!(within("(!a).reserve(a + b)"), ["!a -> a"]);
    assert_eq!(within("out.resize(a + b, 0)").len(), 2);
}

#[test]
fn code_that_is_not_built_does_not_change() {
    let body = "fn f() -> bool { a() }";
    for (condition, count) in [
        ("feature = \"full\"", 2),
        ("not(feature = \"full\")", 0),
        ("test", 0),
        ("not(test)", 2),
        ("all(test, feature = \"full\")", 0),
        ("any(test, feature = \"full\")", 2),
        ("all(feature = \"a\", feature = \"b\")", 2),
        ("target_arch = \"unheard\"", 0),
        ("not(target_arch = \"unheard\")", 2),
        ("unix", 2),
        ("windows", 0),
        ("doctest", 0),
    ] {
        assert_eq!(changes(&format!("#[cfg({condition})] {body}")).len(), count, "{condition}");
        assert_eq!(changes(&format!("#![cfg({condition})] {body}")).len(), count, "{condition}");
        let module = changes(&format!("#[cfg({condition})] mod m {{ {body} }}"));
        assert_eq!(module.len(), count, "{condition}");
        let parsed = syn::parse_file(&format!("#[cfg({condition})] mod m;")).unwrap();
        let unbuilt = unbuilt_modules(Path::new("src/lib.rs"), &parsed);
        assert_eq!(unbuilt.is_empty(), count > 0, "{condition}");
    }
    assert_eq!(changes("#[test] fn f() -> bool { a() }"), [""; 0]);
    let arms = "match a { #[cfg(not(feature = \"full\"))] 1 => b + c, 2 => d, _ => e }";
    assert_eq!(within(arms), ["without the arm 2"]);
    assert_eq!(within("{ #[cfg(not(feature = \"full\"))] let a = b + c; d }"), [""; 0]);
    assert_eq!(
        within("{ #[cfg(not(feature = \"full\"))] { b + c } #[cfg(unix)] { d ^ e } }").len(),
        2
    );
}

#[test]
fn values_do_not_become_themselves() {
    assert_eq!(changes("fn f() -> bool { true }"), ["f returns false"]);
    assert_eq!(changes("fn f() -> u32 { 1 }"), ["f returns 0"]);
    assert_eq!(changes("fn f() -> Option<u8> { None }").len(), 2);
    assert_eq!(changes("fn f() -> Vec<bool> { Vec::new() }").len(), 2);
    assert_eq!(changes("fn f() -> Result<(), E> { Ok(()) }"), [""; 0]);
    assert_eq!(changes("fn f() -> bool { g(); true }").len(), 2);
    let arms = within("match a { 1 => {} 2 => b(), _ => {} }");
    assert_eq!(arms, ["without the arm 2"]);
    // The values of the deleted arm would reach the arm with the guard.
    assert_eq!(within("match a { 1 => {} x if x > 0 => b(), _ => {} }")[0], "without the arm 1");
    let debug = "impl fmt::Debug for A { fn fmt(&self) -> bool { a() } }";
    assert_eq!(changes(debug), [""; 0]);
    assert_eq!(changes(&debug.replace("Debug", "Display")).len(), 2);
}

#[test]
fn a_switch_selects_the_change() {
    let text = "fn f() -> bool { match a { 1 => b < c, _ => d } }";
    let parsed = syn::parse_file(text).unwrap();
    let sites = of_file(PathBuf::from("a.rs"), text, &parsed);
    let switched: Vec<String> = sites.iter().map(|site| site.switched(7)).collect();
    assert_eq!(
        switched,
        [
            "{ if crate::switch::is_on(7) { return true; }",
            "{ if crate::switch::is_on(7) { return false; }",
            " if !crate::switch::is_on(7) ",
            "(if crate::switch::is_on(7) { b == c } else { b < c })",
            "(if crate::switch::is_on(7) { b > c } else { b < c })",
            "(if crate::switch::is_on(7) { b <= c } else { b < c })",
        ]
    );
    assert!(sites.iter().all(|site| &text[site.range.clone()] == site.before));
}
