//! A volume over several drives: the arrangement of its data, and its capacity.

use super::bounds::SpecError;
use super::flash::SLOT;
use lanemark_schema::units::Bytes;

/// The default chunk of a stripe, which is the default of Linux (mdadm(8)).
pub const CHUNK: Bytes = Bytes::kibi(512);

/// The arrangement of several drives as one volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeSpec {
    /// Consecutive chunks of data are on consecutive drives.
    Stripe {
        /// Length of each chunk: a multiple of 4 KiB.
        chunk: Bytes,
    },
    /// Every drive contains all data.
    Mirror,
}

impl VolumeSpec {
    /// Returns the capacity of a volume over drives of these `capacities`.
    pub fn capacity(self, capacities: &[Bytes]) -> Bytes {
        let smallest = capacities.iter().copied().min().unwrap_or_default();
        match self {
            Self::Mirror => smallest,
            Self::Stripe { chunk } => {
                let chunks = smallest.get().checked_div(chunk.get()).unwrap_or(0);
                chunk * (chunks * capacities.len() as u64)
            }
        }
    }

    /// Checks the volume over drives of these `capacities`.
    pub(super) fn check(self, capacities: &[Bytes]) -> Result<(), SpecError> {
        let fail = |field, value: String, bound: String| Err(SpecError { field, value, bound });
        if capacities.len() < 2 {
            let bound = format!("a {self} needs at least two drives");
            return fail("volume", format!("{} drive", capacities.len()), bound);
        }
        if let Self::Stripe { chunk } = self {
            let smallest = capacities.iter().copied().min().unwrap_or_default();
            let slots = chunk > Bytes::ZERO && chunk.get().is_multiple_of(SLOT.get());
            if !slots || chunk > smallest {
                let bound = format!("a multiple of {SLOT} up to {smallest}, the smallest drive");
                return fail("volume.chunk", chunk.to_string(), bound);
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for VolumeSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stripe { chunk } => write!(f, "stripe of {chunk}"),
            Self::Mirror => write!(f, "mirror"),
        }
    }
}
