//! The traps of the protocol that concern encoding, by their numbers in the protocol's reference.
//!
//! Those of cards (37 to 39) are in `card_traps`. Left out are those about what a server does and not
//! about what it writes: the status that JSON-RPC errors ride on (6), subscriptions to finished tasks
//! (24), the order of a stream (25), what a refused message leaves behind (28), contexts that do not
//! match (29), required extensions (42), deletions that are repeated (43), and which paths share an
//! address (51).

mod bindings;
mod errors;
mod payloads;

use http::Method;
use latimer_protocol::binding::rest::{Ask, Route};
use latimer_protocol::{
    ContextId, Dialect, Error, EventWriter, Message, MessageId, Operation, Reply, Request,
    SendMessageRequest, StreamResponse, Task, TaskId, TaskState, Version,
};
use serde_json::Value;

use crate::then;

pub(super) fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("we write JSON")
}

pub(super) fn text(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("we write UTF-8")
}

pub(super) fn made_here() -> MessageId {
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
    dialect.read_request(operation, &params.to_string(), &made_here)
}

pub(super) fn write(dialect: Dialect, request: &Request) -> Value {
    parse(&dialect.write_request(request).unwrap())
}

pub(super) fn reply(dialect: Dialect, request: &Request, reply: &Reply) -> Value {
    parse(&dialect.write_reply(request, reply).unwrap())
}

pub(super) fn event(dialect: Dialect, event: &StreamResponse, closes: bool) -> Value {
    let mut writer = EventWriter::new(dialect, &send(message()), None);
    parse(&writer.write(event, then(closes)).unwrap()[0])
}

pub(super) fn find(method: &Method, path: &str, said: Option<Version>) -> Route {
    Route::find(&Ask { said, ..Ask::new(method, path) })
        .unwrap_or_else(|it| panic!("{path}: {it:?}"))
}
