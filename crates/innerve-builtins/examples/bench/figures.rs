//! What the measuring programs share: rows, times, and a call's context.

use std::error::Error;
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
