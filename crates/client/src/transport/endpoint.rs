//! Where an agent is called, and in which words.

use std::borrow::Cow;

use http::Uri;
use latimer_protocol::{Dialect, Request, TaskId, Version, redact_query};
use url::Url;

use crate::error::Error;

/// How much of an invalid URL an error shows.
const MAX_DISPLAYED_URL_CHARS: usize = 100;

/// One way to call an agent: an address, the version that is spoken there, and a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    uri: Uri,
    origin: String,
    version: Version,
    tenant: Option<String>,
}

impl Endpoint {
    /// The endpoint at an address of `http` or `https`.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] when it is no such address.
    pub fn new(url: &str, version: Version) -> Result<Self, Error> {
        let invalid_url = || Error::InvalidSetup(describe_invalid_url(url));
        let url = Url::parse(url).map_err(|_| invalid_url())?;
        let origin = url_origin(&url).ok_or_else(invalid_url)?;
        let uri = url.as_str().parse().map_err(|_| invalid_url())?;
        Ok(Self { url, uri, origin, version, tenant: None })
    }

    /// The endpoint of a gRPC server: a URL, or just a host with a port.
    ///
    /// `grpc` means plain text, `grpcs` TLS. A host without a scheme is called over TLS unless it is
    /// this machine.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] when it is no such address.
    pub fn grpc(address: &str, version: Version) -> Result<Self, Error> {
        let url = match address.split_once("://") {
            Some(("grpc", rest)) => format!("http://{rest}"),
            Some(("grpcs", rest)) => format!("https://{rest}"),
            Some(_) => address.to_owned(),
            None if is_loopback_authority(address) => format!("http://{address}"),
            None => format!("https://{address}"),
        };
        Self::new(&url, version)
    }

    /// The same endpoint, for one tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: Option<String>) -> Self {
        self.tenant = tenant.filter(|it| !it.is_empty());
        self
    }

    /// The version that is spoken.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Scheme, host and port.
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

    /// The address of a path below this one, which is a path and query as they stand in a request.
    pub(super) fn join_path(&self, path: &str) -> String {
        let base = self.url.as_str().split(['?', '#']).next().unwrap_or_default();
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// A request that names the tenant where it named none, and a new task where its caller has to.
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

/// Scheme, host and port of a URL of HTTP, in one spelling.
pub(crate) fn url_origin(url: &Url) -> Option<String> {
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
    Some(format!("{}://{host}:{}", url.scheme(), url.port_or_known_default()?))
}

/// The same of an address as it is written.
pub(crate) fn parse_origin(url: &str) -> Option<String> {
    url_origin(&Url::parse(url).ok()?)
}

fn is_loopback_authority(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
}

/// Says that `url` is not a URL of HTTP, without its query.
pub(crate) fn describe_invalid_url(url: &str) -> String {
    // Control characters stay: they may be what is wrong with the URL, and are escaped here.
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
