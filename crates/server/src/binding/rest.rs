//! HTTP+JSON binding: the path selects the operation, and errors have HTTP statuses.

use std::time::Instant;

use axum::BoxError;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Response, StatusCode};
use latimer_protocol::binding::rest::{self as rest_binding, ReplyFormat, Route, RouteRequest};
use latimer_protocol::{
    CallResponse, Caller, Dialect, Error, ErrorKind, ReplyKind, Request, Version,
};

use super::body::{Body, RequestBody};
use super::sse::{SseBody, SseWriter};
use super::{Frontend, RequestContext, reply_context, respond};
use crate::engine::ids;
use crate::metrics::{Binding, CallLabels, CallOutcome};

/// An error, with a status that replaces the default status of the error.
struct Rejection {
    status: Option<StatusCode>,
    error: Error,
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self { status: None, error }
    }
}

impl Frontend {
    /// Handles a request to a path of HTTP+JSON.
    pub(super) async fn rest<B>(
        &self,
        ctx: &RequestContext<'_>,
        body: &mut RequestBody<B>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let started = Instant::now();
        let unknown_call =
            CallLabels { binding: Binding::HttpJson, operation: None, version: Version::V1_0 };
        let reject = |labels: CallLabels, rejection: &Rejection, dialect: Dialect| {
            self.record_call(labels, rejection.error.kind().into(), started);
            self.rest_error(ctx, rejection, dialect)
        };
        let declared = match ctx.declared_version() {
            Ok(declared) => declared,
            Err(error) => return reject(unknown_call, &error.into(), Dialect::V1_0),
        };
        let route_request = RouteRequest {
            method: &ctx.head.method,
            path: ctx.path,
            query: ctx.head.uri.query().unwrap_or_default(),
            declared,
            version_policy: self.settings.version_policy,
        };
        let route = match Route::find(&route_request) {
            Ok(route) => route,
            Err(no_route) => {
                let labels = CallLabels { version: no_route.version, ..unknown_call };
                let status = no_route.allow.map(|_| StatusCode::METHOD_NOT_ALLOWED);
                let rejection = Rejection { status, error: no_route.error };
                let response = reject(labels, &rejection, Dialect::over_http(no_route.version));
                return match no_route.allow {
                    Some(methods) => respond::with_allow_header(response, methods),
                    None => response,
                };
            }
        };
        let labels =
            CallLabels { operation: Some(route.operation), version: route.version, ..unknown_call };
        match self.rest_response(ctx, &route, body).await {
            Ok(response) => {
                self.record_call(labels, CallOutcome::Ok, started);
                response
            }
            Err(rejection) => reject(labels, &rejection, route.dialect()),
        }
    }

    async fn rest_response<B>(
        &self,
        ctx: &RequestContext<'_>,
        route: &Route,
        body: &mut RequestBody<B>,
    ) -> Result<Response<Body>, Rejection>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let admitted = self.admit_call(ctx);
        admitted.map_err(|(status, error)| Rejection { status: Some(status), error })?;
        let caller = self.authenticate(ctx).await?;
        self.charge_rate(ctx, &caller, Some(route.operation))?;
        let body = match ctx.head.method {
            // The body of a GET request has no meaning.
            Method::GET => Bytes::new(),
            _ => {
                let limits = &self.settings.http;
                body.read(limits.max_body_bytes, limits.body_timeout).await.map_err(|error| {
                    Rejection { status: Some(error.status()), error: error.into() }
                })?
            }
        };
        if !rest_binding::is_readable(ctx.header(CONTENT_TYPE), &body) {
            let message = format!("the content type must be {}", rest_binding::JSON);
            return Err(Error::new(ErrorKind::ContentTypeNotSupported, message).into());
        }
        let request = route.read_request(&body, &ids::message)?;
        Ok(self.rest_call(ctx, route, request, caller).await?)
    }

    async fn rest_call(
        &self,
        ctx: &RequestContext<'_>,
        route: &Route,
        request: Request,
        caller: Caller,
    ) -> Result<Response<Body>, Error> {
        let reply_context = reply_context(&request);
        let call = self.build_call(ctx, request, route.dialect(), caller)?;
        let mut call_response = self.service.call(call).await?;
        self.complete_card(&mut call_response.kind, ctx, &reply_context);
        let CallResponse { kind, task_dialect, extensions } = call_response;
        let dialect = response_dialect(route, task_dialect);
        let response = match kind {
            ReplyKind::Stream(stream) => {
                let writer = SseWriter::new(dialect, &reply_context, None);
                respond::event_stream(SseBody::new(stream, writer, self.stream_options()))
            }
            ReplyKind::Single(reply) => {
                let body = dialect.write_reply(&reply_context, &reply);
                respond::with_body(StatusCode::OK, media_type(ctx, dialect), body)
            }
        };
        Ok(respond::with_extensions_header(response, &extensions, dialect.version()))
    }

    #[cold]
    fn rest_error(
        &self,
        ctx: &RequestContext<'_>,
        rejection: &Rejection,
        dialect: Dialect,
    ) -> Response<Body> {
        let mut written = dialect.write_error(&rejection.error);
        let default_status =
            StatusCode::from_u16(written.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let status = rejection.status.unwrap_or(default_status);
        // The body contains the status, too.
        if let Some(code) = written.body.pointer_mut("/error/code") {
            *code = status.as_u16().into();
        }
        let response =
            respond::with_body(status, media_type(ctx, dialect), written.body.to_string());
        respond::with_error_headers(response, &rejection.error, self.challenge())
    }
}

/// Returns the media type of a response. Only 1.0 defines its own.
fn media_type(ctx: &RequestContext<'_>, dialect: Dialect) -> &'static str {
    match dialect.version() {
        Version::V1_0 => rest_binding::negotiate_media_type(ctx.accept()),
        Version::V0_3 | Version::V0_1 => rest_binding::JSON,
    }
}

/// Returns the dialect of the response.
fn response_dialect(route: &Route, task_dialect: Option<Dialect>) -> Dialect {
    match (route.reply_format, task_dialect) {
        (ReplyFormat::SameAsTask, Some(Dialect::Legacy | Dialect::V0_1)) => Dialect::Legacy,
        _ => route.dialect(),
    }
}
