//! Systems: drives in ports of a platform, assembled and checked.

use lanemark_lab::{assemble, columns, settings};
use lanemark_report::{Style, path_svg, path_table};
use lanemark_schema::result::ParameterOverride;
use lanemark_schema::workload::Test;
use lanemark_study::{Location, path};
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::library::Library;
use crate::table::Table;
use crate::workload::Workload;

/// A system, and the inputs from which it was assembled.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct System {
    pub(crate) name: String,
    pub(crate) settings: Vec<(ParameterOverride, Location)>,
    pub(crate) library: Py<Library>,
    pub(crate) system: lanemark_study::System,
    /// Library files from which the system was assembled, with their hashes.
    pub(crate) inputs: std::collections::BTreeMap<String, String>,
}

#[pymethods]
impl System {
    #[new]
    fn new(
        py: Python<'_>,
        name: String,
        set: Vec<String>,
        library: Py<Library>,
    ) -> Result<Self, Failure> {
        let opened_library = library.get().own();
        let settings = settings(&set)?;
        let named = &name;
        let set = &settings;
        let (system, inputs) = py.detach(move || {
            let system = assemble(&opened_library, named, set);
            system.map(|system| (system, opened_library.used()))
        })?;
        Ok(Self { name, settings, library, system, inputs })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.system.capacity().get()
    }

    /// The model values that the system's files state.
    fn values(&self) -> Result<Table, Failure> {
        Table::new(columns::model_values(&self.system.values, &self.system.uncertain))
    }

    /// The hops as text and as a drawing, for the only test of `workload`, or for small random reads.
    #[pyo3(signature = (workload=None))]
    fn path(&self, workload: Option<&Workload>) -> Result<(String, String), Failure> {
        let usual = Test::random_read("4 KiB").duration("1 s").build();
        let usual = usual.map_err(|error| input(error.to_string()))?.into_test();
        let test = match workload.map(|workload| workload.workload.tests.as_slice()) {
            None => &usual,
            Some([test]) => test,
            Some(tests) => {
                return Err(input(format!(
                    "a path is drawn for one test, but the workload contains {}",
                    tests.len()
                )));
            }
        };
        let view = path::view(&self.system, test, None);
        Ok((path_table(&view, &Style { width: 100, colour: false }), path_svg(&view)))
    }
}
