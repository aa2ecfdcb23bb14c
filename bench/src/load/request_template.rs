//! Requests of each binding, and the check of responses.

use std::io::Write as _;

use latimer_pb::v1;

use super::{Binding, Operation, Plan};

/// Text that the agent echoes.
const MESSAGE_TEXT: &str = "The quick brown fox jumps over the lazy dog.";

/// Template for the requests of one run.
#[derive(Clone, Debug)]
pub(crate) struct RequestTemplate {
    address: String,
    path: String,
    binding: Binding,
    operation: Operation,
    /// Makes message ids of different runs distinct.
    run_id: u128,
    task_id: String,
}

impl RequestTemplate {
    pub(super) fn new(plan: &Plan, run_id: u128) -> Self {
        Self {
            address: plan.address.clone(),
            path: plan.path.trim_end_matches('/').to_owned(),
            binding: plan.binding,
            operation: plan.operation,
            run_id,
            task_id: String::new(),
        }
    }

    /// Returns the template with the id of the task to fetch.
    pub(super) fn with_task_id(mut self, task_id: String) -> Self {
        self.task_id = task_id;
        self
    }

    /// Returns a copy of the template for [`Operation::Send`].
    pub(super) fn for_send(&self) -> Self {
        Self { operation: Operation::Send, ..self.clone() }
    }

    /// Replaces the contents of `out` with an HTTP request; `body` is scratch space.
    pub(super) fn write(&self, number: u64, body: &mut Vec<u8>, out: &mut Vec<u8>) {
        body.clear();
        out.clear();
        self.write_body(number, body);
        let accept = match self.operation {
            Operation::Stream => "text/event-stream",
            Operation::Send | Operation::Get => "application/json",
        };
        let version = match self.binding {
            Binding::HybridJsonRpc => "",
            Binding::JsonRpc | Binding::Rest | Binding::Grpc => "A2A-Version: 1.0\r\n",
        };
        let (path, address) = (&self.path, &self.address);
        let method = if body.is_empty() { "GET" } else { "POST" };
        let suffix = match (self.binding, self.operation) {
            (Binding::Rest, Operation::Send) => "/message:send",
            (Binding::Rest, Operation::Stream) => "/message:stream",
            (Binding::Rest, Operation::Get) => "/tasks/",
            _ if path.is_empty() => "/",
            _ => "",
        };
        let task_id = if method == "GET" { &*self.task_id } else { "" };
        let length = body.len();
        // Writing to a `Vec` does not fail.
        let _ = write!(
            out,
            "{method} {path}{suffix}{task_id} HTTP/1.1\r\nHost: {address}\r\nAccept: {accept}\r\n{version}"
        );
        if !body.is_empty() {
            let _ = write!(out, "Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
    }

    fn write_body(&self, number: u64, body: &mut Vec<u8>) {
        let (run_id, task_id) = (self.run_id, &self.task_id);
        let method = match (self.binding, self.operation) {
            (Binding::HybridJsonRpc, Operation::Send) => "message/send",
            (Binding::HybridJsonRpc, Operation::Stream) => "message/stream",
            (Binding::HybridJsonRpc, Operation::Get) => "tasks/get",
            (_, Operation::Send) => "SendMessage",
            (_, Operation::Stream) => "SendStreamingMessage",
            (_, Operation::Get) => "GetTask",
        };
        // Some peers stream only if the message starts with this word.
        let prefix = if self.operation == Operation::Stream { "stream " } else { "" };
        let message = format_args!(
            r#"{{"messageId":"msg-{run_id:x}-{number}","role":"ROLE_USER","parts":[{{"text":"{prefix}{MESSAGE_TEXT}"}}]}}"#
        );
        // Writing to a `Vec` does not fail.
        let _ = match (self.binding, self.operation) {
            (Binding::Rest, Operation::Get) => Ok(()),
            (Binding::Rest, _) => write!(body, r#"{{"message":{message}}}"#),
            (_, Operation::Get) => write!(
                body,
                r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{"id":"{task_id}"}}}}"#
            ),
            (Binding::HybridJsonRpc, _) => write!(
                body,
                r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{"message":{message},"configuration":{{"returnImmediately":false}}}}}}"#
            ),
            (_, _) => write!(
                body,
                r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{"message":{message}}}}}"#
            ),
        };
    }

    /// Builds a protobuf request that sends a message.
    pub(super) fn send_message_request(&self, number: u64) -> v1::SendMessageRequest {
        let part = v1::Part {
            content: Some(v1::part::Content::Text(MESSAGE_TEXT.to_owned())),
            ..v1::Part::default()
        };
        let message = v1::Message {
            message_id: format!("msg-{:x}-{number}", self.run_id),
            role: v1::Role::User.into(),
            parts: vec![part],
            ..v1::Message::default()
        };
        v1::SendMessageRequest { message: Some(message), ..v1::SendMessageRequest::default() }
    }

    /// Builds a protobuf request that fetches the task.
    pub(super) fn get_task_request(&self) -> v1::GetTaskRequest {
        v1::GetTaskRequest { id: self.task_id.clone(), ..v1::GetTaskRequest::default() }
    }
}

/// Returns whether an artifact contains the echoed text.
pub(super) fn contains_echo(artifact: &v1::Artifact) -> bool {
    let text = |it: &v1::Part| match &it.content {
        Some(v1::part::Content::Text(text)) => text == MESSAGE_TEXT,
        _ => false,
    };
    artifact.parts.iter().any(text)
}

/// Checks responses by searching for strings, without parsing them.
#[derive(Debug)]
pub(super) struct ResponseCheck {
    completed: memchr::memmem::Finder<'static>,
    completed_v0_3: memchr::memmem::Finder<'static>,
    /// The echoed text, or the id of the fetched task.
    expected: memchr::memmem::Finder<'static>,
    event: memchr::memmem::Finder<'static>,
}

impl ResponseCheck {
    pub(super) fn new(template: &RequestTemplate) -> Self {
        let finder = |it: &'static str| memchr::memmem::Finder::new(it);
        let expected = match template.operation {
            Operation::Send | Operation::Stream => MESSAGE_TEXT,
            Operation::Get => &template.task_id,
        };
        Self {
            completed: finder("\"TASK_STATE_COMPLETED\""),
            completed_v0_3: finder("\"completed\""),
            expected: memchr::memmem::Finder::new(expected).into_owned(),
            event: finder("data:"),
        }
    }

    /// Returns whether the body contains the expected task in the completed state.
    pub(super) fn passes(&self, body: &[u8]) -> bool {
        let completed = self.completed.find(body).or_else(|| self.completed_v0_3.find(body));
        completed.is_some() && self.expected.find(body).is_some()
    }

    /// Returns the number of events in a stream.
    pub(super) fn count_events(&self, body: &[u8]) -> usize {
        self.event.find_iter(body).count()
    }
}
