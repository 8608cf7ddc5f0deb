//! The Grep tool.
