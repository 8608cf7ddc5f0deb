//! The nervous system of a coding agent: facade over the innerve crates, and the guided tour.
