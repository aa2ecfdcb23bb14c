//! The guarded HTTP client.

mod body;
mod connector;
mod error;
mod redirect;
#[cfg_attr(not(feature = "tls"), path = "tls/disabled.rs")]
mod tls;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri, Version};
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::dial::{Dial, TcpDialer};
use crate::forbidden::Forbidden;
use crate::guard::Guard;
use crate::target::Target;
use body::RequestBody;
use connector::Connector;
use tls::{Tls, TlsSettings};

pub use body::Body;
pub use error::RequestError;
pub use redirect::RedirectError;
pub use tls::InvalidTls;

/// Calls what its [`Guard`] lets it call, over HTTP/1.1 and HTTP/2. Cheap to clone; clones share
/// their connections.
///
/// ```no_run
/// # use latimer_outbound::{Guard, HttpClient, RequestLimits, Rules};
/// # async fn deliver() -> Result<(), Box<dyn std::error::Error>> {
/// let guard = Guard::new(Rules::default());
/// let client = HttpClient::builder(guard.clone()).build()?;
/// let target = guard.check("https://hooks.example/tasks").await?;
/// let request = http::Request::post(target.uri()).body("{}".into())?;
/// let response = client.send(request, &RequestLimits::default()).await?;
/// assert!(response.status().is_success());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpClient {
    guard: Guard,
    connector: Connector,
    inner: legacy::Client<Connector, RequestBody>,
    user_agent: HeaderValue,
    last_target: Arc<LastTarget>,
}

/// What we call ourselves, unless told otherwise.
const DEFAULT_USER_AGENT: &str = concat!("Latimer/", env!("CARGO_PKG_VERSION"), " A2A");

/// Where the last request went, which is where most go: it need not be read again.
type LastTarget = Mutex<Option<(Uri, Target)>>;

impl HttpClient {
    /// Sets up a client.
    #[must_use]
    pub fn builder(guard: Guard) -> HttpClientBuilder {
        HttpClientBuilder {
            guard,
            dialer: Arc::new(TcpDialer),
            connect_timeout: Duration::from_secs(10),
            protocol: Protocol::Negotiated,
            user_agent: HeaderValue::from_static(DEFAULT_USER_AGENT),
            tls: TlsSettings::default(),
        }
    }

    /// The same client, with connections of its own over which these versions of HTTP are spoken.
    #[must_use]
    pub fn with_protocol(&self, protocol: Protocol) -> Self {
        Self::new(self.guard.clone(), &self.connector, protocol, self.user_agent.clone())
    }

    fn new(
        guard: Guard,
        connector: &Connector,
        protocol: Protocol,
        user_agent: HeaderValue,
    ) -> Self {
        let connector = connector.with_protocol(protocol);
        let inner = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(60))
            .pool_max_idle_per_host(64)
            .http2_only(protocol == Protocol::Http2)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .http2_keep_alive_timeout(Duration::from_secs(10))
            .build(connector.clone());
        Self { guard, connector, inner, user_agent, last_target: Arc::default() }
    }

    /// Sends a request and reads the whole answer, following redirects.
    ///
    /// A redirect is checked as any address is. It is followed when it leads to the same origin, or
    /// when the request only reads and shows no credentials; and never turns a request into another.
    /// Credentials are `Authorization`, `Cookie` and the like, and every header that is
    /// [marked](http::HeaderValue::set_sensitive) as sensitive.
    ///
    /// # Errors
    /// [`RequestError`]; an answer of any status that is not a redirect is none.
    pub async fn send(
        &self,
        request: Request<Bytes>,
        limits: &RequestLimits,
    ) -> Result<Response<Bytes>, RequestError> {
        let response = Box::pin(async {
            body::read_to_end(
                self.send_streaming_with_redirects(request, limits.max_redirects).await?,
                limits.max_body_bytes,
            )
            .await
        });
        tokio::time::timeout(limits.timeout, response).await.map_err(|_| RequestError::Timeout)?
    }

    /// Sends a request of whose answer only the head matters, following redirects as
    /// [`send`](Self::send) does. The body is read on the side, within the limits, so that the
    /// connection can be used again.
    ///
    /// # Errors
    /// [`RequestError`]; an answer of any status that is not a redirect is none.
    pub async fn send_discarding_body(
        &self,
        request: Request<Bytes>,
        limits: &RequestLimits,
    ) -> Result<Response<()>, RequestError> {
        let response = Box::pin(self.send_streaming_with_redirects(request, limits.max_redirects));
        let response = tokio::time::timeout(limits.timeout, response).await;
        let (head, body) = response.map_err(|_| RequestError::Timeout)??.into_parts();
        let RequestLimits { timeout, max_body_bytes, .. } = *limits;
        tokio::spawn(async move {
            // Whatever comes of it, the answer is there.
            let _ = tokio::time::timeout(
                timeout,
                body::read_to_end(Response::new(body), max_body_bytes),
            )
            .await;
        });
        Ok(Response::from_parts(head, ()))
    }

    /// Sends a request and returns as soon as the answer begins, following so many redirects as
    /// [`send`](Self::send) does. No time is kept but that for connecting.
    ///
    /// # Errors
    /// [`RequestError`]; an answer of any status that is not a redirect is none.
    pub async fn send_streaming_with_redirects(
        &self,
        request: Request<Bytes>,
        max_redirects: usize,
    ) -> Result<Response<Body>, RequestError> {
        let (parts, content) = request.into_parts();
        let mut target = self.checked_target(&parts.uri)?;
        for _ in 0..=max_redirects {
            let body = body::boxed(Full::new(content.clone()));
            let request = Request::from_parts(parts.clone(), body);
            let response = self.exchange(&target, request).await?;
            match redirect::next_target(&target, &parts, &response)? {
                None => return Ok(response),
                // The connector looks at it as it does at every target.
                Some(next) => target = next,
            }
        }
        Err(RedirectError::TooMany.into())
    }

    /// Sends a request and returns as soon as the answer begins. No redirect is followed, and no time
    /// is kept but that for connecting: both are the caller's.
    ///
    /// # Errors
    /// [`RequestError`]; an answer of any status is none.
    pub async fn send_streaming<B>(
        &self,
        request: Request<B>,
    ) -> Result<Response<Body>, RequestError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let target = self.checked_target(request.uri())?;
        self.exchange(&target, request.map(body::boxed)).await
    }

    /// Where a request goes, if it may go there.
    fn checked_target(&self, uri: &Uri) -> Result<Target, Forbidden> {
        // A target is put in whole.
        let mut last_target = self.last_target.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, target)) = last_target.as_ref().filter(|(last_uri, _)| last_uri == uri) {
            return Ok(target.clone());
        }
        let target = self.guard.check_without_dns(&uri.to_string())?;
        *last_target = Some((uri.clone(), target.clone()));
        Ok(target)
    }

    async fn exchange(
        &self,
        target: &Target,
        mut request: Request<RequestBody>,
    ) -> Result<Response<Body>, RequestError> {
        *request.uri_mut() = target.uri().clone();
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        // The one that stands in the URL, which is the one that was checked.
        headers.remove(HOST);
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        let response =
            self.inner.request(request).await.map_err(RequestError::from_client_error)?;
        Ok(response.map(Body::new))
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// What an answer may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Time for all of it, from looking up the name to the last byte, redirects included.
    pub timeout: Duration,
    /// The largest body of an answer, in bytes.
    pub max_body_bytes: usize,
    /// How many redirects may follow each other.
    pub max_redirects: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), max_body_bytes: 1024 * 1024, max_redirects: 3 }
    }
}

/// Which versions of HTTP are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Over TLS what the server prefers of HTTP/2 and HTTP/1.1, otherwise HTTP/1.1.
    #[default]
    Negotiated,
    /// HTTP/2, also without TLS. Needed for gRPC.
    Http2,
}

/// Sets up an [`HttpClient`].
pub struct HttpClientBuilder {
    guard: Guard,
    dialer: Arc<dyn Dial>,
    connect_timeout: Duration,
    protocol: Protocol,
    user_agent: HeaderValue,
    tls: TlsSettings,
}

impl HttpClientBuilder {
    /// Time for a connection: name, socket and TLS together. Ten seconds unless it is said.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Which versions of HTTP are spoken.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// What the client calls itself in each request that does not say otherwise: `Latimer`, its
    /// version and `A2A` unless it is said.
    #[must_use]
    pub fn user_agent(mut self, user_agent: HeaderValue) -> Self {
        self.user_agent = user_agent;
        self
    }

    /// Opens sockets in another way.
    #[must_use]
    pub fn dialer(mut self, dial: Arc<dyn Dial>) -> Self {
        self.dialer = dial;
        self
    }

    /// The client.
    ///
    /// # Errors
    /// [`InvalidTls`] when a certificate or key cannot be used.
    pub fn build(self) -> Result<HttpClient, InvalidTls> {
        let tls = Tls::new(&self.tls)?;
        let connector = Connector::new(self.guard.clone(), self.dialer, tls, self.connect_timeout);
        Ok(HttpClient::new(self.guard, &connector, self.protocol, self.user_agent))
    }
}

impl fmt::Debug for HttpClientBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Builder").field("guard", &self.guard).finish_non_exhaustive()
    }
}
