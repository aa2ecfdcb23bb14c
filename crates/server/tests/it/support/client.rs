//! HTTP client that opens a connection for each request.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Version};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Client of one server, with headers for every request.
#[derive(Clone)]
pub(crate) struct TestClient {
    pub(crate) address: SocketAddr,
    headers: Vec<(&'static str, String)>,
}

/// Response of a server.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Data frames of the body.
    pub(crate) chunks: Vec<Bytes>,
}

impl TestClient {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, headers: Vec::new() }
    }

    /// Returns a client that also sends this header.
    pub(crate) fn with_header(&self, name: &'static str, value: impl Into<String>) -> Self {
        let mut caller = self.clone();
        caller.headers.retain(|(it, _)| *it != name);
        caller.headers.push((name, value.into()));
        caller
    }

    /// Returns a client that declares version 1.0.
    pub(crate) fn v1(&self) -> Self {
        self.with_header("a2a-version", "1.0")
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.send(Method::GET, path, "").await
    }

    /// Sends a POST request, with a JSON content type unless the client has another one.
    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> TestResponse {
        let has_content_type = self.headers.iter().any(|(name, _)| *name == "content-type");
        let caller = if has_content_type {
            self.clone()
        } else {
            self.with_header("content-type", "application/json")
        };
        caller.send(Method::POST, path, body).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: impl Into<String>,
    ) -> TestResponse {
        let request = self.build_request(method, path, body.into());
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let response = read_response(sender.send_request(request).await.unwrap()).await;
        connection.abort();
        response
    }

    pub(crate) fn build_request(
        &self,
        method: Method,
        path: &str,
        body: String,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(method).uri(path);
        if !self.headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", self.address.to_string());
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.body(Full::from(body)).unwrap()
    }

    /// Sends raw bytes and reads until the server closes the connection or `is_complete` returns
    /// true.
    pub(crate) async fn send_raw(
        &self,
        bytes: &[u8],
        is_complete: impl Fn(&str) -> bool,
    ) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            let length = stream.read(&mut chunk).await.unwrap_or(0);
            all.extend_from_slice(&chunk[..length]);
            let text = String::from_utf8_lossy(&all).into_owned();
            if length == 0 || is_complete(&text) {
                return text;
            }
        }
    }
}

/// Sends a request over HTTP/2 with prior knowledge.
pub(crate) async fn send_http2(
    caller: &TestClient,
    method: Method,
    path: &str,
    body: &str,
) -> TestResponse {
    let stream = TcpStream::connect(caller.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let mut request = caller.build_request(method, path, body.to_owned());
    *request.uri_mut() = format!("http://{}{path}", caller.address).parse().unwrap();
    *request.version_mut() = Version::HTTP_2;
    request.headers_mut().remove("host");
    let response = read_response(sender.send_request(request).await.unwrap()).await;
    connection.abort();
    response
}

/// Reads a response to its end.
pub(crate) async fn read_response(response: http::Response<hyper::body::Incoming>) -> TestResponse {
    let (head, mut body) = response.into_parts();
    let mut chunks = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { break };
        chunks.extend(frame.into_data());
    }
    let body = chunks.concat().into();
    TestResponse { status: head.status.as_u16(), headers: head.headers, body, chunks }
}

impl TestResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// Returns the data of each server-sent event.
    pub(crate) fn events(&self) -> Vec<Value> {
        let lines = self.text().lines().filter_map(|it| it.strip_prefix("data: "));
        lines.map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    /// Returns the JSON-RPC error code; 0 without an error.
    pub(crate) fn rpc_error_code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or(0)
    }
}
