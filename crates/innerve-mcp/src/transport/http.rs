//! Streamable HTTP: a client that follows no redirects, and headers that a configuration names.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::MAX_MESSAGE;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(15);

/// A client; headers with keys must not follow a redirect to another host.
pub(crate) fn client() -> Result<reqwest::Client, reqwest::Error> {
    static PROVIDER: OnceLock<()> = OnceLock::new();
    // One that is there already is as good.
    PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        // A pooled connection whose last answer was not read to its end stalls the next request.
        .pool_max_idle_per_host(0)
        .build()
}

/// The address, the headers and the limits; what is wrong with a header is told without its value.
pub(crate) fn config(
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransportConfig, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let name: HeaderName =
            name.parse().map_err(|_| format!("`{name}` is no name of an HTTP header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header `{name}` holds what no header may"))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    config.max_sse_event_size = MAX_MESSAGE;
    config.max_json_response_size = MAX_MESSAGE;
    Ok(config)
}
