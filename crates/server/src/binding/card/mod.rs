//! Cards: what agents say about themselves, with the addresses they are served at.
//!
//! A card is written once for each address and form that is asked for, and kept. It is for everybody,
//! needs no version, and can be kept by its readers. So can the keys that prove its signature.

mod etag;
mod render;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, LAST_MODIFIED, VARY};
use http::{HeaderValue, Method, Response, StatusCode};
use latimer_protocol::{Error, ErrorKind, Operation, Version};

use super::body::Body;
use super::route_table::CardShape;
use super::{Frontend, RequestContext, respond};
use crate::address::{BaseUrl, FORWARDING_HEADERS};
use crate::card_handle::CardHandle;
use crate::settings::Settings;
use crate::signing::Keyring;
use crate::sync::lock_unpoisoned;

/// How many written cards are kept. Whoever makes up addresses gets no more than these.
const MAX_CACHED_CARDS: usize = 256;
/// What cards are asked with.
const ALLOWED_METHODS: &str = "GET, HEAD, OPTIONS";

/// The cards of a server.
#[derive(Debug)]
pub(crate) struct Cards {
    /// When the server began.
    started_at: SystemTime,
    cache_control: HeaderValue,
    cache: Mutex<HashMap<CardCacheKey, RenderedDocument>>,
}

/// What a written card depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CardCacheKey {
    selector: CardSelector,
    base_url: BaseUrl,
    variant: CardVariant,
    /// How often the cards it is of were changed.
    generation: u64,
    /// The name of the key that it is signed with, if it is.
    signing_kid: Option<String>,
}

/// Which card, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CardSelector {
    /// That of the primary agent, at the common address.
    Primary,
    /// That of one agent, at its own.
    Agent(String),
    All,
}

/// The form of a card, by whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CardVariant {
    Superset,
    V1_0,
    Legacy,
}

/// Something that is for everybody, and can be kept.
struct Cacheable {
    document: RenderedDocument,
    /// Since when it is as it is.
    modified_at: SystemTime,
    /// What it depends on.
    vary: Option<HeaderValue>,
}

/// A card, written.
#[derive(Clone, Debug)]
struct RenderedDocument {
    body: Bytes,
    etag: HeaderValue,
}

impl RenderedDocument {
    fn new(body: Bytes) -> Self {
        Self { etag: etag::etag(&body), body }
    }
}

impl Cards {
    pub(crate) fn new(settings: &Settings) -> Self {
        let visibility = if settings.card_requires_auth { "private" } else { "public" };
        let cache_control = format!("{visibility}, max-age={}", settings.card_max_age.as_secs());
        Self {
            started_at: SystemTime::now(),
            cache_control: HeaderValue::try_from(cache_control)
                .unwrap_or(HeaderValue::from_static("private")),
            cache: Mutex::default(),
        }
    }

    fn lock_cache(&self) -> MutexGuard<'_, HashMap<CardCacheKey, RenderedDocument>> {
        lock_unpoisoned(&self.cache)
    }
}

impl Frontend {
    /// Answers with a card.
    pub(super) async fn card(&self, ctx: &RequestContext<'_>, shape: CardShape) -> Response<Body> {
        let selector = match &ctx.agent {
            None => CardSelector::Primary,
            Some(agent) => CardSelector::Agent(agent.to_string()),
        };
        let variant = match shape {
            CardShape::Newest => self.card_variant(ctx),
            CardShape::Legacy => CardVariant::Legacy,
        };
        self.serve_cards(ctx, selector, variant).await
    }

    /// Answers with all cards.
    pub(super) async fn cards(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let variant = self.card_variant(ctx);
        self.serve_cards(ctx, CardSelector::All, variant).await
    }

    /// A caller that says 1.x gets just that; all others what they can pick theirs from. A version
    /// that nobody speaks is no reason to hide which ones we do.
    fn card_variant(&self, ctx: &RequestContext<'_>) -> CardVariant {
        match ctx.declared_version() {
            Ok(Some(Version::V1_0)) => CardVariant::V1_0,
            _ if !self.settings.superset_card => CardVariant::V1_0,
            _ => CardVariant::Superset,
        }
    }

    /// Answers with the published keys, which prove the signatures of cards.
    pub(super) fn jwks(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let Some(keyring) = &self.keyring else { return self.not_found(ctx) };
        self.serve_cacheable(ctx, "keys are asked for with GET", || Cacheable {
            document: RenderedDocument::new(keyring.jwks()),
            modified_at: self.cards.started_at,
            vary: None,
        })
    }

    async fn serve_cards(
        &self,
        ctx: &RequestContext<'_>,
        selector: CardSelector,
        variant: CardVariant,
    ) -> Response<Body> {
        let render = || {
            let (base_url, signing_kid) = self.base_url_and_kid(ctx);
            let (generation, modified_at) = self.card_generation(&selector);
            let document = self.cached_card(CardCacheKey {
                selector,
                base_url,
                variant,
                generation,
                signing_kid,
            });
            Cacheable { document, modified_at, vary: Some(self.vary(ctx)) }
        };
        if let Err(error) = self.authorize_card(ctx).await {
            return self.plain_error(None, &error);
        }
        self.serve_cacheable(ctx, "a card is asked for with GET", render)
    }

    /// How often the cards of an answer were changed, and since when they are as they are.
    fn card_generation(&self, selector: &CardSelector) -> (u64, SystemTime) {
        let agents: Vec<_> = match selector {
            CardSelector::All => self.registry.iter().collect(),
            CardSelector::Primary => self.agent_or_primary(None).into_iter().collect(),
            CardSelector::Agent(name) => self.agent_or_primary(Some(name)).into_iter().collect(),
        };
        let handles = || agents.iter().map(|it| it.card_handle());
        let modified_at =
            handles().map(CardHandle::modified_at).fold(self.cards.started_at, SystemTime::max);
        (handles().map(CardHandle::generation).sum(), modified_at)
    }

    /// Answers with something that is for everybody, and can be kept.
    fn serve_cacheable(
        &self,
        ctx: &RequestContext<'_>,
        method_error: &'static str,
        render: impl FnOnce() -> Cacheable,
    ) -> Response<Body> {
        if let Err((status, error)) = self.admit(ctx) {
            return self.plain_error(Some(status), &error);
        }
        match ctx.head.method {
            Method::GET | Method::HEAD => {}
            Method::OPTIONS => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                return respond::with_allow_header(response, ALLOWED_METHODS);
            }
            _ => {
                let error = Error::new(ErrorKind::InvalidRequest, method_error);
                let response = self.plain_error(Some(StatusCode::METHOD_NOT_ALLOWED), &error);
                return respond::with_allow_header(response, ALLOWED_METHODS);
            }
        }
        if let Err(error) = self.charge_rate(ctx, &self.anonymous, Some(Operation::GetAgentCard)) {
            return self.plain_error(None, &error);
        }
        let Cacheable { document, modified_at, vary } = render();
        let not_modified = etag::is_not_modified(&ctx.head.headers, &document.etag, modified_at);
        let mut response = match not_modified {
            true => Response::new(Body::empty()),
            false => respond::json(document.body),
        };
        if not_modified {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, document.etag);
        headers.insert(CACHE_CONTROL, self.cards.cache_control.clone());
        if let Ok(last_modified) = HeaderValue::try_from(httpdate::fmt_http_date(modified_at)) {
            headers.insert(LAST_MODIFIED, last_modified);
        }
        headers.extend(vary.map(|it| (VARY, it)));
        response
    }

    /// What the card depends on beside the address that was asked.
    fn vary(&self, ctx: &RequestContext<'_>) -> HeaderValue {
        let header_names = match self.settings.card_requires_auth {
            true => "A2A-Version, Authorization, X-API-Key",
            false => "A2A-Version",
        };
        if !self.address_resolver.trusts_peer(ctx.peer.map(|it| it.ip())) {
            return HeaderValue::from_static(header_names);
        }
        let all = [&[header_names][..], &FORWARDING_HEADERS].concat().join(", ");
        HeaderValue::try_from(all).unwrap_or(HeaderValue::from_static("*"))
    }

    /// Where the caller reaches the server, and with which key a card that says so is signed.
    fn base_url_and_kid(&self, ctx: &RequestContext<'_>) -> (BaseUrl, Option<String>) {
        let peer = ctx.peer.map(|it| it.ip());
        let base_url = self.address_resolver.resolve(&ctx.head.uri, &ctx.head.headers, peer);
        let keyring =
            self.keyring.as_ref().filter(|_| self.address_resolver.is_authoritative(&base_url));
        (base_url, keyring.map(Keyring::kid))
    }

    fn cached_card(&self, key: CardCacheKey) -> RenderedDocument {
        if let Some(document) = self.cards.lock_cache().get(&key) {
            return document.clone();
        }
        let body = Bytes::from(self.render(&key).to_string());
        let document = RenderedDocument::new(body);
        let mut cache = self.cards.lock_cache();
        if cache.len() >= MAX_CACHED_CARDS {
            cache.clear();
        }
        cache.insert(key, document.clone());
        document
    }
}
