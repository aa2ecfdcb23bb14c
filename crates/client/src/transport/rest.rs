//! HTTP+JSON.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use latimer_protocol::binding::jsonrpc;
use latimer_protocol::binding::rest::HttpRequest;
use latimer_protocol::{
    Call, CallResponse, Dialect, ErrorKind, Operation, Reply, ReplyKind, Request,
};

use super::endpoint::Endpoint;
use super::events::StreamReader;
use super::http_channel::HttpChannel;
use super::outgoing_request::{OutgoingRequest, active_extensions, to_uri};
use super::response_head::ResponseHead;
use super::{Transport, error_response, impl_service};
use crate::client::CallOptions;
use crate::error::Error;

/// Transport over HTTP+JSON: 1.0, 0.3 and the legacy REST API.
#[derive(Debug)]
pub struct HttpJson {
    endpoint: Endpoint,
    channel: HttpChannel,
}

impl HttpJson {
    /// Creates a transport to an endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint, channel: HttpChannel) -> Self {
        Self { endpoint, channel }
    }

    /// Returns the URL of a path. URLs of 0.3 may or may not end with the `/v1` of its paths.
    fn url(&self, path: &str) -> String {
        let base = self.endpoint.join_path("");
        match base.strip_suffix("/v1").filter(|_| path.starts_with("/v1/")) {
            Some(base) => format!("{base}{path}"),
            None => format!("{base}{path}"),
        }
    }

    fn read_reply(
        &self,
        dialect: Dialect,
        operation: Operation,
        response: &Response<Bytes>,
    ) -> Result<Reply, Error> {
        let (status, body) = (response.status(), response.body());
        let origin = self.endpoint.origin();
        if !status.is_success() {
            return Err(error_response::status_error(origin, status, body, dialect.version()));
        }
        // Many servers respond to a deletion with an empty body.
        let json = match operation {
            Operation::DeleteTaskPushNotificationConfig => b"{}",
            _ => body.as_ref(),
        };
        let Ok(envelope) = jsonrpc::Response::read(json) else {
            return Err(error_response::invalid_response(origin, status, body, "it is not JSON"));
        };
        let payload = match envelope.payload {
            jsonrpc::ResponsePayload::Error(_) => {
                return Err(
                    error_response::parse_error(json, status.as_u16(), dialect.version()).into()
                );
            }
            // Legacy servers may or may not use an envelope.
            jsonrpc::ResponsePayload::Result(payload) | jsonrpc::ResponsePayload::Bare(payload) => {
                payload
            }
        };
        let malformed = |error| error_response::malformed(origin, &error);
        dialect.read_reply(operation, payload).map_err(malformed)
    }

    async fn open_stream(
        &self,
        outgoing: OutgoingRequest,
        options: &CallOptions,
    ) -> Result<Response<latimer_outbound::Body>, Error> {
        // The specification requires GET in one place and POST in another, and servers support one
        // or both.
        let retry_with_get = outgoing
            .body
            .is_none()
            .then(|| OutgoingRequest { method: Method::GET, ..outgoing.clone() });
        let response = self.channel.send_streaming(&self.endpoint, outgoing, options).await?;
        match retry_with_get {
            Some(retry) if response.status() == StatusCode::METHOD_NOT_ALLOWED => {
                self.channel.send_streaming(&self.endpoint, retry, options).await
            }
            _ => Ok(response),
        }
    }
}

/// Returns the kind of the error if nothing is served at the URL; `None` if the status 404 may mean
/// that the task does not exist.
fn not_found_kind(request: &Request) -> Option<ErrorKind> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            let names_task =
                it.message.task_id.is_some() || !it.message.reference_task_ids.is_empty();
            (!names_task).then_some(ErrorKind::MethodNotFound)
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
    async fn exchange(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<CallResponse<Error>, Error> {
        let not_found_kind = not_found_kind(&call.request);
        let request = self.endpoint.with_defaults(&call.request);
        let version = self.endpoint.version();
        let dialect = Dialect::over_http(version);
        let operation = request.operation();
        let HttpRequest { method, path, body } = HttpRequest::new(dialect, &request)?;
        let uri = to_uri(&self.url(&path))?;
        let outgoing =
            OutgoingRequest::new(method, uri, body).with_call_headers(&call.context, version)?;
        if !operation.is_streaming() {
            let outgoing = outgoing.with_accept("application/a2a+json, application/json");
            let response = self.channel.fetch(&self.endpoint, outgoing, options).await?;
            let extensions = active_extensions(response.headers());
            let reply = self.read_reply(dialect, operation, &response);
            let refine =
                |it| error_response::refine_not_found(it, response.body(), version, not_found_kind);
            let annotate = |it| ResponseHead::new(&response, &self.endpoint).annotate(it);
            let reply = reply.map_err(refine).map_err(annotate)?;
            return Ok(CallResponse { extensions, ..reply.into() });
        }
        let response = self.open_stream(outgoing.with_accept("text/event-stream"), options).await?;
        let extensions = active_extensions(response.headers());
        let origin = self.endpoint.origin().to_owned();
        let limits = self.channel.limits.for_call(options);
        let reader = StreamReader { dialect, origin, limits, not_found_kind };
        let head = ResponseHead::new(&response, &self.endpoint);
        let events = reader.into_events(response).await.map_err(|error| head.annotate(error))?;
        Ok(CallResponse { extensions, ..ReplyKind::Stream(events).into() })
    }
}

impl_service!(HttpJson);
