//! What is read is written back.
