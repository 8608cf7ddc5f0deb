//! The agent of innerve for editors, over the Agent Client Protocol.
