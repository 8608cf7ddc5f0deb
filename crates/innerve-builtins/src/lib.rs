//! The built-in tools of innerve: Bash, Read, Edit, Write, Grep, Glob, Agent.
