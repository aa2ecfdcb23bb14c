//! JSON-RPC over HTTP.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use http::Method;
use latimer_protocol::binding::jsonrpc::{self, Id};
use latimer_protocol::{Call, Dialect, Operation, Reply};

use super::endpoint::Endpoint;
use super::events::Reading;
use super::head::Head;
use super::wire::{Ask, Wire, active};
use super::{Exchanged, Outcome, Transport, page, service};
use crate::error::Error;

/// Calls an agent over JSON-RPC, in any version.
#[derive(Debug)]
pub struct JsonRpc {
    endpoint: Endpoint,
    wire: Wire,
    /// How many calls were made: what pairs an answer with its question.
    calls: AtomicU64,
}

impl JsonRpc {
    /// A transport to an endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint, wire: Wire) -> Self {
        Self { endpoint, wire, calls: AtomicU64::new(1) }
    }

    fn read(
        &self,
        dialect: Dialect,
        id: &Id<'_>,
        operation: Operation,
        response: &http::Response<bytes::Bytes>,
    ) -> Result<Reply, Error> {
        let (status, body) = (response.status(), response.body());
        let origin = self.endpoint.origin();
        if !status.is_success() {
            return Err(page::failure(origin, status, body, dialect.version()));
        }
        let error = match jsonrpc::read_reply(dialect, id, operation, body) {
            Ok(reply) => return Ok(reply),
            Err(error) if !page::is_unread(&error) => return Err(error.into()),
            Err(error) => error,
        };
        let Ok(answer) = jsonrpc::Response::read(body) else {
            return Err(page::unreadable(origin, status, body, "it is not JSON"));
        };
        // An answer comes over the connection of its request: what it says it answers is not needed.
        let payload = answer.result(dialect.version())?;
        dialect.read_reply(operation, payload).map_err(|_| page::malformed(origin, &error))
    }
}

#[async_trait]
impl Transport for JsonRpc {
    async fn exchange(&self, call: &Call) -> Result<Exchanged, Error> {
        let request = self.endpoint.addressed(&call.request);
        let version = self.endpoint.version();
        let dialect = Dialect::over_jsonrpc(version);
        let operation = request.operation();
        let id = Id::from(self.calls.fetch_add(1, Ordering::Relaxed).to_string().as_str());
        let body = jsonrpc::write_call(dialect, &id, &request)?;
        let uri = self.endpoint.uri().clone();
        let ask = Ask::new(Method::POST, uri, Some(body)).describing(call, version)?;
        if !operation.is_streaming() {
            let ask = ask.accepting("application/json");
            let response = self.wire.fetch(&self.endpoint, ask).await?;
            let extensions = active(response.headers());
            let reply = self.read(dialect, &id, operation, &response);
            let reply =
                reply.map_err(|error| Head::of(&response, &self.endpoint).explain(error))?;
            return Ok(Exchanged { outcome: Outcome::Reply(reply), extensions });
        }
        let ask = ask.accepting("text/event-stream");
        let response = self.wire.open(&self.endpoint, ask).await?;
        let extensions = active(response.headers());
        let origin = self.endpoint.origin().to_owned();
        let limits = self.wire.limits.clone();
        let reading = Reading { dialect, origin, limits, missing: None };
        let head = Head::of(&response, &self.endpoint);
        let events = reading.events(response).await.map_err(|error| head.explain(error))?;
        Ok(Exchanged { outcome: Outcome::Events(events), extensions })
    }
}

service!(JsonRpc);
