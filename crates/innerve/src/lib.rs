//! The libraries of innerve under one name, and the guided tour through them.
#![doc = include_str!("../README.md")]

/// Reads bash and never runs it.
pub use innerve_bash as bash;

/// Decides whether a tool use may run.
pub use innerve_permission as permission;

/// The wire words: messages, content blocks, stream events.
pub use innerve_protocol as protocol;

/// Keeps results from flooding a conversation.
pub use innerve_budget as budget;

/// What a tool is, and the ports through which it reaches the world.
pub use innerve_tool as tool;

/// One tool use from request to result: the fourteen steps.
pub use innerve_pipeline as pipeline;

/// Settings files and the real path facts.
pub use innerve_settings as settings;

/// The built-in tools, the real file system and process runner.
pub use innerve_builtins as builtins;

/// The model port and its providers.
pub use innerve_model as model;

/// The agent loop.
pub use innerve_agent as agent;
