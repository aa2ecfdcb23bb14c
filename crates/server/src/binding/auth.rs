//! Who asks, and what they may see.

use latimer_protocol::binding::rest::JSON;
use latimer_protocol::{Caller, Dialect, Error, ErrorKind, Request as ProtocolRequest, Version};

use http::{Response, StatusCode};

use super::body::Body;
use super::{Frontend, RequestContext, respond};
use crate::agent::Agent;
use crate::auth::{AuthError, PresentedCredentials};

impl Frontend {
    /// Who asks.
    pub(super) async fn authenticate(&self, ctx: &RequestContext<'_>) -> Result<Caller, Error> {
        let Some(auth) = &self.auth else { return Ok(self.anonymous.clone()) };
        self.check_auth_failures(ctx)?;
        let mut presented = PresentedCredentials::new(&ctx.head.headers);
        presented.peer = ctx.peer;
        presented.certificate = ctx.head.extensions.get();
        match auth.authenticate(presented).await {
            Ok(caller) => Ok(caller),
            Err(AuthError::Missing) if self.is_public_path(ctx.head.uri.path()) => {
                Ok(self.anonymous.clone())
            }
            Err(error) => {
                self.record_auth_failure(ctx, &error);
                Err(error.into())
            }
        }
    }

    pub(super) fn challenge(&self) -> &str {
        self.auth.as_ref().map_or("Bearer", |it| it.challenge())
    }

    fn is_public_path(&self, path: &str) -> bool {
        self.settings.public_paths.iter().any(|pattern| match pattern.strip_suffix("/*") {
            Some(prefix) => path.strip_prefix(prefix).is_some_and(|it| it.starts_with('/')),
            None => pattern == path,
        })
    }

    /// Whether somebody may see cards.
    pub(super) async fn authorize_card(&self, ctx: &RequestContext<'_>) -> Result<(), Error> {
        match self.settings.card_requires_auth {
            true => self.authenticate(ctx).await.map(drop),
            false => Ok(()),
        }
    }

    /// Whether somebody may see what is for everybody who is known, if it is there at all.
    pub(super) async fn authorize_internal(
        &self,
        ctx: &RequestContext<'_>,
        enabled: Option<bool>,
    ) -> Result<(), Error> {
        match enabled.unwrap_or(self.auth.is_some() || self.is_loopback_only) {
            true => self.authenticate(ctx).await.map(drop),
            false => Err(Error::new(ErrorKind::MethodNotFound, "that is not served here")),
        }
    }

    /// Whether an extended card can be had. Without authentication only whoever is on this machine
    /// counts as known.
    pub(super) fn offers_extended_card(&self, agent: &Agent) -> bool {
        agent.extended_card().is_some() && (self.auth.is_some() || self.is_loopback_only)
    }

    /// Extended cards are for those who said who they are.
    pub(super) fn authorize_extended_card(
        &self,
        ctx: &RequestContext<'_>,
        request: &ProtocolRequest,
        dialect: Dialect,
        caller: &Caller,
    ) -> Result<(), Error> {
        if !matches!(request, ProtocolRequest::GetExtendedAgentCard(_)) || !caller.is_anonymous() {
            return Ok(());
        }
        match self.agent_or_primary(ctx.target_agent(request)) {
            // Whoever has none says so in the service.
            Some(agent) if agent.extended_card().is_none() => Ok(()),
            Some(agent) if !self.offers_extended_card(agent) => Err(no_extended_card(dialect)),
            Some(_) if self.auth.is_some() => Err(AuthError::Missing.into()),
            Some(_) | None => Ok(()),
        }
    }

    /// An error where no binding is spoken, with its own status unless another says more.
    pub(super) fn plain_error(&self, status: Option<StatusCode>, error: &Error) -> Response<Body> {
        let mut written = error.to_http(Version::V1_0);
        let default_status =
            StatusCode::from_u16(written.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let status = status.unwrap_or(default_status);
        if let Some(code) = written.body.pointer_mut("/error/code") {
            *code = status.as_u16().into();
        }
        let response = respond::with_body(status, JSON, written.body.to_string());
        respond::with_error_headers(response, error, self.challenge())
    }
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
