//! The Agent tool.
