//! The kit of the end-to-end tests.
