//! A server on loopback that counts its callers.

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
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What a listener does about a request.
pub(crate) enum Answer {
    With(Response<Bytes>),
    /// Nothing at all.
    Never,
    /// The beginning of an answer, and no more.
    Stuck,
    /// An answer without an end.
    Endless,
}

impl Answer {
    pub(crate) fn text(text: &str) -> Self {
        Self::With(Response::new(Bytes::copy_from_slice(text.as_bytes())))
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        let response = Response::builder().status(status).header("location", location);
        Self::With(response.body(Bytes::new()).expect("a response"))
    }
}

/// What a listener saw of a request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// How a listener speaks.
#[derive(Clone)]
pub(crate) enum Tls {
    None,
    /// No TLS, and HTTP/2 from the first byte.
    NoneWithHttp2,
    With(Arc<rustls::ServerConfig>),
}

/// A server on loopback. Gone when it is dropped.
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    accepted: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
    handler: Box<dyn Fn(&Seen) -> Answer + Send + Sync>,
    tls: Tls,
}

impl Listener {
    pub(crate) async fn start(handler: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0", Tls::None, handler).await.expect("loopback")
    }

    pub(crate) async fn start_at(
        address: &str,
        tls: Tls,
        handler: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            accepted: AtomicUsize::new(0),
            seen: Mutex::default(),
            handler: Box::new(handler),
            tls,
        });
        let task = tokio::spawn(accept(listener, state.clone()));
        Ok(Self { address, state, task })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many connections it took.
    pub(crate) fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        state.accepted.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(stream, state.clone()));
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    match state.tls.clone() {
        Tls::None => speak(stream, state, false).await,
        Tls::NoneWithHttp2 => speak(stream, state, true).await,
        Tls::With(config) => {
            let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            speak(stream, state, http2).await;
        }
    }
}

async fn speak<S>(stream: S, state: Arc<State>, http2: bool)
where
    TokioIo<S>: Read + Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request| answer(request, state.clone()));
    // A client that goes away in the middle is what some tests are about.
    let _ = if http2 {
        http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await
    } else {
        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
    };
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<Content>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let seen = Seen { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    let answer = (state.handler)(&seen);
    state.seen.lock().unwrap().push(seen);
    match answer {
        Answer::With(response) => Ok(response.map(|it| Content::Whole(Some(it)))),
        Answer::Never => pending().await,
        Answer::Stuck => Ok(Response::new(Content::Stuck { begun: false })),
        Answer::Endless => Ok(Response::new(Content::Endless)),
    }
}

enum Content {
    Whole(Option<Bytes>),
    Stuck { begun: bool },
    Endless,
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = || Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 1024])))));
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|it| Ok(Frame::data(it)))),
            Self::Stuck { begun: true } => Poll::Pending,
            Self::Stuck { begun } => {
                *begun = true;
                chunk()
            }
            Self::Endless => chunk(),
        }
    }
}
