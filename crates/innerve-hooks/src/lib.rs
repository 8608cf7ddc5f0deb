//! Lifecycle hooks as commands and HTTP calls, behind the hook port of innerve-pipeline.
