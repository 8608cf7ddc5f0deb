//! What a server may ask of this program and tell it: roots, questions, progress, changes.
#![expect(deprecated, reason = "servers of today ask for roots, and those of tomorrow will not")]

use std::path::Path;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::RoleClient;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, ListRootsResult, ProgressNotificationParam, Root,
};
use rmcp::service::{NotificationContext, RequestContext};
use serde_json::{Value, json};

use crate::elicit::{Elicited, elicit};
use crate::link::Link;

/// This program as a server sees it.
#[derive(Clone, Debug)]
pub(crate) struct Client(pub(crate) Arc<Link>);

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        // Where nobody can be asked, a server is better off to know.
        let capabilities = match self.0.approver {
            Some(_) => json!({ "roots": {}, "elicitation": { "form": {}, "url": {} } }),
            None => json!({ "roots": {} }),
        };
        let capabilities: ClientCapabilities =
            serde_json::from_value(capabilities).unwrap_or_default();
        ClientConfig::new(capabilities, Implementation::new("innerve", env!("CARGO_PKG_VERSION")))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let root = |path: &std::path::PathBuf| Root::new(address(path));
        Ok(ListRootsResult::new(self.0.roots.iter().map(root).collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        // One question at a time: a server that floods is told no at once.
        let (Some(approver), Ok(_turn)) = (&self.0.approver, self.0.asking.try_acquire()) else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let params = serde_json::to_value(&request).unwrap_or(Value::Null);
        let elicited = elicit(approver.as_ref(), &self.0.config.name, &params, &context.ct).await;
        Ok(match elicited {
            Elicited::Accepted(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
            }
            Elicited::Declined => ElicitResult::new(ElicitationAction::Decline),
            Elicited::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.progressed(&params);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.relist.say();
    }
}

/// A directory as a `file:` address (RFC 8089), with everything but plain characters percent-encoded.
fn address(path: &Path) -> String {
    let mut address = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_told_as_an_address() {
        assert_eq!(address(Path::new("/w/a b/ü#")), "file:///w/a%20b/%C3%BC%23");
    }
}
