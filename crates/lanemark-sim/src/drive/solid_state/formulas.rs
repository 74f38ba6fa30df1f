//! The analytic model of flash: the demands on its channels and dies, and changes that make them faster.

use crate::drive::formulas::{MediaDemand, MediumFormulas};
use crate::engine::station::Demand;
use crate::spec::{
    DieSpec, DriveCondition, FlashSpec, PseudoSlcSpec, SLOT, SuspendSpec, TranslationSpec,
};
use lanemark_schema::result::HopId;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;

impl MediumFormulas for FlashSpec {
    fn demands(&self, test: &Test) -> Vec<MediaDemand> {
        vec![channels(self, test), dies(self, test)]
    }

    fn name(&self, alone: bool) -> &'static str {
        if alone { "flash dies" } else { "dies" }
    }

    fn has_channels(&self) -> bool {
        true
    }

    fn double_channels(&mut self) {
        self.channel_rate.0 = self.channel_rate.0.saturating_mul(2);
        self.command_time = self.command_time / 2;
    }

    fn double_media(&mut self) {
        // All values are named, so that adding a value is a compile error here. `demands` must also account for the new
        // value.
        let Self {
            technology: _,
            channels: _,
            dies_per_channel: _,
            planes: _,
            page: _,
            pages_per_block: _,
            blocks_per_plane: _,
            read,
            program,
            erase,
            channel_rate: _,
            command_time: _,
            die,
            translation,
            condition: _,
            filled: _,
            cycles: _,
        } = self;
        let DieSpec { independent_planes: _, cache_read: _, cache_program: _, suspend } = die;
        let TranslationSpec {
            idle_after: _,
            map: _,
            pseudo_slc,
            compression: _,
            beside_collection: _,
        } = translation;
        (*read, *program) = (read.halved(), program.halved());
        *erase = *erase / 2;
        if let Some(PseudoSlcSpec {
            capacity: _,
            growth: _,
            read,
            program,
            fold_when_full: _,
            emptied_when_idle: _,
        }) = pseudo_slc
        {
            (*read, *program) = (*read / 2, *program / 2);
        }
        if let Some(SuspendSpec { enter, resume }) = suspend {
            (*enter, *resume) = (*enter / 2, *resume / 2);
        }
    }
}

/// Returns the number of flash operations of a request: the minimum number of units that the request touches.
fn operations(flash: &FlashSpec, test: &Test) -> u64 {
    test.block.get().div_ceil(flash.unit().get())
}

fn channels(flash: &FlashSpec, test: &Test) -> MediaDemand {
    let busy = flash.command_time * operations(flash, test) + test.block / flash.channel_rate;
    // A write occupies whole slots; small writes share a unit and its command.
    let written = Bytes(test.block.get().next_multiple_of(SLOT.get())) / flash.channel_rate;
    MediaDemand {
        id: HopId::Channels,
        name: "flash channels",
        formula: format!("{} channels of {}", flash.channels, flash.channel_rate),
        demand: Demand { read: busy, write: written },
        servers: flash.channels.into(),
        latency: None,
    }
}

fn dies(flash: &FlashSpec, test: &Test) -> MediaDemand {
    let unit = flash.unit();
    let count = operations(flash, test);
    let (sense, programmed) = array_times(flash, test);
    let read = (flash.command_time + sense) * count + test.block / flash.channel_rate;
    let program = flash.command_time + unit / flash.channel_rate + programmed;
    let written = test.block.get().next_multiple_of(SLOT.get());
    let mut write = program.scaled(written, unit.get());
    if let Some(share) = flash.translation.beside_collection
        && !test.is_in_order()
    {
        let moved = (flash.moving_time(share) + unit * 2 / flash.channel_rate).as_seconds();
        let units = written as f64 / unit.get() as f64 * (1.0 / share.get() - 1.0);
        write += Duration::from_picoseconds((moved * units * 1e12) as u64);
    }
    MediaDemand {
        id: HopId::Media,
        name: flash.name(true),
        formula: format!(
            "{} dies, units of {unit}, {sense} to read, {programmed} to program",
            flash.dies(),
        ),
        demand: Demand { read, write },
        servers: flash.dies(),
        latency: Some(sense),
    }
}

/// Returns the times that the array takes to read and to program. If the pseudo-SLC cache covers the test's span, these
/// are the times of the cache.
fn array_times(flash: &FlashSpec, test: &Test) -> (Duration, Duration) {
    let holds_all = |cache: &&PseudoSlcSpec| test.span_end() <= cache.capacity + cache.growth;
    let cache = flash.translation.pseudo_slc.as_ref().filter(holds_all);
    match cache.filter(|_| flash.condition == DriveCondition::Fresh) {
        Some(cache) => (cache.read, cache.program),
        None => (flash.read.mean(), flash.program.mean()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::DriveSpec;
    use lanemark_schema::units::Ratio;
    use lanemark_schema::workload::Pattern;

    fn writes(pattern: Pattern, block: Bytes) -> Test {
        Test::of_blocks(block).with(|requests| requests.pattern = pattern)
    }

    /// A die programs the host's data and, for each unit of this data, the number of moved units that the write
    /// amplification requires.
    #[test]
    fn measured_collection_takes_the_dies_for_every_moved_unit() {
        let drive = DriveSpec::example();
        let plain = drive.flash();
        let unit = plain.unit();
        let moved = |share: Ratio| plain.moving_time(share) + unit * 2 / plain.channel_rate;
        let of = |share: Option<Ratio>, test: &Test| {
            let mut flash = plain.clone();
            flash.translation.beside_collection = share;
            dies(&flash, test).demand
        };
        for (share, moved_units) in [(0.5, 1.0), (0.25, 3.0), (0.1, 9.0), (1.0, 0.0)] {
            let share = Ratio::new(share).unwrap();
            for block in [Bytes::kibi(4), unit, unit * 4] {
                let units = block.get() as f64 / unit.get() as f64;
                let test = writes(Pattern::Uniform, block);
                let without = of(None, &test);
                let with = of(Some(share), &test);
                let more = with.write.as_seconds() - without.write.as_seconds();
                let wanted = moved(share).as_seconds() * units * moved_units;
                assert!((more - wanted).abs() < 1e-11, "{share} of {block}: {more} for {wanted}");
                assert_eq!(with.read, without.read);
            }
            // Sequential writes leave no valid data to move.
            let ordered = writes(Pattern::Sequential, unit);
            let times = |share| (of(share, &ordered).read, of(share, &ordered).write);
            assert_eq!(times(Some(share)), times(None));
        }
    }
}
