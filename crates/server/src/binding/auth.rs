//! Authentication of requests, and access to cards and internal endpoints.

use latimer_protocol::binding::rest::JSON;
use latimer_protocol::{Caller, Dialect, Error, ErrorKind, Request as ProtocolRequest, Version};

use http::{Response, StatusCode};

use super::body::Body;
use super::{Frontend, RequestContext, respond};
use crate::agent::Agent;
use crate::auth::{AuthError, PresentedCredentials};

impl Frontend {
    /// Returns the caller of a request. Without credentials the caller is anonymous on public paths,
    /// and everywhere if the server has no authentication.
    pub(super) async fn authenticate(&self, ctx: &RequestContext<'_>) -> Result<Caller, Error> {
        let Some(auth) = &self.auth else { return Ok(self.anonymous.clone()) };
        self.check_auth_failures(ctx)?;
        let mut presented = PresentedCredentials::new(&ctx.head.headers);
        presented.peer = ctx.peer;
        presented.certificate = ctx.head.extensions.get();
        match auth.authenticate(presented).await {
            Ok(caller) => {
                self.record_auth_success(ctx);
                Ok(caller)
            }
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

    /// Checks access to cards.
    pub(super) async fn authorize_card(&self, ctx: &RequestContext<'_>) -> Result<(), Error> {
        match self.settings.card_requires_auth {
            true => self.authenticate(ctx).await.map(drop),
            false => Ok(()),
        }
    }

    /// Checks access to an endpoint for authenticated callers, such as metrics. `enabled` is its
    /// setting; by default it is enabled if the server has authentication or listens on loopback only.
    pub(super) async fn authorize_internal(
        &self,
        ctx: &RequestContext<'_>,
        enabled: Option<bool>,
    ) -> Result<(), Error> {
        match enabled.unwrap_or(self.auth.is_some() || self.is_loopback_only) {
            true => self.authenticate(ctx).await.map(drop),
            false => Err(Error::new(ErrorKind::MethodNotFound, "this endpoint is disabled")),
        }
    }

    /// Returns whether an agent offers its extended card, which requires authentication (1.0,
    /// section 13.3).
    pub(super) fn offers_extended_card(&self, agent: &Agent) -> bool {
        agent.extended_card().is_some() && self.auth.is_some()
    }

    /// Checks access to the extended card, which requires authentication even on public paths.
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
            // The service returns the error for a missing card.
            Some(agent) if agent.extended_card().is_none() => Ok(()),
            Some(agent) if !self.offers_extended_card(agent) => Err(no_extended_card(dialect)),
            Some(_) => Err(AuthError::Missing.into()),
            None => Ok(()),
        }
    }

    /// Returns whether clients can register webhooks. Without authentication, only servers that listen
    /// on loopback allow it, because anyone could make other servers send requests.
    pub(super) fn offers_webhooks(&self) -> bool {
        self.dispatcher.is_some() && (self.auth.is_some() || self.is_loopback_only)
    }

    /// Checks what an anonymous caller may do. All anonymous callers of a server that other machines
    /// reach have one identity, so they cannot list tasks or use webhooks: the id of a task or context
    /// is all that gives access to it.
    pub(super) fn authorize_anonymous(
        &self,
        request: &ProtocolRequest,
        caller: &Caller,
    ) -> Result<(), Error> {
        if !caller.is_anonymous() || self.is_loopback_only {
            return Ok(());
        }
        let uses_webhook = uses_webhook(request);
        match (self.auth.is_some(), request) {
            (true, ProtocolRequest::ListTasks(_)) => Err(AuthError::Missing.into()),
            (true, _) if uses_webhook => Err(AuthError::Missing.into()),
            (false, ProtocolRequest::ListTasks(_)) => {
                let message = "tasks cannot be listed without authentication";
                Err(Error::new(ErrorKind::PermissionDenied, message))
            }
            (false, _) if uses_webhook => Err(ErrorKind::PushNotificationNotSupported.into()),
            (true | false, _) => Ok(()),
        }
    }

    /// Creates the error response of an endpoint outside the bindings. `status` replaces the default
    /// status of the error.
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

/// Returns whether a request registers or reads webhooks.
fn uses_webhook(request: &ProtocolRequest) -> bool {
    match request {
        ProtocolRequest::SendMessage(it) | ProtocolRequest::SendStreamingMessage(it) => {
            it.configuration.as_ref().is_some_and(|it| it.task_push_notification_config.is_some())
        }
        ProtocolRequest::CreateTaskPushNotificationConfig(_)
        | ProtocolRequest::GetTaskPushNotificationConfig(_)
        | ProtocolRequest::ListTaskPushNotificationConfigs(_)
        | ProtocolRequest::DeleteTaskPushNotificationConfig(_) => true,
        ProtocolRequest::GetTask(_)
        | ProtocolRequest::ListTasks(_)
        | ProtocolRequest::CancelTask(_)
        | ProtocolRequest::SubscribeToTask(_)
        | ProtocolRequest::GetExtendedAgentCard(_)
        | ProtocolRequest::GetAgentCard => false,
    }
}

/// Creates the error for an unavailable extended card. §3.3.4: in 1.0 the operation is unsupported
/// without the capability.
fn no_extended_card(dialect: Dialect) -> Error {
    match dialect {
        Dialect::V1_0 => Error::new(
            ErrorKind::UnsupportedOperation,
            "the agent has no extended card for unauthenticated callers",
        ),
        _ => ErrorKind::ExtendedAgentCardNotConfigured.into(),
    }
}
