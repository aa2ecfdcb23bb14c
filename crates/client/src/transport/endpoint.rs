//! Endpoints: URL, version and tenant.

use std::borrow::Cow;

use http::Uri;
use latimer_outbound::is_loopback_host;
use latimer_protocol::{Dialect, Request, TaskId, Version, redact_query};
use url::Url;

use crate::error::Error;

/// Maximum length of an invalid URL in an error.
const MAX_DISPLAYED_URL_CHARS: usize = 100;

/// URL of an agent, with the protocol version and tenant of the calls to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    uri: Uri,
    origin: String,
    version: Version,
    tenant: Option<String>,
}

impl Endpoint {
    /// Creates the endpoint at an `http` or `https` URL, without a tenant.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if `url` is not such a URL.
    pub fn new(url: &str, version: Version) -> Result<Self, Error> {
        let invalid_url = || Error::InvalidSetup(describe_invalid_url(url));
        let url = Url::parse(url).map_err(|_| invalid_url())?;
        let origin = url_origin(&url).ok_or_else(invalid_url)?;
        let uri = url.as_str().parse().map_err(|_| invalid_url())?;
        Ok(Self { url, uri, origin, version, tenant: None })
    }

    /// Creates the endpoint of a gRPC server from a URL, or from a host with a port.
    ///
    /// The scheme `grpc` means plain text, `grpcs` TLS. Without a scheme, a loopback host is called
    /// in plain text and any other one over TLS.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if `address` is neither.
    pub fn grpc(address: &str, version: Version) -> Result<Self, Error> {
        let url = match address.split_once("://") {
            Some(("grpc", rest)) => format!("http://{rest}"),
            Some(("grpcs", rest)) => format!("https://{rest}"),
            Some(_) => address.to_owned(),
            None if is_loopback_host(
                address.rsplit_once(':').map_or(address, |(host, _)| host),
            ) =>
            {
                format!("http://{address}")
            }
            None => format!("https://{address}"),
        };
        Self::new(&url, version)
    }

    /// Sets the tenant; an empty one counts as none.
    #[must_use]
    pub fn with_tenant(mut self, tenant: Option<String>) -> Self {
        self.tenant = tenant.filter(|it| !it.is_empty());
        self
    }

    /// Returns the version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Returns the URL of a path below this endpoint. `path` is encoded, and may have a query.
    pub(super) fn join_path(&self, path: &str) -> String {
        let base = self.url.as_str().split(['?', '#']).next().unwrap_or_default();
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// Adds the tenant to a request without one, and a task id to a message if clients assign them.
    pub(super) fn with_defaults<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let mut request = Cow::Borrowed(request);
        if self.tenant.is_some() && request.tenant().is_none() {
            request.to_mut().set_tenant(self.tenant.clone());
        }
        let client_assigns_id = Dialect::over_jsonrpc(self.version).clients_assign_task_ids();
        let has_no_task_id = matches!(
            &*request,
            Request::SendMessage(it) | Request::SendStreamingMessage(it)
                if it.message.task_id.is_none()
        );
        if client_assigns_id
            && has_no_task_id
            && let Request::SendMessage(it) | Request::SendStreamingMessage(it) = request.to_mut()
        {
            it.message.task_id = TaskId::new(uuid::Uuid::now_v7().to_string()).ok();
        }
        request
    }
}

/// Returns scheme, host and port of an http or https URL, normalized.
pub(crate) fn url_origin(url: &Url) -> Option<String> {
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
    Some(format!("{}://{host}:{}", url.scheme(), url.port_or_known_default()?))
}

/// Returns the origin of a URL string.
pub(crate) fn parse_origin(url: &str) -> Option<String> {
    url_origin(&Url::parse(url).ok()?)
}

/// Describes an invalid URL, without its query.
pub(crate) fn describe_invalid_url(url: &str) -> String {
    // Control characters are not removed: they may be the fault, and `Debug` escapes them.
    let displayed: String = redact_query(url).chars().take(MAX_DISPLAYED_URL_CHARS).collect();
    format!("{displayed:?} is not an http or https URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_accepts_authorities_and_urls() {
        for (address, want) in [
            ("agents.example:443", "https://agents.example:443"),
            ("localhost:50051", "http://localhost:50051"),
            ("127.0.0.1:50051", "http://127.0.0.1:50051"),
            ("[::1]:50051", "http://[::1]:50051"),
            ("agent.localhost:50051", "http://agent.localhost:50051"),
            ("localhost.example:50051", "https://localhost.example:50051"),
            ("grpc://agents.example:50051", "http://agents.example:50051"),
            ("grpcs://agents.example", "https://agents.example:443"),
            ("https://agents.example/x", "https://agents.example:443"),
        ] {
            let endpoint = Endpoint::grpc(address, Version::V1_0).unwrap();
            assert_eq!(endpoint.origin(), want, "{address}");
        }
        for address in ["ftp://a.example", "unix:///tmp/socket", ""] {
            assert!(Endpoint::grpc(address, Version::V1_0).is_err(), "{address}");
        }
    }

    #[test]
    fn join_path_appends_to_the_base_path() {
        for base in ["https://a.example/x", "https://a.example/x/", "https://a.example/x/?y"] {
            let endpoint = Endpoint::new(base, Version::V1_0).unwrap();
            assert_eq!(endpoint.join_path("/tasks?a=b"), "https://a.example/x/tasks?a=b");
        }
    }
}
