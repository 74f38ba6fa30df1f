//! The machine on which a measurement ran, according to `/proc` and `uname`.
//!
//! Values that cannot be read are `"unknown"` or zero and not errors, because a measurement is useful even if the model
//! name of the machine is not known.

use std::fs;
use std::thread;

use lanemark_schema::result::Machine;
use lanemark_schema::units::Bytes;

/// Returns the machine that runs this program.
pub fn machine() -> Machine {
    let uname = rustix::system::uname();
    Machine {
        cpu: cpu(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        cores: thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
        memory_bytes: Bytes(memory("MemTotal").unwrap_or(0)),
        kernel: format!(
            "{} {}",
            uname.sysname().to_string_lossy(),
            uname.release().to_string_lossy()
        ),
        host: Some(uname.nodename().to_string_lossy().into_owned()).filter(|name| !name.is_empty()),
    }
}

/// Returns the memory in bytes that is available for new buffers, if the kernel reports it.
pub(crate) fn memory_available() -> Option<u64> {
    memory("MemAvailable")
}

fn memory(field: &str) -> Option<u64> {
    memory_field(&fs::read_to_string("/proc/meminfo").ok()?, field)
}

/// Returns the value of a line such as `MemTotal: 32871348 kB` in bytes; in this file, a kB is 1,024 bytes.
fn memory_field(meminfo: &str, field: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the model name, which is the field `model name` on x86, and `Hardware` or `cpu` on other processors.
fn cpu(cpuinfo: &str) -> String {
    let field_named = |wanted: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == wanted && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    };
    ["model name", "Hardware", "cpu"]
        .into_iter()
        .find_map(field_named)
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_cores_memory_and_a_kernel() {
        let machine = machine();
        assert!(machine.cores > 0 && machine.memory_bytes > Bytes::mebi(64), "{machine:?}");
        assert!(machine.kernel.starts_with("Linux "), "{machine:?}");
        assert!(!machine.cpu.is_empty());
    }

    #[test]
    fn a_processor_without_a_name_is_unknown() {
        assert_eq!(cpu("processor : 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC");
        assert_eq!(cpu("processor : 0\nBogoMIPS : 50.00\n"), "unknown");
    }

    #[test]
    fn memory_is_read_in_kibibytes() {
        assert_eq!(memory_field("MemTotal:       1000 kB\n", "MemTotal"), Some(1_024_000));
        assert_eq!(memory_field("MemTotal: many\n", "MemTotal"), None);
    }
}
