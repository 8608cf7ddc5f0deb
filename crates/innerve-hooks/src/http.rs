//! HTTP hooks: the event sent to an address that settings allow, and the answer read within bounds.

mod allowed;

use std::error::Error as StdError;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use crate::HookSession;
use crate::configure::HttpLimits;
use crate::settings::HttpAction;
use crate::telemetry::Trouble;

/// Bytes of an answer at most: as much as of a command's output.
const BODY: usize = crate::process::STDOUT;

/// How long a connection may take to come about, unless the hook's own time is shorter.
const CONNECT: Duration = Duration::from_secs(30);

/// Sends events within the bounds of the settings.
pub(crate) struct Http {
    limits: HttpLimits,
    /// For addresses of this machine without encryption: needs no certificates and no proxy.
    local: OnceLock<Option<Client>>,
    remote: OnceLock<Option<Client>>,
}

/// Why an HTTP hook has no say.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("has an address that is none: {0}")]
    Address(String),
    #[error("was not sent: `allowedHttpHookUrls` has no entry for its address")]
    Forbidden,
    #[error("was not sent: its header `{0}` is not valid")]
    Header(String),
    #[error("was not sent: no HTTPS client could be set up; install the system's CA certificates")]
    Client,
    #[error("got no answer: {0}")]
    Transport(String),
    #[error("was answered with status {0}")]
    Status(u16),
    #[error("was answered with more than {BODY} bytes")]
    TooLong,
}

impl Failure {
    /// What it is called in telemetry.
    pub(crate) fn trouble(&self) -> Trouble {
        match self {
            Self::Address(_) | Self::Forbidden | Self::Header(_) => Trouble::NotAllowed,
            Self::Client => Trouble::Absent,
            Self::Transport(_) => Trouble::Io,
            Self::Status(_) | Self::TooLong => Trouble::Answer,
        }
    }
}

impl Http {
    pub(crate) fn new(limits: HttpLimits) -> Self {
        Self { limits, local: OnceLock::new(), remote: OnceLock::new() }
    }

    /// Posts the event and gives the body of a successful answer.
    pub(crate) async fn post(
        &self,
        action: &HttpAction,
        event: String,
        session: &HookSession,
    ) -> Result<String, Failure> {
        let url = Url::parse(&action.url).map_err(|cause| Failure::Address(cause.to_string()))?;
        if let Some(patterns) = &self.limits.urls
            && !patterns.iter().any(|pattern| allowed::matches(pattern, &url))
        {
            return Err(Failure::Forbidden);
        }
        let headers = self.headers(action, session)?;
        let client = self.client(&url).ok_or(Failure::Client)?;
        let sent = client.post(url).headers(headers).body(event).send().await;
        let mut response = sent.map_err(|error| Failure::Transport(root(&error)))?;
        if !response.status().is_success() {
            return Err(Failure::Status(response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(piece) =
            response.chunk().await.map_err(|error| Failure::Transport(root(&error)))?
        {
            if body.len() + piece.len() > BODY {
                return Err(Failure::TooLong);
            }
            body.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    fn headers(&self, action: &HttpAction, session: &HookSession) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let variable = |name: &str| {
            let bounded = self.limits.variables.as_ref();
            let is_listed = action.allowed_env_vars.iter().any(|listed| listed == name)
                && bounded.is_none_or(|bounded| bounded.contains(name));
            session.variable(name).filter(|_| is_listed).unwrap_or_default()
        };
        for (name, value) in &action.headers {
            let failed = || Failure::Header(name.clone());
            let mut value =
                HeaderValue::from_str(&allowed::fill(value, variable)).map_err(|_| failed())?;
            value.set_sensitive(true);
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| failed())?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Reading the system's certificates takes time, so it is done when they are needed, once.
    fn client(&self, url: &Url) -> Option<&Client> {
        static PROVIDER: OnceLock<()> = OnceLock::new();
        // An error means that the program installed its own provider before: that one is used.
        PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let builder = || {
            Client::builder()
                .user_agent(concat!("innerve/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT)
                // A redirect would carry the event to a place that no list allows.
                .redirect(reqwest::redirect::Policy::none())
        };
        let client = if url.scheme() == "http" && is_local(url) {
            self.local.get_or_init(|| builder().tls_certs_only([]).no_proxy().build().ok())
        } else {
            self.remote.get_or_init(|| {
                let plain = || builder().tls_certs_only([]).build().ok();
                // Without certificates only addresses without encryption can be reached.
                builder().build().ok().or_else(plain)
            })
        };
        client.as_ref()
    }
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost cause, which tells something and does not name the address.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if std::ptr::addr_eq(cause, error) {
        "the request failed".to_owned()
    } else {
        cause.to_string()
    }
}
