//! The HTTP client with credentials and limits.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use latimer_outbound as outbound;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::outgoing_request::OutgoingRequest;
use crate::client::CallOptions;
use crate::credentials::{OriginCredentials, RequestCredentials};
use crate::error::Error;

/// Limits of one attempt of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Time for a single reply, from the resolution of the host to the last byte.
    pub timeout: Duration,
    /// Time that a stream may be silent. Comments count as activity.
    pub idle_timeout: Duration,
    /// Maximum size of a response, or of one event of a stream, in bytes.
    pub max_body_bytes: usize,
}

impl Default for CallLimits {
    /// 30 seconds, two minutes and 10 MiB.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(120),
            max_body_bytes: 10 * 1024 * 1024,
        }
    }
}

impl CallLimits {
    /// Returns the limits of a call with these options.
    pub(super) fn for_call(&self, options: &CallOptions) -> Self {
        Self {
            timeout: options.timeout.unwrap_or(self.timeout),
            idle_timeout: options.idle_timeout.unwrap_or(self.idle_timeout),
            max_body_bytes: self.max_body_bytes,
        }
    }
}

/// Maximum number of consecutive redirects.
const MAX_REDIRECTS: usize = 3;

/// HTTP client of a transport, with its credentials and limits. Cheap to clone.
///
/// ```
/// # use latimer_client::transport::{Endpoint, HttpChannel, JsonRpc};
/// # use latimer_client::outbound::{Guard, HttpClient, Rules};
/// # use latimer_protocol::Version;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = HttpClient::builder(Guard::new(Rules::default())).build()?;
/// let endpoint = Endpoint::new("https://agents.example/a2a", Version::V1_0)?;
/// let transport = JsonRpc::new(endpoint, HttpChannel::new(client));
/// # drop(transport);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct HttpChannel {
    http: outbound::HttpClient,
    credentials: Vec<OriginCredentials>,
    pub(crate) limits: CallLimits,
    call_headers: CallHeaderScope,
}

/// Origin that receives the headers of [`CallOptions`].
#[derive(Clone, Debug)]
enum CallHeaderScope {
    /// That of the endpoint, which the caller chose.
    Endpoint,
    /// That of the URL that the client was created with, if it has one.
    Origin(Option<String>),
}

impl HttpChannel {
    /// Creates a channel without credentials and with default limits. [`Grpc`](super::Grpc) needs a
    /// client of [`outbound::Protocol::Http2`].
    #[must_use]
    pub fn new(http: outbound::HttpClient) -> Self {
        Self {
            http,
            credentials: Vec::new(),
            limits: CallLimits::default(),
            call_headers: CallHeaderScope::Endpoint,
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds credentials, which are sent to their origin only.
    #[must_use]
    pub fn with_credentials(mut self, credentials: OriginCredentials) -> Self {
        self.credentials.push(credentials);
        self
    }

    /// Sets the only origin that receives the headers of call options, if any does.
    pub(crate) fn restrict_call_headers(mut self, origin: Option<String>) -> Self {
        self.call_headers = CallHeaderScope::Origin(origin);
        self
    }

    /// Sends a request and reads the complete response, whatever its status. Repeats it once with a
    /// renewed token if the agent rejects the token.
    pub(crate) async fn fetch(
        &self,
        endpoint: &Endpoint,
        mut request: OutgoingRequest,
        options: &CallOptions,
    ) -> Result<Response<Bytes>, Error> {
        let CallLimits { timeout, max_body_bytes, .. } = self.limits.for_call(options);
        let limits =
            outbound::RequestLimits { timeout, max_body_bytes, max_redirects: MAX_REDIRECTS };
        let mut retried = false;
        loop {
            let credentials = self.credentials_for(endpoint, options).await?;
            let retry = (!retried && credentials.has_tokens()).then(|| request.clone());
            let response = self.http.send(request.into_http(&credentials)?, &limits).await;
            let response = response
                .map_err(|error| Error::from_request_error(endpoint.origin(), error, timeout))?;
            match retry.filter(|_| response.status() == StatusCode::UNAUTHORIZED) {
                None => return Ok(response),
                Some(retry) => request = retry,
            }
            credentials.invalidate_tokens();
            retried = true;
        }
    }

    /// Sends a request and returns once the response starts. Repeats it once with a renewed token
    /// if the agent rejects the token.
    pub(super) async fn send_streaming(
        &self,
        endpoint: &Endpoint,
        mut request: OutgoingRequest,
        options: &CallOptions,
    ) -> Result<Response<outbound::Body>, Error> {
        let limit = self.limits.for_call(options).idle_timeout;
        let mut retried = false;
        loop {
            let credentials = self.credentials_for(endpoint, options).await?;
            let retry = (!retried && credentials.has_tokens()).then(|| request.clone());
            let sending = self
                .http
                .send_streaming_with_redirects(request.into_http(&credentials)?, MAX_REDIRECTS);
            let response = with_timeout(endpoint, limit, sending).await?;
            match retry.filter(|_| response.status() == StatusCode::UNAUTHORIZED) {
                None => return Ok(response),
                Some(retry) => request = retry,
            }
            credentials.invalidate_tokens();
            retried = true;
        }
    }

    /// Returns whether there are credentials for the origin of an endpoint.
    pub(crate) fn has_credentials_for(&self, endpoint: &Endpoint) -> bool {
        self.credentials.iter().any(|it| it.origin() == endpoint.origin())
    }

    fn allows_call_headers(&self, endpoint: &Endpoint) -> bool {
        match &self.call_headers {
            CallHeaderScope::Endpoint => true,
            CallHeaderScope::Origin(origin) => origin.as_deref() == Some(endpoint.origin()),
        }
    }

    #[cfg(feature = "grpc")]
    pub(super) fn http(&self) -> &outbound::HttpClient {
        &self.http
    }

    /// Returns the credentials and call headers for a request to an endpoint.
    pub(super) async fn credentials_for(
        &self,
        endpoint: &Endpoint,
        options: &CallOptions,
    ) -> Result<RequestCredentials, Error> {
        let mut credentials = RequestCredentials::default();
        for origin_credentials in
            self.credentials.iter().filter(|it| it.origin() == endpoint.origin())
        {
            origin_credentials.add_to(&mut credentials).await?;
        }
        if !options.headers.is_empty() {
            match self.allows_call_headers(endpoint) {
                true => credentials.extend_headers(options.headers.clone()),
                false => {
                    tracing::warn!(origin = endpoint.origin(), "call headers omitted for origin");
                }
            }
        }
        Ok(credentials)
    }
}

/// Limits the time until the response starts.
async fn with_timeout<T>(
    endpoint: &Endpoint,
    limit: Duration,
    response: impl Future<Output = Result<T, outbound::RequestError>>,
) -> Result<T, Error> {
    let request_error = |error| Error::from_request_error(endpoint.origin(), error, limit);
    match timeout(limit, response).await {
        Ok(result) => result.map_err(request_error),
        Err(_) => Err(request_error(outbound::RequestError::Timeout)),
    }
}
