//! Who is let in: neither pages that pretend to be on this machine, nor those who ask too often.

use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::request::Parts;
use latimer_protocol::{Caller, Error, Operation};

use super::{Frontend, RequestContext};
use crate::auth::AuthError;
use crate::engine::weight;
use crate::rate::RateKey;

impl Frontend {
    /// Whether a request is for a name of this server.
    pub(crate) fn check_host(&self, head: &Parts, peer: Option<SocketAddr>) -> Result<(), Error> {
        match &self.host_allow_list {
            Some(hosts) if !self.is_proxied(peer) => hosts.check_host(head),
            _ => Ok(()),
        }
    }

    /// Whether a request comes from a page that may make it, if it comes from a page.
    pub(crate) fn check_origin(&self, head: &Parts, peer: Option<SocketAddr>) -> Result<(), Error> {
        match &self.host_allow_list {
            Some(hosts) if !self.is_proxied(peer) => hosts.check_origin(head),
            _ => Ok(()),
        }
    }

    /// Whether a trusted proxy has passed a request on: names are then its to check.
    fn is_proxied(&self, peer: Option<SocketAddr>) -> bool {
        peer.is_some_and(|it| self.address_resolver.is_trusted_proxy(it.ip()))
    }

    /// Counts a call against the rate of whoever makes it.
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

    /// Whether credentials from where a request comes are looked at.
    pub(super) fn check_auth_failures(&self, ctx: &RequestContext<'_>) -> Result<(), Error> {
        match self.call_limiter.limits_auth_failures().then(|| self.client_key(ctx)).flatten() {
            Some(key) => self.call_limiter.check_auth_failures(key),
            None => Ok(()),
        }
    }

    /// Counts credentials that do not count.
    pub(super) fn record_auth_failure(&self, ctx: &RequestContext<'_>, error: &AuthError) {
        let headers = &ctx.head.headers;
        // Who shows nothing guesses nothing.
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

    /// Where a request comes from, if that is known.
    fn client_key(&self, ctx: &RequestContext<'_>) -> Option<RateKey> {
        let peer = ctx.peer?.ip();
        Some(RateKey::for_address(self.address_resolver.client_ip(&ctx.head.headers, peer)))
    }
}
