//! The agent loop: streaming executor, sub-agents, session log, resume.
