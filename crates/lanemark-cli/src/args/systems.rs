//! The notation of systems.

/// The notation of a system, for the help of commands that take a system.
const SYSTEMS: &str = "\
Systems:
  DRIVE@PLATFORM:PORT              one drive in a port
  DRIVE@PLATFORM:PORT|PORT         one drive, connected through both of its ports
  DRIVE@PLATFORM:PORT+PORT         two drives, which both run the test
  DRIVE@PLATFORM:PORT+OTHER:PORT   two different drives
  stripe-64KiB:DRIVE@PLATFORM:PORT+PORT   all drives as one volume, striped in chunks of 64 KiB
                                   (stripe: means 512 KiB)
  mirror:DRIVE@PLATFORM:PORT+PORT  all drives as one volume, mirrored";

/// Returns the notation of systems, followed by the examples of a command.
pub(super) fn with_systems(examples: &str) -> String {
    format!("{SYSTEMS}\n\n{examples}")
}
