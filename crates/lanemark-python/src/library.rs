//! The library: the names of its entries.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use lanemark_lab::{columns, open_library};
use lanemark_study::library::LibraryKind;
use lanemark_study::{StudyError, catalogue};
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::table::Table;

/// A library of drives, platforms, hosts and workloads.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Library(Mutex<lanemark_study::Library>);

impl Library {
    /// Returns a copy that keeps a separate record of the files that it reads.
    pub(crate) fn own(&self) -> lanemark_study::Library {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn kind(name: &str) -> Result<LibraryKind, Failure> {
    let found = LibraryKind::LISTED.iter().find(|(known, _)| *known == name);
    let unknown = || {
        input(format!(
            "`{name}` is not a library kind: expected drives, platforms, hosts or workloads"
        ))
    };
    found.map(|(_, kind)| *kind).ok_or_else(unknown)
}

#[pymethods]
impl Library {
    #[new]
    #[pyo3(signature = (folder=None))]
    fn new(folder: Option<PathBuf>) -> Result<Self, Failure> {
        Ok(Self(Mutex::new(open_library(folder.as_deref())?)))
    }

    fn names(&self, kind_name: &str) -> Result<Vec<String>, Failure> {
        Ok(self.own().names(kind(kind_name)?))
    }

    /// The entries of a kind, with a row for each.
    fn table(&self, py: Python<'_>, kind_name: &str) -> Result<Table, Failure> {
        let library = self.own();
        let kind = kind(kind_name)?;
        py.detach(move || {
            let names = library.names(kind);
            if kind == LibraryKind::Drive {
                let entries = names.iter().map(|name| catalogue::drive(&library, name));
                return Table::new(columns::drives(entries.collect::<Result<_, _>>()?));
            }
            let title = |name: String| Ok((name.clone(), library.summary(kind, &name)?));
            let titles: Result<_, StudyError> = names.into_iter().map(title).collect();
            Table::new(columns::titles(titles?))
        })
    }

    fn summary(&self, kind_name: &str, name: &str) -> Result<String, Failure> {
        Ok(self.own().summary(kind(kind_name)?, name)?)
    }
}
