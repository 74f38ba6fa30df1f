//! A hash table with numbers as keys: open addressing with linear probing. The table does not offer an iteration order
//! on which results could depend.
//!
//! The table is for the few objects in flight: units that are being stored, and pages of the map in memory. A removal
//! leaves no tombstone; later entries move up. (Knuth, The Art of Computer Programming 3, section 6.4, algorithm R.)

const VACANT: u32 = u32::MAX;
const PLACES_MIN: usize = 16;

/// Values whose keys are numbers below `u32::MAX`.
#[derive(Clone, Debug)]
pub(crate) struct HashTable<V> {
    keys: Vec<u32>,
    values: Vec<V>,
    used: usize,
}

impl<V: Default> HashTable<V> {
    pub(crate) fn new() -> Self {
        Self::with_places(PLACES_MIN)
    }

    fn with_places(places: usize) -> Self {
        let values = (0..places).map(|_| V::default()).collect();
        Self { keys: vec![VACANT; places], values, used: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Returns the keys of all values in ascending order.
    pub(crate) fn keys(&self) -> Vec<u32> {
        let mut keys: Vec<u32> = self.keys.iter().copied().filter(|&key| key != VACANT).collect();
        keys.sort_unstable();
        keys
    }

    fn home(&self, key: u32) -> usize {
        let bits = self.keys.len().trailing_zeros();
        (key.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
    }

    /// Returns the position of `key`, or the vacant position in which it would be stored.
    #[inline]
    fn find(&self, key: u32) -> usize {
        let mask = self.keys.len() - 1;
        let mut place = self.home(key);
        while self.keys[place] != key && self.keys[place] != VACANT {
            place = (place + 1) & mask;
        }
        place
    }

    #[inline]
    pub(crate) fn contains(&self, key: u32) -> bool {
        self.keys[self.find(key)] == key
    }

    #[inline]
    pub(crate) fn get(&self, key: u32) -> Option<&V> {
        let place = self.find(key);
        (self.keys[place] == key).then(|| &self.values[place])
    }

    /// Returns the value of `key`, for modification.
    pub(crate) fn get_mut(&mut self, key: u32) -> Option<&mut V> {
        let place = self.find(key);
        (self.keys[place] == key).then(|| &mut self.values[place])
    }

    /// Stores `value` under `key`, and replaces the previous value.
    pub(crate) fn insert(&mut self, key: u32, value: V) {
        debug_assert_ne!(key, VACANT);
        let place = self.find(key);
        if self.keys[place] == VACANT {
            self.used += 1;
            if self.used * 2 > self.keys.len() {
                self.grow();
                return self.insert_again(key, value);
            }
            self.keys[place] = key;
        }
        self.values[place] = value;
    }

    fn insert_again(&mut self, key: u32, value: V) {
        let place = self.find(key);
        self.keys[place] = key;
        self.values[place] = value;
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Self::with_places(self.keys.len() * 2);
        let smaller = std::mem::replace(self, Self { used: self.used, ..larger });
        for (key, value) in smaller.keys.into_iter().zip(smaller.values) {
            if key != VACANT {
                self.insert_again(key, value);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: u32) -> Option<V> {
        let mut vacant = self.find(key);
        if self.keys[vacant] != key {
            return None;
        }
        self.used -= 1;
        let value = std::mem::take(&mut self.values[vacant]);
        let mask = self.keys.len() - 1;
        let mut place = vacant;
        loop {
            place = (place + 1) & mask;
            if self.keys[place] == VACANT {
                self.keys[vacant] = VACANT;
                return Some(value);
            }
            // An entry whose home is after the vacant position does not move.
            let home = self.home(self.keys[place]);
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(vacant) & mask {
                self.keys[vacant] = self.keys[place];
                self.values.swap(vacant, place);
                vacant = place;
            }
        }
    }
}

impl<V: Default> Default for HashTable<V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((any::<bool>(), 0u32..80, any::<u16>()), 0..600)) {
            let mut table = HashTable::new();
            let mut expected = BTreeMap::new();
            for (inserts, key, value) in steps {
                // Keys with the same home position collide.
                let key = key * 0x0100_0000 / 3;
                if inserts {
                    table.insert(key, value);
                    expected.insert(key, value);
                } else {
                    prop_assert_eq!(table.remove(key), expected.remove(&key));
                }
                prop_assert_eq!(table.len(), expected.len());
                prop_assert!(table.keys().iter().eq(expected.keys()));
                prop_assert!(expected.iter().all(|(&key, value)| table.get(key) == Some(value)));
            }
        }
    }
}
