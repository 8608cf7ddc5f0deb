//! What differs from run to run and machine to machine, and what snapshots show in its place.

/// Patterns and what stands for them: paths, identifiers, times, in the order in which they are replaced.
pub const REDACTIONS: &[(&str, &str)] = &[
    (r"All of it is in: \S+", "All of it is in: [file]"),
    (r"\S*/innerve-tour-\w+", "[scratch]"),
    (r"\S*/innerve-world-\w+/work", "[project]"),
    (r"\S*/innerve-world-\w+", "[world]"),
    (r"\b\d{8}-\d{6}-[a-z0-9]+\b", "[session]"),
    (r" \d+\.\d s\b", " [time]"),
    (r" +\d+ µs", " [time]"),
];
