//! Who asks, and what they may see.

use latimer_protocol::binding::rest::JSON;
use latimer_protocol::{Caller, Dialect, Error, ErrorKind, Request as Asked, Version};

use http::{Response, StatusCode};

use super::body::Body;
use super::{At, Front, respond};
use crate::agent::Agent;
use crate::auth::{Credentials, REASON};

impl Front {
    /// Who asks.
    pub(super) async fn caller(&self, at: &At<'_>) -> Result<Caller, Error> {
        let Some(auth) = &self.auth else { return Ok(self.anonymous.clone()) };
        self.check_failures(at)?;
        let mut shown = Credentials::new(&at.head.headers);
        shown.peer = at.peer;
        shown.certificate = at.head.extensions.get();
        let known = auth.authenticate(shown).await;
        if let Err(error) = &known
            && showed_nothing(error)
            && self.is_public(at.head.uri.path())
        {
            return Ok(self.anonymous.clone());
        }
        self.count_failure(at, &known);
        known
    }

    pub(super) fn challenge(&self) -> &str {
        self.auth.as_ref().map_or("Bearer", |it| it.challenge())
    }

    fn is_public(&self, path: &str) -> bool {
        self.settings.public_paths.iter().any(|public| match public.strip_suffix("/*") {
            Some(above) => path.strip_prefix(above).is_some_and(|it| it.starts_with('/')),
            None => public == path,
        })
    }

    /// Whether somebody may see cards.
    pub(super) async fn check_reader(&self, at: &At<'_>) -> Result<(), Error> {
        match self.settings.card_requires_auth {
            true => self.caller(at).await.map(drop),
            false => Ok(()),
        }
    }

    /// Whether somebody may see what is for everybody who is known, if it is there at all.
    pub(super) async fn check_insider(
        &self,
        at: &At<'_>,
        served: Option<bool>,
    ) -> Result<(), Error> {
        match served.unwrap_or(self.auth.is_some() || self.local) {
            true => self.caller(at).await.map(drop),
            false => Err(Error::new(ErrorKind::MethodNotFound, "that is not served here")),
        }
    }

    /// Whether an extended card can be had. Without authentication only whoever is on this machine
    /// counts as known.
    pub(super) fn offers_extended(&self, agent: &Agent) -> bool {
        agent.extended_card().is_some() && (self.auth.is_some() || self.local)
    }

    /// Extended cards are for those who said who they are.
    pub(super) fn check_extended(
        &self,
        at: &At<'_>,
        request: &Asked,
        dialect: Dialect,
        caller: &Caller,
    ) -> Result<(), Error> {
        if !matches!(request, Asked::GetExtendedAgentCard(_)) || !caller.is_anonymous() {
            return Ok(());
        }
        match self.meant(at.named(request)) {
            // Whoever has none says so in the service.
            Some(agent) if agent.extended_card().is_none() => Ok(()),
            Some(agent) if !self.offers_extended(agent) => Err(no_extended_card(dialect)),
            Some(_) if self.auth.is_some() => Err(ErrorKind::Unauthenticated.into()),
            Some(_) | None => Ok(()),
        }
    }

    /// An error where no binding is spoken, with its own status unless another says more.
    pub(super) fn plain_error(&self, status: Option<StatusCode>, error: &Error) -> Response<Body> {
        let mut written = error.to_http(Version::V1_0);
        let own = StatusCode::from_u16(written.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let status = status.unwrap_or(own);
        if let Some(code) = written.body.pointer_mut("/error/code") {
            *code = status.as_u16().into();
        }
        let response = respond::whole(status, JSON, written.body.to_string());
        respond::explained(response, error, self.challenge())
    }
}

/// Whether somebody was not let in for want of anything to go by.
fn showed_nothing(error: &Error) -> bool {
    error.kind() == ErrorKind::Unauthenticated && !error.metadata().contains_key(REASON)
}

/// §3.3.4: 1.0 does not know the operation without the capability.
fn no_extended_card(dialect: Dialect) -> Error {
    match dialect {
        Dialect::V1_0 => Error::new(
            ErrorKind::UnsupportedOperation,
            "the agent has no extended card for callers that are not authenticated",
        ),
        _ => ErrorKind::ExtendedAgentCardNotConfigured.into(),
    }
}
