//! Random strings and last names (TPC-C 5.11, clauses 4.3.2.2 to 4.3.2.7).

use lanemark_schema::rng::Rng;

/// The 64 characters of random strings, so that six bits select a character.
const SIGNS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+";

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Draws a whole number from `min` to `max`, inclusive.
pub(crate) fn between(rng: &mut Rng, min: i64, max: i64) -> i64 {
    debug_assert!(min <= max);
    min + rng.below((max - min + 1) as u64) as i64
}

/// Draws a string of `min` to `max` letters and digits.
pub(crate) fn letters(rng: &mut Rng, min: i64, max: i64) -> String {
    let mut text = vec![0; between(rng, min, max) as usize];
    for ten in text.chunks_mut(10) {
        let mut bits = rng.next_u64();
        for sign in ten {
            *sign = SIGNS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
    // All characters are ASCII, so the conversion cannot fail.
    String::from_utf8(text).unwrap_or_default()
}

pub(crate) fn digits(rng: &mut Rng, length: usize) -> String {
    (0..length).map(|_| char::from(b'0' + rng.below(10) as u8)).collect()
}

/// Draws a zip code: four digits, followed by 11111.
pub(crate) fn zip(rng: &mut Rng) -> String {
    digits(rng, 4) + "11111"
}

/// Draws the data of an item or of stock: 26 to 50 characters, one in ten with ORIGINAL at a random offset.
pub(crate) fn data(rng: &mut Rng) -> String {
    let mut text = letters(rng, 26, 50);
    if rng.below(10) == 0 {
        let at = rng.below((text.len() - 8 + 1) as u64) as usize;
        text.replace_range(at..at + 8, "ORIGINAL");
    }
    text
}

/// Returns the last name for a number below 1,000.
pub fn last_name(number: i64) -> String {
    let syllable = |digit: i64| SYLLABLES[digit.rem_euclid(10) as usize];
    [syllable(number / 100), syllable(number / 10), syllable(number)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::rng::StreamKey;

    #[test]
    fn last_names_match_the_specification() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(0), "BARBARBAR");
    }

    #[test]
    fn one_datum_of_ten_is_original() {
        let mut rng = Rng::new(StreamKey::from_seed(1));
        let found = (0..20_000).filter(|_| data(&mut rng).contains("ORIGINAL")).count();
        assert!((1_850..2_150).contains(&found), "{found}");
    }

    #[test]
    fn texts_have_every_length_and_no_other() {
        let mut rng = Rng::new(StreamKey::from_seed(2));
        let mut lengths = [false; 18];
        (0..1_000).for_each(|_| lengths[letters(&mut rng, 14, 17).len()] = true);
        assert_eq!(lengths.iter().position(|&length| length), Some(14));
        assert!(lengths[14..=17].iter().all(|&length| length));
    }
}
