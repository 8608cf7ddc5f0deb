//! `cargo xtask bench check`: a check under a thousand rules beside the same under ten.

use serde_json::Value;
use xshell::{Shell, cmd};

use super::analyze::{finish, report};
use crate::cargo::plain;
use crate::steps::Steps;

/// Builds the measuring program, runs it, and holds it to its bound.
pub(crate) fn check(shell: &Shell, steps: &mut Steps) {
    steps.run("bench check", || {
        let text = plain(cmd!(
            shell,
            "cargo run --quiet --release --package innerve-permission --example bench -- --json"
        ))
        .read()?;
        let rows: Value = serde_json::from_str(&text)?;
        let missed = report(rows.as_array().map_or(&[], Vec::as_slice));
        println!("{text}");
        finish(&missed)
    });
}
