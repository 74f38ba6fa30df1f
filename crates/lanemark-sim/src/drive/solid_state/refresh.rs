//! Background refresh of blocks that the host reads often, which delays some reads.
//!
//! A read weakly programs the other pages of its block (Cai et al., "Read disturb errors in MLC NAND flash memory:
//! characterization, mitigation, and recovery", DSN 2015), so a controller counts the reads of a block and rewrites the
//! block before the number of reads reaches a limit. Model: reads are spread evenly over the blocks of a die. A block
//! of P pages is moved after it has been read N times, so each read of a die moves P/N units on average. A moved unit
//! occupies its die for a read, a program and its share of erasing
//! ([`FlashSpec::moving_time`](crate::spec::FlashSpec::moving_time)), and the channel for two transfers of its data. At
//! the start, the dies differ in the number of reads until their next move.
//!
//! Not modelled: blocks that are read more often than others, blocks that are moved as a whole, and refresh of data
//! that was stored long ago.

use crate::engine::number::DieNumber;
use crate::spec::FlashSpec;
use lanemark_schema::units::{Duration, Ratio};

/// Refresh of blocks after a number of reads.
#[derive(Clone, Debug)]
pub(super) struct ReadRefresh {
    /// The time for which a moved unit occupies its die.
    pub(super) time: Duration,
    /// Number of reads after which a block is moved.
    reads: u32,
    pages: u32,
    /// For each die, `pages` for each read less `reads` for each moved unit.
    owed: Vec<u32>,
}

impl ReadRefresh {
    /// Returns the refresh of `flash`, if it has one.
    pub(super) fn from_flash(flash: &FlashSpec) -> Option<Self> {
        let reads = flash.translation.refresh_reads?;
        let owed = |die: u64| (u64::from(reads) * die / flash.dies()) as u32;
        Some(Self {
            time: flash.moving_time(Ratio::ZERO),
            reads,
            pages: flash.pages_per_block,
            owed: (0..flash.dies()).map(owed).collect(),
        })
    }

    /// Records a read of a die, and returns whether the die must now move a unit.
    pub(super) fn moves_after_read(&mut self, die: DieNumber) -> bool {
        let owed = &mut self.owed[usize::from(die)];
        *owed += self.pages;
        let moves = *owed >= self.reads;
        if moves {
            *owed -= self.reads;
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::DriveSpec;

    #[test]
    fn each_die_moves_its_share_and_the_dies_take_turns() {
        let mut flash = DriveSpec::example().flash().clone();
        assert!(ReadRefresh::from_flash(&flash).is_none());
        let reads = flash.pages_per_block * 7;
        flash.translation.refresh_reads = Some(reads);
        let mut refresh = ReadRefresh::from_flash(&flash).unwrap();
        let dies = flash.dies() as u32;
        for die in 0..dies {
            let moved: Vec<u32> =
                (0..7_000).filter(|_| refresh.moves_after_read(DieNumber(die))).collect();
            assert_eq!(moved.len(), 1_000, "die {die}");
            assert!(moved.windows(2).all(|two| two[1] - two[0] == 7), "die {die}");
            // The first units of the dies are spread over seven reads.
            assert_eq!(moved[0], 6 - 7 * die / dies, "die {die}");
        }
        assert!(dies > 1);
    }
}
