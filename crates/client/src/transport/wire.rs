//! How requests get to an agent: the HTTP client, and what every request shows.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use latimer_outbound as outbound;
use latimer_protocol::binding::parameters;
use latimer_protocol::{Call, Version};
use tokio::time::timeout;

use super::endpoint::Endpoint;
use crate::credentials::{Bound, Shown};
use crate::error::Error;

/// What calls may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time for a call that is answered at once, from looking up the name to the last byte.
    pub call: Duration,
    /// How long a stream may be silent. A comment is a sign of life.
    pub idle: Duration,
    /// The largest answer, or event of a stream, in bytes.
    pub body: usize,
}

impl Default for Limits {
    /// 30 seconds, two minutes, and 10 MiB.
    fn default() -> Self {
        Self {
            call: Duration::from_secs(30),
            idle: Duration::from_secs(120),
            body: 10 * 1024 * 1024,
        }
    }
}

/// How many redirects of an agent may follow each other.
const REDIRECTS: usize = 3;

/// How requests get to an agent, and what each of them shows. Cheap to clone.
///
/// ```
/// # use latimer_client::transport::{Endpoint, JsonRpc, Wire};
/// # use latimer_client::outbound::{Client, Guard, Rules};
/// # use latimer_protocol::Version;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder(Guard::new(Rules::default())).build()?;
/// let endpoint = Endpoint::new("https://agents.example/a2a", Version::V1_0)?;
/// let transport = JsonRpc::new(endpoint, Wire::new(client));
/// # drop(transport);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Wire {
    http: outbound::HttpClient,
    bound: Vec<Bound>,
    pub(crate) limits: Limits,
}

impl Wire {
    /// A wire over an HTTP client, which shows nothing but its name. For gRPC the client must be one
    /// of [`outbound::Protocol::Http2`].
    #[must_use]
    pub fn new(http: outbound::HttpClient) -> Self {
        Self { http, bound: Vec::new(), limits: Limits::default() }
    }

    /// The same wire, within these limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same wire, which shows this at its origin and nowhere else.
    #[must_use]
    pub fn showing(mut self, bound: Bound) -> Self {
        self.bound.push(bound);
        self
    }

    /// Sends a request and reads the whole answer, of whatever status.
    pub(crate) async fn fetch(
        &self,
        endpoint: &Endpoint,
        mut ask: Ask,
    ) -> Result<Response<Bytes>, Error> {
        let limits = outbound::RequestLimits {
            timeout: self.limits.call,
            max_body_bytes: self.limits.body,
            max_redirects: REDIRECTS,
        };
        let mut renewed = false;
        loop {
            let shown = self.shown(endpoint).await?;
            let again = (!renewed && shown.may_renew()).then(|| ask.clone());
            let response = self.http.send(ask.into_http(&shown)?, &limits).await;
            let response = response
                .map_err(|failure| Error::of(endpoint.origin(), failure, self.limits.call))?;
            match again.filter(|_| response.status() == StatusCode::UNAUTHORIZED) {
                None => return Ok(response),
                Some(again) => ask = again,
            }
            shown.renew();
            renewed = true;
        }
    }

    /// Sends a request and returns as soon as the answer begins.
    pub(super) async fn open(
        &self,
        endpoint: &Endpoint,
        mut ask: Ask,
    ) -> Result<Response<outbound::Body>, Error> {
        let mut renewed = false;
        loop {
            let shown = self.shown(endpoint).await?;
            let again = (!renewed && shown.may_renew()).then(|| ask.clone());
            let sent = self.http.send_streaming_with_redirects(ask.into_http(&shown)?, REDIRECTS);
            let response = self.within_idle(endpoint, sent).await?;
            match again.filter(|_| response.status() == StatusCode::UNAUTHORIZED) {
                None => return Ok(response),
                Some(again) => ask = again,
            }
            shown.renew();
            renewed = true;
        }
    }

    async fn within_idle<T>(
        &self,
        endpoint: &Endpoint,
        answer: impl Future<Output = Result<T, outbound::RequestError>>,
    ) -> Result<T, Error> {
        let limit = self.limits.idle;
        let failed = |failure| Error::of(endpoint.origin(), failure, limit);
        match timeout(limit, answer).await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(failed(outbound::RequestError::Timeout)),
        }
    }

    /// Whether there is anything to show at an endpoint.
    pub(crate) fn knows(&self, endpoint: &Endpoint) -> bool {
        self.bound.iter().any(|it| it.origin() == endpoint.origin())
    }

    pub(super) fn http(&self) -> &outbound::HttpClient {
        &self.http
    }

    /// Everything that is to be shown at an endpoint.
    pub(super) async fn shown(&self, endpoint: &Endpoint) -> Result<Shown, Error> {
        let mut shown = Shown::default();
        for bound in self.bound.iter().filter(|it| it.origin() == endpoint.origin()) {
            bound.show(&mut shown).await?;
        }
        Ok(shown)
    }
}

/// Room for as many headers as most requests have.
const USUAL_HEADERS: usize = 8;

/// A request before it is known who makes it.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

impl Ask {
    pub(crate) fn new(method: Method, uri: Uri, body: Option<Vec<u8>>) -> Self {
        let headers = HeaderMap::with_capacity(USUAL_HEADERS);
        Self { method, uri, headers, body: body.map(Bytes::from) }
    }

    pub(crate) fn accepting(mut self, accept: &'static str) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static(accept));
        self
    }

    /// What travels beside the payload of a call.
    pub(super) fn describing(mut self, call: &Call, version: Version) -> Result<Self, Error> {
        describe(&mut self.headers, call, version)?;
        Ok(self)
    }

    fn into_http(self, shown: &Shown) -> Result<Request<Bytes>, Error> {
        let Self { method, uri, mut headers, body } = self;
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        shown.in_headers(&mut headers);
        let mut request = Request::new(body.unwrap_or_default());
        *request.method_mut() = method;
        *request.uri_mut() = shown.in_query(uri)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Where a request goes.
pub(crate) fn to_uri(url: &str) -> Result<Uri, Error> {
    url.parse().map_err(|error| Error::Setup(format!("no such request: {error}")))
}

/// Says in headers, or in metadata of gRPC, what travels beside the payload of a call.
pub(super) fn describe(
    headers: &mut HeaderMap,
    call: &Call,
    version: Version,
) -> Result<(), Error> {
    let version_name = HeaderValue::from_static(version.as_str());
    headers.insert(HeaderName::from_static(parameters::VERSION), version_name);
    if !call.extensions.is_empty() {
        let list = call.extensions.join(",");
        let list = HeaderValue::try_from(list)
            .map_err(|_| Error::Setup("an extension has a name that no header can carry".into()))?;
        headers.insert(HeaderName::from_static(parameters::EXTENSIONS), list.clone());
        // Before 1.0 the header had another name, and some servers know only that.
        if version != Version::V1_0 {
            headers.insert(HeaderName::from_static(parameters::EXTENSIONS_BEFORE_1_0), list);
        }
    }
    if let Some(after) = call.resume_after {
        let after = HeaderValue::from(after.get());
        headers.insert(HeaderName::from_static(parameters::LAST_EVENT_ID), after);
    }
    Ok(())
}

/// The extensions that an answer says are active.
pub(super) fn active(headers: &HeaderMap) -> Vec<String> {
    let names = [parameters::EXTENSIONS, parameters::EXTENSIONS_BEFORE_1_0];
    let values = names.iter().flat_map(|name| headers.get_all(*name));
    // Too many to be true are as good as none.
    parameters::parse_extensions(values.filter_map(|it| it.to_str().ok())).unwrap_or_default()
}
