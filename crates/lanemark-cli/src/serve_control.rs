//! Commands to a running server: `lanemark serve-control`, and the execution of its commands in the server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Fault, FaultKind};
use lanemark_serve::registry::READING;
use lanemark_serve::session::Session;
use lanemark_serve::{metrics, query_server};
use lanemark_sim::{FaultPhase, FaultState};
use lanemark_study::System;

use crate::args::ServeControlArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::output;
use crate::serve::reading;

/// Maximum length of an answer, which is enough for a list of all faults that a server can have.
const ANSWER_MAX: usize = 16 << 20;
/// Maximum time for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// A running server and the state that commands change.
pub(crate) struct ControlledServer {
    pub(crate) session: Arc<Session>,
    pub(crate) system: System,
    /// Length of the export.
    pub(crate) size: u64,
    /// Flag that ends the server.
    pub(crate) stop: Arc<AtomicBool>,
}

/// Rejects faults whose effect on the `size` bytes of data a server cannot reproduce, and faults without an effect.
pub(crate) fn check_servable(system: &System, size: u64, fault: &Fault) -> Result<(), Failure> {
    let has_several = system.spec.drives() > 1;
    let is_cut = matches!(fault.kind, FaultKind::PowerCut { .. });
    if has_several && is_cut && fault.drive.is_some() {
        return Err(Failure::input(format!(
            "{fault}: a server can't cut the power of one drive of a volume"
        ))
        .hint("remove `drive` to cut the power of all drives"));
    }
    if has_several && fault.kind.is_silent() {
        return Err(Failure::input(format!(
            "{fault}: a server can't damage the data of a volume silently"
        ))
        .hint("serve one drive, or simulate the volume with `lanemark sim`"));
    }
    if !has_several && fault.kind.range().is_some_and(|range| range.start.get() >= size) {
        return Err(Failure::input(format!("{fault}: the export ends at {}", Bytes(size))));
    }
    Ok(())
}

impl ControlledServer {
    /// Answers a command. Answers begin with `ok` or `error:`, except for a status or a list.
    pub(crate) fn answer(&self, question: &str) -> String {
        let words: Vec<&str> = question.split_whitespace().collect();
        match self.execute(&words) {
            Ok(answer) => answer,
            Err(error) => format!("error: {}\n", error.trim_end()),
        }
    }

    fn execute(&self, words: &[&str]) -> Result<String, String> {
        match words {
            ["status"] => Ok(metrics::text(&self.session.figures())),
            [READING] => Ok(reading(&self.system, &self.session)),
            ["stop"] => {
                self.stop.store(true, Ordering::SeqCst);
                Ok("ok\n".to_owned())
            }
            ["power-cut"] => self.add("power-cut boot=1s"),
            ["power-cut", boot] => self.add(&format!("power-cut boot={boot}")),
            ["fault", "list"] => Ok(listed(&self.session.faults()?)),
            ["fault", "clear", "all"] => self.clear_all(),
            ["fault", "clear", number] => {
                self.session.clear_fault(number_of(number)?)?;
                Ok("ok\n".to_owned())
            }
            ["fault", "change", number, keys @ ..] if !keys.is_empty() => self.change(number, keys),
            [command @ ("status" | "stop" | READING), more, ..]
            | [command @ "power-cut", _, more, ..]
            | [command @ "fault", "list", more, ..]
            | [command @ "fault", "clear", _, more, ..] => {
                Err(format!("{command}: unexpected word `{more}`"))
            }
            ["fault", "clear"] => Err("fault clear: expected a number, or all".to_owned()),
            ["fault", "change", ..] => {
                Err("fault change: expected a number and keys, such as 1 extra=5ms".to_owned())
            }
            ["fault", fault @ ..] => self.add(&fault.join(" ")),
            _ => {
                let command = words.first().unwrap_or(&"");
                Err(format!("`{command}`: expected status, fault, power-cut, reading or stop"))
            }
        }
    }

    /// Parses a fault that this server can apply. The fault's time counts from now.
    fn fault(&self, text: &str) -> Result<Fault, String> {
        let fault: Fault = text.parse()?;
        check_servable(&self.system, self.size, &fault).map_err(|failure| failure.to_string())?;
        Ok(fault)
    }

    fn add(&self, text: &str) -> Result<String, String> {
        let number = self.session.add_fault(self.fault(text)?)?;
        Ok(format!("ok: fault {}\n", number + 1))
    }

    /// Replaces a fault with a different fault, or changes some of its keys.
    fn change(&self, number: &str, keys: &[&str]) -> Result<String, String> {
        let number = number_of(number)?;
        let states = self.session.faults()?;
        let state = states.get(usize::from(number)).ok_or("no fault has this number")?;
        let fault = self.fault(&changed(&state.fault, keys))?;
        let number = self.session.change_fault(number, fault)?;
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

/// Parses the number of a fault; users count faults from 1.
fn number_of(text: &str) -> Result<u16, String> {
    let number = text.parse::<u16>().ok().and_then(|number| number.checked_sub(1));
    number.ok_or_else(|| {
        format!("`{text}` is not the number of a fault; `fault list` prints the numbers")
    })
}

/// Returns the words of a fault's text, without its time.
fn words_of(fault: &str) -> Vec<String> {
    fault.split(' ').filter(|word| !word.starts_with("at=")).map(str::to_owned).collect()
}

/// Returns the text of a fault in which the keys in `keys` are replaced. If the first word is a kind of fault, `keys`
/// describe a new fault.
fn changed(fault: &Fault, keys: &[&str]) -> String {
    if !keys.first().is_some_and(|word| word.contains('=')) {
        return keys.join(" ");
    }
    let key = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let mut words = words_of(&fault.to_string());
    words.retain(|word| !word.contains('=') || keys.iter().all(|given| key(given) != key(word)));
    words.extend(keys.iter().map(|word| (*word).to_owned()));
    words.join(" ")
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
        let (at, effect) = (state.fault.at.since(Instant::ZERO), &state.effect);
        format!(
            "{number} {phase}, from {at}: {} ({} failed, {} delayed, {} silent)\n",
            // The fault's text, without the end that `clear` has set.
            words_of(&effect.fault).join(" "),
            effect.failed,
            effect.held,
            effect.silent
        )
    };
    (1..).zip(states).map(line).collect()
}

/// Runs `lanemark serve-control`, which sends a command to a server.
pub(crate) fn control(args: &ServeControlArgs) -> Result<CommandOutcome, Failure> {
    let answer = ask(&args.socket, &args.command.join(" ")).map_err(|error| {
        Failure::run(format!("{}: {error}", args.socket.display()))
            .hint("use the socket from the server's option --control")
    })?;
    match answer.strip_prefix("error: ") {
        Some(error) => Err(Failure::input(error.trim_end())),
        None => {
            output::print(&answer)?;
            Ok(CommandOutcome::Done)
        }
    }
}

/// Sends a command to the control socket of a server, and returns the answer.
pub(crate) fn ask(socket: &Path, command: &str) -> std::io::Result<String> {
    query_server::ask(socket, command, ANSWER_MAX, ANSWER_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_fault_keeps_its_other_keys_and_begins_now() {
        let fault: Fault = "latency extra=2ms share=10% at=5s for=10s".parse().unwrap();
        for (keys, expected) in [
            (&["extra=5ms"][..], "latency share=10% for=10s extra=5ms"),
            (&["share=1%", "for=1s"], "latency extra=2ms share=1% for=1s"),
            (&["at=3s"], "latency extra=2ms share=10% for=10s at=3s"),
            (&["pause", "for=1s"], "pause for=1s"),
        ] {
            let text = changed(&fault, keys);
            assert_eq!(text, expected);
            text.parse::<Fault>().unwrap();
        }
    }

    #[test]
    fn numbers_of_faults_begin_at_one() {
        assert_eq!(number_of("1"), Ok(0));
        for text in ["0", "-1", "65537", "one", ""] {
            assert!(number_of(text).is_err(), "{text}");
        }
    }
}
