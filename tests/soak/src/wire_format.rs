//! The same said in three ways: JSON-RPC of 1.0 and of 0.3, and HTTP+JSON of 1.0.

use latimer_protocol::{ErrorKind, Version};
use serde_json::{Value, json};

/// A way to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// JSON-RPC of 1.0.
    JsonRpcV1_0,
    /// JSON-RPC of 0.3.
    JsonRpcV0_3,
    /// HTTP+JSON of 1.0.
    HttpJsonV1_0,
}

/// A message to an agent.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// A file that goes with it.
    pub file: Option<String>,
    /// The task that it goes on with.
    pub task: Option<String>,
    /// The agent, if it is not the first one.
    pub agent: Option<&'static str>,
    /// Nobody waits for the answer.
    pub return_immediately: bool,
    /// Where events go.
    pub webhook: Option<String>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    method: &'static str,
    path: String,
    version: &'static str,
    resume_after: Option<u64>,
    body: Option<Value>,
}

/// What is asked about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOperation {
    /// The task as it stands.
    Get,
    /// Its end.
    Cancel,
    /// Its events, from those behind this one, or from now.
    Subscribe(Option<u64>),
}

impl WireFormat {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::JsonRpcV1_0, Self::JsonRpcV0_3, Self::HttpJsonV1_0];

    fn version(self) -> Version {
        match self {
            Self::JsonRpcV1_0 | Self::HttpJsonV1_0 => Version::V1_0,
            Self::JsonRpcV0_3 => Version::V0_3,
        }
    }

    /// How an error is spelled: its code, or its status.
    #[must_use]
    pub fn error_code(self, kind: ErrorKind) -> i32 {
        let codes = kind.codes(self.version());
        match self {
            Self::JsonRpcV1_0 | Self::JsonRpcV0_3 => codes.jsonrpc,
            Self::HttpJsonV1_0 => i32::from(codes.http),
        }
    }

    /// Sends a message, for an answer.
    #[must_use]
    pub fn send_request(self, message: &Message) -> Request {
        let methods = ("SendMessage", "message/send", "/message:send");
        self.message_request(methods, message)
    }

    /// Sends a message, for a stream.
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

    /// Asks about a task.
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

    /// A page of tasks. 0.3 has none, and says it as 1.0 does.
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
    /// Asks for something by its address.
    #[must_use]
    pub fn without_body(method: &'static str, path: &str) -> Self {
        let version = Version::V1_0.as_str();
        Self { method, path: path.to_owned(), version, resume_after: None, body: None }
    }

    /// The same with something to say.
    #[must_use]
    pub fn with_body(method: &'static str, path: &str, body: Value) -> Self {
        Self { body: Some(body), ..Self::without_body(method, path) }
    }

    /// What goes over the wire.
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
