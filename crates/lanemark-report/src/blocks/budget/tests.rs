//! Tests of time budgets as text.

use lanemark_schema::units::BytesPerSecond;

use super::*;

fn hop(
    place: u8,
    name: &str,
    utilisation: f64,
    ceiling: u64,
    wait_ns: f64,
    service_ns: f64,
) -> HopUse {
    HopUse {
        id: HopId::Link(place),
        name: name.to_owned(),
        utilisation,
        ceiling: Some(BytesPerSecond(ceiling * 1_000_000)).filter(|rate| rate.0 > 0),
        wait_ns,
        service_ns,
    }
}

#[test]
fn a_budget_is_the_mean_of_its_repeats() {
    let paths = [
        PathUse::new(vec![hop(0, "a", 0.2, 500, 10.0, 30.0), hop(1, "b", 0.6, 0, 5.0, 7.0)], 1),
        PathUse::new(Vec::new(), 1),
        PathUse::new(vec![hop(0, "a", 0.4, 700, 20.0, 50.0), hop(2, "a", 0.1, 900, 8.0, 4.0)], 1),
    ];
    let budget = Budget::of_paths(paths.iter()).unwrap();
    let shares: Vec<(String, f64, Option<f64>, f64, f64)> = budget
        .hops
        .iter()
        .map(|hop| {
            (hop.label(), hop.utilisation, hop.ceiling_megabytes, hop.wait_ns, hop.service_ns)
        })
        .collect();
    let [first, second, third] = &shares[..] else { panic!("{shares:?}") };
    assert_eq!((first.0.as_str(), first.2), ("a", Some(600.0)));
    assert!((first.1 - 0.3).abs() < 1e-12);
    assert_eq!((first.3, first.4), (15.0, 40.0));
    // A hop that is missing in one of two repeats counts as unused in that repeat.
    assert_eq!(*second, ("b".to_owned(), 0.3, None, 2.5, 3.5));
    assert_eq!(*third, ("a (2)".to_owned(), 0.05, Some(900.0), 4.0, 2.0));
    assert_eq!((budget.wait_ns(), budget.service_ns(), budget.total_ns()), (21.5, 45.5, 67.0));
    assert_eq!(budget.hops[0].total_ns(), 55.0);
    assert!(Budget::of_paths(paths[1..2].iter()).is_none());
    assert!(Budget::of_paths([].iter()).is_none());
}

#[test]
fn the_first_of_equally_busy_hops_is_the_busiest() {
    let busiest = |utilisations: &[f64]| {
        let hops = utilisations.iter().zip(0..);
        let hops = hops.map(|(&busy, place)| hop(place, &format!("h{place}"), busy, 0, 0.0, 1.0));
        let path = PathUse::new(hops.collect(), 1);
        Budget::of_paths(std::iter::once(&path)).unwrap().busiest().unwrap().name.clone()
    };
    assert_eq!(busiest(&[0.2, 0.7, 0.7, 0.1]), "h1");
    assert_eq!(busiest(&[0.8, 0.7]), "h0");
    assert_eq!(busiest(&[0.1, 0.7, 0.9]), "h2");
}
