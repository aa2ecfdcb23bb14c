//! From what was set up to what calls: the guard, clients, wires and the transport.

use std::sync::Arc;

use latimer_outbound::{Allowed, Client as Http, Guard, Protocol};
use latimer_protocol::binding::parameters;
use latimer_protocol::card::{AgentCard, ProtocolBinding};
use latimer_protocol::{Dialect, Version};
use url::Url;

use super::checks::{homeless, no_address};
use super::{Builder, Identity};
use crate::client::{Client, Inner};
use crate::credentials::Credentials;
use crate::discovery::{Discovery, MAX_CARD};
use crate::error::Error;
use crate::negotiate::Choice;
use crate::transport::{Endpoint, Grpc, HttpJson, JsonRpc, Limits, Transport, Wire, origin};

impl Builder {
    pub(super) fn discovery(&self, http: &Http) -> Result<Discovery, Error> {
        let limits = Limits { body: MAX_CARD, ..Limits::default() };
        let stranger = Wire::new(http.clone()).limits(limits);
        let known = self.showing(stranger.clone())?;
        Ok(Discovery::new(self.source.clone(), self.trust.clone(), stranger, known))
    }

    pub(super) fn make(
        mut self,
        http: Http,
        choice: Choice,
        found: Option<(Arc<AgentCard>, Discovery)>,
    ) -> Result<Client, Error> {
        let endpoint = self.endpoint(&choice)?;
        let endpoint = endpoint.for_tenant(self.tenant.take().or_else(|| choice.tenant.clone()));
        let (card, discovery) = found.unzip();
        let numbers_events = numbers_events(card.as_deref());
        if choice.binding == ProtocolBinding::Grpc && numbers_events {
            self.extensions.push(parameters::CURSOR.to_owned());
        }
        let http = match choice.binding {
            ProtocolBinding::Grpc => http.speaking(Protocol::Http2),
            _ => http,
        };
        let wire = self.showing(Wire::new(http))?.limits(self.limits.clone());
        let shows_something = !self.credentials.is_empty() || !self.headers.is_empty();
        if shows_something && !wire.knows(&endpoint) {
            tracing::warn!(origin = endpoint.origin(), "no credentials are for the agent's origin");
        }
        let (transport, dialect): (Arc<dyn Transport>, _) = match &choice.binding {
            ProtocolBinding::JsonRpc => {
                let dialect = Dialect::over_jsonrpc(choice.version);
                (Arc::new(JsonRpc::new(endpoint, wire)), dialect)
            }
            ProtocolBinding::HttpJson => {
                let dialect = Dialect::over_http(choice.version);
                (Arc::new(HttpJson::new(endpoint, wire)), dialect)
            }
            ProtocolBinding::Grpc => {
                let dialect = Dialect::over_http(choice.version);
                (Arc::new(Grpc::new(endpoint, wire)?), dialect)
            }
            ProtocolBinding::Other(name) => {
                return Err(Error::Setup(format!("the binding {name:?} is not known")));
            }
        };
        Ok(Client(Arc::new(Inner {
            transport,
            choice: Some(choice),
            card,
            discovery: discovery.map(Arc::new),
            extensions: self.extensions,
            dialect,
            retry: self.retry,
            polling: self.polling,
            streams: self.streams,
            numbers_events,
            finding: Arc::default(),
        })))
    }

    /// Where a choice leads.
    pub(super) fn endpoint(&self, choice: &Choice) -> Result<Endpoint, Error> {
        match choice.binding {
            ProtocolBinding::Grpc => Endpoint::grpc(&self.schemed(&choice.url), choice.version),
            _ => Endpoint::new(&choice.url, choice.version),
        }
    }

    /// An address of gRPC, which may have no scheme: it is taken to be as secure as the address that the
    /// caller named.
    fn schemed(&self, address: &str) -> String {
        let own = self.source.url().and_then(|it| it.split_once("://")).map(|(scheme, _)| scheme);
        match own {
            Some(scheme @ ("http" | "https")) if !address.contains("://") => {
                format!("{scheme}://{address}")
            }
            _ => address.to_owned(),
        }
    }

    /// The guard: the rules, and the address that the caller named.
    pub(super) fn guard(&self) -> Result<Guard, Error> {
        let mut rules = self.rules.clone();
        let client = self.wallet.iter().filter_map(|it| it.client.as_ref());
        let servers = client.flat_map(|it| &it.servers).filter_map(|it| Url::parse(it).ok());
        let named = servers.filter_map(|url| origin(&url));
        for origin in self.origin()?.into_iter().chain(named) {
            let host_and_port = origin.split_once("://").map_or("", |(_, rest)| rest);
            let wrong = |error| Error::Setup(format!("the address {host_and_port} {error}"));
            rules.allow.push(host_and_port.parse::<Allowed>().map_err(wrong)?);
        }
        Ok(Guard::new(rules))
    }

    /// The origin of the address that the caller named.
    pub(super) fn origin(&self) -> Result<Option<String>, Error> {
        let Some(url) = self.source.url() else { return Ok(None) };
        let grpc = self.preferences.bindings.first() == Some(&ProtocolBinding::Grpc);
        match Url::parse(url).ok().and_then(|url| origin(&url)) {
            Some(origin) => Ok(Some(origin)),
            None if grpc => Ok(Some(Endpoint::grpc(url, Version::V1_0)?.origin().to_owned())),
            None => Err(no_address(url)),
        }
    }

    /// The origin that a certificate is shown at.
    pub(super) fn identity_origin(&self) -> Result<Option<String>, Error> {
        match &self.identity {
            None => Ok(None),
            Some(Identity { at: Some(url), .. }) => {
                Ok(Some(Endpoint::new(url, Version::V1_0)?.origin().to_owned()))
            }
            Some(Identity { at: None, .. }) => match self.origin()? {
                Some(own) => Ok(Some(own)),
                None => Err(homeless("a certificate", "identity_for")),
            },
        }
    }

    /// The client for all requests, which shows a certificate at the origin that it is for.
    pub(super) fn http(&self, guard: &Guard) -> Result<Http, Error> {
        let mut http = Http::builder(guard.clone());
        if let Some(name) = &self.user_agent {
            http = http.user_agent(name.clone());
        }
        for pem in &self.roots {
            http = http.root_certificates(pem.clone());
        }
        if let Some(Identity { certificates, key, .. }) = &self.identity
            && let Some(at) = self.identity_origin()?
        {
            http = http.identity(at, certificates.clone(), key.clone());
        }
        Ok(http.build()?)
    }

    /// The same wire, showing each credential at its origin.
    pub(super) fn showing(&self, mut wire: Wire) -> Result<Wire, Error> {
        let own = self.origin()?;
        let own = |what| own.as_deref().ok_or_else(|| homeless(what, "credentials_for"));
        if !self.headers.is_empty() {
            let bound = Credentials::headers(&self.headers).bound_to(own("a header")?)?;
            wire = wire.showing(bound);
        }
        for (at, credentials) in &self.credentials {
            let at = at.as_deref().map_or_else(|| own("a credential"), Ok)?;
            wire = wire.showing(credentials.clone().bound_to(at)?);
        }
        Ok(wire)
    }
}

/// Whether an agent says that it numbers its events.
fn numbers_events(card: Option<&AgentCard>) -> bool {
    let mut extensions = card.into_iter().flat_map(|it| &it.capabilities.extensions);
    extensions.any(|it| it.uri == parameters::CURSOR)
}
