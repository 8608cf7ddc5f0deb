//! The Glob tool.
