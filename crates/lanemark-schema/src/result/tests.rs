//! Requests in flight, and other small parts of results.

use super::*;

#[test]
fn only_requests_older_than_every_counted_one_are_older() {
    let us = Duration::from_microseconds;
    let ages = [us(5), us(10), us(11), us(30)];
    for (longest, older) in [(None, 4), (Some(us(4)), 4), (Some(us(10)), 2), (Some(us(30)), 0)] {
        let found = RequestsInFlight::from_ages(&ages, longest).unwrap();
        assert_eq!(found.older_than_counted, older, "{longest:?}");
        assert_eq!((found.requests, found.age_max, found.age_total), (4, us(30), us(56)));
    }
    assert_eq!(RequestsInFlight::from_ages(&[], Some(us(1))), None);
}
