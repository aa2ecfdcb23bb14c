//! How requests get to an agent: the HTTP client, and what every request shows.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use latimer_outbound as outbound;
use latimer_protocol::binding::parameters;
use latimer_protocol::{CallContext, Version};
use tokio::time::timeout;

use super::endpoint::Endpoint;
use crate::client::CallOptions;
use crate::credentials::{OriginCredentials, RequestCredentials};
use crate::error::Error;

/// What calls may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Time for a call that is answered at once, from looking up the name to the last byte.
    pub timeout: Duration,
    /// How long a stream may be silent. A comment is a sign of life.
    pub idle_timeout: Duration,
    /// The largest answer, or event of a stream, in bytes.
    pub max_body_bytes: usize,
}

impl Default for CallLimits {
    /// 30 seconds, two minutes, and 10 MiB.
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

/// How many redirects of an agent may follow each other.
const MAX_REDIRECTS: usize = 3;

/// How requests get to an agent, and what each of them shows. Cheap to clone.
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
    /// A wire over an HTTP client, which shows nothing but its name. For gRPC the client must be one
    /// of [`outbound::Protocol::Http2`].
    #[must_use]
    pub fn new(http: outbound::HttpClient) -> Self {
        Self {
            http,
            credentials: Vec::new(),
            limits: CallLimits::default(),
            call_headers: CallHeaderScope::Endpoint,
        }
    }

    /// The same wire, within these limits.
    #[must_use]
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The same wire, which shows this at its origin and nowhere else.
    #[must_use]
    pub fn with_credentials(mut self, credentials: OriginCredentials) -> Self {
        self.credentials.push(credentials);
        self
    }

    /// Sends the headers of call options to this origin only, or to none.
    pub(crate) fn restrict_call_headers(mut self, origin: Option<String>) -> Self {
        self.call_headers = CallHeaderScope::Origin(origin);
        self
    }

    /// Sends a request and reads the whole answer, of whatever status.
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

    /// Sends a request and returns as soon as the answer begins.
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

    /// Whether there is anything to show at an endpoint.
    pub(crate) fn has_credentials_for(&self, endpoint: &Endpoint) -> bool {
        self.credentials.iter().any(|it| it.origin() == endpoint.origin())
    }

    fn allows_call_headers(&self, endpoint: &Endpoint) -> bool {
        match &self.call_headers {
            CallHeaderScope::Endpoint => true,
            CallHeaderScope::Origin(origin) => origin.as_deref() == Some(endpoint.origin()),
        }
    }

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
                    tracing::warn!(
                        origin = endpoint.origin(),
                        "call headers are not sent to this origin"
                    );
                }
            }
        }
        Ok(credentials)
    }
}

/// Limits the time until the response of a stream begins.
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

/// Room for as many headers as most requests have.
const TYPICAL_HEADER_COUNT: usize = 8;

/// A request before it is known who makes it.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingRequest {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

impl OutgoingRequest {
    pub(crate) fn new(method: Method, uri: Uri, body: Option<Vec<u8>>) -> Self {
        let headers = HeaderMap::with_capacity(TYPICAL_HEADER_COUNT);
        Self { method, uri, headers, body: body.map(Bytes::from) }
    }

    pub(crate) fn with_accept(mut self, accept: &'static str) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static(accept));
        self
    }

    /// What travels beside the payload of a call.
    pub(super) fn with_call_headers(
        mut self,
        context: &CallContext,
        version: Version,
    ) -> Result<Self, Error> {
        insert_call_headers(&mut self.headers, context, version)?;
        Ok(self)
    }

    fn into_http(self, credentials: &RequestCredentials) -> Result<Request<Bytes>, Error> {
        let Self { method, uri, mut headers, body } = self;
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        credentials.apply_to_headers(&mut headers);
        let mut request = Request::new(body.unwrap_or_default());
        *request.method_mut() = method;
        *request.uri_mut() = credentials.apply_to_query(uri)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Where a request goes.
pub(crate) fn to_uri(url: &str) -> Result<Uri, Error> {
    url.parse().map_err(|error| Error::InvalidSetup(format!("no such request: {error}")))
}

/// Says in headers, or in metadata of gRPC, what travels beside the payload of a call.
pub(super) fn insert_call_headers(
    headers: &mut HeaderMap,
    context: &CallContext,
    version: Version,
) -> Result<(), Error> {
    let version_name = HeaderValue::from_static(version.as_str());
    headers.insert(HeaderName::from_static(parameters::VERSION), version_name);
    if !context.extensions.is_empty() {
        let list = context.extensions.join(",");
        let list = HeaderValue::try_from(list).map_err(|_| {
            Error::InvalidSetup("an extension has a name that no header can carry".into())
        })?;
        headers.insert(HeaderName::from_static(parameters::EXTENSIONS), list.clone());
        // Before 1.0 the header had another name, and some servers know only that.
        if version != Version::V1_0 {
            headers.insert(HeaderName::from_static(parameters::EXTENSIONS_BEFORE_1_0), list);
        }
    }
    if let Some(resume_after) = context.resume_after {
        let resume_after = HeaderValue::from(resume_after.get());
        headers.insert(HeaderName::from_static(parameters::LAST_EVENT_ID), resume_after);
    }
    Ok(())
}

/// The extensions that an answer says are active.
pub(super) fn active_extensions(headers: &HeaderMap) -> Vec<String> {
    let names = [parameters::EXTENSIONS, parameters::EXTENSIONS_BEFORE_1_0];
    let values = names.iter().flat_map(|name| headers.get_all(*name));
    // Too many to be true are as good as none.
    parameters::parse_extensions(values.filter_map(|it| it.to_str().ok())).unwrap_or_default()
}
