//! The innerve program.
fn main() {}
