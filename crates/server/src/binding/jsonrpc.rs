//! JSON-RPC: one address, and the method says what is asked in which version.
//!
//! Errors ride on HTTP 200, because clients lose them otherwise; a stream that fails before it
//! begins is a stream with one event, because one client reads nothing else, unless nobody can expect
//! a stream of that agent. Only what concerns the address and the sender has a status of its own.

use std::sync::Arc;
use std::time::Instant;

use axum::BoxError;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Response, StatusCode};
use latimer_protocol::binding::{jsonrpc, rest as address, sse::CONTENT_TYPE as EVENT_STREAM};
use latimer_protocol::{
    CallResponse, Caller, Dialect, Error, ErrorKind, Operation, Reply, Request, Task, Version,
};

use super::body::{self, Body};
use super::sse::{self, Events, Writer};
use super::{At, Front, kept, respond};
use crate::engine::ids;
use crate::metrics::{Counted, Outcome, Transport};

/// The shape of an answer that is an error.
#[derive(Clone, Copy)]
enum Shape {
    Object,
    /// A stream with one event.
    Stream,
}

/// A body that is no call, why, and what its sender says about its version.
struct Refusal<'a> {
    body: &'a [u8],
    refused: jsonrpc::Rejection,
    said: Option<Version>,
}

impl Front {
    /// Answers whatever is sent to the address of JSON-RPC.
    pub(super) async fn jsonrpc<B>(&self, at: &At<'_>, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let started = Instant::now();
        if at.head.method != Method::POST {
            let error = Error::new(ErrorKind::InvalidRequest, "JSON-RPC is called with POST");
            let response = self.without_id(StatusCode::METHOD_NOT_ALLOWED, &error);
            return respond::allowing(response, "POST");
        }
        if let Err((status, error)) = self.admit_call(at) {
            return self.refuse(started, status, &error);
        }
        let caller = match self.caller(at).await {
            Ok(caller) => caller,
            Err(error) => {
                let status = status_of(&error);
                return self.refuse(started, status, &error);
            }
        };
        let limits = &self.settings.http;
        let body = match body::read(body, limits.body, limits.body_time).await {
            Ok(body) => body,
            Err(unread) => {
                return match self.charge(at, &caller, None) {
                    Ok(()) => self.refuse(started, StatusCode::OK, &unread.into()),
                    Err(error) => self.refuse(started, StatusCode::TOO_MANY_REQUESTS, &error),
                };
            }
        };
        self.jsonrpc_read(at, &body, caller, started).await
    }

    async fn jsonrpc_read(
        &self,
        at: &At<'_>,
        body: &[u8],
        caller: Caller,
        started: Instant,
    ) -> Response<Body> {
        let said = match said(at, body) {
            Ok(said) => said,
            Err(error) => {
                let refusal = Refusal { body, refused: unread(body, error), said: None };
                return self.refused(at, &caller, refusal, started);
            }
        };
        let rule = self.settings.version_rule;
        let call = match jsonrpc::Call::read(body, said, rule, &ids::message) {
            Ok(call) => call,
            Err(refused) => {
                return self.refused(at, &caller, Refusal { body, refused, said }, started);
            }
        };
        let jsonrpc::Call { id, request, dialect } = call;
        let asked = kept(&request);
        let (operation, version) = (asked.operation(), dialect.version());
        let what = Counted { transport: Transport::JsonRpc, operation: Some(operation), version };
        if let Err(error) = self.charge(at, &caller, Some(operation)) {
            self.count(what, error.kind().into(), started);
            return self.too_often(&id, version, &error);
        }
        let shape = self.shape(at, operation, at.named(&request));
        let answer = match self.ask(at, request, dialect, caller) {
            Ok(call) => self.service.call(call).await,
            Err(error) => Err(error),
        };
        let response = answer.and_then(|mut answer| {
            self.complete(&mut answer.reply, at, &asked);
            let dialect = answer_dialect(dialect, said, &asked, answer.task_dialect);
            self.jsonrpc_answer(answer, &id, &asked, dialect)
        });
        match response {
            Ok(response) => {
                self.count(what, Outcome::Ok, started);
                response
            }
            Err(error) => {
                self.count(what, error.kind().into(), started);
                self.error(&id, shape, dialect, &error)
            }
        }
    }

    fn jsonrpc_answer(
        &self,
        answer: CallResponse,
        id: &jsonrpc::Id<'_>,
        asked: &Request,
        dialect: Dialect,
    ) -> Result<Response<Body>, Error> {
        let response = match answer.reply {
            Reply::Stream(stream) => {
                let writer = Writer::new(dialect, asked, Some(id));
                respond::events(Events::new(stream, writer, self.style()))
            }
            reply => {
                let reply = hide_history(reply, dialect, asked);
                respond::json(jsonrpc::write_reply(dialect, id, asked, &reply)?)
            }
        };
        Ok(respond::extended(response, &answer.extensions, dialect.version()))
    }

    /// The answer to a body that is no call.
    #[cold]
    fn refused(
        &self,
        at: &At<'_>,
        caller: &Caller,
        refusal: Refusal<'_>,
        started: Instant,
    ) -> Response<Body> {
        if let Err(error) = self.charge(at, caller, None) {
            return self.refuse(started, StatusCode::TOO_MANY_REQUESTS, &error);
        }
        let Refusal { body, refused, said } = refusal;
        let method = jsonrpc::Request::read(body).ok();
        let meant = method.and_then(|it| Operation::from_method(&it.method));
        let version = said.or(meant.map(|(_, version)| version)).unwrap_or(Version::V1_0);
        let operation = meant.map(|(operation, _)| operation);
        let what = Counted { transport: Transport::JsonRpc, operation, version };
        self.count(what, refused.error.kind().into(), started);
        let dialect = Dialect::over_jsonrpc(version);
        match operation {
            Some(operation) => {
                let shape = self.shape(at, operation, at.agent.as_deref());
                self.error(&refused.id, shape, dialect, &refused.error)
            }
            None => {
                let response = respond::json(refused.to_response(version));
                respond::explained(response, &refused.error, self.challenge())
            }
        }
    }

    /// The shape of an error of the agent of this name. What would be a stream fails as one, as long
    /// as the caller can expect a stream.
    fn shape(&self, at: &At<'_>, operation: Operation, name: Option<&str>) -> Shape {
        let streams = || self.meant(name).is_none_or(|it| it.streams());
        match operation.is_streaming() && (streams() || at.names(EVENT_STREAM)) {
            true => Shape::Stream,
            false => Shape::Object,
        }
    }

    /// An error in the form of what was asked for.
    #[cold]
    fn error(
        &self,
        id: &jsonrpc::Id<'_>,
        shape: Shape,
        dialect: Dialect,
        error: &Error,
    ) -> Response<Body> {
        let response = match (shape, error.kind()) {
            // Whoever is not let in reads the status first, and expects nothing else.
            (_, ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) => {
                let body = jsonrpc::write_error(dialect.version(), id, error);
                respond::whole(status_of(error), address::JSON, body)
            }
            (Shape::Stream, _) => respond::all_events(sse::only_error(dialect, id, error)),
            (Shape::Object, _) => respond::json(jsonrpc::write_error(dialect.version(), id, error)),
        };
        respond::explained(response, error, self.challenge())
    }

    /// The answer to a call of somebody who makes too many. It concerns the sender, and has a status
    /// of its own.
    #[cold]
    fn too_often(&self, id: &jsonrpc::Id<'_>, version: Version, error: &Error) -> Response<Body> {
        let body = jsonrpc::write_error(version, id, error);
        let response = respond::whole(StatusCode::TOO_MANY_REQUESTS, address::JSON, body);
        respond::explained(response, error, self.challenge())
    }

    /// Refuses a request that is not read.
    #[cold]
    fn refuse(&self, started: Instant, status: StatusCode, error: &Error) -> Response<Body> {
        let what =
            Counted { transport: Transport::JsonRpc, operation: None, version: Version::V1_0 };
        self.count(what, error.kind().into(), started);
        self.without_id(status, error)
    }

    fn without_id(&self, status: StatusCode, error: &Error) -> Response<Body> {
        let body = jsonrpc::write_error(Version::V1_0, &jsonrpc::Id::NULL, error);
        respond::explained(respond::whole(status, address::JSON, body), error, self.challenge())
    }
}

/// What the caller says about its version, if the body is to be read at all.
fn said(at: &At<'_>, body: &[u8]) -> Result<Option<Version>, Error> {
    if !address::is_readable(at.header(CONTENT_TYPE), body) {
        let message = format!("the content type must be {}", address::JSON);
        return Err(Error::new(ErrorKind::ContentTypeNotSupported, message));
    }
    at.said()
}

/// The refusal of a body that was not read but for whom to answer.
#[cold]
fn unread(body: &[u8], error: Error) -> jsonrpc::Rejection {
    let id = jsonrpc::Request::read(body).map(|it| it.id.into_owned());
    jsonrpc::Rejection { id: id.unwrap_or_else(|refused| refused.id), error }
}

/// Errors about the sender have statuses of their own.
fn status_of(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

/// The dialect to answer in. 0.1 and 0.3 share some methods; a caller that does not say its version
/// expects what it began its task with.
fn answer_dialect(
    asked_in: Dialect,
    said: Option<Version>,
    asked: &Request,
    made_in: Option<Dialect>,
) -> Dialect {
    let shared = matches!(
        asked.operation(),
        Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask
    );
    match made_in {
        Some(Dialect::V0_1 | Dialect::Legacy)
            if shared && said.is_none() && asked_in == Dialect::V0_3 =>
        {
            Dialect::V0_1
        }
        _ => asked_in,
    }
}

/// 0.1 shows the history only to those who ask for it.
fn hide_history(reply: Reply, dialect: Dialect, asked: &Request) -> Reply {
    let wanted = match asked {
        Request::GetTask(asked) => asked.history_length.is_some(),
        _ => false,
    };
    match reply {
        Reply::Task(task) if dialect == Dialect::V0_1 && !wanted && !task.history.is_empty() => {
            let task = Arc::unwrap_or_clone(task);
            Reply::Task(Arc::new(Task { history: Vec::new(), ..task }))
        }
        reply => reply,
    }
}
