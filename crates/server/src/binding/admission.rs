//! Checks of host, origin, call rate and failed authentications.

use std::net::{IpAddr, SocketAddr};

use http::HeaderValue;
use http::header::AUTHORIZATION;
use http::request::Parts;
use latimer_protocol::{Caller, Error, Operation};

use super::{Frontend, RequestContext};
use crate::address::is_forwarded;
use crate::auth::AuthError;
use crate::engine::weight;
use crate::rate::{CredentialHash, RateKey};

/// Header that contains an API key instead of `Authorization`.
const API_KEY_HEADER: &str = "x-api-key";

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

    /// Returns the address that the connections of a peer are counted for, and whether their number is
    /// limited. A trusted proxy has no limit, because it connects for many clients.
    pub(crate) fn connection_address(&self, peer: IpAddr) -> (IpAddr, bool) {
        let key = RateKey::for_address(peer);
        let is_limited =
            self.call_limiter.applies_to(&key) && !self.address_resolver.is_trusted_proxy(peer);
        match key {
            RateKey::Address(address) => (address, is_limited),
            RateKey::Caller(_) => (peer, is_limited),
        }
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

    /// Rejects a request whose client address has sent too many wrong credentials, unless its own were
    /// right before. A request without credentials is no attempt to guess them.
    pub(super) fn check_auth_failures(&self, ctx: &RequestContext<'_>) -> Result<(), Error> {
        match self.credentials(ctx) {
            Some((key, credentials)) => self.call_limiter.check_auth_failures(key, credentials),
            None => Ok(()),
        }
    }

    /// Exempts the credentials of a request from later checks.
    pub(super) fn record_auth_success(&self, ctx: &RequestContext<'_>) {
        if let Some((key, credentials)) = self.credentials(ctx) {
            self.call_limiter.record_auth_success(&key, credentials);
        }
    }

    /// Counts wrong credentials against the client address.
    pub(super) fn record_auth_failure(&self, ctx: &RequestContext<'_>, error: &AuthError) {
        if error.is_unauthenticated()
            && let Some((key, credentials)) = self.credentials(ctx)
        {
            self.call_limiter.record_auth_failure(key, credentials);
        }
    }

    /// Returns the client address and the hash of the credentials in the headers. `None` if there are
    /// no credentials, the address is unknown or exempt, or failed authentications are not limited.
    fn credentials(&self, ctx: &RequestContext<'_>) -> Option<(RateKey, CredentialHash)> {
        let headers = &ctx.head.headers;
        let values = |name: &str| -> Vec<&[u8]> {
            headers.get_all(name).iter().map(HeaderValue::as_bytes).collect()
        };
        let has_credentials =
            headers.contains_key(AUTHORIZATION) || headers.contains_key(API_KEY_HEADER);
        if !self.call_limiter.limits_auth_failures() || !has_credentials {
            return None;
        }
        let key = self.client_key(ctx).filter(|it| self.call_limiter.applies_to(it))?;
        let values = (values(AUTHORIZATION.as_str()), values(API_KEY_HEADER));
        Some((key, self.call_limiter.hash_credentials(values)))
    }

    /// Returns the rate key for the client address, if known.
    fn client_key(&self, ctx: &RequestContext<'_>) -> Option<RateKey> {
        let peer = ctx.peer?.ip();
        Some(RateKey::for_address(self.address_resolver.client_ip(&ctx.head.headers, peer)))
    }
}
