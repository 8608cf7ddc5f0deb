//! Automation of the workspace: `cargo xtask ci|test|lint`.
fn main() {}
