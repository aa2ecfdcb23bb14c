//! The bindings: how a request becomes a call, and a reply an answer.
//!
//! [`Front`] takes every request, finds out whose it is, and hands it to its binding. A binding
//! knows its transport; what is asked and answered is for the dialects to spell and for the service
//! to mean. No layer stands between a socket and the binding: what all share is in the [`Front`].

mod access;
mod body;
mod card;
pub(crate) mod cors;
mod gate;
mod grpc;
mod jsonrpc;
mod operations;
mod operator;
mod place;
mod respond;
mod rest;
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
use latimer_protocol::binding::{parameters, rest as address};
use latimer_protocol::{
    Call, Caller, Dialect, Error, ErrorKind, Message, Metadata, Request as Asked, Revision,
    SendMessageRequest, Service, Version,
};
use tracing::debug;

pub(crate) use body::Body;
pub(crate) use card::Cards;
pub(crate) use grpc::Helpers;
pub(crate) use operations::Readiness;
pub use operator::OPERATOR;
pub(crate) use place::Places;

use crate::address::Addresses;
use crate::agent::{Agent, Registry};
use crate::auth::{Authenticate, Security};
use crate::host::Hosts;
use crate::metrics::{Counted, Metrics, Outcome};
use crate::push::Courier;
use crate::rate::Rates;
use crate::settings::Settings;
use crate::signing::Keyring;
use place::Place;

/// Headers that are looked for in every call, as they are hashed.
const VERSION: HeaderName = HeaderName::from_static(parameters::VERSION);
const EXTENSIONS: HeaderName = HeaderName::from_static(parameters::EXTENSIONS);
const EXTENSIONS_BEFORE_1_0: HeaderName =
    HeaderName::from_static(parameters::EXTENSIONS_BEFORE_1_0);

/// Takes every request.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) registry: Arc<Registry>,
    /// None when no webhook is told about tasks.
    pub(crate) courier: Option<Courier>,
    pub(crate) settings: Settings,
    pub(crate) places: Places,
    pub(crate) cards: Cards,
    pub(crate) keyring: Option<Keyring>,
    pub(crate) metrics: Metrics,
    pub(crate) readiness: Readiness,
    pub(crate) auth: Option<Arc<dyn Authenticate>>,
    /// What cards say about that.
    pub(crate) security: Security,
    /// Whether only this machine can reach it.
    pub(crate) local: bool,
    /// Made once, so that a call by nobody in particular costs nothing.
    pub(crate) anonymous: Caller,
    pub(crate) addresses: Addresses,
    /// The names that it answers to, unless it answers to any.
    pub(crate) hosts: Option<Hosts>,
    pub(crate) rates: Rates,
    pub(crate) helpers: Helpers,
}

/// A request but for its body, and where it arrived.
struct At<'a> {
    head: &'a Parts,
    peer: Option<SocketAddr>,
    /// The agent that the path names.
    agent: Option<Arc<str>>,
    /// The path below the address of the interface.
    path: &'a str,
}

impl Front {
    /// Answers a request. Whatever it is, the answer is in the form of the binding it was meant for.
    pub(crate) async fn answer<B>(
        &self,
        request: Request<B>,
        peer: Option<SocketAddr>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let (head, body) = request.into_parts();
        let place = self.places.find(head.uri.path());
        let origin = cors::origin(&head);
        if let Some(origin) = origin
            && self.check_host(&head, peer).is_ok()
            && let Some(answer) = self.preflight(&head, origin, place)
        {
            return answer;
        }
        let mut response = self.answer_at(place, &head, body, peer).await;
        self.allow_origin(origin, place, response.headers_mut());
        response
    }

    async fn answer_at<B>(
        &self,
        place: Place<'_>,
        head: &Parts,
        body: B,
        peer: Option<SocketAddr>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let at = |agent: Option<&str>| At {
            head,
            peer,
            agent: agent.map(Into::into),
            path: head.uri.path(),
        };
        // Each is as large as it is: what hyper moves about is the frame around them.
        match place {
            Place::JsonRpc(agent) => Box::pin(self.jsonrpc(&at(agent), body)).await,
            Place::Rest(agent, path) => Box::pin(self.rest(&At { path, ..at(agent) }, body)).await,
            Place::Grpc => Box::pin(self.grpc(&at(None), body)).await,
            Place::Card(agent, shape) => Box::pin(self.card(&at(agent), shape)).await,
            Place::Agents => Box::pin(self.cards(&at(None))).await,
            Place::Keys => self.keys(&at(None)),
            Place::Health => self.health(head),
            Place::Ready => self.ready(head).await,
            Place::Metrics => Box::pin(self.numbers(&at(None))).await,
            Place::DeadLetters(rest) => Box::pin(self.dead_letters(&at(None), rest)).await,
            Place::Nothing => self.nothing(&at(None)),
        }
    }

    /// The answer where nothing is.
    fn nothing(&self, at: &At<'_>) -> Response<Body> {
        let error = Error::new(ErrorKind::MethodNotFound, "there is nothing at this address");
        if at.header(CONTENT_TYPE).is_some_and(grpc::is_grpc) {
            return grpc::refused(&error, Version::V1_0);
        }
        let written = Dialect::V1_0.write_error(&error);
        respond::whole(StatusCode::NOT_FOUND, address::JSON, written.body.to_string())
    }

    /// Whether a call may be read at all.
    fn admit_call(&self, at: &At<'_>) -> Result<(), (StatusCode, Error)> {
        self.admit(at)?;
        self.check_origin(at.head, at.peer).map_err(|error| (StatusCode::FORBIDDEN, error))
    }

    /// Whether a request may be read at all.
    fn admit(&self, at: &At<'_>) -> Result<(), (StatusCode, Error)> {
        self.check_host(at.head, at.peer).map_err(|error| (StatusCode::FORBIDDEN, error))?;
        if !self.settings.enabled {
            let error = Error::new(ErrorKind::Unavailable, "A2A is switched off on this server");
            return Err((StatusCode::SERVICE_UNAVAILABLE, error));
        }
        let length = at.head.uri.path_and_query().map_or(0, |it| it.as_str().len());
        if length > self.settings.http.url {
            let message = format!("the address is longer than {} bytes", self.settings.http.url);
            return Err((StatusCode::URI_TOO_LONG, Error::new(ErrorKind::InvalidRequest, message)));
        }
        match &at.agent {
            Some(agent) if self.registry.get(agent).is_none() => {
                let error = Error::new(ErrorKind::MethodNotFound, "there is no agent of this name");
                Err((StatusCode::NOT_FOUND, error))
            }
            _ => Ok(()),
        }
    }

    /// A request as a call, with what its headers say.
    fn ask(
        &self,
        at: &At<'_>,
        request: Asked,
        dialect: Dialect,
        caller: Caller,
    ) -> Result<Call, Error> {
        self.check_extended(at, &request, dialect, &caller)?;
        let extensions = at.extensions()?;
        let after = if request.operation().is_streaming() { at.after()? } else { None };
        Ok(Call {
            request,
            caller,
            agent: at.agent.clone(),
            dialect,
            extensions,
            resume_after: after,
        })
    }

    /// The agent of this name, or the primary one when none is named.
    fn meant(&self, name: Option<&str>) -> Option<&Arc<Agent>> {
        match name {
            Some(name) => self.registry.get(name),
            None => self.registry.primary(),
        }
    }

    fn style(&self) -> sse::Style {
        sse::Style {
            terminator: self.settings.stream_terminator,
            keep_alive: self.settings.keep_alive,
        }
    }

    fn count(&self, what: Counted, outcome: Outcome, started: Instant) {
        let elapsed: Duration = started.elapsed();
        self.metrics.count(what, outcome, elapsed);
        debug!(?what, ?outcome, ?elapsed, "call answered");
    }
}

impl At<'_> {
    fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.head.headers.get(name).and_then(|it| it.to_str().ok())
    }

    /// The name of the agent that is asked: a path wins over a body.
    fn named<'b>(&'b self, asked: &'b Asked) -> Option<&'b str> {
        self.agent.as_deref().or_else(|| asked.tenant())
    }

    fn accept(&self) -> Option<&str> {
        self.header(ACCEPT)
    }

    /// Whether the caller names a media type among those that it reads.
    fn names(&self, media_type: &str) -> bool {
        address::prefers(self.accept(), media_type, "")
    }

    /// The version that the caller says.
    fn said(&self) -> Result<Option<Version>, Error> {
        let header = match self.head.headers.get(VERSION) {
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
        let (newer, older) = (headers.get_all(EXTENSIONS), headers.get_all(EXTENSIONS_BEFORE_1_0));
        let values = newer.into_iter().chain(older);
        parameters::parse_extensions(values.filter_map(|it| it.to_str().ok()))
    }

    /// The last event that the caller has seen.
    fn after(&self) -> Result<Option<Revision>, Error> {
        parameters::parse_last_event_id(self.header(parameters::LAST_EVENT_ID))
    }
}

/// What the writer of a reply needs to know of the request, which itself goes to the service: of a
/// message its ids, and everything of the others.
fn kept(request: &Asked) -> Asked {
    let ids = |sent: &SendMessageRequest| {
        let Message { message_id, context_id, task_id, role, .. } = &sent.message;
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
        Asked::SendMessage(sent) => Asked::SendMessage(ids(sent)),
        Asked::SendStreamingMessage(sent) => Asked::SendStreamingMessage(ids(sent)),
        Asked::GetTask(_)
        | Asked::ListTasks(_)
        | Asked::CancelTask(_)
        | Asked::SubscribeToTask(_)
        | Asked::CreateTaskPushNotificationConfig(_)
        | Asked::GetTaskPushNotificationConfig(_)
        | Asked::ListTaskPushNotificationConfigs(_)
        | Asked::DeleteTaskPushNotificationConfig(_)
        | Asked::GetExtendedAgentCard(_)
        | Asked::GetAgentCard => request.clone(),
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Body")
    }
}
