//! Creation of clients for a card and its later versions.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use latimer_outbound::{Guard, HttpClient as Http, Protocol};
use latimer_protocol::card::{AgentCard, ProtocolBinding};

use super::ClientBuilder;
use super::checks::no_origin_error;
use crate::client::Client;
use crate::credentials::{OriginCredentials, SelectionContext};
use crate::discovery::{CardUrls, Discovery};
use crate::error::Error;
use crate::negotiate::{NoInterface, SelectedInterface};
use crate::transport::url_origin;

/// The options of a client that was created from a card, with the connections that the clients of all
/// versions of the card share.
#[derive(Debug)]
pub(in crate::client) struct Connector {
    builder: ClientBuilder,
    guard: Guard,
    http: Http,
    /// The connections of gRPC, which needs HTTP/2.
    http2: OnceLock<Http>,
    discovery: Discovery,
}

impl Connector {
    pub(super) fn new(builder: ClientBuilder) -> Result<Self, Error> {
        let guard = builder.guard()?;
        let http = builder.build_http(&guard)?;
        let discovery = builder.discovery(&http)?;
        Ok(Self { builder, guard, http, http2: OnceLock::new(), discovery })
    }

    pub(in crate::client) async fn fetch_card(&self) -> Result<Arc<AgentCard>, Error> {
        self.discovery.card().await
    }

    pub(in crate::client) async fn refresh_card(&self) -> Result<Arc<AgentCard>, Error> {
        self.discovery.refresh().await
    }

    pub(in crate::client) fn card_fresh_for(&self) -> Option<Duration> {
        self.discovery.fresh_for()
    }

    pub(in crate::client) fn invalidate_card(&self) {
        self.discovery.invalidate();
    }

    /// Selects the interface to call, among those that the guard allows.
    pub(in crate::client) async fn select_interface(
        &self,
        card: &AgentCard,
    ) -> Result<SelectedInterface, Error> {
        let card_urls = self.builder.card_urls(self.discovery.found_at())?;
        let interfaces = card_urls.resolve(&card.supported_interfaces);
        let mismatch = card_urls.check_agent(&interfaces);
        let selected = match self.builder.select_interface(interfaces, &self.guard).await {
            Err(Error::NoInterface(none))
                if self.builder.agent_url_fallback && none.has_forbidden_url() =>
            {
                return self.select_at_agent_url(card, card_urls, none).await;
            }
            result => result?,
        };
        Ok(SelectedInterface { mismatch, ..selected })
    }

    /// Selects an interface to call at the URL of the agent, because no URL in the card may be called.
    async fn select_at_agent_url(
        &self,
        card: &AgentCard,
        card_urls: CardUrls,
        none: NoInterface,
    ) -> Result<SelectedInterface, Error> {
        let Some(agent_url) = card_urls.agent.as_ref().and_then(url_origin) else {
            return Err(none.into());
        };
        let rejected = none.reasons();
        tracing::warn!(
            url = agent_url,
            rejected,
            "no URL in the card may be called, calling the configured URL"
        );
        let interfaces = CardUrls { agent_url_only: true, ..card_urls };
        let interfaces = interfaces.resolve(&card.supported_interfaces);
        self.builder.select_interface(interfaces, &self.guard).await
    }

    /// Creates the client that calls the selected interface of a card.
    pub(in crate::client) async fn connect(
        self: &Arc<Self>,
        card: Arc<AgentCard>,
        selected: SelectedInterface,
    ) -> Result<Client, Error> {
        for rejected in &selected.rejected {
            tracing::debug!(%rejected, "interface rejected");
        }
        let credentials = self.select_credentials(&card, &selected).await?;
        let http = match selected.binding {
            ProtocolBinding::Grpc => {
                self.http2.get_or_init(|| self.http.with_protocol(Protocol::Http2)).clone()
            }
            _ => self.http.clone(),
        };
        let inner = self.builder.build_inner(http, selected, Some(card), credentials)?;
        let connector = Some(Arc::clone(self));
        Ok(Client(Arc::new(crate::client::Inner { connector, ..inner })))
    }

    /// Selects credentials that satisfy the card from the credential set.
    async fn select_credentials(
        &self,
        card: &AgentCard,
        selected: &SelectedInterface,
    ) -> Result<Option<OriginCredentials>, Error> {
        let Some((url, credential_set)) = &self.builder.credential_set else { return Ok(None) };
        let origin = self.builder.resolve_origin(url.as_deref())?;
        let certificate_origin = self.builder.tls.certificate_origin(&self.builder)?;
        let has_certificate =
            certificate_origin.as_deref() == Some(self.builder.endpoint(selected)?.origin());
        let context =
            SelectionContext { http: &self.http, origin: origin.as_deref(), has_certificate };
        match credential_set.select(card, &context).await? {
            None => Ok(None),
            Some(credentials) => {
                let origin = origin
                    .ok_or_else(|| no_origin_error("a credential set", "credential_set_for"))?;
                credentials.bind_to(&origin).map(Some)
            }
        }
    }
}
