//! Webhook receiver.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// A received delivery.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Status of the response; 0 without one.
    pub(crate) status: u16,
}

impl Delivery {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Summarizes a 1.0 event in a word or two.
    pub(crate) fn summary(&self) -> String {
        let body = self.json();
        let state = |it: &Value| it["status"]["state"].as_str().unwrap().replace("TASK_STATE_", "");
        match body.as_object().unwrap().keys().next().unwrap().as_str() {
            "task" => format!("task {}", state(&body["task"])),
            "statusUpdate" => state(&body["statusUpdate"]),
            "artifactUpdate" => {
                let parts = &body["artifactUpdate"]["artifact"]["parts"];
                format!("artifact {}", parts[0]["text"].as_str().unwrap())
            }
            other => other.to_owned(),
        }
    }
}

/// Returns the status for the n-th delivery, or `None` to send no response.
type Behavior = Box<dyn Fn(usize) -> Option<u16> + Send + Sync>;

/// HTTP server that records deliveries. Cheap to clone; clones share the records.
#[derive(Clone)]
pub(crate) struct Receiver(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    received: Mutex<Vec<Delivery>>,
    changed: Notify,
    behavior: Behavior,
    /// Length of the response body.
    response_bytes: usize,
}

impl Receiver {
    /// Starts a receiver that accepts every delivery.
    pub(crate) async fn new() -> Self {
        Self::with_behavior(|_| Some(200)).await
    }

    /// Starts a receiver that accepts every delivery with a long response body.
    pub(crate) async fn with_long_responses() -> Self {
        Self::listen(Box::new(|_| Some(200)), 1024 * 1024).await
    }

    pub(crate) async fn with_behavior(
        behavior: impl Fn(usize) -> Option<u16> + Send + Sync + 'static,
    ) -> Self {
        Self::listen(Box::new(behavior), 0).await
    }

    async fn listen(behavior: Behavior, response_bytes: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (received, changed) = (Mutex::default(), Notify::new());
        let inner = Inner { address, received, changed, behavior, response_bytes };
        let receiver = Self(Arc::new(inner));
        let serving = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let receiver = serving.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| receiver.clone().handle(request));
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        receiver
    }

    async fn handle(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let status = {
            let mut received = self.0.received.lock().unwrap();
            let status = (self.0.behavior)(received.len());
            received.push(Delivery {
                path: head.uri.path().to_owned(),
                headers: head.headers,
                body,
                status: status.unwrap_or_default(),
            });
            status
        };
        self.0.changed.notify_waiters();
        match status {
            Some(status) => {
                let response = Response::builder().status(status).header("retry-after", "0");
                Ok(response.body(Full::from(vec![b' '; self.0.response_bytes])).unwrap())
            }
            None => std::future::pending().await,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }

    pub(crate) fn received(&self) -> Vec<Delivery> {
        self.0.received.lock().unwrap().clone()
    }

    /// Waits for `count` accepted deliveries and returns all accepted ones.
    pub(crate) async fn wait_accepted(&self, count: usize) -> Vec<Delivery> {
        let accepted =
            self.wait_until(|all| all.iter().filter(|it| it.status == 200).count() >= count);
        accepted.await.into_iter().filter(|it| it.status == 200).collect()
    }

    /// Waits until `is_done` returns true and returns all deliveries.
    pub(crate) async fn wait_until(&self, is_done: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
        let wait = async {
            loop {
                let changed = self.0.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let received = self.received();
                if is_done(&received) {
                    return received;
                }
                changed.await;
            }
        };
        let timeout = Duration::from_secs(30);
        tokio::time::timeout(timeout, wait).await.unwrap_or_else(|_| {
            panic!("timed out; received {:?}", self.received());
        })
    }
}
