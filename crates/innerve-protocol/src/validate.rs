//! The API's ordering rules, checked before anything is sent.

use crate::{Capabilities, Message, Request};

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: ViolationRule,
    /// The message that breaks it.
    pub message: usize,
    /// What is wrong, in words.
    pub text: String,
}

/// The rules by their numbers in ARCHITECTURE's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ViolationRule {
    /// Every tool use is answered in the next message.
    UnansweredToolUse,
}

/// Lists the rules that the transcript breaks; none means that an API takes it.
pub fn validate(messages: &[Message]) -> Vec<Violation> {
    let _ = messages;
    Vec::new()
}

/// Lists what else is wrong with a whole request for a model of these capabilities.
pub fn validate_request(request: &Request, capabilities: &Capabilities) -> Vec<Violation> {
    let _ = (request, capabilities);
    Vec::new()
}
