//! Requests in three wire formats: JSON-RPC 1.0, JSON-RPC 0.3 and HTTP+JSON 1.0.

use latimer_protocol::{ErrorKind, Version};
use serde_json::{Value, json};

/// Combination of binding and protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// JSON-RPC, protocol version 1.0.
    JsonRpcV1_0,
    /// JSON-RPC, protocol version 0.3.
    JsonRpcV0_3,
    /// HTTP+JSON, protocol version 1.0.
    HttpJsonV1_0,
}

/// Message to an agent, with its send options.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Message id.
    pub id: String,
    /// Text part.
    pub text: String,
    /// File part, in base64.
    pub file: Option<String>,
    /// Id of the task that the message continues; a new task if unset.
    pub task: Option<String>,
    /// Name of the agent; the first configured one if unset.
    pub agent: Option<&'static str>,
    /// Whether the server responds before the turn has finished.
    pub return_immediately: bool,
    /// URL of a webhook to register with the message.
    pub webhook: Option<String>,
}

/// HTTP request, ready to be encoded.
#[derive(Clone, Debug)]
pub struct Request {
    method: &'static str,
    path: String,
    version: &'static str,
    resume_after: Option<u64>,
    body: Option<Value>,
}

/// Operation on an existing task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOperation {
    /// Fetch the task.
    Get,
    /// Cancel the task.
    Cancel,
    /// Stream events: those after the given event id, or a snapshot and all later ones.
    Subscribe(Option<u64>),
}

impl WireFormat {
    /// All wire formats.
    pub const ALL: [Self; 3] = [Self::JsonRpcV1_0, Self::JsonRpcV0_3, Self::HttpJsonV1_0];

    fn version(self) -> Version {
        match self {
            Self::JsonRpcV1_0 | Self::HttpJsonV1_0 => Version::V1_0,
            Self::JsonRpcV0_3 => Version::V0_3,
        }
    }

    /// Returns the JSON-RPC code or HTTP status that encodes an error.
    #[must_use]
    pub fn error_code(self, kind: ErrorKind) -> i32 {
        let codes = kind.codes(self.version());
        match self {
            Self::JsonRpcV1_0 | Self::JsonRpcV0_3 => codes.jsonrpc,
            Self::HttpJsonV1_0 => i32::from(codes.http),
        }
    }

    /// Builds a request that sends a message and returns its result.
    #[must_use]
    pub fn send_request(self, message: &Message) -> Request {
        let methods = ("SendMessage", "message/send", "/message:send");
        self.message_request(methods, message)
    }

    /// Builds a request that sends a message and streams its events.
    #[must_use]
    pub fn stream_request(self, message: &Message) -> Request {
        let methods = ("SendStreamingMessage", "message/stream", "/message:stream");
        self.message_request(methods, message)
    }

    fn message_request(
        self,
        (v1_0, v0_3, path_suffix): (&str, &str, &str),
        message: &Message,
    ) -> Request {
        let base = message.agent.map_or("/a2a".to_owned(), |it| format!("/a2a/agents/{it}"));
        let params = json!({
            "message": self.encode_message(message),
            "configuration": self.configuration(message),
        });
        match self {
            Self::JsonRpcV1_0 => self.json_rpc(base, v1_0, params),
            Self::JsonRpcV0_3 => self.json_rpc(base, v0_3, params),
            Self::HttpJsonV1_0 => {
                self.http_json("POST", format!("{base}{path_suffix}"), Some(params))
            }
        }
    }

    /// Builds a request for an operation on a task.
    #[must_use]
    pub fn task_request(self, task: &str, operation: TaskOperation) -> Request {
        let (v1_0, v0_3, method, path_suffix) = match operation {
            TaskOperation::Get => ("GetTask", "tasks/get", "GET", ""),
            TaskOperation::Cancel => ("CancelTask", "tasks/cancel", "POST", ":cancel"),
            TaskOperation::Subscribe(_) => {
                ("SubscribeToTask", "tasks/resubscribe", "GET", ":subscribe")
            }
        };
        let params = json!({"id": task});
        let mut request = match self {
            Self::JsonRpcV1_0 => self.json_rpc("/a2a".to_owned(), v1_0, params),
            Self::JsonRpcV0_3 => self.json_rpc("/a2a".to_owned(), v0_3, params),
            Self::HttpJsonV1_0 => {
                self.http_json(method, format!("/a2a/tasks/{task}{path_suffix}"), None)
            }
        };
        if let TaskOperation::Subscribe(resume_after) = operation {
            request.resume_after = resume_after;
        }
        request
    }

    /// Builds a request for a page of the task list. 0.3 has no such operation, so its callers use
    /// 1.0.
    #[must_use]
    pub fn list_request(self, size: usize, page: &str) -> Request {
        match self {
            Self::JsonRpcV1_0 | Self::JsonRpcV0_3 => {
                let params = json!({"pageSize": size, "pageToken": page, "historyLength": 0});
                Self::JsonRpcV1_0.json_rpc("/a2a".to_owned(), "ListTasks", params)
            }
            Self::HttpJsonV1_0 => {
                let query = format!("pageSize={size}&pageToken={page}&historyLength=0");
                self.http_json("GET", format!("/a2a/tasks?{query}"), None)
            }
        }
    }

    fn json_rpc(self, path: String, method: &str, params: Value) -> Request {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let version = self.version().as_str();
        Request { method: "POST", path, version, resume_after: None, body: Some(body) }
    }

    fn http_json(self, method: &'static str, path: String, body: Option<Value>) -> Request {
        Request { method, path, version: self.version().as_str(), resume_after: None, body }
    }

    fn encode_message(self, message: &Message) -> Value {
        let mut parts = vec![json!({"text": message.text})];
        if let Some(file) = &message.file {
            parts.push(match self {
                Self::JsonRpcV1_0 | Self::HttpJsonV1_0 => json!({"raw": file, "filename": "f"}),
                Self::JsonRpcV0_3 => json!({"kind": "file", "file": {"bytes": file, "name": "f"}}),
            });
        }
        let mut encoded = json!({"messageId": message.id, "role": "ROLE_USER"});
        if self == Self::JsonRpcV0_3 {
            encoded["role"] = json!("user");
            encoded["kind"] = json!("message");
            parts[0]["kind"] = json!("text");
        }
        encoded["parts"] = Value::Array(parts);
        if let Some(task) = &message.task {
            encoded["taskId"] = json!(task);
        }
        encoded
    }

    fn configuration(self, message: &Message) -> Value {
        let (mut configuration, webhook) = match self {
            Self::JsonRpcV1_0 | Self::HttpJsonV1_0 => (
                json!({"returnImmediately": message.return_immediately}),
                "taskPushNotificationConfig",
            ),
            Self::JsonRpcV0_3 => {
                (json!({"blocking": !message.return_immediately}), "pushNotificationConfig")
            }
        };
        if let Some(url) = &message.webhook {
            configuration[webhook] = json!({"url": url});
        }
        configuration
    }
}

impl Request {
    /// Creates an HTTP request without a body.
    #[must_use]
    pub fn without_body(method: &'static str, path: &str) -> Self {
        let version = Version::V1_0.as_str();
        Self { method, path: path.to_owned(), version, resume_after: None, body: None }
    }

    /// Creates an HTTP request with a JSON body.
    #[must_use]
    pub fn with_body(method: &'static str, path: &str, body: Value) -> Self {
        Self { body: Some(body), ..Self::without_body(method, path) }
    }

    /// Encodes the request as HTTP/1.1.
    #[must_use]
    pub fn to_bytes(&self, address: &str) -> Vec<u8> {
        let Self { method, path, version, resume_after, body } = self;
        let resume_header =
            resume_after.map_or(String::new(), |it| format!("Last-Event-ID: {it}\r\n"));
        let body = body.as_ref().map_or(String::new(), Value::to_string);
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nA2A-Version: {version}\r\n{resume_header}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        [head.into_bytes(), body.into_bytes()].concat()
    }
}
