//! Assembly of a client from its options: guard, HTTP client, credentials and transport.

use std::sync::Arc;

use latimer_outbound::{AllowRule, Guard, HttpClient as Http};
use latimer_protocol::binding::parameters;
use latimer_protocol::card::{AgentCard, AgentInterface, ProtocolBinding};
use latimer_protocol::{Dialect, Version};
use tokio::time::timeout;
use url::Url;

use super::ClientBuilder;
use super::checks::{invalid_url_error, no_origin_error};
use super::layer::Layer;
use crate::client::{CallOptions, Inner};
use crate::credentials::{Credentials, OriginCredentials};
use crate::discovery::{CardSource, CardUrls, Discovery, MAX_CARD_BYTES};
use crate::error::Error;
use crate::negotiate::{Candidates, RejectReason, SelectedInterface};
use crate::transport::{
    CallLimits, Endpoint, HttpChannel, HttpJson, JsonRpc, Transport, grpc_transport, url_origin,
};

impl ClientBuilder {
    pub(super) fn discovery(&self, http: &Http) -> Result<Discovery, Error> {
        let limits = CallLimits { max_body_bytes: MAX_CARD_BYTES, ..CallLimits::default() };
        let anonymous = HttpChannel::new(http.clone()).limits(limits);
        let authenticated = self.with_credentials(anonymous.clone())?;
        Ok(Discovery::new(
            self.source.clone(),
            self.trust.clone(),
            anonymous,
            authenticated,
            self.card_cache.clone(),
        ))
    }

    /// Creates the parts of a client. `http` uses the version of HTTP that the selected binding
    /// needs.
    pub(super) fn build_inner(
        &self,
        http: Http,
        selected: SelectedInterface,
        card: Option<Arc<AgentCard>>,
        selected_credentials: Option<OriginCredentials>,
    ) -> Result<Inner, Error> {
        let endpoint = self.endpoint(&selected)?;
        let tenant = self.tenant.clone().or_else(|| selected.tenant.clone());
        let endpoint = endpoint.with_tenant(tenant);
        let mut extensions = self.extensions.clone();
        let has_numbered_events = declares_numbered_events(card.as_deref());
        if selected.binding == ProtocolBinding::Grpc && has_numbered_events {
            extensions.push(parameters::CURSOR_EXTENSION.to_owned());
        }
        let channel = self.with_credentials(HttpChannel::new(http))?.limits(self.limits.clone());
        let channel = channel.restrict_call_headers(self.resolve_origin(None)?);
        let has_credentials = !self.credentials.is_empty()
            || !self.headers.is_empty()
            || selected_credentials.is_some();
        let channel = match selected_credentials {
            Some(credentials) => channel.with_credentials(credentials),
            None => channel,
        };
        if has_credentials && !channel.has_credentials_for(&endpoint) {
            tracing::warn!(
                origin = endpoint.origin(),
                "no credentials configured for agent origin"
            );
        }
        let (transport, dialect): (Arc<dyn Transport>, _) = match &selected.binding {
            ProtocolBinding::JsonRpc => {
                let dialect = Dialect::over_jsonrpc(selected.version);
                (Arc::new(JsonRpc::new(endpoint, channel)), dialect)
            }
            ProtocolBinding::HttpJson => {
                let dialect = Dialect::over_http(selected.version);
                (Arc::new(HttpJson::new(endpoint, channel)), dialect)
            }
            ProtocolBinding::Grpc => {
                let dialect = Dialect::over_http(selected.version);
                (grpc_transport(endpoint, channel)?, dialect)
            }
            ProtocolBinding::Other(name) => {
                return Err(Error::InvalidSetup(format!("unknown binding {name:?}")));
            }
        };
        let wrap = |inner, layer: &Layer| layer.wrap(inner);
        Ok(Inner {
            transport: self.layers.iter().fold(transport, wrap),
            interface: Some(selected),
            card,
            connector: None,
            extensions,
            options: CallOptions::default(),
            dialect,
            retry: self.retry.clone(),
            polling: self.polling,
            streaming_enabled: self.streaming_enabled,
            has_numbered_events,
            background: Arc::default(),
        })
    }

    /// Returns the endpoint of the selected interface.
    pub(super) fn endpoint(&self, selected: &SelectedInterface) -> Result<Endpoint, Error> {
        match selected.binding {
            ProtocolBinding::Grpc => {
                Endpoint::grpc(&self.with_scheme(&selected.url), selected.version)
            }
            _ => Endpoint::new(&selected.url, selected.version),
        }
    }

    /// Adds the scheme to a gRPC address without one: that of the URL that the caller gave.
    pub(super) fn with_scheme(&self, address: &str) -> String {
        let source_scheme =
            self.source.url().and_then(|it| it.split_once("://")).map(|(scheme, _)| scheme);
        match source_scheme {
            Some(scheme @ ("http" | "https")) if !address.contains("://") => {
                format!("{scheme}://{address}")
            }
            _ => address.to_owned(),
        }
    }

    /// Creates the guard: the rules, and the URLs that the caller gave.
    pub(super) fn guard(&self) -> Result<Guard, Error> {
        let mut rules = self.guard_rules.clone();
        let oauth_clients =
            self.credential_set.iter().filter_map(|(_, it)| it.oauth_client.as_ref());
        let trusted_servers =
            oauth_clients.flat_map(|it| it.trusted_servers()).map(|it| self.parse_url(it));
        let trusted_servers = trusted_servers.collect::<Result<Vec<_>, _>>()?;
        let caller_urls =
            self.parsed_agent_url()?.into_iter().chain(self.source_url()?).chain(trusted_servers);
        for origin in caller_urls.filter_map(|url| url_origin(&url)) {
            let host_and_port = origin.split_once("://").map_or("", |(_, rest)| rest);
            let setup_error = |error| Error::InvalidSetup(format!("{host_and_port} {error}"));
            rules.allow.push(host_and_port.parse::<AllowRule>().map_err(setup_error)?);
        }
        Ok(Guard::new(rules))
    }

    /// Returns the known URLs of the agent, against which those in its card are resolved.
    pub(super) fn card_urls(&self, found_at: Option<Url>) -> Result<CardUrls, Error> {
        let agent = self.parsed_agent_url()?;
        if agent.is_none() && self.ignore_card_urls {
            let problem =
                "only the URL of the card is known: set the URL of the agent with `agent_url`";
            return Err(Error::InvalidSetup(problem.into()));
        }
        let card = self.source_url()?.filter(|it| agent.as_ref() != Some(it));
        Ok(CardUrls { agent, card, found_at, agent_url_only: self.ignore_card_urls })
    }

    /// Selects the best interface that the guard allows, by the addresses that its host resolves
    /// to.
    pub(super) async fn select_interface(
        &self,
        interfaces: Vec<AgentInterface>,
        guard: &Guard,
    ) -> Result<SelectedInterface, Error> {
        let mut candidates = Candidates::new(interfaces, &self.preferences);
        let skip_forbidden = async {
            while let Some(best) = candidates.best() {
                match guard.check(best.url().as_str()).await {
                    Ok(_) => break,
                    Err(forbidden) => candidates.reject_best(RejectReason::Forbidden(forbidden)),
                }
            }
        };
        let timed_out =
            |_| Error::NoCard("the hosts of its interfaces did not resolve in time".into());
        timeout(self.limits.timeout, skip_forbidden).await.map_err(timed_out)?;
        Ok(candidates.select()?)
    }

    /// Returns the origin of a URL, by default of the URL that the client is created with.
    pub(super) fn resolve_origin(&self, url: Option<&str>) -> Result<Option<String>, Error> {
        let url = match url {
            Some(url) => Some(self.parse_url(url)?),
            None => self.source_url()?,
        };
        Ok(url.and_then(|url| url_origin(&url)))
    }

    /// Returns the URL of the agent, if the caller gave it.
    fn parsed_agent_url(&self) -> Result<Option<Url>, Error> {
        match (&self.agent_url, &self.source) {
            (Some(url), _) => self.parse_url(url).map(Some),
            (None, CardSource::Agent(_)) => self.source_url(),
            (None, CardSource::CardUrl(_) | CardSource::File(_) | CardSource::Card(_)) => Ok(None),
        }
    }

    /// Returns the URL that the client is created with.
    fn source_url(&self) -> Result<Option<Url>, Error> {
        self.source.url().map(|url| self.parse_url(url)).transpose()
    }

    /// Parses a URL that the caller gave. Addresses of gRPC may have no scheme.
    fn parse_url(&self, url: &str) -> Result<Url, Error> {
        let grpc = self.preferences.bindings.first() == Some(&ProtocolBinding::Grpc);
        match Url::parse(url).ok().filter(|url| url_origin(url).is_some()) {
            Some(url) => Ok(url),
            None if grpc => Ok(Endpoint::grpc(url, Version::V1_0)?.url().clone()),
            None => Err(invalid_url_error(url)),
        }
    }

    /// Creates the HTTP client of all requests, with the client certificate.
    pub(super) fn build_http(&self, guard: &Guard) -> Result<Http, Error> {
        let mut http = Http::builder(guard.clone());
        if let Some(name) = &self.user_agent {
            http = http.user_agent(name.clone());
        }
        Ok(self.tls.configure(self, http)?.build()?)
    }

    /// Adds the credentials, each bound to its origin.
    pub(super) fn with_credentials(&self, mut channel: HttpChannel) -> Result<HttpChannel, Error> {
        let source_origin = self.resolve_origin(None)?;
        let require_origin =
            |what| source_origin.as_deref().ok_or_else(|| no_origin_error(what, "credentials_for"));
        if !self.headers.is_empty() {
            let bound = Credentials::headers(&self.headers).bind_to(require_origin("headers")?)?;
            channel = channel.with_credentials(bound);
        }
        for (url, credentials) in &self.credentials {
            let target = url.as_deref().map_or_else(|| require_origin("credentials"), Ok)?;
            channel = channel.with_credentials(credentials.clone().bind_to(target)?);
        }
        Ok(channel)
    }
}

/// Returns whether a card declares that event ids are revisions.
fn declares_numbered_events(card: Option<&AgentCard>) -> bool {
    let mut extensions = card.into_iter().flat_map(|it| &it.capabilities.extensions);
    extensions.any(|it| it.uri == parameters::CURSOR_EXTENSION)
}
