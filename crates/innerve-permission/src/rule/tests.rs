//! Tests of rule parsing.
