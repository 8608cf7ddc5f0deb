//! The API's ordering rules, checked before anything is sent.

mod request;
mod rule;
mod transcript;

pub use request::validate_request;
pub use rule::{Violation, ViolationRule};
pub use transcript::validate;
pub(crate) use transcript::{LONGEST_USED_NAME, is_thinking, is_tool_name};
