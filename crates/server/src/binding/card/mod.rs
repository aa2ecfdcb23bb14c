//! Agent cards and the keys that verify their signatures.
//!
//! A card is rendered once per base URL and variant, and cached. Cards are public unless a setting
//! requires authentication, need no protocol version, and clients may cache them.
//!
//! | module | content |
//! | --- | --- |
//! | `etag` | conditional requests |
//! | `render` | interfaces, capabilities and signatures of cards |

mod etag;
mod render;

use std::collections::HashMap;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, LAST_MODIFIED, VARY};
use http::{HeaderValue, Method, Response, StatusCode};
use latimer_protocol::{Error, ErrorKind, Operation, Version};
use parking_lot::{Mutex, MutexGuard};

use super::body::Body;
use super::route_table::CardShape;
use super::{Frontend, RequestContext, respond};
use crate::address::{BaseUrl, FORWARDING_HEADERS};
use crate::card_handle::CardHandle;
use crate::settings::Settings;
use crate::signing::Keyring;

/// Maximum number of cached cards. Clients can request arbitrary host names, so it must be limited.
const MAX_CACHED_CARDS: usize = 256;
/// Value of the `Allow` header for cards.
const ALLOWED_METHODS: &str = "GET, HEAD, OPTIONS";

/// Cache of rendered cards.
#[derive(Debug)]
pub(crate) struct Cards {
    /// Start of the server; cards that were never replaced have this modification time.
    started_at: SystemTime,
    cache_control: HeaderValue,
    cache: Mutex<HashMap<CardCacheKey, RenderedDocument>>,
}

/// Everything that a rendered card depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CardCacheKey {
    selector: CardSelector,
    base_url: BaseUrl,
    variant: CardVariant,
    /// Sum of the generations of all selected cards.
    generation: u64,
    /// Id of the signing key, if the card is signed.
    signing_kid: Option<String>,
}

/// Selected card or cards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CardSelector {
    /// Card of the primary agent, at the root path.
    Primary,
    /// Card of one agent, at its own path.
    Agent(String),
    /// List of all cards.
    All,
}

/// Format of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CardVariant {
    /// Members of all versions.
    Superset,
    /// Only the members of 1.0.
    V1_0,
    /// Format before 0.2.
    Legacy,
}

/// A document with its caching headers.
struct CacheableDocument {
    document: RenderedDocument,
    /// Time of the last change.
    modified_at: SystemTime,
    /// `Vary` header.
    vary: Option<HeaderValue>,
    /// Whether it stands in for a card that is not known yet, so that clients must not store it.
    is_placeholder: bool,
}

/// Content and state of the selected cards.
struct CardVersion {
    /// Sum of the generations of the cards.
    generation: u64,
    /// Time of their last change.
    modified_at: SystemTime,
    /// Whether one of them is a placeholder.
    is_placeholder: bool,
}

/// Rendered card or list of cards.
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
        self.cache.lock()
    }
}

impl Frontend {
    /// Responds with the card of one agent.
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

    /// Responds with the cards of all agents.
    pub(super) async fn cards(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let variant = self.card_variant(ctx);
        self.serve_cards(ctx, CardSelector::All, variant).await
    }

    /// Returns the card variant for a client: a client that declares 1.0 gets a pure 1.0 card, every
    /// other client the superset. An unknown version gets it too, so that the client can see which
    /// versions are supported.
    fn card_variant(&self, ctx: &RequestContext<'_>) -> CardVariant {
        match ctx.declared_version() {
            Ok(Some(Version::V1_0)) => CardVariant::V1_0,
            _ if !self.settings.superset_card => CardVariant::V1_0,
            _ => CardVariant::Superset,
        }
    }

    /// Responds with the public keys that verify card signatures.
    pub(super) fn jwks(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let Some(keyring) = &self.keyring else { return self.not_found(ctx) };
        self.serve_cacheable(ctx, "keys support only GET and HEAD", || CacheableDocument {
            document: RenderedDocument::new(keyring.jwks()),
            modified_at: self.cards.started_at,
            vary: None,
            is_placeholder: false,
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
            let CardVersion { generation, modified_at, is_placeholder } =
                self.card_version(&selector);
            let document = self.cached_card(CardCacheKey {
                selector,
                base_url,
                variant,
                generation,
                signing_kid,
            });
            CacheableDocument { document, modified_at, vary: Some(self.vary(ctx)), is_placeholder }
        };
        if let Err(error) = self.authorize_card(ctx).await {
            return self.plain_error(None, &error);
        }
        self.serve_cacheable(ctx, "cards support only GET and HEAD", render)
    }

    fn card_version(&self, selector: &CardSelector) -> CardVersion {
        let agents: Vec<_> = match selector {
            CardSelector::All => self.registry.iter().collect(),
            CardSelector::Primary => self.agent_or_primary(None).into_iter().collect(),
            CardSelector::Agent(name) => self.agent_or_primary(Some(name)).into_iter().collect(),
        };
        let handles = || agents.iter().map(|it| it.card_handle());
        let modified_at =
            handles().map(CardHandle::modified_at).fold(self.cards.started_at, SystemTime::max);
        CardVersion {
            generation: handles().map(CardHandle::generation).sum(),
            modified_at,
            is_placeholder: agents.is_empty() || handles().any(CardHandle::is_placeholder),
        }
    }

    /// Responds with a cacheable document, after the checks that all cards share.
    fn serve_cacheable(
        &self,
        ctx: &RequestContext<'_>,
        method_error: &'static str,
        render: impl FnOnce() -> CacheableDocument,
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
        let CacheableDocument { document, modified_at, vary, is_placeholder } = render();
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
        let cache_control = match is_placeholder {
            true => HeaderValue::from_static("no-store"),
            false => self.cards.cache_control.clone(),
        };
        headers.insert(CACHE_CONTROL, cache_control);
        if let Ok(last_modified) = HeaderValue::try_from(httpdate::fmt_http_date(modified_at)) {
            headers.insert(LAST_MODIFIED, last_modified);
        }
        headers.extend(vary.map(|it| (VARY, it)));
        response
    }

    /// Returns the request headers that a card depends on.
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

    /// Returns the base URL under which the client reaches the server, and the id of the signing key if
    /// that URL is authoritative.
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
