//! Compares the manifests with the tables of ARCHITECTURE.md: imports between the crates, and other dependencies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use super::map::{self, Imports, Names};
use super::source::{self, File};

/// Returns the workspace at `root`, without its dependencies.
pub(crate) fn workspace(root: &Path) -> Metadata {
    MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec().unwrap()
}

/// A crate and the source files of each of its targets.
pub(crate) struct Crate {
    /// Name of the crate in its manifest.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// The crates that its program imports, by their names in source code.
    pub(crate) others: Vec<String>,
    /// The files of its library or program, and of each test, bench and example.
    pub(crate) targets: Vec<Target>,
}

pub(crate) struct Target {
    pub(crate) files: Vec<File>,
}

/// Returns the crates of the workspace with all their sources.
pub(crate) fn sources(metadata: &Metadata) -> Vec<Crate> {
    let read = |package: &cargo_metadata::Package| Crate {
        name: package.name.to_string(),
        folder: package.manifest_path.parent().unwrap().into(),
        others: package
            .dependencies
            .iter()
            .map(|dependency| dependency.name.replace('-', "_"))
            .collect(),
        targets: package
            .targets
            .iter()
            .map(|target| {
                let of_tests = !(target.is_lib() || target.is_bin() || target.is_cdylib());
                Target { files: source::files(target.src_path.as_std_path(), of_tests) }
            })
            .collect(),
    };
    metadata.packages.iter().map(read).collect()
}

/// Returns every import that differs from the tables.
pub(crate) fn breaches(root: &Path, metadata: &Metadata) -> Vec<String> {
    let allowed = map::crates(root);
    let reasons = map::dependencies(root);
    let mut found = Vec::new();
    let mut needed = Names::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some(own) = allowed.get(name) else {
            found.push(format!("ARCHITECTURE.md: `{name}` is not in the table of crates"));
            continue;
        };
        let mut imports = Imports { normal: Names::new(), tests: Names::new() };
        for dependency in &package.dependencies {
            let other = &dependency.name;
            if !other.starts_with("lanemark") {
                needed.insert(other.clone());
                continue;
            }
            let (kind, column) = match dependency.kind {
                DependencyKind::Development => ("in tests", &mut imports.tests),
                DependencyKind::Build => ("in its build", &mut imports.normal),
                _ => ("", &mut imports.normal),
            };
            column.insert(other.clone());
            let may = own.normal.contains(other) && dependency.kind != DependencyKind::Build
                || own.tests.contains(other) && dependency.kind == DependencyKind::Development;
            if !may {
                found.push(format!("`{name}` imports `{other}` {kind}, which the table of crates in ARCHITECTURE.md forbids"
                    ).replace(" , ", ", "));
            }
        }
        let all = [(&own.normal, &imports.normal), (&own.tests, &imports.tests)];
        for missing in all.iter().flat_map(|(may, does)| may.difference(does)) {
            found.push(format!("ARCHITECTURE.md: `{name}` may import `{missing}` and does not; remove it from the table"));
        }
    }
    let real: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (package.name.as_str(), ())).collect();
    for gone in allowed.keys().filter(|name| !real.contains_key(name.as_str())) {
        found.push(format!(
            "ARCHITECTURE.md: `{gone}` is in the table of crates and not in the workspace"
        ));
    }
    for name in needed.difference(&reasons) {
        found.push(format!(
            "ARCHITECTURE.md: `{name}` is imported without a reason in the table of dependencies"
        ));
    }
    for name in reasons.difference(&needed) {
        found.push(format!("ARCHITECTURE.md: `{name}` has a reason in the table of dependencies, but no crate imports it"));
    }
    found
}
