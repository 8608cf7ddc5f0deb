//! What can go wrong.

use agent_client_protocol as protocol;
use serde_json::{Value, json};
use thiserror::Error;

/// Why an editor is not served, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcpError {
    /// A session cannot be opened; the text is for a person.
    #[error("{0}")]
    Opening(String),
    /// The connection failed.
    #[error("the connection to the editor failed: {0}; restart the agent in the editor")]
    Connection(String),
    /// A relay in an editor's terminal could not do its work.
    #[error("{0}; this is started by an editor, for a command of `innerve acp`")]
    Relay(String),
}

impl AcpError {
    /// The stable name of the class.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Opening(_) => "acp:opening",
            Self::Connection(_) => "acp:connection",
            Self::Relay(_) => "acp:relay",
        }
    }

    /// The answer to the request that failed so.
    pub(crate) fn answer(&self) -> protocol::Error {
        failed(self.to_string(), json!({ "code": self.code() }))
    }
}

/// The answer to a request that asks for what there is not, and the way out.
pub(crate) fn refused(text: impl Into<String>) -> protocol::Error {
    protocol::Error::new(protocol::Error::invalid_params().code, text)
}

/// The answer to a request that failed; `data` is for programs.
pub(crate) fn failed(text: impl Into<String>, data: Value) -> protocol::Error {
    protocol::Error::new(protocol::Error::internal_error().code, text).data(data)
}
