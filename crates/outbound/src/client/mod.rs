//! The guarded HTTP client.

mod body;
mod connector;
mod failure;
mod redirect;
mod stream;
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

use crate::dial::{Dial, Sockets};
use crate::forbidden::Forbidden;
use crate::guard::Guard;
use crate::target::Target;
use body::Sent;
use connector::Connector;
use tls::{Identity, Tls};

pub use body::Body;
pub use failure::Failure;
pub use redirect::Redirect;
pub use tls::InvalidTls;

/// Calls what its [`Guard`] lets it call, over HTTP/1.1 and HTTP/2. Cheap to clone; clones share
/// their connections.
///
/// ```no_run
/// # use latimer_outbound::{Client, Guard, Limits, Rules};
/// # async fn deliver() -> Result<(), Box<dyn std::error::Error>> {
/// let guard = Guard::new(Rules::default());
/// let client = Client::builder(guard.clone()).build()?;
/// let target = guard.check("https://hooks.example/tasks").await?;
/// let request = http::Request::post(target.uri()).body("{}".into())?;
/// let response = client.send(request, &Limits::default()).await?;
/// assert!(response.status().is_success());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    guard: Guard,
    connector: Connector,
    inner: legacy::Client<Connector, Sent>,
    name: HeaderValue,
    last: Arc<Last>,
}

/// What we call ourselves, unless told otherwise.
const OWN_NAME: &str = concat!("Latimer/", env!("CARGO_PKG_VERSION"), " A2A");

/// Where the last request went, which is where most go: it need not be read again.
type Last = Mutex<Option<(Uri, Target)>>;

impl Client {
    /// Sets up a client.
    #[must_use]
    pub fn builder(guard: Guard) -> Builder {
        Builder {
            guard,
            dial: Arc::new(Sockets),
            connect_timeout: Duration::from_secs(10),
            protocol: Protocol::Negotiated,
            name: HeaderValue::from_static(OWN_NAME),
            roots: Vec::new(),
            identity: None,
        }
    }

    /// The same client, with connections of its own over which these versions of HTTP are spoken.
    #[must_use]
    pub fn speaking(&self, protocol: Protocol) -> Self {
        Self::new(self.guard.clone(), &self.connector, protocol, self.name.clone())
    }

    fn new(guard: Guard, connector: &Connector, protocol: Protocol, name: HeaderValue) -> Self {
        let connector = connector.speaking(protocol);
        let inner = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(60))
            .pool_max_idle_per_host(64)
            .http2_only(protocol == Protocol::Http2)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .http2_keep_alive_timeout(Duration::from_secs(10))
            .build(connector.clone());
        Self { guard, connector, inner, name, last: Arc::default() }
    }

    /// Sends a request and reads the whole answer, following redirects.
    ///
    /// A redirect is checked as any address is. It is followed when it leads to the same origin, or
    /// when the request only reads and shows no credentials; and never turns a request into another.
    /// Credentials are `Authorization`, `Cookie` and the like, and every header that is
    /// [marked](http::HeaderValue::set_sensitive) as sensitive.
    ///
    /// # Errors
    /// [`Failure`]; an answer of any status that is not a redirect is none.
    pub async fn send(
        &self,
        request: Request<Bytes>,
        limits: &Limits,
    ) -> Result<Response<Bytes>, Failure> {
        let answer = Box::pin(async {
            body::whole(self.follow(request, limits.redirects).await?, limits.body).await
        });
        tokio::time::timeout(limits.time, answer).await.map_err(|_| Failure::Timeout)?
    }

    /// Sends a request of whose answer only the head matters, following redirects as
    /// [`send`](Self::send) does. The body is read on the side, within the limits, so that the
    /// connection can be used again.
    ///
    /// # Errors
    /// [`Failure`]; an answer of any status that is not a redirect is none.
    pub async fn tell(
        &self,
        request: Request<Bytes>,
        limits: &Limits,
    ) -> Result<Response<()>, Failure> {
        let answer = Box::pin(self.follow(request, limits.redirects));
        let answer = tokio::time::timeout(limits.time, answer).await;
        let (head, body) = answer.map_err(|_| Failure::Timeout)??.into_parts();
        let Limits { time, body: most, .. } = *limits;
        tokio::spawn(async move {
            // Whatever comes of it, the answer is there.
            let _ = tokio::time::timeout(time, body::whole(Response::new(body), most)).await;
        });
        Ok(Response::from_parts(head, ()))
    }

    /// Sends a request and returns as soon as the answer begins, following so many redirects as
    /// [`send`](Self::send) does. No time is kept but that for connecting.
    ///
    /// # Errors
    /// [`Failure`]; an answer of any status that is not a redirect is none.
    pub async fn follow(
        &self,
        request: Request<Bytes>,
        redirects: usize,
    ) -> Result<Response<Body>, Failure> {
        let (parts, content) = request.into_parts();
        let mut target = self.target(&parts.uri)?;
        for _ in 0..=redirects {
            let body = body::sent(Full::new(content.clone()));
            let request = Request::from_parts(parts.clone(), body);
            let response = self.exchange(&target, request).await?;
            match redirect::next(&target, &parts, &response)? {
                None => return Ok(response),
                // The connector looks at it as it does at every target.
                Some(next) => target = next,
            }
        }
        Err(Redirect::TooMany.into())
    }

    /// Sends a request and returns as soon as the answer begins. No redirect is followed, and no time
    /// is kept but that for connecting: both are the caller's.
    ///
    /// # Errors
    /// [`Failure`]; an answer of any status is none.
    pub async fn open<B>(&self, request: Request<B>) -> Result<Response<Body>, Failure>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let target = self.target(request.uri())?;
        self.exchange(&target, request.map(body::sent)).await
    }

    /// Where a request goes, if it may go there.
    fn target(&self, uri: &Uri) -> Result<Target, Forbidden> {
        // A target is put in whole.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, target)) = last.as_ref().filter(|(known, _)| known == uri) {
            return Ok(target.clone());
        }
        let target = self.guard.target(&uri.to_string())?;
        *last = Some((uri.clone(), target.clone()));
        Ok(target)
    }

    async fn exchange(
        &self,
        target: &Target,
        mut request: Request<Sent>,
    ) -> Result<Response<Body>, Failure> {
        *request.uri_mut() = target.uri().clone();
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        // The one that stands in the URL, which is the one that was checked.
        headers.remove(HOST);
        headers.entry(USER_AGENT).or_insert_with(|| self.name.clone());
        let response = self.inner.request(request).await.map_err(Failure::of_request)?;
        Ok(response.map(Body::new))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// What an answer may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time for all of it, from looking up the name to the last byte, redirects included.
    pub time: Duration,
    /// The largest body of an answer, in bytes.
    pub body: usize,
    /// How many redirects may follow each other.
    pub redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), body: 1024 * 1024, redirects: 3 }
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

/// Sets up a [`Client`].
pub struct Builder {
    guard: Guard,
    dial: Arc<dyn Dial>,
    connect_timeout: Duration,
    protocol: Protocol,
    name: HeaderValue,
    roots: Vec<Vec<u8>>,
    identity: Option<Identity>,
}

impl Builder {
    /// Time for a connection: name, socket and TLS together. Ten seconds unless it is said.
    #[must_use]
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
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
    pub fn user_agent(mut self, name: HeaderValue) -> Self {
        self.name = name;
        self
    }

    /// Certificates, in PEM, that servers may be vouched for by, beside those that the operating
    /// system trusts.
    #[must_use]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// What the client shows to servers at the origin of a URL, and nowhere else, when they ask who it
    /// is: a chain of certificates and the key of the first, both in PEM.
    #[must_use]
    pub fn identity(
        mut self,
        url: impl Into<String>,
        certificates: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (url, certificates, key) = (url.into(), certificates.into(), key.into());
        self.identity = Some(Identity { url, certificates, key });
        self
    }

    /// Opens sockets in another way.
    #[must_use]
    pub fn dial(mut self, dial: Arc<dyn Dial>) -> Self {
        self.dial = dial;
        self
    }

    /// The client.
    ///
    /// # Errors
    /// [`InvalidTls`] when a certificate or key cannot be used.
    pub fn build(self) -> Result<Client, InvalidTls> {
        let tls = Tls::new(&self.roots, self.identity.as_ref())?;
        let connector = Connector::new(self.guard.clone(), self.dial, tls, self.connect_timeout);
        Ok(Client::new(self.guard, &connector, self.protocol, self.name))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Builder").field("guard", &self.guard).finish_non_exhaustive()
    }
}
