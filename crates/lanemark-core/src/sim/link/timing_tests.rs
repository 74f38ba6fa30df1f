//! Links as stations: what waits for what, to the picosecond, and what training anew changes.

use super::*;

const BLOCK: Bytes = Bytes::kibi(4);
const WHOLE: Place = Place { first: true, last: true };
const START: Instant = Instant::ZERO;

fn link(law: LinkLaw, speed: u32, retrain: Option<(Instant, LinkLaw)>) -> Link {
    let (name, latency) = (String::new(), Duration::ZERO);
    Link::new(&LinkSpec { name, law, latency, retrain, speed })
}

fn pcie(lanes: u32) -> LinkLaw {
    LinkLaw::Pcie(Pcie::new(PcieGeneration::Three, lanes, Bytes(128), Bytes(512)))
}

fn sata(rate: SataRate) -> LinkLaw {
    LinkLaw::Sata(Sata::new(rate, SataCommands::Queued))
}

fn sas(rate: SasRate, phys: u32) -> LinkLaw {
    LinkLaw::Sas(Sas::new(rate, phys).kept_open())
}

fn here(now: Instant) -> Span {
    Span { start: now, end: now }
}

fn read(link: &mut Link, now: Instant) -> Instant {
    link.carry_read(now, here(now), BLOCK, WHOLE).end
}

fn write(link: &mut Link, now: Instant) -> Instant {
    link.carry_write(now, here(now), BLOCK, WHOLE).end
}

/// How long a read and a write of 4 KiB take an idle link of `law`.
fn alone(law: LinkLaw) -> (Duration, Duration) {
    let (mut one, mut other) = (link(law, 1, None), link(law, 1, None));
    (read(&mut one, START).since(START), write(&mut other, START).since(START))
}

#[test]
fn the_same_direction_waits_and_over_sata_the_other_too() {
    for law in [pcie(4), sata(SataRate::Gen3), sas(SasRate::Gen3, 1)] {
        let (reads, writes) = alone(law);
        let mut one = link(law, 1, None);
        read(&mut one, START);
        assert_eq!(read(&mut one, START), START + reads * 2, "{law}");
        // An idle gap is not made up for.
        let later = START + reads * 5;
        assert_eq!(read(&mut one, later), later + reads, "{law}");
        let mut one = link(law, 1, None);
        read(&mut one, START);
        let back = one.to_drive.free_at().since(START);
        let behind = write(&mut one, START).since(START);
        match law {
            LinkLaw::Sata(_) => assert_eq!(behind, reads + writes),
            // What acknowledges the read goes before it.
            _ => assert_eq!(behind, back + writes, "{law}"),
        }
    }
}

#[test]
fn times_are_those_of_the_law() {
    let LinkLaw::Pcie(law) = pcie(4) else { unreachable!() };
    assert_eq!(
        alone(pcie(4)).0,
        law.post_time(BLOCK) + law.write_time(Bytes(16)) + law.write_time(Bytes(4))
    );
    assert_eq!(alone(pcie(4)).1, law.fetch_time(BLOCK));
    let LinkLaw::Sata(law) = sata(SataRate::Gen2) else { unreachable!() };
    let (reads, writes) = alone(sata(SataRate::Gen2));
    assert_eq!(reads, law.read_data_time(BLOCK, true) + law.read_completion_time());
    assert_eq!(writes, law.write_data_time(BLOCK, true) + law.completion_time());
    let LinkLaw::Sas(law) = sas(SasRate::Gen3, 1) else { unreachable!() };
    let (reads, writes) = alone(sas(SasRate::Gen3, 1));
    assert_eq!(reads, law.read_data_time(BLOCK) + law.response_behind_data_time());
    assert_eq!(writes, law.write_data_time(BLOCK));
}

#[test]
fn each_phy_of_a_port_carries_a_transfer_of_its_own() {
    let (reads, _) = alone(sas(SasRate::Gen3, 2));
    let mut wide = link(sas(SasRate::Gen3, 2), 1, None);
    let ends = [(); 4].map(|()| read(&mut wide, START));
    assert_eq!(ends, [reads, reads, reads * 2, reads * 2].map(|time| START + time));
}

#[test]
fn the_first_burst_and_the_last_cost_what_only_they_have() {
    let law = sata(SataRate::Gen3);
    let LinkLaw::Sata(own) = law else { unreachable!() };
    let time = |first, last| {
        let place = Place { first, last };
        link(law, 1, None).carry_read(START, here(START), BLOCK, place).end.since(START)
    };
    assert_eq!(
        time(true, false) - time(false, false),
        own.read_data_time(BLOCK, true) - own.read_data_time(BLOCK, false)
    );
    assert_eq!(time(false, true) - time(false, false), own.read_completion_time());
    // The same question in another place has another answer on one link too.
    let mut one = link(law, 1, None);
    for (first, last) in [(true, false), (false, false), (false, false), (false, true)] {
        let free = one.free_at();
        let end = one.carry_read(free, here(free), BLOCK, Place { first, last }).end;
        assert_eq!(end.since(free), time(first, last));
    }
}

#[test]
fn twice_the_speed_is_half_the_time() {
    for law in [pcie(4), sata(SataRate::Gen3), sas(SasRate::Gen3, 1)] {
        let (reads, writes) = alone(law);
        assert_eq!(read(&mut link(law, 2, None), START).since(START), reads / 2, "{law}");
        assert_eq!(write(&mut link(law, 2, None), START).since(START), writes / 2, "{law}");
    }
}

#[test]
fn a_link_that_has_trained_anew_is_the_new_link_from_then_on() {
    let later = START + Duration::from_microseconds(1_000);
    let before = Instant::from_picoseconds(later.picoseconds() - 1);
    for (old, new) in [
        (pcie(4), pcie(1)),
        (pcie(1), pcie(2)),
        (sata(SataRate::Gen3), sata(SataRate::Gen1)),
        (sas(SasRate::Gen3, 1), sas(SasRate::Gen1, 1)),
    ] {
        let trained = || {
            // The old law has answered all that will be asked again.
            let mut link = link(old, 1, Some((later, new)));
            read(&mut link, START);
            write(&mut link, START);
            link.charge_issue(START, Bytes(64), 1);
            link.issue_frames(START, Operation::Read);
            link
        };
        let (mut one, mut fresh) = (trained(), link(new, 1, None));
        for step in [read, write, read] {
            let (seen, expected) = (step(&mut one, later), step(&mut fresh, later));
            assert_eq!(seen, expected, "{old} that is {new} now");
        }
        one.charge_issue(later, Bytes(64), 1);
        fresh.charge_issue(later, Bytes(64), 1);
        assert_eq!(one.to_drive.free_at(), fresh.to_drive.free_at(), "{old} that is {new} now");
        assert_eq!(one.to_host.free_at(), fresh.to_host.free_at(), "{old} that is {new} now");
        // Whatever comes a picosecond before goes as it always did.
        let (reads, writes) = alone(old);
        assert_eq!(read(&mut trained(), before).since(before), reads);
        assert_eq!(write(&mut trained(), before).since(before), writes);
        assert_eq!(write(&mut trained(), later).since(later), alone(new).1);
    }
}
