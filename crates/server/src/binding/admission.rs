//! Checks of host, origin, call rate and failed authentications.

use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::request::Parts;
use latimer_protocol::{Caller, Error, Operation};

use super::{Frontend, RequestContext};
use crate::address::is_forwarded;
use crate::auth::AuthError;
use crate::engine::weight;
use crate::rate::RateKey;

impl Frontend {
    /// Checks that the host of a request is allowed, against DNS rebinding.
    pub(crate) fn check_host(&self, head: &Parts, peer: Option<SocketAddr>) -> Result<(), Error> {
        match &self.host_allow_list {
            Some(hosts) if !self.is_proxied(head, peer) => hosts.check_host(head),
            _ => Ok(()),
        }
    }

    /// Checks that the web page that sent a request, if any, has an allowed origin.
    pub(crate) fn check_origin(&self, head: &Parts, peer: Option<SocketAddr>) -> Result<(), Error> {
        match &self.host_allow_list {
            Some(hosts) if !self.is_proxied(head, peer) => hosts.check_origin(head),
            _ => Ok(()),
        }
    }

    /// Returns whether a trusted proxy forwarded a request; the proxy then checks host names. A
    /// request without forwarding headers is direct: a browser may share the address of the proxy.
    fn is_proxied(&self, head: &Parts, peer: Option<SocketAddr>) -> bool {
        peer.is_some_and(|it| self.address_resolver.is_trusted_proxy(it.ip()))
            && is_forwarded(&head.headers)
    }

    /// Charges a call to the rate limit of its caller, or of its client address if anonymous.
    pub(super) fn charge_rate(
        &self,
        ctx: &RequestContext<'_>,
        caller: &Caller,
        operation: Option<Operation>,
    ) -> Result<(), Error> {
        if !self.call_limiter.limits_calls() {
            return Ok(());
        }
        let key = match caller.is_anonymous() {
            false => RateKey::Caller(caller.id().clone()),
            true => match self.client_key(ctx) {
                Some(key) => key,
                None => return Ok(()),
            },
        };
        self.call_limiter.charge(key, operation.map_or(1, weight))
    }

    /// Rejects a request whose client address has had too many failed authentications.
    pub(super) fn check_auth_failures(&self, ctx: &RequestContext<'_>) -> Result<(), Error> {
        match self.call_limiter.limits_auth_failures().then(|| self.client_key(ctx)).flatten() {
            Some(key) => self.call_limiter.check_auth_failures(key),
            None => Ok(()),
        }
    }

    /// Counts a failed authentication against the client address.
    pub(super) fn record_auth_failure(&self, ctx: &RequestContext<'_>, error: &AuthError) {
        let headers = &ctx.head.headers;
        // A request without credentials is no attempt to guess them.
        let has_credentials =
            headers.contains_key(AUTHORIZATION) || headers.contains_key("x-api-key");
        if self.call_limiter.limits_auth_failures()
            && has_credentials
            && error.is_unauthenticated()
            && let Some(key) = self.client_key(ctx)
        {
            self.call_limiter.record_auth_failure(key);
        }
    }

    /// Returns the rate key for the client address, if known.
    fn client_key(&self, ctx: &RequestContext<'_>) -> Option<RateKey> {
        let peer = ctx.peer?.ip();
        Some(RateKey::for_address(self.address_resolver.client_ip(&ctx.head.headers, peer)))
    }
}
