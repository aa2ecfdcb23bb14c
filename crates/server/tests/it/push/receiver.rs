//! Somebody who is told about tasks.

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

/// One delivery, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// What it was answered with.
    pub(crate) status: u16,
}

impl Delivery {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// What an event of 1.0 says, in a word or two.
    pub(crate) fn says(&self) -> String {
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

/// What a receiver makes of the n-th delivery that it gets: a status, or none, to never answer.
type Behave = Box<dyn Fn(usize) -> Option<u16> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Receiver(Arc<Inner>);

struct Inner {
    address: SocketAddr,
    got: Mutex<Vec<Delivery>>,
    more: Notify,
    behave: Behave,
    /// How much it says when it takes something.
    says: usize,
}

impl Receiver {
    /// One that takes everything.
    pub(crate) async fn new() -> Self {
        Self::that(|_| Some(200)).await
    }

    /// One that takes everything, and has a lot to say about it.
    pub(crate) async fn talkative() -> Self {
        Self::listen(Box::new(|_| Some(200)), 1024 * 1024).await
    }

    pub(crate) async fn that(
        behave: impl Fn(usize) -> Option<u16> + Send + Sync + 'static,
    ) -> Self {
        Self::listen(Box::new(behave), 0).await
    }

    async fn listen(behave: Behave, says: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (got, more) = (Mutex::default(), Notify::new());
        let inner = Inner { address, got, more, behave, says };
        let receiver = Self(Arc::new(inner));
        let serving = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let receiver = serving.clone();
                tokio::spawn(async move {
                    let answer = service_fn(move |request| receiver.clone().take(request));
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        receiver
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let status = {
            let mut got = self.0.got.lock().unwrap();
            let status = (self.0.behave)(got.len());
            got.push(Delivery {
                path: head.uri.path().to_owned(),
                headers: head.headers,
                body,
                status: status.unwrap_or_default(),
            });
            status
        };
        self.0.more.notify_waiters();
        match status {
            Some(status) => {
                let answer = Response::builder().status(status).header("retry-after", "0");
                Ok(answer.body(Full::from(vec![b' '; self.0.says])).unwrap())
            }
            None => std::future::pending().await,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }

    pub(crate) fn got(&self) -> Vec<Delivery> {
        self.0.got.lock().unwrap().clone()
    }

    /// What was taken, once that is so many.
    pub(crate) async fn taken(&self, count: usize) -> Vec<Delivery> {
        let taken = self.until(|all| all.iter().filter(|it| it.status == 200).count() >= count);
        taken.await.into_iter().filter(|it| it.status == 200).collect()
    }

    /// All there is, once it is as it should be.
    pub(crate) async fn until(&self, enough: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
        let wait = async {
            loop {
                let more = self.0.more.notified();
                tokio::pin!(more);
                more.as_mut().enable();
                let got = self.got();
                if enough(&got) {
                    return got;
                }
                more.await;
            }
        };
        let patience = Duration::from_secs(30);
        tokio::time::timeout(patience, wait).await.unwrap_or_else(|_| {
            panic!("waited too long; so far: {:?}", self.got());
        })
    }
}
