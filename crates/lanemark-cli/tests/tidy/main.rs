//! The tree holds itself to the house rules: what ARCHITECTURE.md says of it is so, and each breach is told in a
//! sentence.

mod crates;
mod data;
mod house;
mod map;
mod measurements;
mod purity;
mod rooms;
mod source;
mod walls;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cargo_metadata::Metadata;

use crates::Crate;

/// The tree that this test belongs to.
static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::at(&project()));

/// A tree with all that is read of it.
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

    fn core(&self) -> &Crate {
        self.crates.iter().find(|one| one.name == "lanemark-core").unwrap()
    }

    fn purity(&self) -> (Vec<String>, Vec<String>) {
        let core = self.core();
        purity::breaches(&self.root, &core.targets[0].files, &core.others)
    }
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Fails with the sentences alone.
fn none(breaches: &[String]) {
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

#[test]
fn core_names_only_what_a_pure_core_may() {
    let (breaches, needless) = TREE.purity();
    none(&[breaches, needless].concat());
}

#[test]
fn crates_import_only_whom_they_may() {
    none(&crates::breaches(&TREE.root, &TREE.metadata));
}

#[test]
fn rooms_of_core_import_only_whom_they_may() {
    none(&rooms::breaches(&TREE.root, &TREE.core().targets[0].files));
}

#[test]
fn no_circle_of_imports_grows() {
    none(&rooms::circles(&TREE.root, &TREE.crates, rooms::CIRCLES));
}

#[test]
fn every_file_says_what_it_is_and_is_short_enough_to_read() {
    none(&house::breaches(&TREE.root, house::MAY_BE_LONG));
}

#[test]
fn every_file_is_part_of_a_crate() {
    none(&house::dead(&TREE.root, &TREE.crates));
}

#[test]
fn nothing_is_told_by_a_macro_that_panics() {
    none(&house::printing(&TREE.root, &TREE.crates, house::MAY_PRINT));
}
