//! HTTP+JSON.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use latimer_protocol::binding::jsonrpc;
use latimer_protocol::binding::rest::HttpRequest;
use latimer_protocol::{Call, Dialect, ErrorKind, Operation, Reply, Request};

use super::endpoint::Endpoint;
use super::events::Reading;
use super::head::Head;
use super::wire::{Ask, Wire, active, to_uri};
use super::{Exchanged, Outcome, Transport, page, service};
use crate::error::Error;

/// Calls an agent over HTTP+JSON: 1.0, 0.3, and for 0.1 the REST that was there before it.
#[derive(Debug)]
pub struct HttpJson {
    endpoint: Endpoint,
    wire: Wire,
}

impl HttpJson {
    /// A transport to an endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint, wire: Wire) -> Self {
        Self { endpoint, wire }
    }

    /// The address of a path. An address of 0.3 may or may not end in the `/v1` of its paths.
    fn url(&self, path: &str) -> String {
        let base = self.endpoint.below("");
        match base.strip_suffix("/v1").filter(|_| path.starts_with("/v1/")) {
            Some(base) => format!("{base}{path}"),
            None => format!("{base}{path}"),
        }
    }

    fn read(
        &self,
        dialect: Dialect,
        operation: Operation,
        response: &Response<Bytes>,
    ) -> Result<Reply, Error> {
        let (status, body) = (response.status(), response.body());
        let origin = self.endpoint.origin();
        if !status.is_success() {
            return Err(page::failure(origin, status, body, dialect.version()));
        }
        // Nothing is what many servers answer to a removal.
        let text = match operation {
            Operation::DeleteTaskPushNotificationConfig => b"{}",
            _ => body.as_ref(),
        };
        let Ok(answer) = jsonrpc::Response::read(text) else {
            return Err(page::unreadable(origin, status, body, "it is not JSON"));
        };
        let payload = match answer.payload {
            jsonrpc::ResponsePayload::Error(_) => {
                return Err(page::said(text, status.as_u16(), dialect.version()).into());
            }
            // The oldest servers answer bare or in an envelope, and nobody can tell which.
            jsonrpc::ResponsePayload::Result(payload) | jsonrpc::ResponsePayload::Bare(payload) => {
                payload
            }
        };
        let malformed = |error| page::malformed(origin, &error);
        dialect.read_reply(operation, payload).map_err(malformed)
    }

    async fn open(&self, ask: Ask) -> Result<Response<latimer_outbound::Body>, Error> {
        // The specification says both GET and POST of a subscription, and not every server has both.
        let again = ask.body.is_none().then(|| Ask { method: Method::GET, ..ask.clone() });
        let response = self.wire.open(&self.endpoint, ask).await?;
        match again {
            Some(again) if response.status() == StatusCode::METHOD_NOT_ALLOWED => {
                self.wire.open(&self.endpoint, again).await
            }
            _ => Ok(response),
        }
    }
}

/// What is missing where there is nothing at the address of a request; none where it may be the task.
fn missing(request: &Request) -> Option<ErrorKind> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            let names = it.message.task_id.is_some() || !it.message.reference_task_ids.is_empty();
            (!names).then_some(ErrorKind::MethodNotFound)
        }
        Request::ListTasks(_) | Request::GetAgentCard => Some(ErrorKind::MethodNotFound),
        Request::GetExtendedAgentCard(_) => Some(ErrorKind::ExtendedAgentCardNotConfigured),
        Request::GetTask(_)
        | Request::CancelTask(_)
        | Request::SubscribeToTask(_)
        | Request::CreateTaskPushNotificationConfig(_)
        | Request::GetTaskPushNotificationConfig(_)
        | Request::ListTaskPushNotificationConfigs(_)
        | Request::DeleteTaskPushNotificationConfig(_) => None,
    }
}

#[async_trait]
impl Transport for HttpJson {
    async fn exchange(&self, call: &Call) -> Result<Exchanged, Error> {
        let missing = missing(&call.request);
        let request = self.endpoint.addressed(&call.request);
        let version = self.endpoint.version();
        let dialect = Dialect::over_http(version);
        let operation = request.operation();
        let HttpRequest { method, path, body } = HttpRequest::new(dialect, &request)?;
        let uri = to_uri(&self.url(&path))?;
        let ask = Ask::new(method, uri, body).describing(call, version)?;
        if !operation.is_streaming() {
            let ask = ask.accepting("application/a2a+json, application/json");
            let response = self.wire.fetch(&self.endpoint, ask).await?;
            let extensions = active(response.headers());
            let reply = self.read(dialect, operation, &response);
            let told_apart = |it| page::told_apart(it, response.body(), version, missing);
            let explained = |it| Head::of(&response, &self.endpoint).explain(it);
            let reply = reply.map_err(told_apart).map_err(explained)?;
            return Ok(Exchanged { outcome: Outcome::Reply(reply), extensions });
        }
        let response = self.open(ask.accepting("text/event-stream")).await?;
        let extensions = active(response.headers());
        let origin = self.endpoint.origin().to_owned();
        let reading = Reading { dialect, origin, limits: self.wire.limits.clone(), missing };
        let head = Head::of(&response, &self.endpoint);
        let events = reading.events(response).await.map_err(|error| head.explain(error))?;
        Ok(Exchanged { outcome: Outcome::Events(events), extensions })
    }
}

service!(HttpJson);
