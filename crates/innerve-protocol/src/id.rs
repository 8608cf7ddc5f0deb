//! Identifiers: of a tool use, a session and an agent.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text as it came.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether it is non-empty and only of `A-Z a-z 0-9 _ -`, as the Messages API demands of tool use ids,
            /// and hence safe as a file name.
            pub fn is_plain(&self) -> bool {
                !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

id! {
    /// The id that ties a tool result to its tool use; any text, since models and proxies send odd ones.
    ToolUseId
}
id! {
    /// The id of a session, and the name of its folder.
    SessionId
}
id! {
    /// The id of a sub-agent within a session.
    AgentId
}
