//! MCP servers as tools of innerve, and innerve as an MCP server.
