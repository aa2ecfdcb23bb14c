//! HTTP client that connects only to addresses its guard allows.
//!
//! | module | contents |
//! | --- | --- |
//! | `connector` | opening of connections: guard, dialing, TLS |
//! | `tls` | TLS configuration and handshake; a stub without the feature `tls` |
//! | `redirect` | rules for following redirects |
//! | `body`, `error` | request and response bodies, request errors |

mod body;
mod connector;
mod error;
mod redirect;
#[cfg_attr(not(feature = "tls"), path = "tls/disabled.rs")]
mod tls;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri, Version};
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::task::JoinSet;

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

/// HTTP/1.1 and HTTP/2 client that connects only to addresses its [`Guard`] allows. Cheap to clone;
/// clones share the connection pool.
///
/// ```
/// # use latimer_outbound::{Guard, HttpClient, RequestLimits, Rules};
/// # use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let url = format!("http://{}/hook", listener.local_addr()?);
/// # let server = tokio::spawn(async move {
/// #     let (mut socket, _) = listener.accept().await?;
/// #     socket.read(&mut [0; 1024]).await?;
/// #     socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await
/// # });
/// let guard = Guard::new(Rules { allow_loopback: true, ..Rules::default() });
/// let client = HttpClient::builder(guard.clone()).build()?;
/// let target = guard.check(&url).await?;
/// let request = http::Request::post(target.uri()).body("{}".into())?;
/// let response = client.send(request, &RequestLimits::default()).await?;
/// assert_eq!((response.status(), &response.body()[..]), (http::StatusCode::OK, &b"ok"[..]));
/// # server.await??;
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
    /// Bodies that are read only to reuse their connections. Dropping the last clone aborts them.
    body_reads: Arc<Mutex<JoinSet<()>>>,
}

/// Default `User-Agent` header.
const DEFAULT_USER_AGENT: &str = concat!("Latimer/", env!("CARGO_PKG_VERSION"), " A2A");

/// Cache of the last parsed target: consecutive requests often have the same URL.
type LastTarget = Mutex<Option<(Uri, Target)>>;

impl HttpClient {
    /// Creates a builder for a client with default settings.
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

    /// Returns a client with the same settings for the given versions of HTTP, with its own
    /// connection pool.
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
        Self {
            guard,
            connector,
            inner,
            user_agent,
            last_target: Arc::default(),
            body_reads: Arc::default(),
        }
    }

    /// Sends a request and reads the complete response within the limits, following redirects.
    ///
    /// The guard checks every redirect. A redirect is followed within the same origin, and across
    /// origins only if the method is GET or HEAD and the request contains no credentials. The
    /// method never changes. Credentials are headers such as `Authorization` and `Cookie`, and
    /// every header [marked](http::HeaderValue::set_sensitive) as sensitive.
    ///
    /// # Errors
    /// [`RequestError`] when there is no response or a redirect is not followed. A response with an
    /// error status is not an error.
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

    /// Sends a request and returns the response headers, following redirects as
    /// [`send`](Self::send) does. A background task drains the body, within the limits, so that the
    /// connection can be reused.
    ///
    /// # Errors
    /// [`RequestError`] as for [`send`](Self::send).
    pub async fn send_discarding_body(
        &self,
        request: Request<Bytes>,
        limits: &RequestLimits,
    ) -> Result<Response<()>, RequestError> {
        let response = Box::pin(self.send_streaming_with_redirects(request, limits.max_redirects));
        let response = tokio::time::timeout(limits.timeout, response).await;
        let (head, body) = response.map_err(|_| RequestError::Timeout)??.into_parts();
        let RequestLimits { timeout, max_body_bytes, .. } = *limits;
        let mut body_reads = self.body_reads.lock();
        while body_reads.try_join_next().is_some() {}
        body_reads.spawn(async move {
            let read = body::read_to_end(Response::new(body), max_body_bytes);
            // The response headers have been returned; an error only prevents reuse of the
            // connection.
            let _ = tokio::time::timeout(timeout, read).await;
        });
        Ok(Response::from_parts(head, ()))
    }

    /// Sends a request and returns when the response headers arrive, following up to
    /// `max_redirects` redirects as [`send`](Self::send) does. Only connecting has a timeout.
    ///
    /// # Errors
    /// [`RequestError`] as for [`send`](Self::send).
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
                // The connector checks it like every target.
                Some(next) => target = next,
            }
        }
        Err(RedirectError::TooMany.into())
    }

    /// Sends a request and returns when the response headers arrive. Redirects are returned as
    /// responses, and only connecting has a timeout.
    ///
    /// # Errors
    /// [`RequestError`] when there is no response.
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

    /// Parses and checks the URL of a request, without resolving its host name.
    fn checked_target(&self, uri: &Uri) -> Result<Target, Forbidden> {
        let mut last_target = self.last_target.lock();
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
        // The HTTP library sets it from the URL that was checked.
        headers.remove(HOST);
        headers.entry(USER_AGENT).or_insert_with(|| self.user_agent.clone());
        let response =
            self.inner.request(request).await.map_err(RequestError::from_client_error)?;
        Ok(response.map(Body::new))
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HttpClient").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// Limits of one request.
///
/// ```
/// # use std::time::Duration;
/// # use latimer_outbound::RequestLimits;
/// let limits = RequestLimits { max_body_bytes: 64 * 1024, ..RequestLimits::default() };
/// assert_eq!((limits.timeout, limits.max_redirects), (Duration::from_secs(30), 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Total time from resolving the host name to the last byte, including redirects.
    pub timeout: Duration,
    /// Maximum size of the response body in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of redirects to follow.
    pub max_redirects: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), max_body_bytes: 1024 * 1024, max_redirects: 3 }
    }
}

/// Versions of HTTP that a client uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 or HTTP/1.1 as negotiated over TLS, and HTTP/1.1 without TLS.
    #[default]
    Negotiated,
    /// HTTP/2 only, also without TLS. Required for gRPC.
    Http2,
}

/// Builder of an [`HttpClient`].
pub struct HttpClientBuilder {
    guard: Guard,
    dialer: Arc<dyn Dial>,
    connect_timeout: Duration,
    protocol: Protocol,
    user_agent: HeaderValue,
    tls: TlsSettings,
}

impl HttpClientBuilder {
    /// Sets the timeout for opening a connection: resolution, dialing and TLS together. Ten seconds
    /// by default.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the versions of HTTP. [`Protocol::Negotiated`] by default.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets the `User-Agent` header of requests without one. `Latimer/VERSION A2A` by default.
    #[must_use]
    pub fn user_agent(mut self, user_agent: HeaderValue) -> Self {
        self.user_agent = user_agent;
        self
    }

    /// Sets the dialer. Sockets of the operating system by default.
    #[must_use]
    pub fn dialer(mut self, dial: Arc<dyn Dial>) -> Self {
        self.dialer = dial;
        self
    }

    /// Builds the client.
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
        out.debug_struct("HttpClientBuilder").field("guard", &self.guard).finish_non_exhaustive()
    }
}
