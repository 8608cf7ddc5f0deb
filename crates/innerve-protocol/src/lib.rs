//! Wire words of a coding agent: messages, content blocks, stream events, assembler, normalize, validate.
