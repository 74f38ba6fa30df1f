//! The memory that a result file needs, estimated before the file is read. A latency histogram takes 300 KB in memory,
//! but may take only 60 bytes in a file.
//!
//! Every histogram that the reader accepts is either an object with `bins`, or an array of its fields in order, which
//! contains numbers and arrays. Lanemark never writes such an array. Therefore these arrays are rejected, and the
//! objects are counted.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::error::LabError;

/// The maximum number of histograms in a file, which take 5 GB in memory. A grid of 7 depths by 7 threads, with five
/// repeats that read and write, has 490 histograms.
pub const HISTOGRAMS_MAX: usize = 16_384;

/// Checks that `text` contains up to `most` histograms. Error messages call the text `name`. Text that is not JSON is
/// accepted here, because the reader reports it.
///
/// # Errors
/// Returns an error if the text contains too many histograms, or arrays that a result cannot contain.
pub fn check(name: &str, text: &str, most: usize) -> Result<(), LabError> {
    let mut seen = WalkCounts { histograms: 0, most, is_mixed: false };
    let mut reader = serde_json::Deserializer::from_str(text);
    let _ = JsonWeigher(&mut seen).deserialize(&mut reader);
    if seen.histograms > most {
        return Err(LabError::input(format!("{name} contains more than {most} latency samples"))
            .hint("a run contains fewer: use fewer results at a time"));
    }
    if seen.is_mixed {
        let message = format!(
            "{name} is a damaged Lanemark result: an array may contain only numbers and arrays"
        );
        return Err(LabError::input(message));
    }
    Ok(())
}

/// The counts of a walk through a JSON value.
struct WalkCounts {
    histograms: usize,
    most: usize,
    is_mixed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonKind {
    Number,
    Container,
    Other,
}

/// Walks through a value without storing it.
struct JsonWeigher<'s>(&'s mut WalkCounts);

impl<'de> DeserializeSeed<'de> for JsonWeigher<'_> {
    type Value = JsonKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonKind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonWeigher<'_> {
    type Value = JsonKind;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonKind, E> {
        Ok(JsonKind::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonKind, E> {
        Ok(JsonKind::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonKind, E> {
        Ok(JsonKind::Number)
    }

    fn visit_str<E>(self, _: &str) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_unit<E>(self) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonKind, A::Error> {
        let mut has_number = false;
        let mut has_container = false;
        while let Some(kind) = items.next_element_seed(JsonWeigher(&mut *self.0))? {
            has_number |= kind == JsonKind::Number;
            has_container |= kind == JsonKind::Container;
        }
        if has_number && has_container {
            self.0.is_mixed = true;
            return Err(A::Error::custom("mixed"));
        }
        Ok(JsonKind::Container)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<JsonKind, A::Error> {
        while let Some(key) = pairs.next_key::<String>()? {
            self.0.histograms += usize::from(key == "bins");
            if self.0.histograms > self.0.most {
                return Err(A::Error::custom("too many"));
            }
            pairs.next_value_seed(JsonWeigher(&mut *self.0))?;
        }
        Ok(JsonKind::Container)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_are_counted_however_they_are_written() {
        let of = |one: &str, count: usize| format!("{{\"all\": [{}]}}", vec![one; count].join(","));
        let words = |text: &str| check("it", text, 100).unwrap_err().message;
        for one in [r#"{"bins": [[1, 2]]}"#, r#"{"\u0062ins": []}"#] {
            assert_eq!(check("it", &of(one, 100), 100), Ok(()));
            assert!(words(&of(one, 101)).contains("more than 100 latency samples"));
        }
        assert!(words(&of("[0, 0.0, null, null, []]", 1)).contains("numbers and arrays"));
        // The reader reports text that is not JSON.
        for other in ["", "{", "[[1, 2], [3, 4]]", "[\"a\", [1]]", "null", "\u{0}"] {
            assert_eq!(check("it", other, 100), Ok(()), "{other}");
        }
    }

    #[test]
    fn a_small_file_that_would_take_the_memory_is_refused_before_it_is_read() {
        let samples = vec![r#"{"bins":[]}"#; HISTOGRAMS_MAX + 1].join(",");
        let text = format!(r#"{{"schema_version": 1, "workload": "w", "tests": [{samples}]}}"#);
        assert!(text.len() < 1 << 20, "less than 1 MiB");
        let error = crate::results::read_text("it", &text).err().unwrap();
        assert!(error.message.contains("more than 16384 latency samples"), "{}", error.message);
    }
}
