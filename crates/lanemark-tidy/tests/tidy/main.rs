//! The rules of the tree, which ARCHITECTURE.md states. Each violation is reported as a sentence.

mod bindings;
mod budget;
mod comments;
mod crates;
mod house;
mod map;
mod names;
mod parameters;
mod prose;
mod purity;
mod rooms;
mod source;
mod tracked;
mod walls;
mod words;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cargo_metadata::Metadata;

use crates::Crate;

/// The tree to which this test belongs.
static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::at(&project()));

/// A tree, with all inputs of the rules.
struct Tree {
    root: PathBuf,
    metadata: Metadata,
    crates: Vec<Crate>,
}

impl Tree {
    fn at(root: &Path) -> Tree {
        let metadata = crates::workspace(root);
        let crates = crates::sources(&metadata);
        Tree { root: root.to_owned(), metadata, crates }
    }

    /// Returns the violations of purity, and the unused entries of its lists.
    fn purity(&self) -> (Vec<String>, Vec<String>) {
        let pure = self.crates.iter().filter(|one| purity::CRATES.contains(&one.name.as_str()));
        purity::breaches(&self.root, &pure.collect::<Vec<_>>())
    }

    /// Returns the violations of the tables of rooms.
    fn rooms(&self) -> Vec<String> {
        self.crates.iter().flat_map(|one| rooms::breaches(&self.root, one)).collect()
    }
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Fails with the list of violations.
fn assert_empty(breaches: &[String]) {
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[test]
fn pure_crates_name_only_pure_items() {
    let (breaches, needless) = TREE.purity();
    assert_empty(&[breaches, needless].concat());
}

#[test]
fn crates_import_only_whom_they_may() {
    assert_empty(&crates::breaches(&TREE.root, &TREE.metadata));
}

#[test]
fn rooms_import_only_the_rooms_of_their_table() {
    assert_empty(&TREE.rooms());
}

#[test]
fn no_circle_of_imports_grows() {
    assert_empty(&rooms::circles(&TREE.root, &TREE.crates, rooms::CIRCLES));
}

#[test]
fn files_begin_with_their_purpose_and_are_short() {
    assert_empty(&house::breaches(&TREE.root, house::MAY_BE_LONG));
}

#[test]
fn no_crate_exceeds_its_budget_of_lines() {
    assert_empty(&budget::breaches(&TREE.root));
}

#[test]
fn every_file_is_part_of_a_crate() {
    assert_empty(&house::dead(&TREE.root, &TREE.crates));
}

#[test]
fn files_are_created_only_in_known_files() {
    assert_empty(&house::creating(&TREE.root, &TREE.crates, house::MAY_CREATE));
}

#[test]
fn messages_use_no_macro_that_panics() {
    assert_empty(&house::printing(&TREE.root, &TREE.crates, house::MAY_PRINT));
}

#[test]
fn comments_strings_and_documents_use_plain_words() {
    assert_empty(&words::violations(&TREE.root));
}

#[test]
fn names_of_tests_use_plain_words() {
    assert_empty(&words::test_names(&TREE.root));
}

#[test]
fn comments_and_documents_fit_in_their_columns() {
    assert_empty(&comments::long_lines(&TREE.root));
}

#[test]
fn doc_comments_begin_with_a_sentence_about_the_item() {
    assert_empty(&comments::summaries(&TREE.root));
}

#[test]
fn types_have_descriptive_names() {
    assert_empty(&names::vague(&TREE.root, &TREE.crates));
}

#[test]
fn parameters_have_names() {
    assert_empty(&parameters::tuples(&TREE.root, &TREE.crates));
}

#[test]
fn statements_bind_one_expression() {
    assert_empty(&bindings::tuples(&TREE.root, &TREE.crates));
}

#[test]
fn tracked_files_are_the_projects_own() {
    assert_empty(&tracked::foreign(&TREE.root));
}

#[test]
fn documents_name_files_that_exist() {
    assert_empty(&tracked::missing(&TREE.root));
}
