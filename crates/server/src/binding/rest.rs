//! HTTP+JSON: the address says what is asked, and errors have the statuses of HTTP.

use std::time::Instant;

use axum::BoxError;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Response, StatusCode};
use latimer_protocol::binding::rest::{self as address, ReplyFormat, Route, RouteRequest};
use latimer_protocol::{CallResponse, Caller, Dialect, Error, ErrorKind, Reply, Request, Version};

use super::body::{self, Body};
use super::sse::{Events, Writer};
use super::{At, Front, kept, respond};
use crate::engine::ids;
use crate::metrics::{Counted, Outcome, Transport};

/// An error with the status that says it, where that is not the error's own.
struct Refusal {
    status: Option<StatusCode>,
    error: Error,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { status: None, error }
    }
}

impl Front {
    /// Answers whatever is sent to an address of HTTP+JSON.
    pub(super) async fn rest<B>(&self, at: &At<'_>, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let started = Instant::now();
        let unknown =
            Counted { transport: Transport::HttpJson, operation: None, version: Version::V1_0 };
        let refuse = |what: Counted, refusal: &Refusal, dialect: Dialect| {
            self.count(what, refusal.error.kind().into(), started);
            self.rest_error(at, refusal, dialect)
        };
        let said = match at.said() {
            Ok(said) => said,
            Err(error) => return refuse(unknown, &error.into(), Dialect::V1_0),
        };
        let ask = RouteRequest {
            method: &at.head.method,
            path: at.path,
            query: at.head.uri.query().unwrap_or_default(),
            declared: said,
            version_policy: self.settings.version_rule,
        };
        let route = match Route::find(&ask) {
            Ok(route) => route,
            Err(refused) => {
                let what = Counted { version: refused.version, ..unknown };
                let status = refused.allow.map(|_| StatusCode::METHOD_NOT_ALLOWED);
                let refusal = Refusal { status, error: refused.error };
                let response = refuse(what, &refusal, Dialect::over_http(refused.version));
                return match refused.allow {
                    Some(methods) => respond::allowing(response, methods),
                    None => response,
                };
            }
        };
        let what = Counted { operation: Some(route.operation), version: route.version, ..unknown };
        match self.rest_answer(at, &route, body).await {
            Ok(response) => {
                self.count(what, Outcome::Ok, started);
                response
            }
            Err(refusal) => refuse(what, &refusal, route.dialect()),
        }
    }

    async fn rest_answer<B>(
        &self,
        at: &At<'_>,
        route: &Route,
        body: B,
    ) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let admitted = self.admit_call(at);
        admitted.map_err(|(status, error)| Refusal { status: Some(status), error })?;
        let caller = self.caller(at).await?;
        self.charge(at, &caller, Some(route.operation))?;
        let body = match at.head.method {
            // What it may have there means nothing.
            Method::GET => Bytes::new(),
            _ => {
                let limits = &self.settings.http;
                body::read(body, limits.body, limits.body_time).await.map_err(|unread| Refusal {
                    status: Some(unread.status()),
                    error: unread.into(),
                })?
            }
        };
        if !address::is_readable(at.header(CONTENT_TYPE), &body) {
            let message = format!("the content type must be {}", address::JSON);
            return Err(Error::new(ErrorKind::ContentTypeNotSupported, message).into());
        }
        let request = route.read_request(&body, &ids::message)?;
        Ok(self.rest_call(at, route, request, caller).await?)
    }

    async fn rest_call(
        &self,
        at: &At<'_>,
        route: &Route,
        request: Request,
        caller: Caller,
    ) -> Result<Response<Body>, Error> {
        let asked = kept(&request);
        let call = self.ask(at, request, route.dialect(), caller)?;
        let mut answer = self.service.call(call).await?;
        self.complete(&mut answer.reply, at, &asked);
        let CallResponse { reply, task_dialect: made_in, extensions } = answer;
        let dialect = answer_dialect(route, made_in);
        let response = match reply {
            Reply::Stream(stream) => {
                let writer = Writer::new(dialect, &asked, None);
                respond::events(Events::new(stream, writer, self.style()))
            }
            reply => {
                let body = dialect.write_reply(&asked, &reply)?;
                respond::whole(StatusCode::OK, media_type(at, dialect), body)
            }
        };
        Ok(respond::extended(response, &extensions, dialect.version()))
    }

    #[cold]
    fn rest_error(&self, at: &At<'_>, refusal: &Refusal, dialect: Dialect) -> Response<Body> {
        let mut written = dialect.write_error(&refusal.error);
        let own = StatusCode::from_u16(written.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let status = refusal.status.unwrap_or(own);
        // The body repeats the status.
        if let Some(code) = written.body.pointer_mut("/error/code") {
            *code = status.as_u16().into();
        }
        let response = respond::whole(status, media_type(at, dialect), written.body.to_string());
        respond::explained(response, &refusal.error, self.challenge())
    }
}

/// Only 1.0 has a media type of its own.
fn media_type(at: &At<'_>, dialect: Dialect) -> &'static str {
    match dialect.version() {
        Version::V1_0 => address::negotiate_media_type(at.accept()),
        Version::V0_3 | Version::V0_1 => address::JSON,
    }
}

/// The dialect to answer in.
fn answer_dialect(route: &Route, made_in: Option<Dialect>) -> Dialect {
    match (route.reply_format, made_in) {
        (ReplyFormat::SameAsTask, Some(Dialect::Legacy | Dialect::V0_1)) => Dialect::Legacy,
        _ => route.dialect(),
    }
}
