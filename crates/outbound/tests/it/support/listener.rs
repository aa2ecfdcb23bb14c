//! Server on loopback that records its requests.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Response of a listener to a request.
pub(crate) enum StubResponse {
    Complete(Response<Bytes>),
    /// No response.
    Never,
    /// Response headers and the beginning of a body.
    Stalled,
    /// Endless body.
    Endless,
}

impl StubResponse {
    pub(crate) fn text(text: &str) -> Self {
        Self::Complete(Response::new(Bytes::copy_from_slice(text.as_bytes())))
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        let response = Response::builder().status(status).header("location", location);
        Self::Complete(response.body(Bytes::new()).expect("a response"))
    }
}

/// Request that a listener received.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Transport of a listener.
#[derive(Clone)]
pub(crate) enum Transport {
    PlainHttp1,
    /// HTTP/2 with prior knowledge, without TLS.
    PlainHttp2,
    Tls(Arc<rustls::ServerConfig>),
}

/// Server on loopback. Dropping it stops the server.
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    _server: JoinSet<()>,
}

struct State {
    accepted: AtomicUsize,
    requests: Mutex<Vec<RecordedRequest>>,
    handler: Box<dyn Fn(&RecordedRequest) -> StubResponse + Send + Sync>,
    transport: Transport,
}

impl Listener {
    pub(crate) async fn start(
        handler: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0", Transport::PlainHttp1, handler).await.expect("loopback")
    }

    pub(crate) async fn start_at(
        address: &str,
        transport: Transport,
        handler: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            accepted: AtomicUsize::new(0),
            requests: Mutex::default(),
            handler: Box::new(handler),
            transport,
        });
        let mut server = JoinSet::new();
        server.spawn(accept(listener, state.clone()));
        Ok(Self { address, state, _server: server })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the number of accepted connections.
    pub(crate) fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.state.requests.lock().unwrap().clone()
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        state.accepted.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(stream, state.clone()));
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    match state.transport.clone() {
        Transport::PlainHttp1 => serve_http(stream, state, false).await,
        Transport::PlainHttp2 => serve_http(stream, state, true).await,
        Transport::Tls(config) => {
            let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            serve_http(stream, state, http2).await;
        }
    }
}

async fn serve_http<S>(stream: S, state: Arc<State>, http2: bool)
where
    TokioIo<S>: Read + Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request| respond(request, state.clone()));
    // Some tests disconnect on purpose.
    let _ = if http2 {
        http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await
    } else {
        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
    };
}

async fn respond(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<StubBody>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let request =
        RecordedRequest { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    let response = (state.handler)(&request);
    state.requests.lock().unwrap().push(request);
    match response {
        StubResponse::Complete(response) => Ok(response.map(|it| StubBody::Complete(Some(it)))),
        StubResponse::Never => pending().await,
        StubResponse::Stalled => Ok(Response::new(StubBody::Stalled { started: false })),
        StubResponse::Endless => Ok(Response::new(StubBody::Endless)),
    }
}

enum StubBody {
    Complete(Option<Bytes>),
    Stalled { started: bool },
    Endless,
}

impl Body for StubBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = || Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 1024])))));
        match self.get_mut() {
            Self::Complete(bytes) => Poll::Ready(bytes.take().map(|it| Ok(Frame::data(it)))),
            Self::Stalled { started: true } => Poll::Pending,
            Self::Stalled { started } => {
                *started = true;
                chunk()
            }
            Self::Endless => chunk(),
        }
    }
}
