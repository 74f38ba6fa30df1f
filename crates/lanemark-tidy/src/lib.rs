//! The house rules of the tree. The test `tidy` of this crate compares manifests and sources with the tables of
//! ARCHITECTURE.md; the crate contains no code, and imports no other crate of the tree.
