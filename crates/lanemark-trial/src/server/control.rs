//! Commands to a running server over its control socket, and their execution in the server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lanemark_lab::LabError;
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Fault, FaultKind};
use lanemark_serve::control::{self, ControlCommand};
use lanemark_serve::session::Session;
use lanemark_serve::{metrics, query_server};
use lanemark_sim::{FaultPhase, FaultState};
use lanemark_study::System;

use super::reading;

/// Maximum length of an answer, which is enough for a list of all faults that a server can have.
const ANSWER_MAX: usize = 16 << 20;
/// Maximum time for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// A running server, and the state that commands change.
pub struct ControlledServer {
    /// The server's session.
    pub session: Arc<Session>,
    /// The served system.
    pub system: System,
    /// Length of the export.
    pub size: u64,
    /// Flag that ends the server.
    pub stop: Arc<AtomicBool>,
}

/// Rejects faults whose effect on the `size` bytes of data a server cannot reproduce, and faults without an effect.
///
/// # Errors
/// Returns an error that names the fault.
pub fn check_servable(system: &System, size: u64, fault: &Fault) -> Result<(), LabError> {
    let has_several = system.spec.drives() > 1;
    let is_cut = matches!(fault.kind, FaultKind::PowerCut { .. });
    if has_several && is_cut && fault.drive.is_some() {
        return Err(LabError::input(format!(
            "{fault}: a server can't cut the power of one drive of a volume"
        ))
        .hint("remove `drive` to cut the power of all drives"));
    }
    if has_several && fault.kind.is_silent() {
        return Err(LabError::input(format!(
            "{fault}: a server can't damage the data of a volume silently"
        ))
        .hint("serve one drive, or simulate the volume with `lanemark sim`"));
    }
    if !has_several && fault.kind.range().is_some_and(|range| range.start.get() >= size) {
        return Err(LabError::input(format!("{fault}: the export ends at {}", Bytes(size))));
    }
    Ok(())
}

impl ControlledServer {
    /// Answers a command. Answers begin with `ok` or `error:`, except for a status or a list.
    pub fn answer(&self, question: &str) -> String {
        match ControlCommand::parse(question).and_then(|command| self.execute(command)) {
            Ok(answer) => answer,
            Err(error) => format!("error: {}\n", error.trim_end()),
        }
    }

    fn execute(&self, command: ControlCommand) -> Result<String, String> {
        let done = || "ok\n".to_owned();
        match command {
            ControlCommand::Status => Ok(metrics::text(&self.session.figures())),
            ControlCommand::Reading => Ok(reading(&self.system, &self.session)),
            ControlCommand::Stop => {
                self.stop.store(true, Ordering::SeqCst);
                Ok(done())
            }
            ControlCommand::AddFault(fault) => {
                self.check(&fault)?;
                let number = self.session.add_fault(fault)?;
                Ok(format!("ok: fault {}\n", number + 1))
            }
            ControlCommand::ListFaults => Ok(listed(&self.session.faults()?)),
            ControlCommand::ClearAll => self.clear_all(),
            ControlCommand::ClearFault(index) => self.session.clear_fault(index).map(|()| done()),
            ControlCommand::ChangeFault(index, keys) => self.change(index, &keys),
        }
    }

    /// Rejects a fault that this server cannot apply.
    fn check(&self, fault: &Fault) -> Result<(), String> {
        check_servable(&self.system, self.size, fault).map_err(|error| match &error.hint {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        })
    }

    /// Replaces a fault with a different fault, or changes some of its keys.
    fn change(&self, index: u16, keys: &[String]) -> Result<String, String> {
        let states = self.session.faults()?;
        let state = states.get(usize::from(index)).ok_or("no fault has this number")?;
        let fault: Fault = control::changed_fault(&state.fault, keys).parse()?;
        self.check(&fault)?;
        let number = self.session.change_fault(index, fault)?;
        Ok(format!("ok: fault {}\n", number + 1))
    }

    /// Clears all faults except power cuts that have begun, which end by themselves.
    fn clear_all(&self) -> Result<String, String> {
        let mut cleared = 0;
        for (number, state) in (0u16..).zip(self.session.faults()?) {
            let is_cut = matches!(state.fault.kind, FaultKind::PowerCut { .. });
            let is_clearable = match state.phase {
                FaultPhase::Pending => true,
                FaultPhase::Active => !is_cut,
                FaultPhase::Over => false,
            };
            // A fault may have ended since the list was read.
            cleared += u32::from(is_clearable && self.session.clear_fault(number).is_ok());
        }
        Ok(format!("ok: {cleared} cleared\n"))
    }
}

/// Lists faults, one per line.
fn listed(states: &[FaultState]) -> String {
    if states.is_empty() {
        return "there are no faults\n".to_owned();
    }
    let line = |(number, state): (u32, &FaultState)| {
        let phase = match state.phase {
            FaultPhase::Pending => "pending",
            FaultPhase::Active => "active",
            FaultPhase::Over => "over",
        };
        let at = state.fault.at.since(Instant::ZERO);
        let effect = &state.effect;
        format!(
            "{number} {phase}, from {at}: {} ({} failed, {} delayed, {} silent)\n",
            // The fault's text, without the end that `clear` has set.
            control::words_without_time(&effect.fault).join(" "),
            effect.failed,
            effect.held,
            effect.silent
        )
    };
    (1..).zip(states).map(line).collect()
}

/// Sends a command to the control socket of a server, and returns the answer.
///
/// # Errors
/// Returns the error of the socket.
pub fn ask(socket: &Path, command: &str) -> std::io::Result<String> {
    query_server::ask(socket, command, ANSWER_MAX, ANSWER_TIME)
}
