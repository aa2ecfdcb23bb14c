//! The bindings: how a request becomes a call, and a reply an answer.
//!
//! [`Frontend`] takes every request, finds out whose it is, and hands it to its binding. A binding
//! knows its transport; what is asked and answered is for the dialects to spell and for the service
//! to mean. No layer stands between a socket and the binding: what all share is in the [`Frontend`].

mod admission;
mod auth;
mod body;
mod card;
pub(crate) mod cors;
mod dead_letters;
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
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use latimer_protocol::binding::{parameters, rest as rest_binding};
use latimer_protocol::{
    Call, CallContext, Caller, Dialect, Error, ErrorKind, Message, Metadata,
    Request as ProtocolRequest, Revision, SendMessageRequest, Service, Version,
};
use tracing::debug;

pub(crate) use body::Body;
pub(crate) use card::Cards;
pub use dead_letters::OPERATOR_SCOPE;
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

/// Headers that are looked for in every call, as they are hashed.
const VERSION_HEADER: HeaderName = HeaderName::from_static(parameters::VERSION);
const EXTENSIONS_HEADER: HeaderName = HeaderName::from_static(parameters::EXTENSIONS);
const EXTENSIONS_HEADER_BEFORE_1_0: HeaderName =
    HeaderName::from_static(parameters::EXTENSIONS_BEFORE_1_0);

/// Takes every request.
#[derive(Debug)]
pub(crate) struct Frontend {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) registry: Arc<AgentRegistry>,
    /// None when no webhook is told about tasks.
    pub(crate) dispatcher: Option<WebhookDispatcher>,
    pub(crate) settings: Settings,
    pub(crate) route_table: RouteTable,
    pub(crate) cards: Cards,
    pub(crate) keyring: Option<Keyring>,
    pub(crate) metrics: Metrics,
    pub(crate) readiness: Readiness,
    pub(crate) auth: Option<Arc<dyn Authenticate>>,
    /// What cards say about that.
    pub(crate) security: SecurityDeclaration,
    /// Whether only this machine can reach it.
    pub(crate) is_loopback_only: bool,
    /// Made once, so that a call by nobody in particular costs nothing.
    pub(crate) anonymous: Caller,
    pub(crate) address_resolver: AddressResolver,
    /// The names that it answers to, unless it answers to any.
    pub(crate) host_allow_list: Option<HostAllowList>,
    pub(crate) call_limiter: CallLimiter,
    pub(crate) support_services: SupportServices,
}

/// A request but for its body, and where it arrived.
struct RequestContext<'a> {
    head: &'a Parts,
    peer: Option<SocketAddr>,
    /// The agent that the path names.
    agent: Option<Arc<str>>,
    /// The path below the address of the interface.
    path: &'a str,
}

impl Frontend {
    /// Answers a request. Whatever it is, the answer is in the form of the binding it was meant for.
    pub(crate) async fn handle<B>(
        &self,
        request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let (head, body) = request.into_parts();
        let target = self.route_table.route(head.uri.path());
        let origin = cors::origin(&head);
        if let Some(origin) = origin
            && self.check_host(&head, peer).is_ok()
            && let Some(response) = self.preflight(&head, origin, target)
        {
            return response;
        }
        let mut response = self.handle_target(target, &head, body, peer).await;
        self.allow_origin(origin, target, response.headers_mut());
        response
    }

    async fn handle_target<B>(
        &self,
        target: RouteTarget<'_>,
        head: &Parts,
        body: B,
        peer: Option<SocketAddr>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let ctx_for = |agent: Option<&str>| RequestContext {
            head,
            peer,
            agent: agent.map(Into::into),
            path: head.uri.path(),
        };
        // Each is as large as it is: what hyper moves about is the frame around them.
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

    /// The answer where nothing is.
    fn not_found(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let error = Error::new(ErrorKind::MethodNotFound, "there is nothing at this address");
        if ctx.header(CONTENT_TYPE).is_some_and(grpc::is_grpc) {
            return grpc::error_response(&error, Version::V1_0);
        }
        let written = Dialect::V1_0.write_error(&error);
        respond::with_body(StatusCode::NOT_FOUND, rest_binding::JSON, written.body.to_string())
    }

    /// Whether a call may be read at all.
    fn admit_call(&self, ctx: &RequestContext<'_>) -> Result<(), (StatusCode, Error)> {
        self.admit(ctx)?;
        self.check_origin(ctx.head, ctx.peer).map_err(|error| (StatusCode::FORBIDDEN, error))
    }

    /// Whether a request may be read at all.
    fn admit(&self, ctx: &RequestContext<'_>) -> Result<(), (StatusCode, Error)> {
        self.check_host(ctx.head, ctx.peer).map_err(|error| (StatusCode::FORBIDDEN, error))?;
        if !self.settings.enabled {
            let error = Error::new(ErrorKind::Unavailable, "A2A is switched off on this server");
            return Err((StatusCode::SERVICE_UNAVAILABLE, error));
        }
        let length = ctx.head.uri.path_and_query().map_or(0, |it| it.as_str().len());
        if length > self.settings.http.max_url_bytes {
            let message =
                format!("the address is longer than {} bytes", self.settings.http.max_url_bytes);
            return Err((StatusCode::URI_TOO_LONG, Error::new(ErrorKind::InvalidRequest, message)));
        }
        match &ctx.agent {
            Some(agent) if self.registry.get(agent).is_none() => {
                let error = Error::new(ErrorKind::MethodNotFound, "there is no agent of this name");
                Err((StatusCode::NOT_FOUND, error))
            }
            _ => Ok(()),
        }
    }

    /// A request as a call, with what its headers say.
    fn build_call(
        &self,
        ctx: &RequestContext<'_>,
        request: ProtocolRequest,
        dialect: Dialect,
        caller: Caller,
    ) -> Result<Call, Error> {
        self.authorize_extended_card(ctx, &request, dialect, &caller)?;
        let extensions = ctx.extensions()?;
        let resume_after =
            if request.operation().is_streaming() { ctx.resume_after()? } else { None };
        let agent = ctx.agent.clone();
        let context = CallContext { caller, agent, dialect, extensions, resume_after };
        Ok(Call { context, request })
    }

    /// The agent of this name, or the primary one when none is named.
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
        self.metrics.count(labels, outcome, elapsed);
        debug!(?labels, ?outcome, ?elapsed, "call answered");
    }
}

impl RequestContext<'_> {
    fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.head.headers.get(name).and_then(|it| it.to_str().ok())
    }

    /// The name of the agent that is asked: a path wins over a body.
    fn target_agent<'b>(&'b self, request: &'b ProtocolRequest) -> Option<&'b str> {
        self.agent.as_deref().or_else(|| request.tenant())
    }

    fn accept(&self) -> Option<&str> {
        self.header(ACCEPT)
    }

    /// Whether the caller names a media type among those that it reads.
    fn accepts_explicitly(&self, media_type: &str) -> bool {
        rest_binding::prefers(self.accept(), media_type, "")
    }

    /// The version that the caller says.
    fn declared_version(&self) -> Result<Option<Version>, Error> {
        let header = match self.head.headers.get(VERSION_HEADER) {
            // What is no text is no version either.
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

    /// The extensions that the caller activates.
    fn extensions(&self) -> Result<Vec<String>, Error> {
        let headers = &self.head.headers;
        let (newer, older) =
            (headers.get_all(EXTENSIONS_HEADER), headers.get_all(EXTENSIONS_HEADER_BEFORE_1_0));
        let values = newer.into_iter().chain(older);
        parameters::parse_extensions(values.filter_map(|it| it.to_str().ok()))
    }

    /// The last event that the caller has seen.
    fn resume_after(&self) -> Result<Option<Revision>, Error> {
        parameters::parse_last_event_id(self.header(parameters::LAST_EVENT_ID))
    }
}

/// What the writer of a reply needs to know of the request, which itself goes to the service: of a
/// message its ids, and everything of the others.
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
