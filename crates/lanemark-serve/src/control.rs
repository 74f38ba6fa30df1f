//! The commands that a control socket accepts, as text.

use lanemark_schema::workload::Fault;

use crate::registry::READING;

/// A command to a running server.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlCommand {
    /// Prints the figures.
    Status,
    /// Prints the counters as JSON, for a measurement of the served system.
    Reading,
    /// Ends the server.
    Stop,
    /// Injects a fault. Its time is measured from the command.
    AddFault(Fault),
    ListFaults,
    /// Ends all faults that can end.
    ClearAll,
    /// Ends the fault with this index.
    ClearFault(u16),
    /// Replaces the fault with this index. The words are keys of a fault, or describe a new fault.
    ChangeFault(u16, Vec<String>),
}

impl ControlCommand {
    /// Parses the words of a command.
    ///
    /// # Errors
    /// Returns a message that names the wrong word.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["status"] => Ok(Self::Status),
            [READING] => Ok(Self::Reading),
            ["stop"] => Ok(Self::Stop),
            ["power-cut"] => Ok(Self::AddFault("power-cut boot=1s".parse()?)),
            ["power-cut", boot] => Ok(Self::AddFault(format!("power-cut boot={boot}").parse()?)),
            ["fault", "list"] => Ok(Self::ListFaults),
            ["fault", "clear", "all"] => Ok(Self::ClearAll),
            ["fault", "clear", number] => Ok(Self::ClearFault(index_of(number)?)),
            ["fault", "change", number, ref keys @ ..] if !keys.is_empty() => {
                let keys = keys.iter().map(|&key| key.to_owned()).collect();
                Ok(Self::ChangeFault(index_of(number)?, keys))
            }
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
            ["fault", ref fault @ ..] => Ok(Self::AddFault(fault.join(" ").parse()?)),
            [] | [..] => {
                let command = words.first().unwrap_or(&"");
                Err(format!("`{command}`: expected status, fault, power-cut, reading or stop"))
            }
        }
    }
}

/// Parses the number of a fault. Users count faults from 1.
fn index_of(text: &str) -> Result<u16, String> {
    let index = text.parse::<u16>().ok().and_then(|number| number.checked_sub(1));
    index.ok_or_else(|| {
        format!("`{text}` is not the number of a fault; `fault list` prints the numbers")
    })
}

/// Returns the words of a fault's text, without its time.
pub fn words_without_time(fault: &str) -> Vec<String> {
    fault.split(' ').filter(|word| !word.starts_with("at=")).map(str::to_owned).collect()
}

/// Returns the text of a fault in which the keys in `keys` are replaced. If the first word is a kind of fault, `keys`
/// describe a new fault.
pub fn changed_fault(fault: &Fault, keys: &[String]) -> String {
    if !keys.first().is_some_and(|word| word.contains('=')) {
        return keys.join(" ");
    }
    let key = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let mut words = words_without_time(&fault.to_string());
    words.retain(|word| !word.contains('=') || keys.iter().all(|given| key(given) != key(word)));
    words.extend_from_slice(keys);
    words.join(" ")
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
            let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
            let text = changed_fault(&fault, &keys);
            assert_eq!(text, expected);
            text.parse::<Fault>().unwrap();
        }
    }

    #[test]
    fn numbers_of_faults_begin_at_one() {
        assert_eq!(ControlCommand::parse("fault clear 1"), Ok(ControlCommand::ClearFault(0)));
        for text in ["0", "-1", "65537", "one"] {
            assert!(ControlCommand::parse(&format!("fault clear {text}")).is_err(), "{text}");
        }
    }
}
