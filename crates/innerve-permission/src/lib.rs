//! Decides whether a tool use may run: rules, modes, facts, resolve, explanations.
