//! Requests in every binding and version, and comparable responses.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, DATE};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use latimer_pb::{v0_3, v1};
use latimer_protocol::binding::rest::HttpRequest;
use latimer_protocol::binding::{grpc, jsonrpc};
use latimer_protocol::{Dialect, Operation, Request, Version};
use prost::Message as _;
use tokio::net::TcpStream;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    HttpJson,
    Grpc,
}

/// A binding and a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WireFormat {
    pub(super) binding: Binding,
    pub(super) version: Version,
}

impl WireFormat {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let bindings = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
        let each = |binding| Version::ALL.into_iter().map(move |version| Self { binding, version });
        bindings.into_iter().flat_map(each)
    }

    /// Returns whether the format has an operation.
    pub(super) fn supports(self, operation: Operation) -> bool {
        match self.binding {
            Binding::JsonRpc => operation.method(self.version).is_some(),
            Binding::HttpJson => operation.route(self.version).is_some(),
            Binding::Grpc => operation.rpc(self.version).is_some(),
        }
    }

    /// Returns whether a call can name its agent. Requests of gRPC 0.3 cannot.
    pub(super) fn can_name_agent(self) -> bool {
        self.binding != Binding::Grpc || self.version == Version::V1_0
    }

    /// Returns whether a message to an unknown task creates it.
    pub(super) fn clients_assign_task_ids(self) -> bool {
        self.dialect().clients_assign_task_ids()
    }

    /// Returns whether a message can reference tasks. The protobuf messages of 0.3 cannot.
    pub(super) fn has_references(self) -> bool {
        self.binding == Binding::JsonRpc || self.version == Version::V1_0
    }

    /// Returns whether a request can name its task. Messages of the legacy REST API always create
    /// one.
    pub(super) fn can_name_task(self, operation: Operation) -> bool {
        self.dialect() != Dialect::Legacy || operation != Operation::SendMessage
    }

    fn dialect(self) -> Dialect {
        match (self.binding, self.version) {
            (Binding::JsonRpc, version) => Dialect::over_jsonrpc(version),
            (_, Version::V0_1) => Dialect::Legacy,
            (_, version) => Dialect::over_http(version),
        }
    }

    /// Encodes a request to an agent, or to the primary one.
    pub(super) fn build_request(
        self,
        request: &Request,
        agent: Option<&str>,
    ) -> http::Request<Full<Bytes>> {
        let base = agent.map_or("/a2a".to_owned(), |it| format!("/a2a/agents/{it}"));
        let (method, path, content_type, body) = match self.binding {
            Binding::JsonRpc => {
                let id = jsonrpc::Id::from(1);
                let body = jsonrpc::write_call(self.dialect(), &id, request).unwrap();
                (Method::POST, base, "application/json", body)
            }
            Binding::HttpJson => {
                let HttpRequest { method, path, body } =
                    HttpRequest::new(self.dialect(), request).unwrap();
                (method, base + &path, "application/json", body.unwrap_or_default())
            }
            Binding::Grpc => {
                let mut request = request.clone();
                request.set_tenant(agent.map(str::to_owned));
                let package = grpc::Package::for_version(self.version).unwrap();
                let path = grpc::path(request.operation(), package).unwrap();
                let message = match self.version {
                    Version::V1_0 => encode_v1(&request),
                    _ => encode_v0_3(&request),
                };
                let length = u32::try_from(message.len()).unwrap().to_be_bytes();
                (Method::POST, path, "application/grpc", [&[0], &length[..], &message].concat())
            }
        };
        let mut head =
            http::Request::builder().method(method).uri(path).header("content-type", content_type);
        if self.version != Version::V0_1 {
            head = head.header("a2a-version", self.version.as_str());
        }
        head.body(Full::from(body)).unwrap()
    }
}

fn encode_v1(request: &Request) -> Vec<u8> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            v1::SendMessageRequest::from(it).encode_to_vec()
        }
        Request::GetTask(it) => v1::GetTaskRequest::from(it).encode_to_vec(),
        Request::ListTasks(it) => v1::ListTasksRequest::from(it).encode_to_vec(),
        Request::CancelTask(it) => v1::CancelTaskRequest::from(it).encode_to_vec(),
        Request::SubscribeToTask(it) => v1::SubscribeToTaskRequest::from(it).encode_to_vec(),
        Request::CreateTaskPushNotificationConfig(it) => {
            v1::TaskPushNotificationConfig::from(it).encode_to_vec()
        }
        Request::GetTaskPushNotificationConfig(it) => {
            v1::GetTaskPushNotificationConfigRequest::from(it).encode_to_vec()
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            v1::ListTaskPushNotificationConfigsRequest::from(it).encode_to_vec()
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            v1::DeleteTaskPushNotificationConfigRequest::from(it).encode_to_vec()
        }
        Request::GetExtendedAgentCard(it) => {
            v1::GetExtendedAgentCardRequest::from(it).encode_to_vec()
        }
        Request::GetAgentCard => unreachable!("gRPC has no such method"),
    }
}

fn encode_v0_3(request: &Request) -> Vec<u8> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            v0_3::SendMessageRequest::from(it).encode_to_vec()
        }
        Request::GetTask(it) => v0_3::GetTaskRequest::from(it).encode_to_vec(),
        Request::ListTasks(it) => v0_3::ListTasksRequest::from(it).encode_to_vec(),
        Request::CancelTask(it) => v0_3::CancelTaskRequest::from(it).encode_to_vec(),
        Request::SubscribeToTask(it) => v0_3::TaskSubscriptionRequest::from(it).encode_to_vec(),
        Request::CreateTaskPushNotificationConfig(it) => {
            v0_3::CreateTaskPushNotificationConfigRequest::from(it).encode_to_vec()
        }
        Request::GetTaskPushNotificationConfig(it) => {
            v0_3::GetTaskPushNotificationConfigRequest::from(it).encode_to_vec()
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            v0_3::ListTaskPushNotificationConfigRequest::from(it).encode_to_vec()
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            v0_3::DeleteTaskPushNotificationConfigRequest::from(it).encode_to_vec()
        }
        Request::GetExtendedAgentCard(_) => v0_3::GetAgentCardRequest {}.encode_to_vec(),
        Request::GetAgentCard => unreachable!("gRPC has no such method"),
    }
}

/// HTTP/2 connection that all requests share.
#[derive(Clone)]
pub(super) struct Http2Connection {
    address: SocketAddr,
    sender: http2::SendRequest<Full<Bytes>>,
}

impl Http2Connection {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
        tokio::spawn(connection);
        Self { address, sender }
    }

    /// Sends a request and reads the response, of a stream only the first chunk.
    pub(super) async fn send(
        &self,
        mut request: http::Request<Full<Bytes>>,
        until: ReadUntil,
    ) -> ObservedResponse {
        let uri = format!("http://{}{}", self.address, request.uri());
        *request.uri_mut() = uri.parse().unwrap();
        let exchange = async {
            let (head, mut body) =
                self.sender.clone().send_request(request).await.unwrap().into_parts();
            let (mut bytes, mut trailers) = (Vec::new(), HeaderMap::new());
            while let Some(frame) = body.frame().await {
                match frame.unwrap().into_data() {
                    Ok(data) => bytes.extend_from_slice(&data),
                    Err(frame) => trailers = frame.into_trailers().unwrap(),
                }
                if until == ReadUntil::FirstChunk && !bytes.is_empty() {
                    break;
                }
            }
            ObservedResponse::new(head.status.as_u16(), head.headers, bytes, trailers)
        };
        tokio::time::timeout(Duration::from_secs(30), exchange).await.expect("an answer in time")
    }
}

/// How much of a response is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadUntil {
    FirstChunk,
    End,
}

/// A response without the values that differ between calls: times and ids, including the requested
/// id.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ObservedResponse {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    /// gRPC code, message and details.
    grpc_status: Option<(i32, Vec<u8>, Vec<u8>)>,
    body: Vec<u8>,
}

impl ObservedResponse {
    fn new(status: u16, mut headers: HeaderMap, body: Vec<u8>, trailers: HeaderMap) -> Self {
        headers.remove(DATE);
        let grpc_status =
            [&headers, &trailers].into_iter().find_map(tonic::Status::from_header_map);
        let grpc_status = grpc_status.map(|it| {
            (
                it.code().into(),
                mask_generated_values(it.message().as_bytes()),
                mask_generated_values(it.details()),
            )
        });
        for name in ["grpc-message", "grpc-status-details-bin"] {
            headers.remove(name);
        }
        let masked_body = mask_generated_values(&body);
        if masked_body.len() != body.len() {
            // Masking changes the length.
            headers.remove(CONTENT_LENGTH);
        }
        let text = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let mut headers: Vec<_> = headers.iter().map(text).collect();
        headers.sort();
        Self { status, headers, grpc_status, body: masked_body }
    }

    /// Returns whether the response contains a text.
    pub(super) fn contains(&self, text: &str) -> bool {
        format!("{self:?}").contains(text)
    }
}

impl fmt::Debug for ObservedResponse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        write!(out, "{} {:?}", self.status, self.headers)?;
        if let Some((code, message, details)) = &self.grpc_status {
            write!(out, " gRPC {code} {} {}", text(message), text(details))?;
        }
        write!(out, " {}", text(&self.body))
    }
}

const UUID: &[u8] = b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
const TIME: &[u8] = b"dddd-dd-ddTdd:dd:dd";

/// Replaces every generated id and every time.
fn mask_generated_values(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut remaining) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some((first, tail)) = remaining.split_first() {
        if matches_pattern(remaining, UUID) {
            out.extend_from_slice(UUID);
            remaining = &remaining[UUID.len()..];
        } else if matches_pattern(remaining, TIME) {
            out.extend_from_slice(b"TIME");
            let end = remaining.iter().position(|it| *it == b'Z').unwrap_or(remaining.len());
            remaining = &remaining[end..];
        } else {
            out.push(*first);
            remaining = tail;
        }
    }
    out
}

fn matches_pattern(bytes: &[u8], pattern: &[u8]) -> bool {
    let matches_byte = |(byte, pattern): (&u8, &u8)| match pattern {
        b'x' => byte.is_ascii_hexdigit(),
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    };
    bytes.len() >= pattern.len() && bytes.iter().zip(pattern).all(matches_byte)
}
