//! Serialization that is compiled in this crate only.
//!
//! Derived code is generic over the format, so every crate that saves or reads a result would compile it for the whole
//! tree of types again. The largest types are therefore written through trait objects of `erased-serde`, and read by
//! `from_json`, which is not generic. `Deserialize` remains for other formats; it compiles the tree again.

/// Implements `Serialize` and `Deserialize` of a type without generic parameters. The type derives both traits
/// with `#[serde(remote = "Self")]`, which makes the derived code two functions of the type.
macro_rules! written_once {
    ($name:ident) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                struct Derived<'a>(&'a $name);

                impl ::serde::Serialize for Derived<'_> {
                    fn serialize<S: ::serde::Serializer>(
                        &self,
                        serializer: S,
                    ) -> Result<S::Ok, S::Error> {
                        $name::serialize(self.0, serializer)
                    }
                }

                // Inlined into another crate, this function would compile all derived code there.
                #[inline(never)]
                fn erased<'a>(derived: &'a Derived<'a>) -> &'a dyn ::erased_serde::Serialize {
                    derived
                }

                ::erased_serde::serialize(erased(&Derived(self)), serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $name::deserialize(deserializer)
            }
        }
    };
}

/// Implements `from_json` and the traits of [`written_once`].
macro_rules! compiled_once {
    ($name:ident) => {
        $crate::saved_type::written_once!($name);

        impl $name {
            /// Reads the value from JSON.
            ///
            /// # Errors
            /// Returns an error with line and column if `text` is not JSON, or not of this type.
            #[inline(never)]
            pub fn from_json(text: &str) -> Result<Self, ::serde_json::Error> {
                ::serde_json::from_str(text)
            }
        }
    };
}

pub(crate) use {compiled_once, written_once};
