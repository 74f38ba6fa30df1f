//! Systems in the state, and with the memory, that a run requires.

use std::borrow::Cow;

use lanemark_schema::result::ParameterOverride;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Precondition, Workload};
use lanemark_sim::spec::{DriveCondition, MediaSpec, SystemSpec};

use super::System;
use crate::origin::ValueRecord;

impl System {
    /// Returns the system with a maximum memory for each of its simulations.
    #[must_use]
    pub fn with_memory(&self, memory: Bytes) -> Self {
        Self { spec: self.spec.clone().with_memory(memory), ..self.clone() }
    }

    /// Returns the system with its drives in the state that `workload` requires, unless their state is set. A drive
    /// whose cost of collection was measured remains as it is, because this cost contains the effect of the state.
    #[must_use]
    pub fn preconditioned(&self, workload: &Workload) -> Cow<'_, Self> {
        const CONDITION: &str = "drive.state.condition";
        let is_set = |value: &ValueRecord| value.parameter == CONDITION;
        let Some(precondition) = workload.precondition else { return Cow::Borrowed(self) };
        let condition = match precondition {
            Precondition::Sequential => DriveCondition::Sequential,
            Precondition::Random => DriveCondition::Random,
        };
        let mut spec = SystemSpec::clone(&self.spec);
        let mut changed = false;
        for attachment in &mut spec.attachments {
            if let MediaSpec::Flash(flash) = &mut attachment.drive.media
                && !flash.technology.in_place()
                && flash.translation.beside_collection.is_none()
            {
                (flash.condition, changed) = (condition, true);
            }
        }
        let spec = spec.checked().ok().filter(|_| changed && !self.values.iter().any(is_set));
        let Some(spec) = spec else { return Cow::Borrowed(self) };
        let mut system = Self { spec: spec.with_memory(self.spec.memory()), ..self.clone() };
        system.target.overrides.push(ParameterOverride {
            parameter: CONDITION.to_owned(),
            value: precondition.name().to_owned(),
            figure: None,
            reason: Some(format!("the precondition of {}", workload.name)),
        });
        Cow::Owned(system)
    }
}
