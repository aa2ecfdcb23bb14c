//! JSON-RPC over HTTP.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use http::Method;
use latimer_protocol::binding::jsonrpc::{self, Id};
use latimer_protocol::{Call, CallResponse, Dialect, Operation, Reply, ReplyKind};

use super::endpoint::Endpoint;
use super::events::StreamReader;
use super::http_channel::HttpChannel;
use super::outgoing_request::{OutgoingRequest, active_extensions};
use super::response_head::ResponseHead;
use super::{Transport, error_response, impl_service};
use crate::client::CallOptions;
use crate::error::Error;

/// Transport over JSON-RPC, for all versions.
///
/// See [`HttpChannel`] for an example.
#[derive(Debug)]
pub struct JsonRpc {
    endpoint: Endpoint,
    channel: HttpChannel,
    /// Id of the next request.
    next_id: AtomicU64,
}

impl JsonRpc {
    /// Creates a transport to an endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint, channel: HttpChannel) -> Self {
        Self { endpoint, channel, next_id: AtomicU64::new(1) }
    }

    fn read_reply(
        &self,
        dialect: Dialect,
        id: &Id<'_>,
        operation: Operation,
        response: &http::Response<bytes::Bytes>,
    ) -> Result<Reply, Error> {
        let (status, body) = (response.status(), response.body());
        let origin = self.endpoint.origin();
        if !status.is_success() {
            return Err(error_response::status_error(origin, status, body, dialect.version()));
        }
        let error = match jsonrpc::read_reply(dialect, id, operation, body) {
            Ok(reply) => return Ok(reply),
            Err(error) if !error_response::is_invalid_response(&error) => return Err(error.into()),
            Err(error) => error,
        };
        let Ok(envelope) = jsonrpc::Response::read(body) else {
            return Err(error_response::invalid_response(origin, status, body, "it is not JSON"));
        };
        // HTTP already pairs request and response, so a wrong id is ignored.
        let payload = envelope.result(dialect.version())?;
        dialect
            .read_reply(operation, payload)
            .map_err(|_| error_response::malformed(origin, &error))
    }
}

#[async_trait]
impl Transport for JsonRpc {
    async fn exchange(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<CallResponse<Error>, Error> {
        let request = self.endpoint.with_defaults(&call.request);
        let version = self.endpoint.version();
        let dialect = Dialect::over_jsonrpc(version);
        let operation = request.operation();
        let id = Id::from(self.next_id.fetch_add(1, Ordering::Relaxed).to_string().as_str());
        let body = jsonrpc::write_call(dialect, &id, &request)?;
        let uri = self.endpoint.uri().clone();
        let outgoing = OutgoingRequest::new(Method::POST, uri, Some(body))
            .with_call_headers(&call.context, version)?;
        if !operation.is_streaming() {
            let outgoing = outgoing.with_accept("application/json");
            let response = self.channel.fetch(&self.endpoint, outgoing, options).await?;
            let extensions = active_extensions(response.headers());
            let reply = self.read_reply(dialect, &id, operation, &response);
            let reply = reply
                .map_err(|error| ResponseHead::new(&response, &self.endpoint).annotate(error))?;
            return Ok(CallResponse { extensions, ..reply.into() });
        }
        let outgoing = outgoing.with_accept("text/event-stream");
        let response = self.channel.send_streaming(&self.endpoint, outgoing, options).await?;
        let extensions = active_extensions(response.headers());
        let origin = self.endpoint.origin().to_owned();
        let limits = self.channel.limits.for_call(options);
        let reader = StreamReader { dialect, origin, limits, not_found_kind: None };
        let head = ResponseHead::new(&response, &self.endpoint);
        let events = reader.into_events(response).await.map_err(|error| head.annotate(error))?;
        Ok(CallResponse { extensions, ..ReplyKind::Stream(events).into() })
    }
}

impl_service!(JsonRpc);
