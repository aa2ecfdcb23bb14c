//! Transport bindings: conversion of HTTP requests to calls, and of replies to responses.
//!
//! [`Frontend`] receives every request, routes it by its path and passes it to its binding. A binding
//! knows its transport only: dialects encode and decode the content, and the service executes the
//! call. There is no middleware between the socket and the bindings; shared steps such as
//! authentication are methods of [`Frontend`].
//!
//! | module | content |
//! | --- | --- |
//! | `admission` | checks of host, origin, rate and failed authentications |
//! | `auth` | authentication, and access to cards and internal endpoints |
//! | `body` | request bodies within limits, and response bodies |
//! | `card` | agent cards and published keys |
//! | `cors` | cross-origin access of browsers |
//! | `dead_letters` | operator API for undelivered webhooks |
//! | `grpc` | gRPC binding |
//! | `jsonrpc` | JSON-RPC binding |
//! | `probes` | health, readiness and metrics |
//! | `respond` | responses and their headers |
//! | `rest` | HTTP+JSON binding |
//! | `route_table` | table of all paths |
//! | `sse` | streams as server-sent events |

mod admission;
mod auth;
mod body;
mod card;
pub(crate) mod cors;
#[cfg_attr(not(feature = "push"), path = "dead_letters/disabled.rs")]
mod dead_letters;
#[cfg_attr(not(feature = "grpc"), path = "grpc/disabled.rs")]
mod grpc;
mod jsonrpc;
mod probes;
mod respond;
mod rest;
mod route_table;
mod sse;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::BoxError;
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use latimer_protocol::binding::{parameters, rest as rest_binding};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{
    Call, CallContext, Caller, Dialect, Error, ErrorKind, Message, Metadata,
    Request as ProtocolRequest, Revision, SendMessageRequest, Service, Version,
};
use tracing::debug;

pub(crate) use body::{Body, RequestBody};
pub(crate) use card::Cards;
pub(crate) use grpc::SupportServices;
pub(crate) use probes::Readiness;
pub(crate) use route_table::RouteTable;

use crate::address::AddressResolver;
use crate::agent::{Agent, AgentRegistry};
use crate::auth::{Authenticate, SecurityDeclaration};
use crate::host::HostAllowList;
use crate::metrics::{CallLabels, CallOutcome, Metrics};
use crate::push::WebhookDispatcher;
use crate::rate::CallLimiter;
use crate::settings::Settings;
use crate::signing::Keyring;
use route_table::RouteTarget;

/// Header names that every call looks up, hashed once.
const VERSION_HEADER: HeaderName = HeaderName::from_static(parameters::VERSION);
const EXTENSIONS_HEADER: HeaderName = HeaderName::from_static(parameters::EXTENSIONS);
const EXTENSIONS_HEADER_BEFORE_1_0: HeaderName =
    HeaderName::from_static(parameters::EXTENSIONS_BEFORE_1_0);

/// Entry point of all requests.
#[derive(Clone, Debug)]
pub(crate) struct Frontend {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) registry: Arc<AgentRegistry>,
    /// `None` if webhooks are disabled.
    pub(crate) dispatcher: Option<WebhookDispatcher>,
    pub(crate) settings: Settings,
    pub(crate) route_table: RouteTable,
    pub(crate) cards: Arc<Cards>,
    pub(crate) keyring: Option<Keyring>,
    pub(crate) metrics: Metrics,
    pub(crate) readiness: Readiness,
    pub(crate) auth: Option<Arc<dyn Authenticate>>,
    /// Security schemes that cards declare for `auth`.
    pub(crate) security: SecurityDeclaration,
    /// Whether the server listens on a loopback address only.
    pub(crate) is_loopback_only: bool,
    /// The anonymous caller, created once.
    pub(crate) anonymous: Caller,
    pub(crate) address_resolver: AddressResolver,
    /// Accepted host names; `None` accepts all.
    pub(crate) host_allow_list: Option<HostAllowList>,
    pub(crate) call_limiter: Arc<CallLimiter>,
    pub(crate) support_services: SupportServices,
}

/// Returns the compiled bindings, in the order in which cards list them.
pub(crate) fn compiled_bindings() -> Vec<ProtocolBinding> {
    let mut bindings = vec![ProtocolBinding::JsonRpc, ProtocolBinding::HttpJson];
    bindings.extend(grpc::BINDING);
    bindings
}

/// A request without its body, with its peer address and route.
struct RequestContext<'a> {
    head: &'a Parts,
    peer: Option<SocketAddr>,
    /// Agent that the path names.
    agent: Option<Arc<str>>,
    /// Path below the base path of the interface.
    path: &'a str,
}

impl Frontend {
    /// Returns a frontend for a socket at this address. Caches and rate limits are shared.
    pub(crate) fn for_socket(&self, listen_address: SocketAddr) -> Self {
        let mut frontend = self.clone();
        let resolver = &mut frontend.address_resolver;
        resolver.listen_address = Some(listen_address);
        frontend.host_allow_list =
            HostAllowList::new(&self.settings, resolver.public_url.as_ref(), Some(listen_address));
        frontend.is_loopback_only = self.settings.is_loopback_only(listen_address);
        frontend
    }

    /// Handles a request. Errors have the format of the binding that the path belongs to.
    pub(crate) async fn handle<B>(
        &self,
        request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let (head, body) = request.into_parts();
        let mut body = RequestBody::new(body);
        let target = self.route_table.route(head.uri.path());
        let origin = cors::origin(&head);
        if let Some(origin) = origin
            && self.check_host(&head, peer).is_ok()
            && let Some(response) = self.preflight(&head, origin, target)
        {
            return response;
        }
        let mut response = self.handle_target(target, &head, &mut body, peer).await;
        if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_encoded(&head) {
            // Tells the client that the encoding was the reason (RFC 9110, section 12.5.3).
            response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        body.finish(&head, response.headers_mut()).await;
        self.allow_origin(origin, target, response.headers_mut());
        response
    }

    async fn handle_target<B>(
        &self,
        target: RouteTarget<'_>,
        head: &Parts,
        body: &mut RequestBody<B>,
        peer: Option<SocketAddr>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let ctx_for = |agent: Option<&str>| RequestContext {
            head,
            peer,
            agent: agent.map(Into::into),
            path: head.uri.path(),
        };
        // Boxed because hyper moves the future: only the outer frame is moved then.
        match target {
            RouteTarget::JsonRpc(agent) => Box::pin(self.jsonrpc(&ctx_for(agent), body)).await,
            RouteTarget::Rest(agent, path) => {
                Box::pin(self.rest(&RequestContext { path, ..ctx_for(agent) }, body)).await
            }
            RouteTarget::Grpc => Box::pin(self.grpc(&ctx_for(None), body)).await,
            RouteTarget::Card(agent, shape) => Box::pin(self.card(&ctx_for(agent), shape)).await,
            RouteTarget::CardList => Box::pin(self.cards(&ctx_for(None))).await,
            RouteTarget::Jwks => self.jwks(&ctx_for(None)),
            RouteTarget::Health => self.health(head),
            RouteTarget::Ready => self.ready(head).await,
            RouteTarget::Metrics => Box::pin(self.metrics(&ctx_for(None))).await,
            RouteTarget::DeadLetters(subpath) => {
                Box::pin(self.dead_letters(&ctx_for(None), subpath)).await
            }
            RouteTarget::NotFound => self.not_found(&ctx_for(None)),
        }
    }

    /// Responds to a path without a resource.
    fn not_found(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let error = Error::new(ErrorKind::MethodNotFound, "no resource exists at this path");
        if let Some(response) = grpc::rejection(ctx, &error) {
            return response;
        }
        let written = Dialect::V1_0.write_error(&error);
        respond::with_body(StatusCode::NOT_FOUND, rest_binding::JSON, written.body.to_string())
    }

    /// Checks a call before its body is read.
    fn admit_call(&self, ctx: &RequestContext<'_>) -> Result<(), (StatusCode, Error)> {
        self.admit(ctx)?;
        self.check_origin(ctx.head, ctx.peer).map_err(|error| (StatusCode::FORBIDDEN, error))?;
        if is_encoded(ctx.head) && ctx.head.method != Method::GET {
            let message = "the content encoding is not supported; send the body uncompressed";
            let error = Error::new(ErrorKind::ContentTypeNotSupported, message);
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
        Ok(())
    }

    /// Checks a request before its body is read: host, URL length and agent.
    fn admit(&self, ctx: &RequestContext<'_>) -> Result<(), (StatusCode, Error)> {
        self.check_host(ctx.head, ctx.peer).map_err(|error| (StatusCode::FORBIDDEN, error))?;
        if !self.settings.enabled {
            let error = Error::new(ErrorKind::Unavailable, "A2A is disabled on this server");
            return Err((StatusCode::SERVICE_UNAVAILABLE, error));
        }
        let length = ctx.head.uri.path_and_query().map_or(0, |it| it.as_str().len());
        if length > self.settings.http.max_url_bytes {
            let message =
                format!("the URL is longer than {} bytes", self.settings.http.max_url_bytes);
            return Err((StatusCode::URI_TOO_LONG, Error::new(ErrorKind::InvalidRequest, message)));
        }
        match &ctx.agent {
            Some(agent) if self.registry.get(agent).is_none() => {
                let error = Error::new(ErrorKind::MethodNotFound, "no agent with this name exists");
                Err((StatusCode::NOT_FOUND, error))
            }
            _ => Ok(()),
        }
    }

    /// Creates the call for a request, with extensions and resume cursor from the headers.
    fn build_call(
        &self,
        ctx: &RequestContext<'_>,
        request: ProtocolRequest,
        dialect: Dialect,
        caller: Caller,
    ) -> Result<Call, Error> {
        self.authorize_extended_card(ctx, &request, dialect, &caller)?;
        self.authorize_anonymous(&request, &caller)?;
        let extensions = ctx.extensions()?;
        let resume_after =
            if request.operation().is_streaming() { ctx.resume_after()? } else { None };
        let agent = ctx.agent.clone();
        let context = CallContext { caller, agent, dialect, extensions, resume_after };
        Ok(Call { context, request })
    }

    /// Returns the named agent, or the primary agent without a name.
    fn agent_or_primary(&self, name: Option<&str>) -> Option<&Arc<Agent>> {
        match name {
            Some(name) => self.registry.get(name),
            None => self.registry.primary(),
        }
    }

    fn stream_options(&self) -> sse::StreamOptions {
        sse::StreamOptions {
            terminator: self.settings.stream_terminator,
            keep_alive: self.settings.keep_alive,
        }
    }

    fn record_call(&self, labels: CallLabels, outcome: CallOutcome, started: Instant) {
        let elapsed: Duration = started.elapsed();
        self.metrics.record_call(labels, outcome, elapsed);
        debug!(?labels, ?outcome, ?elapsed, "call answered");
    }
}

impl RequestContext<'_> {
    fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.head.headers.get(name).and_then(|it| it.to_str().ok())
    }

    /// Returns the name of the target agent. The path takes precedence over the body.
    fn target_agent<'b>(&'b self, request: &'b ProtocolRequest) -> Option<&'b str> {
        self.agent.as_deref().or_else(|| request.tenant())
    }

    fn accept(&self) -> Option<&str> {
        self.header(ACCEPT)
    }

    /// Returns whether the `Accept` header lists a media type explicitly.
    fn accepts_explicitly(&self, media_type: &str) -> bool {
        rest_binding::prefers(self.accept(), media_type, "")
    }

    /// Returns the protocol version that the client declares in a header or query parameter.
    fn declared_version(&self) -> Result<Option<Version>, Error> {
        let header = match self.head.headers.get(VERSION_HEADER) {
            // A header that is not ASCII is an unknown version.
            Some(value) => Some(value.to_str().unwrap_or("?")),
            None => None,
        };
        match self.head.uri.query() {
            None => Version::declared(header, None),
            Some(query) => {
                Version::declared(header, parameters::version_from_query(query).as_deref())
            }
        }
    }

    /// Returns the URIs of the extensions that the client activates.
    fn extensions(&self) -> Result<Vec<String>, Error> {
        let headers = &self.head.headers;
        let (newer, older) =
            (headers.get_all(EXTENSIONS_HEADER), headers.get_all(EXTENSIONS_HEADER_BEFORE_1_0));
        let values = newer.into_iter().chain(older);
        parameters::parse_extensions(values.filter_map(|it| it.to_str().ok()))
    }

    /// Returns the last revision that the client has received.
    fn resume_after(&self) -> Result<Option<Revision>, Error> {
        parameters::parse_last_event_id(self.header(parameters::LAST_EVENT_ID))
    }
}

/// Returns whether the body of a request is compressed or otherwise encoded.
fn is_encoded(head: &Parts) -> bool {
    head.headers
        .get_all(CONTENT_ENCODING)
        .into_iter()
        .any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Copies what the encoder of a reply needs from a request, which moves to the service: the ids of a
/// message, without its parts, and all other requests completely.
fn reply_context(request: &ProtocolRequest) -> ProtocolRequest {
    let ids_only = |send: &SendMessageRequest| {
        let Message { message_id, context_id, task_id, role, .. } = &send.message;
        SendMessageRequest::from(Message {
            message_id: message_id.clone(),
            context_id: context_id.clone(),
            task_id: task_id.clone(),
            role: *role,
            parts: Vec::new(),
            metadata: Metadata::new(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        })
    };
    match request {
        ProtocolRequest::SendMessage(send) => ProtocolRequest::SendMessage(ids_only(send)),
        ProtocolRequest::SendStreamingMessage(send) => {
            ProtocolRequest::SendStreamingMessage(ids_only(send))
        }
        ProtocolRequest::GetTask(_)
        | ProtocolRequest::ListTasks(_)
        | ProtocolRequest::CancelTask(_)
        | ProtocolRequest::SubscribeToTask(_)
        | ProtocolRequest::CreateTaskPushNotificationConfig(_)
        | ProtocolRequest::GetTaskPushNotificationConfig(_)
        | ProtocolRequest::ListTaskPushNotificationConfigs(_)
        | ProtocolRequest::DeleteTaskPushNotificationConfig(_)
        | ProtocolRequest::GetExtendedAgentCard(_)
        | ProtocolRequest::GetAgentCard => request.clone(),
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Body")
    }
}
