//! The memory of this process.

use std::fs;

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
