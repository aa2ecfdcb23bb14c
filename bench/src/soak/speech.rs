//! The same said in three ways: JSON-RPC of 1.0 and of 0.3, and HTTP+JSON of 1.0.

use latimer_protocol::{ErrorKind, Version};
use serde_json::{Value, json};

/// A way to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// JSON-RPC of 1.0.
    Rpc,
    /// JSON-RPC of 0.3.
    OldRpc,
    /// HTTP+JSON of 1.0.
    Rest,
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
    pub at_once: bool,
    /// Where events go.
    pub webhook: Option<String>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    method: &'static str,
    path: String,
    version: &'static str,
    after: Option<u64>,
    body: Option<Value>,
}

/// What is asked about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The task as it stands.
    Get,
    /// Its end.
    Cancel,
    /// Its events, from those behind this one, or from now.
    Subscribe(Option<u64>),
}

impl Speech {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Rpc, Self::OldRpc, Self::Rest];

    fn version(self) -> Version {
        match self {
            Self::Rpc | Self::Rest => Version::V1_0,
            Self::OldRpc => Version::V0_3,
        }
    }

    /// How an error is spelled: its code, or its status.
    #[must_use]
    pub fn code(self, kind: ErrorKind) -> i32 {
        let codes = kind.codes(self.version());
        match self {
            Self::Rpc | Self::OldRpc => codes.jsonrpc,
            Self::Rest => i32::from(codes.http),
        }
    }

    /// Sends a message, for an answer.
    #[must_use]
    pub fn send(self, message: &Message) -> Request {
        let methods = ("SendMessage", "message/send", "/message:send");
        self.message(methods, message)
    }

    /// Sends a message, for a stream.
    #[must_use]
    pub fn stream(self, message: &Message) -> Request {
        let methods = ("SendStreamingMessage", "message/stream", "/message:stream");
        self.message(methods, message)
    }

    fn message(self, (new, old, rest): (&str, &str, &str), message: &Message) -> Request {
        let base = message.agent.map_or("/a2a".to_owned(), |it| format!("/a2a/agents/{it}"));
        let params = json!({
            "message": self.spell(message),
            "configuration": self.configuration(message),
        });
        match self {
            Self::Rpc => self.rpc(base, new, params),
            Self::OldRpc => self.rpc(base, old, params),
            Self::Rest => self.rest("POST", format!("{base}{rest}"), Some(params)),
        }
    }

    /// Asks about a task.
    #[must_use]
    pub fn about(self, task: &str, about: About) -> Request {
        let (new, old, method, rest) = match about {
            About::Get => ("GetTask", "tasks/get", "GET", ""),
            About::Cancel => ("CancelTask", "tasks/cancel", "POST", ":cancel"),
            About::Subscribe(_) => ("SubscribeToTask", "tasks/resubscribe", "GET", ":subscribe"),
        };
        let params = json!({"id": task});
        let mut request = match self {
            Self::Rpc => self.rpc("/a2a".to_owned(), new, params),
            Self::OldRpc => self.rpc("/a2a".to_owned(), old, params),
            Self::Rest => self.rest(method, format!("/a2a/tasks/{task}{rest}"), None),
        };
        if let About::Subscribe(after) = about {
            request.after = after;
        }
        request
    }

    /// A page of tasks. 0.3 has none, and says it as 1.0 does.
    #[must_use]
    pub fn list(self, size: usize, page: &str) -> Request {
        match self {
            Self::Rpc | Self::OldRpc => {
                let params = json!({"pageSize": size, "pageToken": page, "historyLength": 0});
                Self::Rpc.rpc("/a2a".to_owned(), "ListTasks", params)
            }
            Self::Rest => {
                let query = format!("pageSize={size}&pageToken={page}&historyLength=0");
                self.rest("GET", format!("/a2a/tasks?{query}"), None)
            }
        }
    }

    fn rpc(self, path: String, method: &str, params: Value) -> Request {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let version = self.version().as_str();
        Request { method: "POST", path, version, after: None, body: Some(body) }
    }

    fn rest(self, method: &'static str, path: String, body: Option<Value>) -> Request {
        Request { method, path, version: self.version().as_str(), after: None, body }
    }

    fn spell(self, message: &Message) -> Value {
        let mut parts = vec![json!({"text": message.text})];
        if let Some(file) = &message.file {
            parts.push(match self {
                Self::Rpc | Self::Rest => json!({"raw": file, "filename": "f"}),
                Self::OldRpc => json!({"kind": "file", "file": {"bytes": file, "name": "f"}}),
            });
        }
        let mut spelled = json!({"messageId": message.id, "role": "ROLE_USER"});
        if self == Self::OldRpc {
            spelled["role"] = json!("user");
            spelled["kind"] = json!("message");
            parts[0]["kind"] = json!("text");
        }
        spelled["parts"] = Value::Array(parts);
        if let Some(task) = &message.task {
            spelled["taskId"] = json!(task);
        }
        spelled
    }

    fn configuration(self, message: &Message) -> Value {
        let (mut configuration, webhook) = match self {
            Self::Rpc | Self::Rest => {
                (json!({"returnImmediately": message.at_once}), "taskPushNotificationConfig")
            }
            Self::OldRpc => (json!({"blocking": !message.at_once}), "pushNotificationConfig"),
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
    pub fn plain(method: &'static str, path: &str) -> Self {
        let version = Version::V1_0.as_str();
        Self { method, path: path.to_owned(), version, after: None, body: None }
    }

    /// The same with something to say.
    #[must_use]
    pub fn with_body(method: &'static str, path: &str, body: Value) -> Self {
        Self { body: Some(body), ..Self::plain(method, path) }
    }

    /// What goes over the wire.
    #[must_use]
    pub fn bytes(&self, address: &str) -> Vec<u8> {
        let Self { method, path, version, after, body } = self;
        let after = after.map_or(String::new(), |it| format!("Last-Event-ID: {it}\r\n"));
        let body = body.as_ref().map_or(String::new(), Value::to_string);
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nA2A-Version: {version}\r\n{after}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        [head.into_bytes(), body.into_bytes()].concat()
    }
}
