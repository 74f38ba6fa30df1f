//! The faults of a running system: their states, and the removal of faults on request.

use super::{FaultNumber, Faults};
use lanemark_schema::result::FaultImpact;
use lanemark_schema::units::Instant;
use lanemark_schema::workload::fault::{Fault, FaultKind};

/// A fault of a running system.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultState {
    /// The fault.
    pub fault: Fault,
    /// Whether the fault has begun or ended.
    pub phase: FaultPhase,
    /// Effect of the fault so far.
    pub effect: FaultImpact,
}

/// The phase of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPhase {
    /// The fault has not begun.
    Pending,
    /// The fault has begun and has not ended.
    Active,
    /// The fault has ended, or was removed before it began.
    Over,
}

/// A reason why a fault cannot be cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultClearError {
    /// There is no fault with this number.
    #[error("no fault has this number")]
    Unknown,
    /// The fault has ended.
    #[error("the fault is already over")]
    Over,
    /// The fault is a power cut that has begun.
    #[error("the power has been cut, and returns after `boot`")]
    PowerIsCut,
}

impl Faults {
    /// Returns all faults, in the order of their numbers, with their states at `now`.
    pub(in super::super) fn list(&self, now: Instant) -> Vec<FaultState> {
        let numbered = self.plan.iter().zip(&self.uses).zip(0..);
        numbered
            .map(|((fault, effect), number)| FaultState {
                fault: fault.clone(),
                phase: self.phase(number, fault, now),
                effect: effect.clone(),
            })
            .collect()
    }

    fn phase(&self, number: FaultNumber, fault: &Fault, now: Instant) -> FaultPhase {
        let is_over = fault.over_at().is_some_and(|over| over <= now);
        if self.is_removed(number) || is_over {
            FaultPhase::Over
        } else if fault.at > now {
            FaultPhase::Pending
        } else {
            FaultPhase::Active
        }
    }

    /// Returns whether a fault can be cleared at `at`.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub(in super::super) fn check_clear(
        &self,
        number: FaultNumber,
        at: Instant,
    ) -> Result<FaultPhase, FaultClearError> {
        let fault = self.plan.get(usize::from(number)).ok_or(FaultClearError::Unknown)?;
        match (self.phase(number, fault, at), fault.kind) {
            (FaultPhase::Over, _) => Err(FaultClearError::Over),
            (FaultPhase::Active, FaultKind::PowerCut { .. }) => Err(FaultClearError::PowerIsCut),
            (phase, _) => Ok(phase),
        }
    }

    /// Ends a fault at `at`, or removes it if it begins later. The caller must then recompute the active faults at
    /// `at`.
    ///
    /// # Errors
    /// Returns the reason if the fault cannot be cleared.
    pub(in super::super) fn clear(
        &mut self,
        number: FaultNumber,
        at: Instant,
    ) -> Result<(), FaultClearError> {
        match self.check_clear(number, at)? {
            FaultPhase::Active => {
                let fault = &mut self.plan[usize::from(number)];
                fault.length = Some(at.since(fault.at));
            }
            FaultPhase::Pending | FaultPhase::Over => self.removed.push(number),
        }
        Ok(())
    }
}
