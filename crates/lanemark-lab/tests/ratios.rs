//! The 80% intervals of ratios contain 80% of the true ratios, if the truth comes from the ranges of the model.

use lanemark_lab::interval::{DRAWS, DrawnSystem};
use lanemark_lab::{Lab, assemble};
use lanemark_schema::result::SIDES_80;
use lanemark_schema::result::{ChangeKind, DrawnRates, RequestGroup, omitted_factor};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::workload::Test;
use lanemark_study::Library;

const SYSTEMS: [&str; 4] = [
    "samsung-990-pro-2tb@data-sheet:pcie",
    "samsung-980-pro-1tb@workstation-x570:m2",
    "samsung-980-pro-1tb@workstation-x570:m2-3",
    "samsung-850-pro-1tb@workstation-x570:sata",
];

fn rates(library: &Library, name: &str, seed: u64) -> DrawnRates {
    let test = Test::random_read("4 KiB").span("8 GiB").duration("100 ms").build().unwrap();
    let subject = DrawnSystem { library, name, settings: &[], ranges: &[] };
    assert!(assemble(library, name, &[]).is_ok());
    let predicted = [(test.into_test(), 15_000.0)];
    let mut tests = Lab::default().drawn_rates(&subject, &predicted, seed).unwrap();
    tests.remove(0).rates.unwrap()
}

/// A pair of draws serves as the truth for the interval from all other draws. `make validate` computes the same
/// coverage from all pairs of the corpus.
#[test]
fn intervals_of_ratios_cover_eight_of_ten_truths_of_the_model() {
    let library = Library::built_in();
    let omitted = omitted_factor(&[ChangeKind::Drive], RequestGroup::Plain, 1.0);
    let mut rng = Rng::new(StreamKey::from_seed(53));
    let mut covered = 0;
    let mut all = 0;
    for seed in 1..=6 {
        let drawn = SYSTEMS.map(|name| rates(&library, name, seed));
        for (first, one) in drawn.iter().enumerate() {
            for two in &drawn[first + 1..] {
                for pair in 0..DRAWS / 2 {
                    let estimate =
                        one.without_pair(pair).ratio_to(&two.without_pair(pair), 1.0, omitted);
                    let (low, high) = estimate.interval_80().unwrap();
                    for draw in [2 * pair, 2 * pair + 1] {
                        let effect = omitted.ln() / SIDES_80 * rng.normal();
                        let truth =
                            two.log_ratio(draw).unwrap() - one.log_ratio(draw).unwrap() + effect;
                        covered += i32::from(low.ln() <= truth && truth <= high.ln());
                        all += 1;
                    }
                }
            }
        }
    }
    let share = f64::from(covered) / f64::from(all);
    assert!((0.77..=0.83).contains(&share), "{share} of {all}");
}
