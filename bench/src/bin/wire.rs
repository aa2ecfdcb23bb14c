//! Benchmark of decoding and encoding a `SendMessage` call and its reply, compared with
//! `serde_json::Value`.
//!
//! The baseline parses JSON into a `Value` and validates nothing else. Latimer reads the envelope,
//! resolves the method, validates every field and builds the model; encoding is the reverse.
//!
//! Run it with `cargo run --release -p latimer-bench --bin wire`.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "the program prints its results and stops at invalid payloads"
)]

use latimer_bench::{PairedTimes, measure};
use latimer_protocol::binding::VersionPolicy;
use latimer_protocol::binding::jsonrpc::{Call, Id, read_reply, write_call, write_reply};
use latimer_protocol::{Dialect, MessageId, Operation, Reply, Request, Version};
use serde_json::{Value, json};

fn main() {
    println!("| version | payload | operation | bytes | Latimer | `Value` | ratio |");
    println!("| --- | --- | --- | ---: | ---: | ---: | ---: |");
    for version in [Version::V1_0, Version::V0_3] {
        for (payload, word_count) in [("short", 4), ("long", 800)] {
            let exchange = Exchange::new(version, word_count);
            exchange.report(payload);
        }
    }
}

/// Encoded `SendMessage` call and reply of one protocol version.
struct Exchange {
    version: Version,
    dialect: Dialect,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Exchange {
    fn new(version: Version, word_count: usize) -> Self {
        let text = "lorem ".repeat(word_count);
        let (request, reply) = match version {
            Version::V1_0 => v1_0(&text),
            Version::V0_3 | Version::V0_1 => v0_3(&text),
        };
        Self {
            version,
            dialect: Dialect::over_jsonrpc(version),
            request: request.to_string().into_bytes(),
            reply: reply.to_string().into_bytes(),
        }
    }

    fn report(&self, payload: &str) {
        let (request, reply) = (self.read_request(), self.read_reply());
        let values = [&self.request, &self.reply].map(|bytes| value(bytes));
        let row = |operation: &str, bytes: usize, times: PairedTimes| {
            let PairedTimes { latimer, baseline } = times;
            let (version, ratio) = (self.version, times.ratio());
            println!(
                "| {version} | {payload} | {operation} | {bytes} | {latimer:?} | {baseline:?} | {ratio:.2} |"
            );
        };
        let (request_bytes, reply_bytes) = (self.request.len(), self.reply.len());
        row(
            "read request",
            request_bytes,
            measure(|| self.read_request(), || value(&self.request)),
        );
        row(
            "write request",
            request_bytes,
            measure(|| self.write_request(&request), || text(&values[0])),
        );
        row("read reply", reply_bytes, measure(|| self.read_reply(), || value(&self.reply)));
        row(
            "write reply",
            reply_bytes,
            measure(|| self.write_reply(&request, &reply), || text(&values[1])),
        );
    }

    fn read_request(&self) -> Request {
        let new_id = || MessageId::new("new").expect("a valid message id");
        let call = Call::read(&self.request, Some(self.version), VersionPolicy::Lenient, &new_id);
        call.expect("a valid call").request
    }

    fn write_request(&self, request: &Request) -> Vec<u8> {
        write_call(self.dialect, &Id::from("r1"), request).expect("the version has the operation")
    }

    fn read_reply(&self) -> Reply {
        read_reply(self.dialect, &Id::from("r1"), Operation::SendMessage, &self.reply)
            .expect("a valid reply")
    }

    fn write_reply(&self, request: &Request, reply: &Reply) -> Vec<u8> {
        write_reply(self.dialect, &Id::from("r1"), request, reply)
    }
}

fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("valid JSON")
}

fn text(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("an encodable value")
}

fn v1_0(text: &str) -> (Value, Value) {
    let message = json!({
        "messageId": "5b7f9a52-9c6a-4d7e-8d0a-1f3a52b7c001",
        "contextId": "c0a8f9a5-29c6-4a4d-9e8d-0a1f3a52b7c0",
        "role": "ROLE_USER",
        "parts": [{"text": text}],
        "metadata": {"trace": "abc", "attempt": 1},
    });
    let task = json!({
        "id": "0198f9a5-29c6-7a4d-9e8d-0a1f3a52b7c0",
        "contextId": "c0a8f9a5-29c6-4a4d-9e8d-0a1f3a52b7c0",
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-01T00:00:00.000Z"},
        "artifacts": [{"artifactId": "a1", "name": "answer", "parts": [{"text": text}]}],
        "history": [message],
    });
    (
        json!({"jsonrpc": "2.0", "id": "r1", "method": "SendMessage", "params": {
            "message": message, "configuration": {"acceptedOutputModes": ["text/plain"], "historyLength": 10}}}),
        json!({"jsonrpc": "2.0", "id": "r1", "result": {"task": task}}),
    )
}

fn v0_3(text: &str) -> (Value, Value) {
    let message = json!({
        "kind": "message",
        "messageId": "5b7f9a52-9c6a-4d7e-8d0a-1f3a52b7c001",
        "contextId": "c0a8f9a5-29c6-4a4d-9e8d-0a1f3a52b7c0",
        "role": "user",
        "parts": [{"kind": "text", "text": text}],
        "metadata": {"trace": "abc", "attempt": 1},
    });
    let task = json!({
        "kind": "task",
        "id": "0198f9a5-29c6-7a4d-9e8d-0a1f3a52b7c0",
        "contextId": "c0a8f9a5-29c6-4a4d-9e8d-0a1f3a52b7c0",
        "status": {"state": "completed", "timestamp": "2026-01-01T00:00:00.000Z"},
        "artifacts": [{"artifactId": "a1", "name": "answer", "parts": [{"kind": "text", "text": text}]}],
        "history": [message],
    });
    (
        json!({"jsonrpc": "2.0", "id": "r1", "method": "message/send", "params": {"message": message,
            "configuration": {"acceptedOutputModes": ["text/plain"], "blocking": true, "historyLength": 10}}}),
        json!({"jsonrpc": "2.0", "id": "r1", "result": task}),
    )
}
