//! Encoding pitfalls of the protocol, numbered as in the protocol reference.
//!
//! Pitfalls of cards (37 to 39) are in `card_pitfalls`. Pitfalls of server behavior are tested in
//! the server crate: the HTTP status of JSON-RPC errors (6), subscriptions to finished tasks (24),
//! the order of a stream (25), side effects of a rejected message (28), mismatched contexts (29),
//! required extensions (42), repeated deletions (43), and paths that share a URL (51).

mod bindings;
mod errors;
mod payloads;

use http::Method;
use latimer_protocol::binding::rest::{Route, RouteRequest};
use latimer_protocol::{
    ContextId, Dialect, Error, EventWriter, Message, MessageId, Operation, Reply, Request,
    SendMessageRequest, StreamResponse, Task, TaskId, TaskState, Version,
};
use serde_json::Value;

use crate::finality;

pub(super) fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("encoder writes JSON")
}

pub(super) fn utf8(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("encoder writes UTF-8")
}

pub(super) fn new_id() -> MessageId {
    MessageId::new("generated").unwrap()
}

pub(super) fn message() -> Message {
    Message::user(MessageId::new("m").unwrap(), "hi")
}

pub(super) fn send(message: Message) -> Request {
    Request::SendMessage(SendMessageRequest::from(message))
}

pub(super) fn task(state: TaskState) -> Task {
    Task::new(TaskId::new("t").unwrap(), ContextId::new("c").unwrap(), state)
}

pub(super) fn read(
    dialect: Dialect,
    operation: Operation,
    params: Value,
) -> Result<Request, Error> {
    dialect.read_request(operation, &params.to_string(), &new_id)
}

pub(super) fn write(dialect: Dialect, request: &Request) -> Value {
    parse(&dialect.write_request(request).unwrap())
}

pub(super) fn reply(dialect: Dialect, request: &Request, reply: &Reply) -> Value {
    parse(&dialect.write_reply(request, reply))
}

pub(super) fn event(dialect: Dialect, event: &StreamResponse, is_last: bool) -> Value {
    let mut writer = EventWriter::new(dialect, &send(message()), None);
    parse(&writer.write(event, finality(is_last))[0])
}

pub(super) fn find_route(method: &Method, path: &str, declared: Option<Version>) -> Route {
    Route::find(&RouteRequest { declared, ..RouteRequest::new(method, path) })
        .unwrap_or_else(|it| panic!("{path}: {it:?}"))
}
