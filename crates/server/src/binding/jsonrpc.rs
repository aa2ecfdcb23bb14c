//! JSON-RPC binding: one path per agent; the method selects operation and version.
//!
//! Errors of calls have the HTTP status 200, because clients discard the error object otherwise. A
//! streaming call that fails before its first event returns a stream with one error event, because one
//! client accepts nothing else; if the agent does not support streaming, it returns a JSON object.
//! Errors of the path, the authentication and the rate limit have their own HTTP status.

use std::sync::Arc;
use std::time::Instant;

use axum::BoxError;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Response, StatusCode};
use latimer_protocol::binding::{jsonrpc, rest as rest_binding, sse::CONTENT_TYPE as EVENT_STREAM};
use latimer_protocol::{
    CallResponse, Caller, Dialect, Error, ErrorKind, Operation, Reply, ReplyKind, Request, Task,
    Version,
};

use super::body::{Body, RequestBody};
use super::sse::{self, SseBody, SseWriter};
use super::{Frontend, RequestContext, reply_context, respond};
use crate::engine::ids;
use crate::metrics::{Binding, CallLabels, CallOutcome};

/// Format of an error response.
#[derive(Clone, Copy)]
enum ErrorShape {
    Object,
    /// Stream with one event.
    Stream,
}

/// A body that is not a valid call, with the reason and the declared version.
struct RejectedBody<'a> {
    body: &'a [u8],
    rejection: jsonrpc::Rejection,
    declared: Option<Version>,
}

impl Frontend {
    /// Handles a request to the path of JSON-RPC.
    pub(super) async fn jsonrpc<B>(
        &self,
        ctx: &RequestContext<'_>,
        body: &mut RequestBody<B>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let started = Instant::now();
        if ctx.head.method != Method::POST {
            let error = Error::new(ErrorKind::InvalidRequest, "JSON-RPC requires POST");
            let response = self.error_without_id(StatusCode::METHOD_NOT_ALLOWED, &error);
            return respond::with_allow_header(response, "POST");
        }
        if let Err((status, error)) = self.admit_call(ctx) {
            return self.reject_unread(started, status, &error);
        }
        let caller = match self.authenticate(ctx).await {
            Ok(caller) => caller,
            Err(error) => {
                let status = status_of(&error);
                return self.reject_unread(started, status, &error);
            }
        };
        let limits = &self.settings.http;
        let body = match body.read(limits.max_body_bytes, limits.body_timeout).await {
            Ok(body) => body,
            Err(body_error) => {
                return match self.charge_rate(ctx, &caller, None) {
                    Ok(()) => self.reject_unread(started, StatusCode::OK, &body_error.into()),
                    Err(error) => {
                        self.reject_unread(started, StatusCode::TOO_MANY_REQUESTS, &error)
                    }
                };
            }
        };
        self.jsonrpc_body(ctx, &body, caller, started).await
    }

    async fn jsonrpc_body(
        &self,
        ctx: &RequestContext<'_>,
        body: &[u8],
        caller: Caller,
        started: Instant,
    ) -> Response<Body> {
        let declared = match declared_version(ctx, body) {
            Ok(declared) => declared,
            Err(error) => {
                let rejected = RejectedBody {
                    body,
                    rejection: reject_before_parsing(body, error),
                    declared: None,
                };
                return self.reject_body(ctx, &caller, rejected, started);
            }
        };
        let policy = self.settings.version_policy;
        let call = match jsonrpc::Call::read(body, declared, policy, &ids::message) {
            Ok(call) => call,
            Err(rejection) => {
                return self.reject_body(
                    ctx,
                    &caller,
                    RejectedBody { body, rejection, declared },
                    started,
                );
            }
        };
        let jsonrpc::Call { id, request, dialect } = call;
        let reply_context = reply_context(&request);
        let (operation, version) = (reply_context.operation(), dialect.version());
        let labels = CallLabels { binding: Binding::JsonRpc, operation: Some(operation), version };
        if let Err(error) = self.charge_rate(ctx, &caller, Some(operation)) {
            self.record_call(labels, error.kind().into(), started);
            return self.rate_limited(&id, version, &error);
        }
        let error_shape = self.error_shape(ctx, operation, ctx.target_agent(&request));
        let result = match self.build_call(ctx, request, dialect, caller) {
            Ok(call) => self.service.call(call).await,
            Err(error) => Err(error),
        };
        let response = result.map(|mut call_response| {
            self.complete_card(&mut call_response.kind, ctx, &reply_context);
            let dialect =
                response_dialect(dialect, declared, &reply_context, call_response.task_dialect);
            self.jsonrpc_response(call_response, &id, &reply_context, dialect)
        });
        match response {
            Ok(response) => {
                self.record_call(labels, CallOutcome::Ok, started);
                response
            }
            Err(error) => {
                self.record_call(labels, error.kind().into(), started);
                self.jsonrpc_error(&id, error_shape, dialect, &error)
            }
        }
    }

    fn jsonrpc_response(
        &self,
        call_response: CallResponse,
        id: &jsonrpc::Id<'_>,
        request: &Request,
        dialect: Dialect,
    ) -> Response<Body> {
        let response = match call_response.kind {
            ReplyKind::Stream(stream) => {
                let writer = SseWriter::new(dialect, request, Some(id));
                respond::event_stream(SseBody::new(stream, writer, self.stream_options()))
            }
            ReplyKind::Single(reply) => {
                let reply = hide_history(reply, dialect, request);
                respond::json(jsonrpc::write_reply(dialect, id, request, &reply))
            }
        };
        respond::with_extensions_header(response, &call_response.extensions, dialect.version())
    }

    /// Creates the response to a body that is not a valid call.
    #[cold]
    fn reject_body(
        &self,
        ctx: &RequestContext<'_>,
        caller: &Caller,
        rejected: RejectedBody<'_>,
        started: Instant,
    ) -> Response<Body> {
        if let Err(error) = self.charge_rate(ctx, caller, None) {
            return self.reject_unread(started, StatusCode::TOO_MANY_REQUESTS, &error);
        }
        let RejectedBody { body, rejection, declared } = rejected;
        let method = jsonrpc::Request::read(body).ok();
        let parsed_method = method.and_then(|it| Operation::from_method(&it.method));
        let version =
            declared.or(parsed_method.map(|(_, version)| version)).unwrap_or(Version::V1_0);
        let operation = parsed_method.map(|(operation, _)| operation);
        let labels = CallLabels { binding: Binding::JsonRpc, operation, version };
        self.record_call(labels, rejection.error.kind().into(), started);
        let dialect = Dialect::over_jsonrpc(version);
        match operation {
            Some(operation) => {
                let error_shape = self.error_shape(ctx, operation, ctx.agent.as_deref());
                self.jsonrpc_error(&rejection.id, error_shape, dialect, &rejection.error)
            }
            None => {
                let response = respond::json(rejection.to_response(version));
                respond::with_error_headers(response, &rejection.error, self.challenge())
            }
        }
    }

    /// Returns the format of an error. A streaming call fails with a stream if the agent supports
    /// streaming or the client explicitly accepts event streams.
    fn error_shape(
        &self,
        ctx: &RequestContext<'_>,
        operation: Operation,
        name: Option<&str>,
    ) -> ErrorShape {
        let supports_streaming =
            || self.agent_or_primary(name).is_none_or(|it| it.supports_streaming());
        match operation.is_streaming()
            && (supports_streaming() || ctx.accepts_explicitly(EVENT_STREAM))
        {
            true => ErrorShape::Stream,
            false => ErrorShape::Object,
        }
    }

    /// Creates the response to a failed call.
    #[cold]
    fn jsonrpc_error(
        &self,
        id: &jsonrpc::Id<'_>,
        error_shape: ErrorShape,
        dialect: Dialect,
        error: &Error,
    ) -> Response<Body> {
        let response = match (error_shape, error.kind()) {
            // Clients recognize rejected credentials by the HTTP status.
            (_, ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) => {
                let body = jsonrpc::write_error(dialect.version(), id, error);
                respond::with_body(status_of(error), rest_binding::JSON, body)
            }
            (ErrorShape::Stream, _) => {
                respond::buffered_events(sse::single_error_event(dialect, id, error))
            }
            (ErrorShape::Object, _) => {
                respond::json(jsonrpc::write_error(dialect.version(), id, error))
            }
        };
        respond::with_error_headers(response, error, self.challenge())
    }

    /// Creates the response to a call that exceeds the rate limit.
    #[cold]
    fn rate_limited(
        &self,
        id: &jsonrpc::Id<'_>,
        version: Version,
        error: &Error,
    ) -> Response<Body> {
        let body = jsonrpc::write_error(version, id, error);
        let response = respond::with_body(StatusCode::TOO_MANY_REQUESTS, rest_binding::JSON, body);
        respond::with_error_headers(response, error, self.challenge())
    }

    /// Rejects a request without reading its body.
    #[cold]
    fn reject_unread(&self, started: Instant, status: StatusCode, error: &Error) -> Response<Body> {
        let labels =
            CallLabels { binding: Binding::JsonRpc, operation: None, version: Version::V1_0 };
        self.record_call(labels, error.kind().into(), started);
        self.error_without_id(status, error)
    }

    fn error_without_id(&self, status: StatusCode, error: &Error) -> Response<Body> {
        let body = jsonrpc::write_error(Version::V1_0, &jsonrpc::Id::NULL, error);
        respond::with_error_headers(
            respond::with_body(status, rest_binding::JSON, body),
            error,
            self.challenge(),
        )
    }
}

/// Returns the version that the client declares.
///
/// # Errors
/// Fails if the content type is not JSON or the version is unknown.
fn declared_version(ctx: &RequestContext<'_>, body: &[u8]) -> Result<Option<Version>, Error> {
    if !rest_binding::is_readable(ctx.header(CONTENT_TYPE), body) {
        let message = format!("the content type must be {}", rest_binding::JSON);
        return Err(Error::new(ErrorKind::ContentTypeNotSupported, message));
    }
    ctx.declared_version()
}

/// Creates the rejection of a body of which only the request id is read.
#[cold]
fn reject_before_parsing(body: &[u8], error: Error) -> jsonrpc::Rejection {
    let id = jsonrpc::Request::read(body).map(|it| it.id.into_owned());
    jsonrpc::Rejection { id: id.unwrap_or_else(|rejection| rejection.id), error }
}

/// Returns the HTTP status of an error: 200 except for authentication and rate limit.
fn status_of(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}

/// Returns the dialect of the response. 0.1 and 0.3 share some methods; if the client declares no
/// version, the dialect that created the task decides.
fn response_dialect(
    request_dialect: Dialect,
    declared: Option<Version>,
    request: &Request,
    task_dialect: Option<Dialect>,
) -> Dialect {
    let is_shared_operation = matches!(
        request.operation(),
        Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask
    );
    match task_dialect {
        Some(Dialect::V0_1 | Dialect::Legacy)
            if is_shared_operation && declared.is_none() && request_dialect == Dialect::V0_3 =>
        {
            Dialect::V0_1
        }
        _ => request_dialect,
    }
}

/// Removes the history from a task, unless the request asks for it: 0.1 omits it by default.
fn hide_history(reply: Reply, dialect: Dialect, request: &Request) -> Reply {
    let wants_history = match request {
        Request::GetTask(get_task) => get_task.history_length.is_some(),
        _ => false,
    };
    match reply {
        Reply::Task(task)
            if dialect == Dialect::V0_1 && !wants_history && !task.history.is_empty() =>
        {
            let task = Arc::unwrap_or_clone(task);
            Reply::Task(Arc::new(Task { history: Vec::new(), ..task }))
        }
        reply => reply,
    }
}
