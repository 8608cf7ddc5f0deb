//! Documents that come whole, such as the list of models.

use reqwest::header::HeaderMap;
use tokio::time::timeout;

use super::{Http, request_id};
use crate::ModelError;

/// Bytes of a document at most.
const DOCUMENT_LIMIT: usize = 4 * 1024 * 1024;

impl Http {
    /// Gets a small document at the base URL plus `path`.
    pub(crate) async fn get(&self, path: &str, extra: HeaderMap) -> Result<Vec<u8>, ModelError> {
        let url = format!("{}{path}", self.endpoint.base_url());
        let request = self
            .client
            .get(url)
            .headers(self.credential.clone())
            .headers(extra)
            .header("accept", "application/json");
        let mut response = self.send(request).await?;
        if !response.status().is_success() {
            let id = request_id(&response);
            return Err(self.refusal(response, id).await);
        }
        let mut bytes = Vec::new();
        let read = async {
            while let Some(chunk) = response.chunk().await? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > DOCUMENT_LIMIT {
                    break;
                }
            }
            Ok(())
        };
        match timeout(self.endpoint.idle_limit(), read).await {
            Ok(Ok(())) => Ok(bytes),
            Ok(Err(error)) => Err(self.transport(error)),
            Err(_) => Err(self.too_late()),
        }
    }
}
