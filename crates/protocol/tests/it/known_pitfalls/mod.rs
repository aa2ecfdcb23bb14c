//! The traps of the protocol that concern encoding, by their numbers in the protocol's reference.
//!
//! Those of cards (37 to 39) are in `card_pitfalls`. Left out are those about what a server does and not
//! about what it writes: the status that JSON-RPC errors ride on (6), subscriptions to finished tasks
//! (24), the order of a stream (25), what a refused message leaves behind (28), contexts that do not
//! match (29), required extensions (42), deletions that are repeated (43), and which paths share an
//! address (51).

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
    serde_json::from_slice(bytes).expect("we write JSON")
}

pub(super) fn utf8(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("we write UTF-8")
}

pub(super) fn new_id() -> MessageId {
    MessageId::new("made-here").unwrap()
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
