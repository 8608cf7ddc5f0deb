//! The model port of innerve, with Anthropic, OpenAI-compatible and replay providers.
