//! Workloads: by name, from a file, or from the text of a workload file.

use std::sync::Arc;

use lanemark_lab::scale::{
    SeriesSettings, WorkloadScale, faults, scaled_workload, with_series_settings,
};
use lanemark_lab::{LabError, opened};
use lanemark_schema::units::Bytes;
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::library::Library;

/// A workload, and the inputs from which it was read.
#[pyclass(frozen, skip_from_py_object, module = "lanemark._lanemark")]
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) workload: lanemark_schema::workload::Workload,
    pub(crate) inputs: std::collections::BTreeMap<String, String>,
    pub(crate) opened: Option<Arc<opened::OpenedWorkload>>,
}

/// Parses a quantity from the argument `name`.
pub(crate) fn quantity<T>(name: &str, text: Option<&str>) -> Result<Option<T>, Failure>
where
    T: std::str::FromStr<Err = lanemark_schema::units::QuantityError>,
{
    let parse_quantity =
        |text: &str| text.parse().map_err(|error| input(format!("{name} = {text}: {error}")));
    text.map(parse_quantity).transpose()
}

#[pymethods]
impl Workload {
    /// Opens a workload by name or file. A job file may need the size of its target.
    #[staticmethod]
    #[pyo3(signature = (name, library, target_size=None))]
    fn open(name: &str, library: &Library, target_size: Option<&str>) -> Result<Self, Failure> {
        let opened_library = library.own();
        let opened =
            opened::open(&opened_library, name, quantity::<Bytes>("target_size", target_size)?)?;
        let mut inputs = opened_library.used();
        inputs.extend(opened.input.clone());
        let workload = opened.workload.clone();
        Ok(Self { workload, inputs, opened: Some(Arc::new(opened)) })
    }

    /// Parses the text of a workload file.
    #[staticmethod]
    fn parse(id: &str, text: &str) -> Result<Self, Failure> {
        let workload = lanemark_study::workload::parse(id, text)?;
        Ok(Self { workload, inputs: Default::default(), opened: None })
    }

    /// Returns the name of the only test in a workload's text, or `test` if the text contains an error.
    #[staticmethod]
    fn description(text: &str) -> String {
        let parsed = lanemark_study::workload::parse("workload", text).ok();
        let test = parsed.and_then(|workload| workload.tests.into_iter().next());
        test.map_or_else(|| "test".to_owned(), |test| test.description())
    }

    #[getter]
    fn id(&self) -> &str {
        &self.workload.id
    }

    #[getter]
    fn name(&self) -> &str {
        &self.workload.name
    }

    #[getter]
    fn repeats(&self) -> u32 {
        self.workload.repeats
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.opened.iter().flat_map(|file| &file.notes).map(ToString::to_string).collect()
    }

    fn tests(&self) -> Vec<String> {
        self.workload.tests.iter().map(|test| test.name.clone()).collect()
    }

    fn json(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.workload).map_err(|error| input(error.to_string()))
    }

    /// Returns the workload with changes for a run.
    #[pyo3(signature = (size=None, duration=None, repeats=None, steady=None, interval=None, fault=Vec::new()))]
    fn changed(
        &self,
        size: Option<&str>,
        duration: Option<&str>,
        repeats: Option<u32>,
        steady: Option<&str>,
        interval: Option<&str>,
        fault: Vec<String>,
    ) -> Result<Self, Failure> {
        if let Some(repeats) = repeats.filter(|repeats| !(1..=1000).contains(repeats)) {
            return Err(LabError::input(format!(
                "repeats = {repeats}: expected a number from 1 to 1000"
            ))
            .into());
        }
        let scale = WorkloadScale {
            size: quantity("size", size)?,
            duration: quantity("duration", duration)?,
            repeats,
        };
        let over_time = SeriesSettings {
            steady: quantity("steady", steady)?,
            track: None,
            interval: quantity("interval", interval)?,
            series: false,
        };
        let mut changed = self.clone();
        changed.workload =
            with_series_settings(scaled_workload(changed.workload, &scale)?, &over_time)?;
        changed.workload.faults.extend(faults(&fault)?);
        Ok(changed)
    }
}
