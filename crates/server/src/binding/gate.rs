//! Who is let in: neither pages that pretend to be on this machine, nor those who ask too often.

use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::request::Parts;
use latimer_protocol::{Caller, Error, ErrorKind, Operation};

use super::{At, Front};
use crate::engine::weight;
use crate::rate::Who;

impl Front {
    /// Whether a request is for a name of this server.
    pub(crate) fn check_host(&self, head: &Parts, peer: Option<SocketAddr>) -> Result<(), Error> {
        match &self.hosts {
            Some(hosts) if !self.is_proxied(peer) => hosts.check_host(head),
            _ => Ok(()),
        }
    }

    /// Whether a request comes from a page that may make it, if it comes from a page.
    pub(crate) fn check_origin(&self, head: &Parts, peer: Option<SocketAddr>) -> Result<(), Error> {
        match &self.hosts {
            Some(hosts) if !self.is_proxied(peer) => hosts.check_origin(head),
            _ => Ok(()),
        }
    }

    /// Whether a trusted proxy has passed a request on: names are then its to check.
    fn is_proxied(&self, peer: Option<SocketAddr>) -> bool {
        peer.is_some_and(|it| self.addresses.is_proxy(it.ip()))
    }

    /// Counts a call against the rate of whoever makes it.
    pub(super) fn charge(
        &self,
        at: &At<'_>,
        caller: &Caller,
        operation: Option<Operation>,
    ) -> Result<(), Error> {
        if !self.rates.counts_calls() {
            return Ok(());
        }
        let who = match caller.is_anonymous() {
            false => Who::Caller(caller.id().clone()),
            true => match self.sender(at) {
                Some(who) => who,
                None => return Ok(()),
            },
        };
        self.rates.charge(who, operation.map_or(1, weight))
    }

    /// Whether credentials from where a request comes are looked at.
    pub(super) fn check_failures(&self, at: &At<'_>) -> Result<(), Error> {
        match self.rates.counts_failures().then(|| self.sender(at)).flatten() {
            Some(who) => self.rates.check_failures(who),
            None => Ok(()),
        }
    }

    /// Counts credentials that do not count.
    pub(super) fn count_failure(&self, at: &At<'_>, caller: &Result<Caller, Error>) {
        let failed = |it: &Error| it.kind() == ErrorKind::Unauthenticated;
        let headers = &at.head.headers;
        // Who shows nothing guesses nothing.
        let shown = headers.contains_key(AUTHORIZATION) || headers.contains_key("x-api-key");
        if self.rates.counts_failures()
            && shown
            && caller.as_ref().is_err_and(failed)
            && let Some(who) = self.sender(at)
        {
            self.rates.failed(who);
        }
    }

    /// Where a request comes from, if that is known.
    fn sender(&self, at: &At<'_>) -> Option<Who> {
        let peer = at.peer?.ip();
        Some(Who::at(self.addresses.sender(&at.head.headers, peer)))
    }
}
