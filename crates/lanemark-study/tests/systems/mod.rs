//! Systems of the built-in library in which settings replace values.

use lanemark_schema::result::ParameterOverride;
use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Library, Location, StudyError, System};

pub(crate) fn with_settings(name: &str, settings: &[(&str, &str)]) -> Result<System, StudyError> {
    let location = Location::file("--set");
    let setting = |&(parameter, value): &(&str, &str)| {
        let setting = ParameterOverride {
            parameter: parameter.to_owned(),
            value: value.to_owned(),
            figure: None,
            reason: None,
        };
        (setting, location.clone())
    };
    let settings: Vec<_> = settings.iter().map(setting).collect();
    let parts = SystemName::parse(name)?;
    let named_at = NameLocations::all(&location);
    System::assemble(&Library::built_in(), &parts, &named_at, name, &settings)
}
