//! What the measuring programs share: rows, the memory of this process, and a call's context.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use innerve_permission::PermissionMode;
use innerve_tool::{CallContext, CancellationToken, Reporter, SessionView, Silent};
use serde_json::{Value, json};

/// One measured quantity.
pub(crate) struct Row {
    name: String,
    samples: Vec<f64>,
    unit: &'static str,
    /// The most it may be.
    bound: Option<f64>,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, samples: Vec<f64>, unit: &'static str) -> Self {
        Self { name: name.into(), samples, unit, bound: None }
    }

    pub(crate) fn at_most(mut self, bound: f64) -> Self {
        self.bound = Some(bound);
        self
    }
}

/// Prints the rows as `cargo xtask bench` reads them.
pub(crate) fn print(rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let rows = rows.iter().map(|row| {
        json!({ "name": row.name, "samples": row.samples, "unit": row.unit, "bound": row.bound })
    });
    writeln!(io::stdout().lock(), "{}", Value::Array(rows.collect()))?;
    Ok(())
}

/// The milliseconds since then.
pub(crate) fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// By how many megabytes the memory of this process was larger at its peak than before (Linux, proc(5)); `NaN` where
/// that cannot be told.
pub(crate) async fn memory_growth<T>(work: impl Future<Output = T>) -> (f64, T) {
    let reset = fs::write("/proc/self/clear_refs", "5");
    let before = kilobytes("VmRSS");
    let done = work.await;
    let peak = kilobytes("VmHWM");
    let growth = match (reset, before, peak) {
        (Ok(()), Some(before), Some(peak)) => (peak - before) / 1e3,
        _ => f64::NAN,
    };
    (growth, done)
}

fn kilobytes(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The context of a call in this directory.
pub(crate) fn context<P>(cwd: &Path) -> CallContext<P> {
    CallContext {
        tool_use_id: "toolu_01".into(),
        cwd: cwd.to_owned(),
        cancellation: CancellationToken::new(),
        progress: Reporter::new("toolu_01".into(), Arc::new(Silent)),
        session: Arc::new(SessionView {
            session_id: "session".into(),
            agent_id: None,
            depth: 0,
            mode: PermissionMode::Default,
            original_cwd: cwd.to_owned(),
            additional_directories: Vec::new(),
            home: cwd.to_owned(),
            tools: Vec::new(),
        }),
    }
}
