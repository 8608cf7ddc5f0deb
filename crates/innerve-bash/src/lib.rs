//! Reads bash and never runs it: every command, argv, redirection and effect, or Opaque.
