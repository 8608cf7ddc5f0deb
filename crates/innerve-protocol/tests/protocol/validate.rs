//! The rules of a transcript, each broken alone.
